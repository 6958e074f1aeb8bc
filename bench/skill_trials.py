"""Do the skills about programs help? Folders for blind readers with and without them, and verdicts on what they leave.

Two readers a round: of each task one has the skill and the other does not; who has which alternates from task to task.
All that a reader does goes through `do TASK COMMAND`, which counts commands and the bytes that are written and read.

    python bench/skill_trials.py make DIR --round 1 --python VENV/bin/python   # folders `a` and `b`, a prompt in each
    python bench/skill_trials.py serve DIR                             # answers measurements while they work
    python bench/skill_trials.py keep DIR --round 1                    # judges them, into data/skill_trials.json
    python bench/skill_trials.py record                                # all that is kept, as a record of the bench
"""

import argparse
import json
import math
import re
import shutil
import socketserver
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import yaml
from record import record

HERE = Path(__file__).parent
PARTS = HERE / "skill_trials"
TASKS = yaml.safe_load((PARTS / "tasks.yaml").read_text())
KEPT = HERE / "data" / "skill_trials.json"
SKILLS = HERE.parent / "skills"
READERS = ("a", "b")
MEASUREMENTS, NOISE = 30, 0.15
SEED = 20261127
RUNS_SCRIPT = re.compile(r"\bpython3?( -\S+)* skill/scripts/")


def with_skill(task: str, reader: str, number: int) -> bool:
    """Whether a reader of a round has the skill of a task."""
    return (list(TASKS).index(task) + READERS.index(reader) + number) % 2 == 1


def make(root: Path, python: Path, number: int) -> None:
    """Make the folder of each reader: tasks, data, skills, the command that counts, the prompt."""
    for reader in READERS:
        folder = root / reader
        for task, text in TASKS.items():
            (folder / task).mkdir(parents=True)
            (folder / task / "task.md").write_text(text)
            if task in DATA:
                DATA[task](folder / task)
            if with_skill(task, reader, number):
                shutil.copytree(SKILLS / task, folder / task / "skill")
        (folder / "do").write_text((PARTS / "do.py").read_text().replace("{bin}", str(python.absolute().parent)))
        (folder / "do").chmod(0o755)
        skills = [task for task in TASKS if with_skill(task, reader, number)]
        places = {"folder": folder, "tasks": ", ".join(TASKS), "first": next(iter(TASKS)), "skills": ", ".join(skills)}
        (folder / "prompt").write_text((PARTS / "prompt.md").read_text().format(**places))


def _chains(folder: Path) -> None:
    """Twelve chains of eight beads, their image flags, and a trajectory in disorder."""
    start, end, box = chain_positions()
    chains, beads = 12, 8
    lines = [
        "chains",
        "",
        f"{chains * beads} atoms",
        f"{chains * (beads - 1)} bonds",
        "2 atom types",
        "1 bond types",
        "",
    ]
    lines += [f"{low} {high} {axis}lo {axis}hi" for axis, (low, high) in zip("xyz", box, strict=True)]
    lines += ["", "Masses", "", "1 1.0", "2 1.0", "", "Atoms # molecular", ""]
    images, wrapped = wrap(start, box)
    kinds = [1 + (n % beads in (0, beads - 1)) for n in range(chains * beads)]
    for n in np.random.default_rng(1).permutation(chains * beads):
        place = " ".join(f"{x:.8f}" for x in wrapped[n]) + " " + " ".join(map(str, images[n]))
        lines.append(f"{n + 1} {n // beads + 1} {kinds[n]} {place}")
    lines += ["", "Bonds", ""]
    lines += [f"{k + 1} 1 {a + 1} {a + 2}" for k, a in enumerate(bonded(chains, beads))]
    (folder / "start.data").write_text("\n".join(lines) + "\n")
    dump = []
    for step, frame in ((1000, (start + end) / 2), (2000, end)):
        images, wrapped = wrap(frame, box)
        dump += ["ITEM: TIMESTEP", str(step), "ITEM: NUMBER OF ATOMS", str(chains * beads), "ITEM: BOX BOUNDS pp pp pp"]
        dump += [f"{low} {high}" for low, high in box]
        dump.append("ITEM: ATOMS id type ix iy iz x y z")
        for n in np.random.default_rng(step).permutation(chains * beads):
            place = " ".join(map(str, images[n])) + " " + " ".join(f"{x:.8f}" for x in wrapped[n])
            dump.append(f"{n + 1} {kinds[n]} {place}")
    (folder / "end.dump").write_text("\n".join(dump) + "\n")


