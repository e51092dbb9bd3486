"""What makes pages of the documentation, and the formulas of its site."""
