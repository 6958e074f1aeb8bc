"""From molecules to a solvated complex: parameters, charges, anchors, Amber files."""
