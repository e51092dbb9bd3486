"""Simulation: the cluster event by event, from the input types and a plan alone; no formula of the exact model."""