def bonded(chains: int, beads: int) -> list[int]:
    """Index of the first bead of each bond."""
    return [n for n in range(chains * beads) if n % beads < beads - 1]


def chain_positions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unwrapped positions before and after, rounded as they are written, and the box."""
    rng = np.random.default_rng(SEED)
    box = np.array([[1.0, 9.0], [-3.0, 6.0], [0.0, 7.5]])
    steps = rng.normal(size=(12, 8, 3))
    steps *= 0.97 / np.linalg.norm(steps, axis=2, keepdims=True)
    start = (rng.uniform(box[:, 0], box[:, 1], (12, 1, 3)) + np.cumsum(steps, axis=1)).reshape(-1, 3)
    end = start + np.repeat(rng.normal(0, 4, (12, 3)), 8, axis=0) + rng.normal(0, 0.2, start.shape)
    return start.round(8), end.round(8), box


def wrap(positions: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Image flags and wrapped positions."""
    lengths = box[:, 1] - box[:, 0]
    images = np.floor((positions - box[:, 0]) / lengths).astype(int)
    return images, positions - images * lengths


LAYERS = "ABCABACBCABCBCAB"  # closes on itself: B beside A


def _crystal(folder: Path) -> None:
    """Close-packed layers that move about their places."""
    nx, ny, shift = 6, 4, {"A": 0.0, "B": 1.0, "C": 2.0}
    box = np.array([nx, ny * math.sqrt(3), len(LAYERS) * math.sqrt(2 / 3)]) * 1.12
    sites = [
        (i + 0.5 * half, (j + 0.5 * half) * math.sqrt(3) + shift[kind] / math.sqrt(3), k * math.sqrt(2 / 3))
        for k, kind in enumerate(LAYERS)
        for i in range(nx)
        for j in range(ny)
        for half in (0, 1)
    ]
    rng = np.random.default_rng(SEED)
    ideal = 1.12 * np.array(sites)[rng.permutation(len(sites))]
    frames = np.stack([(ideal + rng.normal(0, 0.045, ideal.shape)) % box for _ in range(20)])
    np.save(folder / "positions.npy", frames)
    (folder / "box.json").write_text(json.dumps(box.tolist()))


def hcp_fraction() -> float:
    """Share of the layers whose two neighbours are alike."""
    count = len(LAYERS)
    return sum(LAYERS[k - 1] == LAYERS[(k + 1) % count] for k in range(count)) / count


def _reaction(folder: Path) -> None:
    shutil.copyfile(PARTS / "measure.py", folder / "measure.py")


DATA = {"lammpsio": _chains, "freud": _crystal, "bayes-opt": _reaction}


def reaction_yield(temperature: float, concentration: float, time: float) -> float:
    """Two hills of a landscape that nobody published, in the units of the task; the greatest value is `GREATEST`."""
    x = np.array([(temperature - 300) / 100, math.log10(concentration) / 2 + 1, (time - 10) / 50])
    if not ((x >= -1e-9) & (x <= 1 + 1e-9)).all():
        raise ValueError("outside the bounds")
    wide, narrow = x - [0.25, 0.30, 0.70], x - [0.72, 0.62, 0.35]
    slant = narrow[0] + 0.6 * narrow[1]
    high = 5.0 * math.exp(-6 * slant**2 - 8 * narrow[1] ** 2 - 10 * narrow[2] ** 2)
    return 3.2 * math.exp(-5 * float(wide @ wide)) + high + 0.3 * x[2]


GREATEST = 5.4876


