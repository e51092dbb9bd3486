"""Decide how to spare large AI training clusters."""
