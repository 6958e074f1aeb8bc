"""Build the simulation with Verilator and compare it with golden values: run_sim.py [--pause P --seed N]."""

import argparse
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RTL = ("stream_wrapper.sv", "lane_sum.sv", "weigh.sv")


def build(folder: Path, rtl: Path) -> Path:
    """Build the program that simulates the files of `rtl`; CalledProcessError if they are not SystemVerilog."""
    # Widths that do not fit are warnings of Verilator, which end a build unless one says otherwise.
    command = [
        "verilator",
        "--cc",
        "--exe",
        "--build",
        "-Wno-fatal",
        "-CFLAGS",
        "-O0",
        "--Mdir",
        str(folder),
        "-o",
        "sim",
    ]
    files = [*(str(rtl / name) for name in RTL), str(HERE / "sim_main.cpp")]
    subprocess.run([*command, "--top-module", "stream_wrapper", *files], check=True, stdout=subprocess.DEVNULL)
    return folder / "sim"


def simulate(program: Path, words: Path, pause: float, seed: int) -> list[str]:
    """Return the values that come out."""
    command = [str(program), str(words), str(pause), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout.split()


def main() -> int:
    """Compare; 1 if a value is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        values = simulate(build(Path(folder), HERE / "rtl"), HERE / "data" / "words.txt", args.pause, args.seed)
    golden = (HERE / "data" / "golden.txt").read_text().split()
    wrong = sum(value != right for value, right in zip(values, golden, strict=False))
    print(f"{len(values)} values, {len(golden)} wanted, {wrong} wrong")
    print("PASSED" if values == golden else "FAILED")
    return int(values != golden)


if __name__ == "__main__":
    raise SystemExit(main())
