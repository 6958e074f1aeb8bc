"""The viscosity kind: build, relax, equilibrate, produce, green_kubo; for melts also shear, rouse, cross_check."""

__all__ = [
    "build", "cross_check", "equilibrate", "green_kubo", "green_kubo_figures", "npz_stream", "produce", "relax",
    "rouse", "shear",
]  # fmt: skip
