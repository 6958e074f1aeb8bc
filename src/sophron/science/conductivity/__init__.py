"""The conductivity kind: thermal conductivity by Green-Kubo, or by an imposed flux extrapolated to infinite length."""

__all__ = [
    "build", "equilibrate", "extrapolate", "green_kubo", "green_kubo_flux", "mueller_plathe", "temperature_profile",
]  # fmt: skip
