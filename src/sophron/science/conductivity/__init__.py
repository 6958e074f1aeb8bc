"""The conductivity kind: thermal conductivity by Green-Kubo, or by an imposed flux extrapolated to infinite length."""

__all__ = [
    "build", "crystal", "equilibrate", "extrapolate", "green_kubo", "green_kubo_flux", "lammps_start", "mueller_plathe",
    "temperature_profile", "units",
]  # fmt: skip
