"""Calibrate failure rates and repair times from incident logs of a fleet."""
