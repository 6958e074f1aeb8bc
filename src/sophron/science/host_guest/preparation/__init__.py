"""From molecules to a solvated complex: parameters, charges, anchors, Amber files."""

__all__ = ["ambertools", "complex_builder", "geometry", "mol2", "pdb"]