def serve(root: Path) -> None:
    """Answer measurements of both readers, with noise, 30 each, until both have stopped."""
    import threading

    def server(folder: Path) -> socketserver.BaseServer:
        noise = iter(np.random.default_rng([SEED, READERS.index(folder.name)]).normal(0, NOISE, MEASUREMENTS))

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    words = [float(word) for word in self.rfile.readline().decode().split()]
                    value = reaction_yield(*words)
                    reply = f"{value + next(noise):.4f}"
                    with (folder / "measured.jsonl").open("a") as stream:
                        print(json.dumps([*words, float(reply)]), file=stream)
                except (ValueError, TypeError) as error:
                    reply = f"refused, not counted: {error}"
                except StopIteration:
                    reply = "refused: no measurement is left"
                self.wfile.write(f"{reply}\n".encode())

        (folder / "measure.sock").unlink(missing_ok=True)
        return socketserver.UnixStreamServer(str(folder / "measure.sock"), Handler)

    threads = [threading.Thread(target=server(root / reader).serve_forever) for reader in READERS]
    for thread in threads:
        thread.start()


def _liquid(answer: dict, energy: float, pressure: float, within: tuple[float, float]) -> list[str]:
    faults = []
    for name, truth, width in (("energy", energy, within[0]), ("pressure", pressure, within[1])):
        away, error = abs(answer[name] - truth), answer[f"{name}_error"]
        if away > width:
            faults.append(f"{name} {answer[name]} is {away:.4g} from {truth}")
        if not 0 < error <= width or away > 4 * error + width / 20:
            faults.append(f"the error of {name}, {error}, does not hold: {away:.4g} away")
    return faults


def judge_lammps(answer: dict, _: Path) -> list[str]:
    """NIST's Monte Carlo of the Lennard-Jones fluid at T 0.85, density 0.86."""
    return _liquid(answer, -6.0305, 1.2660, (0.01, 0.05))


def judge_gromacs(answer: dict, _: Path) -> list[str]:
    """The same state in the units of argon."""
    bar = 0.996 / 0.34**3 * 16.6053907
    return _liquid(answer, -6.0305 * 0.996, 1.2660 * bar, (0.012, 21))


