"""The slow, plain simulator that the compiled one is held against: to be read in one sitting."""

from spareopt.simulation.reference.site import replicate

__all__ = ["replicate"]
