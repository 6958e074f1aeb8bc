"""The viscosity kind: build, relax, equilibrate, produce, green_kubo, diffusion; melts: shear, rouse, cross_check."""

__all__ = [
    "build", "cross_check", "diffusion", "equilibrate", "green_kubo", "green_kubo_figures", "npz_stream", "produce",
    "relax", "rouse", "shear",
]  # fmt: skip
