"""Explore an instance on a local page: levers, what-ifs solved as they move, those kept exported as scenarios."""