def judge_lammpsio(answer: dict, folder: Path) -> list[str]:
    """Exact, from the positions that were made."""
    import gsd.hoomd

    start, end, box = chain_positions()
    lengths = box[:, 1] - box[:, 0]
    chains = end.reshape(12, 8, 3)
    rg2 = float(((chains - chains.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean())
    msd = float(((end - start) ** 2).sum(axis=1).mean())
    faults = [
        f"{name} {answer[name]} is not {truth:.6f}"
        for name, truth in (("msd", msd), ("rg2", rg2))
        if not math.isclose(answer[name], truth, rel_tol=2e-6)
    ]
    with gsd.hoomd.open(folder / "end.gsd") as file:
        frame = file[-1]
    place = frame.particles.position
    if not np.allclose(frame.configuration.box[:3], lengths, atol=1e-5) or (abs(place) > lengths / 2 + 1e-4).any():
        faults.append("the box of end.gsd, or positions outside it")
    images = frame.particles.image if frame.particles.image is not None else np.zeros_like(place)
    shift = place + images * lengths - end
    if abs(shift - shift[0]).max() > 1e-4:
        faults.append("unwrapped positions of end.gsd")
    kinds = [frame.particles.types[n] for n in frame.particles.typeid]
    if kinds != [str(1 + (n % 8 in (0, 7))) for n in range(96)]:
        faults.append("types of end.gsd")
    if {tuple(sorted(pair)) for pair in frame.bonds.group.tolist()} != {(a, a + 1) for a in bonded(12, 8)}:
        faults.append("bonds of end.gsd")
    return faults


def judge_polymer(answer: dict, folder: Path) -> list[str]:
    """Exact: formula, mass; the handedness of each inner centre by its coordinates."""
    from rdkit import Chem
    from rdkit.Chem.rdMolDescriptors import CalcMolFormula

    exact = 36 * 12 + 74 * 1.00782503207
    faults = []
    molecule = Chem.MolFromMolFile(str(folder / "polymer.sdf"), removeHs=False)
    if molecule is None or CalcMolFormula(molecule) != "C36H74" or answer["formula"] != "C36H74":
        return ["the formula is C36H74"]
    if abs(answer["exact_mass"] - exact) > 2e-4:
        faults.append(f"exact_mass is {exact:.4f}")
    place = molecule.GetConformer().GetPositions()
    path = Chem.GetDistanceMatrix(molecule)
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)
    closest = apart[path >= 3].min()
    if closest < 1.6 or abs(closest - answer["closest_nonbonded"]) > 0.02:
        faults.append(f"closest_nonbonded is {closest:.3f}")
    hands = handedness(molecule, place)
    if len(hands) != 10 or abs(sum(hands)) != 10:
        faults.append(f"not isotactic: {hands}")
    return faults + _data_file(molecule, place, folder / "polymer.data")


def handedness(molecule, place: np.ndarray) -> list[int]:
    """The sign of each inner CH(CH3), seen along the chain: one kind of isotactic chain has one sign throughout."""
    from rdkit import Chem

    chain = molecule.GetSubstructMatches(Chem.MolFromSmarts("C" * 25))[0]
    signs = []
    for before, centre, after in zip(chain, chain[1:], chain[2:], strict=False):
        near = [one for one in molecule.GetAtomWithIdx(centre).GetNeighbors() if one.GetSymbol() == "C"]
        methyls = [one.GetIdx() for one in near if sum(far.GetSymbol() == "C" for far in one.GetNeighbors()) == 1]
        if len(near) == 3 and len(methyls) == 1:  # with two methyls it is the end of the chain, and no centre
            edges = [place[other] - place[centre] for other in (before, after, methyls[0])]
            signs.append(int(np.sign(np.linalg.det(edges))))
    return signs


def _data_file(molecule, place: np.ndarray, path: Path) -> list[str]:
    import lammpsio

    snapshot = lammpsio.DataFile(str(path), atom_style="full").read()
    order = np.argsort(snapshot.id) if snapshot.has_id() else np.arange(snapshot.N)
    faults = []
    if snapshot.N != 110 or not snapshot.has_bonds() or snapshot.bonds.N != 109:
        return ["polymer.data has not 110 atoms and 109 bonds"]
    moved = snapshot.position[order] - place
    if abs(moved - moved[0]).max() > 2e-3:
        faults.append("coordinates of polymer.data are not those of polymer.sdf")
    pairs = {tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()}
    if {tuple(sorted((a - 1, b - 1))) for a, b in snapshot.bonds.members.tolist()} != pairs:
        faults.append("bonds of polymer.data are not those of polymer.sdf")
    return faults


def judge_freud(answer: dict, folder: Path) -> list[str]:
    """The share of hcp by construction; q6 and neighbours computed here without freud."""
    frames, box = np.load(folder / "positions.npy"), np.array(json.loads((folder / "box.json").read_text()))
    faults = []
    wanted = {
        "hcp_fraction": (hcp_fraction(), 0.005),
        "q6": (mean_q6(frames, box), 0.002),
        "coordination": (12.0, 0.05),
    }
    for name, (truth, width) in wanted.items():
        if abs(answer[name] - truth) > width:
            faults.append(f"{name} {answer[name]} is not {truth:.4f}")
    return faults


def mean_q6(frames: np.ndarray, box: np.ndarray) -> float:
    """Mean of q6 with twelve nearest neighbours, by the addition theorem: q6^2 is the mean of P6 over their angles."""
    from numpy.polynomial.legendre import legval
    from scipy.spatial import cKDTree

    values = []
    for frame in frames:
        _, near = cKDTree(frame % box, boxsize=box).query(frame % box, k=13)
        arrows = frame[near[:, 1:]] - frame[:, None]
        arrows -= box * np.round(arrows / box)
        arrows /= np.linalg.norm(arrows, axis=2, keepdims=True)
        cosines = np.clip(np.einsum("nid,njd->nij", arrows, arrows), -1, 1)
        values.append(np.sqrt(np.maximum(legval(cosines, [0] * 6 + [1]).mean(axis=(1, 2)), 0)))
    return float(np.mean(values))


def judge_reaction(answer: dict, _: Path) -> list[str]:
    """The true yield at the recommended place: at most 0.2 below the greatest there is."""
    truth = reaction_yield(answer["temperature"], answer["concentration"], answer["time"])
    faults = [] if truth > GREATEST - 0.2 else [f"the yield there is {truth:.3f}, the greatest {GREATEST:.3f}"]
    if not 0 < answer["error"] <= 0.2 or abs(answer["yield"] - truth) > 3 * answer["error"]:
        faults.append(f"{answer['yield']} +- {answer['error']} is stated, {truth:.3f} is true")
    return faults


def judge_pyscf(answer: dict, _: Path) -> list[str]:
    """Water: Crawford's programming projects; hydrogen: two atoms, exactly; helium: the Hartree-Fock limit."""
    water = -74.942079928192 - 0.070680088376 - 0.000099877272
    wanted = {"water": (water, 1e-6), "hydrogen": (2 * -0.46658185, 1e-4), "helium": (-2.861680, 1e-4)}
    return [
        f"{name} {answer[name]} is not {truth:.6f}"
        for name, (truth, width) in wanted.items()
        if abs(answer[name] - truth) > width
    ]


JUDGES = {
    "lammps": judge_lammps,
    "lammpsio": judge_lammpsio,
    "polymer-build": judge_polymer,
    "freud": judge_freud,
    "bayes-opt": judge_reaction,
    "pyscf": judge_pyscf,
    "gromacs": judge_gromacs,
}


def verdict(task: str, folder: Path) -> tuple[dict | None, list[str]]:
    """The answer of one task, and what is wrong with it."""
    try:
        answer = json.loads((folder / "answer.json").read_text())
        return answer, JUDGES[task](answer, folder)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        return None, [f"no answer: {type(error).__name__} {error}"]


def reading(task: str, reader: str, number: int, folder: Path) -> dict:
    """One reading: whether it had the skill, the answer, the verdict, and what it cost."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    mine = [line for line in lines if line["task"] == task]
    answer, faults = verdict(task, folder / task)
    return {
        "task": task,
        "reader": reader,
        "skill": with_skill(task, reader, number),
        "answer": answer,
        "faults": faults,
        "commands": len(mine),
        "failed_commands": sum(line["exit"] != 0 for line in mine),
        "bytes_written": sum(len(line["command"].encode()) for line in mine),
        "bytes_read": sum(line["read"] for line in mine),
        "script_used": any(RUNS_SCRIPT.search(line["command"]) for line in mine),
    }


def keep(root: Path, number: int) -> None:
    """Judge a round, print it, and keep it beside the earlier ones."""
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() else []
    kept = [one for one in kept if one["round"] != number]
    for task in TASKS:
        for reader in READERS:
            one = {"round": number, **reading(task, reader, number, root / reader)}
            print(task, reader, "with" if one["skill"] else "without", one["faults"] or "right", one["commands"])
            kept.append(one)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def table(kept: list[dict]) -> dict:
    """Of each skill with and without it: readings, right ones, and commands and tokens of each (four bytes a token)."""
    rows: dict = {}
    for task in TASKS:
        for skill in (True, False):
            mine = [one for one in kept if one["task"] == task and one["skill"] is skill]
            rows.setdefault(task, {})["with" if skill else "without"] = {
                "readings": len(mine),
                "right": sum(not one["faults"] for one in mine),
                "commands": [one["commands"] for one in mine],
                "failed_commands": [one["failed_commands"] for one in mine],
                "tokens": [(one["bytes_written"] + one["bytes_read"]) // 4 for one in mine],
                "script_used": sum(one["script_used"] for one in mine),
                "faults": [fault for one in mine for fault in one["faults"]],
            }
    return rows


def main() -> int:
    """Make, serve, keep or record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "serve", "keep", "record"])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--round", type=int, default=1)
    args = parser.parse_args()
    if args.action == "make":
        make(args.folder.absolute(), args.python, args.round)
    elif args.action == "serve":
        serve(args.folder.absolute())
    elif args.action == "keep":
        keep(args.folder.absolute(), args.round)
    else:
        kept = json.loads(KEPT.read_text())
        right = Counter(one["skill"] for one in kept if not one["faults"])
        record("skill_trials", {"right": {"with": right[True], "without": right[False]}, "skills": table(kept)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
