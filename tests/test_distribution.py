"""The wheel: built from the sources, unpacked elsewhere, and used without a checkout in sight."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
DATA = (
    "workflow",
    "schemas",
    "profiles",
    "envs",
    "campaigns",
    "contracts",
    "config",
    "example_tasks",
    "skills",
    "docs",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(int(version("setuptools").split(".")[0]) < 77, reason="needs the setuptools of the dev extra"),
]


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Standard output and error of a program that must end well."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with sdist and wheel, the wheel built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(CHECKOUT), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> dict[str, str]:
    """Environment in which the unpacked wheel comes before every other Sophron."""
    target = tmp_path_factory.mktemp("installed")
    (wheel,) = built.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target))
    run(*pip, str(wheel), cwd=target)
    config = tmp_path_factory.mktemp("config")
    path = f"{target / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"PYTHONPATH": str(target), "PATH": path, "XDG_CONFIG_HOME": str(config), "TARGET": str(target)}


def members(archive: Path) -> set[str]:
    """File names inside."""
    if archive.suffix == ".whl":
        return set(zipfile.ZipFile(archive).namelist())
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built):
    package = CHECKOUT / "src" / "sophron"
    left_over = re.compile(r"(^|/)(\.|__pycache__/)")
    places = [(package, ""), *((CHECKOUT / folder, f"{folder}/") for folder in DATA)]
    wanted = {
        f"{prefix}{path.relative_to(folder)}"
        for folder, prefix in places
        for path in folder.rglob("*")
        if path.is_file()
    }
    (wheel,) = built.glob("*.whl")
    shipped = {name.removeprefix("sophron/") for name in members(wheel) if name.startswith("sophron/")}
    assert shipped == {name for name in wanted if not left_over.search(name)}
    assert "snakemake_logger_plugin_sophron/__init__.py" in members(wheel)


def test_the_source_distribution_holds_the_data_as_files(built):
    (sdist,) = built.glob("*.tar.gz")
    assert {"src/sophron/workflow/Snakefile", "src/sophron/schemas/campaign.schema.yaml", "LICENSE"} <= members(sdist)


def test_a_campaign_can_be_made_reviewed_and_dry_run_from_the_wheel(installed, tmp_path):
    environment = {key: value for key, value in installed.items() if key != "TARGET"}
    where = run(sys.executable, "-c", "import sophron; print(sophron.SNAKEFILE)", cwd=tmp_path, **environment)
    assert where.strip() == f"{installed['TARGET']}/sophron/workflow/Snakefile"
    run("sophron", "new", "viscosity", "my-melt", cwd=tmp_path, **environment)
    shown = run(sys.executable, "-m", "snakemake", "-n", "--profile", "local", cwd=tmp_path / "my-melt", **environment)
    assert re.search(r"^green_kubo +1$", shown, flags=re.MULTILINE)
    assert "37 steps" in run("sophron", "review", "my-melt", cwd=tmp_path, **environment)


PLANS = """
import os
import sys
import pytest
import toy
from sophron import SNAKEFILE, cli
print(SNAKEFILE, flush=True)
toy.plan_here(pytest.MonkeyPatch())
for name in sys.argv[1:]:
    if os.fork() == 0:
        sys.exit(cli.main(["review", name, "--digest"]))
    assert os.wait()[1] == 0, name
"""
"""Plans each campaign in a fork, by a dry run there: the test before this one starts a process for each."""


def test_the_shipped_campaigns_can_be_planned_from_the_wheel(installed, tmp_path):
    environment = {key: value for key, value in installed.items() if key != "TARGET"}
    environment["PYTHONPATH"] += f":{CHECKOUT / 'tests' / 'toy'}"
    campaigns = Path(installed["TARGET"]) / "sophron" / "campaigns"
    names = sorted(path.name for path in campaigns.iterdir())
    run("cp", "-R", *(str(campaigns / name) for name in names), ".", cwd=tmp_path)
    said = run(sys.executable, "-c", PLANS, *names, cwd=tmp_path, **environment)
    assert said.startswith(f"{installed['TARGET']}/")
    assert len(re.findall(r"^[0-9a-f]{64}$", said, flags=re.MULTILINE)) == len(names)


def test_a_contract_of_another_domain_works_from_the_wheel_and_hides_from_its_agents_code(installed, tmp_path):
    environment = {key: value for key, value in installed.items() if key != "TARGET"}
    assert "peak-fitting" in run("sophron", "build", "check", "peak-fitting", cwd=tmp_path, **environment)
    run("sophron", "build", "campaign", "peak-fitting", "my-agent", cwd=tmp_path, **environment)
    (tmp_path / "work").mkdir()
    program = f"""
import sys
from pathlib import Path
from sophron.interfaces.sandbox import Grant
from sophron.sandbox import mounts
from sophron.sandbox.select_backend import choose
place = Path({str(tmp_path)!r})
look = "from sophron.records.files import resource; print(*resource('contracts').iterdir(), resource('schemas').is_dir())"
granted = [*mounts.self_folders(), Path({installed["TARGET"]!r})]
grant = Grant(place / "work", read_only=granted, hidden=mounts.SELF_HIDDEN, env=mounts.self_environment())
choose(None).run([sys.executable, "-c", look], grant, stdout=place / "out", stderr=place / "err")
"""
    run(sys.executable, "-c", program, cwd=tmp_path, **environment)
    assert (tmp_path / "out").read_text() == "True\n", (tmp_path / "err").read_text()
