"""Pyomo formulations: they know numbers and sets, not clusters."""
