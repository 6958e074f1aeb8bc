"""Straight lines through cross sections."""

import barns

__version__ = "2.0"

if int(barns.__version__.split(".")[0]) < 1:
    raise ImportError(f"linefit 2.0 needs barns 1.0 or later, and this is {barns.__version__}")
