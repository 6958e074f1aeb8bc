"""The conductivity kind: thermal conductivity by Green-Kubo, or by an imposed flux extrapolated to infinite length."""

__all__ = [
    "build", "displace", "equilibrate", "extrapolate", "forces", "green_kubo", "green_kubo_flux", "lattice_dynamics",
    "mueller_plathe", "phonon_transport", "temperature_profile", "transport",
]  # fmt: skip
