"""The kind viscosity: shear viscosity of a bead liquid or melt."""

__all__ = ["kind"]
