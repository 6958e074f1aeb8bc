"""Let public skills in with `sophron skill add`, and try each once with a small job in an environment of its own.

Nothing of their text is kept. Run as:
python bench/public_skills.py --work DIR [--mirror DIR] [NAME ...]
--mirror: folder with `OWNER+NAME/repo`, git repositories, in place of GitHub. Rows of other skills are kept.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import yaml
from record import RESULTS, record

HERE = Path(__file__).parent
TABLE = yaml.safe_load((HERE / "public_skills.yaml").read_text())
INSTALL_S, JOB_S = 3000, 3000


def main() -> int:
    """Try what is named, or all; write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TABLE["skills"]))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--mirror", type=Path)
    args = parser.parse_args()
    path = RESULTS / "public_skills.json"
    rows = json.loads(path.read_text())["result"]["rows"] if path.exists() else []
    for name in args.names:
        begun = time.monotonic()
        row = {"skill": name, **tried(name, TABLE["skills"][name], args.work.absolute() / name, args.mirror)}
        row["wall_time_s"] = round(time.monotonic() - begun)
        print(json.dumps(row), flush=True)
        rows = [*(one for one in rows if one["skill"] != name), row]
        record("public_skills", {"rows": rows, "works": sum(one["works"] for one in rows)})
    return 0


def tried(name: str, about: dict, work: Path, mirror: Path | None) -> dict:
    """Return what came of one skill: how it was let in, and what its job printed."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "campaign.yaml").touch()
    source, path = TABLE["sources"][about["from"][0]], about["from"][1]
    owner_name = source["repository"]
    repository = str(mirror.absolute() / owner_name.replace("/", "+") / "repo") if mirror else owner_name
    row = {"source": owner_name, "commit": source["commit"], "path": path}
    said = add(f"{repository}@{source['commit']}:{path}", work)
    row["added"] = said or "yes"
    if said and "without" in about:
        folder = edited_copy(repository, source["commit"], path, about["without"], work)
        row["edited_copy"] = add(str(folder), work) or "yes"
    skill = work / "agents" / "skills" / Path(path).name
    if not skill.is_dir():
        return {**row, "works": False}
    record_of = json.loads(skill.with_name(f"{skill.name}.source.json").read_text())
    row["licenses"] = {"repository": record_of["source_license"], "skill": record_of["skill_license"]}
    row["findings"] = len(record_of["findings"])
    printed, fault = job(name, about, skill, work)
    wrong = [key for key, (value, width) in about["expect"].items() if abs(printed.get(key, 1e99) - value) > width]
    return {**row, "printed": printed, "fault": fault, "wrong": wrong, "works": not wrong}


def add(source: str, work: Path) -> str:
    """Let a skill in, as somebody who looked at what was found; a sentence if it is refused."""
    line = [sys.executable, "-m", "sophron", "skill", "add", source, "--campaign", str(work), "--reviewed"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    said = re.sub(r"\S*/sophron-skill-\w+/files/", "", done.stderr.strip())
    return said.replace(str(work), "").splitlines()[-1] if done.returncode else ""


def edited_copy(repository: str, commit: str, path: str, keys: list[str], work: Path) -> Path:
    """Return a copy of a skill without some keys of its front matter, as somebody who wants it would make one."""
    if not Path(repository).is_dir():
        repository = f"https://github.com/{repository}"
    clone, copy = work / "clone", work / "copy" / Path(path).name
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", repository, clone], check=True)
    subprocess.run(["git", "-C", clone, "checkout", "-q", commit], check=True)
    shutil.copytree(clone / path, copy, dirs_exist_ok=True)
    text = (copy / "SKILL.md").read_text().splitlines(keepends=True)
    (copy / "SKILL.md").write_text("".join(line for line in text if line.partition(":")[0] not in keys))
    return copy


def job(name: str, about: dict, skill: Path, work: Path) -> tuple[dict, str]:
    """Run the job of a skill in its own environment; what it printed, and what went wrong."""
    lacking = [program for program in about.get("programs", []) if shutil.which(program) is None]
    if lacking:
        return {}, f"{', '.join(lacking)} is not installed"
    python = environment(about, work / "venv")
    if isinstance(python, str):
        return {}, python
    place = work / "job"
    place.mkdir(exist_ok=True)
    env = {key: os.environ[key] for key in ("LANG",) if key in os.environ}
    env |= {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(place), "SKILL": str(skill), "OMP_NUM_THREADS": "1"}
    offline = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up; exec "$@"', "job"]
    line = [*offline, python, "-P", HERE / "public_skills" / f"{name}.py"]
    done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True, timeout=JOB_S, check=False)
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    last = errors[-1][:300] if errors else ""
    printed = done.stdout.strip().splitlines()
    return (json.loads(printed[-1]), last) if done.returncode == 0 and printed else ({}, last)


def environment(about: dict, venv: Path) -> Path | str:
    """Make the environment of a job; its Python, or what pip said."""
    python = venv / "bin" / "python"
    if not python.is_file():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    wanted = about.get("requires", [])
    if wanted:
        uv = shutil.which("uv")  # the same, in a tenth of the time
        pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install", "--prefer-binary"]
        pip += ["--quiet", *wanted]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=INSTALL_S, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1][:300]
    return python


if __name__ == "__main__":
    sys.exit(main())
