"""Cubic structures as CIF, for patterns that tests simulate. edge: in angstrom."""

CIF = """data_{name}
_space_group_name_H-M_alt '{group}'
_cell_length_a {edge}
_cell_length_b {edge}
_cell_length_c {edge}
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
_atom_site_U_iso_or_equiv
{atoms}
"""
SALT = {"name": "salt", "group": "F m -3 m", "atoms": "Na1 Na 0 0 0 1 0.015\nCl1 Cl 0.5 0.5 0.5 1 0.012"}
SILICON = {"name": "silicon", "group": "F d -3 m:2", "atoms": "Si1 Si 0.125 0.125 0.125 1 0.006"}
