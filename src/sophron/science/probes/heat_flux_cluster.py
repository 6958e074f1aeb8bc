"""The tiny LAMMPS run behind the heat flux probe, with a potential of LAMMPS's own to stand in for each pair style."""

from dataclasses import dataclass

STEP_PS = 1e-5
"""Time step of the run in ps: short, so that a central difference is exact to about 1e-5."""


@dataclass(frozen=True)
class StandIn:
    """A potential of some style. style, coefficients: words of LAMMPS commands; lattice: diamond cell in angstrom."""

    style: str
    coefficients: str
    lattice: float


# Whether the flux is exact is a property of how LAMMPS tallies a style, not of the parameter set.
STAND_INS = {
    "lj/cut": StandIn("lj/cut 40.0", "* * 0.01 1.7", 4.8),
    "morse": StandIn("morse 40.0", "* * 0.2 1.5 2.4", 5.0),
    "buck": StandIn("buck 40.0", "* * 500.0 0.4 20.0", 5.5),
    "tersoff": StandIn("tersoff", "* * SiC.tersoff Si C", 4.36),
    "tersoff/mod": StandIn("tersoff/mod", "* * Si.tersoff.mod Si Si", 5.43),
    "tersoff/zbl": StandIn("tersoff/zbl", "* * SiC.tersoff.zbl Si C", 4.36),
    "sw": StandIn("sw", "* * Si.sw Si Si", 5.43),
    "edip": StandIn("edip", "* * Si.edip Si Si", 5.43),
    "vashishta": StandIn("vashishta", "* * SiC.vashishta Si C", 4.36),
    "gw": StandIn("gw", "* * SiC.gw Si C", 4.36),
    "extep": StandIn("extep", "* * BN.extep B N", 3.615),
    "rebo": StandIn("rebo", "* * CH.rebo C C", 3.57),
    "airebo": StandIn("airebo 3.0", "* * CH.airebo C C", 3.57),
    "eam": StandIn("eam", "* * Cu_u3.eam", 5.8),
    "eam/alloy": StandIn("eam/alloy", "* * CuNi.eam.alloy Cu Ni", 5.8),
    "eam/fs": StandIn("eam/fs", "* * AlFe_mm.eam.fs Al Fe", 5.8),
    "adp": StandIn("adp", "* * AlCu.adp Al Cu", 5.8),
    "meam": StandIn("meam", "* * library.meam Si NULL Si Si", 5.43),
    "snap": StandIn("snap", "* * WBe_Wood_PRB2019.snapcoeff WBe_Wood_PRB2019.snapparam W Be", 5.5),
}

# In vacuum: J = d/dt sum(r e) then holds exactly, whatever shares the energy out among the atoms.
_INPUT = """\
units metal
atom_style atomic
boundary f f f
lattice diamond {lattice}
region all block -9 9 -9 9 -9 9
region seed block 0 1.99 0 1.99 0 1.99
create_box 2 all
create_atoms 1 region seed basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 28.085
mass 2 12.011
pair_style {style}
pair_coeff {coefficients}
displace_atoms all random 0.1 0.1 0.1 4711
velocity all create 600 4711
compute ke all ke/atom
compute pe all pe/atom
compute stress all {compute} NULL virial
compute flux all heat/flux ke pe stress
variable x atom (c_ke+c_pe)*x
variable y atom (c_ke+c_pe)*y
variable z atom (c_ke+c_pe)*z
compute moment all reduce sum v_x v_y v_z
timestep {step}
thermo_style custom step c_flux[1] c_flux[2] c_flux[3] c_moment[1] c_moment[2] c_moment[3]
thermo_modify format float %.15g
thermo 1
fix 1 all nve
run 12
"""


def cluster_input(stand_in: StandIn, compute: str) -> str:
    """LAMMPS input that prints, step by step, the heat flux (eV A / ps) and the energy moment (eV A) along x, y, z."""
    return _INPUT.format(
        style=stand_in.style,
        coefficients=stand_in.coefficients,
        lattice=stand_in.lattice,
        compute=compute,
        step=STEP_PS,
    )
