"""A plan as a page that a planner forwards: findings, pictures, tables, sources, in one HTML file."""
