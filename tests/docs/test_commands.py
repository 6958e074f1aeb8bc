"""What the documentation tells a reader to type is typed: each command parses, and whole pages run from top to bottom."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pytest
from markdown_it import MarkdownIt

from sophron import cli

TOP = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(TOP).as_posix() for path in [TOP / "README.md", *(TOP / "docs").rglob("*.md")])
PROGRAMS = {
    "sophron",
    "snakemake",
    "make",
    "cd",
    "cp",
    "python",
    "pip",
    "apt",
    "dnf",
    "conda",
    "curl",
    "export",
    "$EDITOR",
}
SHELLS = {"", "bash", "sh", "console"}
DATA = TOP / "tests" / "data"
PROMPT = r"sha256 is ([0-9a-f]{12})[0-9a-f]*\. Type its first 12 digits: "
LEFT_OUT = {
    r"(pip|apt|dnf|conda) ": "needs a network",
    r"make (demo|test)": "is run whole by .ci/run",
    r".*\b(snakemake|run)\b.* --profile (slurm|pbs|lsf|dpdispatcher|parsl|globus)": "needs a queue",
    r"sophron trials (ladder|run|show)": "takes minutes; tests/debate/test_ladder.py runs it",
    r"sophron (rietveld|build) serve": "serves until it is ended",
    r"sophron build (rehearse|status|trail|release|token|retune)": "takes minutes; tests/agentbuild runs it",
    r"sophron mailbox (show|answer) ID": "needs a request that waits; tests/agents/test_mailbox.py answers one",
    r"sophron amend --set config\.": "needs a host that has the key; tests/campaign/test_host_config.py amends one",
    r"sophron design": "asks back; tests/cli/test_design.py leads the dialogue",
    r"sophron screen": "needs a finished campaign; tests/debate/test_screen_run.py runs it",
}


def commands(page: str) -> list[str]:
    """The shell commands of a page, in their order, each on one line, without comments."""
    return [line for block in _blocks((TOP / page).read_text()) for line in _lines(block)]


def _blocks(text: str) -> Iterator[str]:
    for token in MarkdownIt().parse(text):
        if token.type == "code_block" or (token.type == "fence" and token.info.strip() in SHELLS):
            yield token.content


def _lines(block: str) -> Iterator[str]:
    """The commands in a block, which may hold a spec, a listing or an entry point too."""
    rest = re.sub(r"\\\n\s*", "", block)
    while rest:
        line, _, rest = rest.partition("\n")
        if line.split(maxsplit=1)[:1] not in [[program] for program in PROGRAMS]:
            continue
        while rest and _open(line):  # a quoted text over several lines
            more, _, rest = rest.partition("\n")
            line += f"\n{more}"
        yield _without_comment(line)


def _open(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return True
    return False


def _without_comment(line: str) -> str:
    return re.sub(r"\s+#\s.*$", "", line).strip()


def sophron_commands() -> list[tuple[str, str]]:
    """(page, command) of each line that calls sophron."""
    return [(page, line) for page in PAGES for line in commands(page) if line.startswith("sophron ")]


def test_the_pages_have_commands():
    assert len(sophron_commands()) > 50


@pytest.mark.parametrize(("page", "line"), sophron_commands())
def test_each_command_of_sophron_is_one_that_its_verb_takes(page, line):
    verb, *words = shlex.split(re.split(r"&&|;|\|", line)[0])[1:]
    assert verb.replace("-", "_") in cli.verbs(), f"{page}: {line}"
    parser = cli._parser(verb, cli._module(verb.replace("-", "_")))
    parser.exit_on_error = False
    try:
        parser.parse_args(words)
    except SystemExit:
        pytest.fail(f"{page}: {line}")


SMOKE_EDITS = {  # the pages speak of an error, which wants four replicas
    "{id: replicas, expression": '{id: error, expression: "temperature_mean < 10", statement: "The number means nothing."}\n      - {id: replicas, expression',
    "replicas: 2,": "replicas: 4,",
}


def small_campaign(folder: Path) -> None:
    """Edit the new campaign as the page says: a short one, its assumptions verified."""
    own = folder / "campaign.yaml"
    name = re.search(r"^campaign: .*$", own.read_text(), flags=re.MULTILINE)[0]
    text = (DATA / "smoke" / "campaign.yaml").read_text()
    for old, new in SMOKE_EDITS.items():
        assert old in text
        text = text.replace(old, new)
    own.write_text(re.sub(r"^campaign: .*$", name, text, flags=re.MULTILINE))


def small_melt(folder: Path) -> None:
    """Edit my-melt."""
    small_campaign(folder / "my-melt")


def with_small_campaign(folder: Path) -> None:
    """Begin where a campaign is already."""
    subprocess.run(["sophron", "new", "viscosity", "my-melt"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    small_melt(folder)


def with_keys_of_others(folder: Path) -> None:
    """Begin with a campaign and two public keys in it: of a colleague, and a lost one."""
    with_small_campaign(folder)
    for name in ("maria", "lost"):
        _make_key(folder / "my-melt" / name)


def with_two_campaigns(folder: Path) -> None:
    """Begin with a campaign, and another one of host_guest."""
    with_small_campaign(folder)
    subprocess.run(["sophron", "new", "host_guest", "my-binding"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _blocks_of(page: str, language: str) -> list[str]:
    return [token.content for token in MarkdownIt().parse((TOP / page).read_text()) if token.info == language]


def small_liquid(folder: Path) -> None:
    """Edit the campaign, and make the Snakefile what the page says."""
    small_campaign(folder / "liquid")
    (snakefile,) = _blocks_of("docs/how-to/reuse.md", "python")
    (folder / "Snakefile").write_text(snakefile)


def with_own_rules(folder: Path) -> None:
    """Add to the campaign what the page says, once; a campaign as short as this one finds no viscosity."""
    spec = folder / "liquid" / "campaign.yaml"
    text = spec.read_text()
    if "workflow:" not in text:
        workflow, stage = _blocks_of("docs/how-to/reuse.md", "yaml")
        stage = stage.replace("result/viscosity", "result/temperature_mean")
        spec.write_text(text.replace("\nlimits:", f"\n{stage}limits:") + workflow)


OWN_WORKFLOW = """\
rule all:
    input:
        "out/words.txt",


rule count:
    output:
        "out/words.txt",
    shell:
        "echo 7 > {output}"
"""


def with_a_workflow(folder: Path) -> None:
    """Begin with a workflow that runs."""
    (folder / "my-workflow").mkdir()
    (folder / "my-workflow" / "Snakefile").write_text(OWN_WORKFLOW)


def verified(folder: Path) -> None:
    """Stand for the stages that adopt wrote."""
    spec = folder / "my-workflow" / "campaign" / "campaign.yaml"
    spec.write_text(spec.read_text().replace("UNVERIFIED", "verified"))


def with_another_rule(folder: Path) -> None:
    """Edit the workflow that was signed."""
    path = folder / "my-workflow" / "Snakefile"
    path.write_text(path.read_text().replace("echo 7", "echo 8"))


@dataclass(frozen=True)
class Page:
    """How a reader goes through a page.

    before: what is there when it begins; inside: the folder that its commands are typed in; edits: after a command,
    what its prose asks for; smaller: numbers in commands that would take hours.
    """

    before: Callable[[Path], None] = lambda folder: None
    inside: str = "."
    edits: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    smaller: Mapping[str, str] = field(default_factory=dict)


SMALL = Page(with_small_campaign)
WALKS = {
    "README.md": Page(edits={"sophron new viscosity my-melt": small_melt}),
    "docs/tutorial.md": Page(edits={"sophron new viscosity my-melt": small_melt}, smaller={"600000": "2400"}),
    "docs/how-to/agents.md": Page(with_two_campaigns),
    "docs/how-to/build-an-agent.md": Page(),
    "docs/how-to/gate-your-workflow.md": Page(
        with_a_workflow,
        edits={"sophron adopt --write": verified, "sophron approve --key ~/.ssh/id_ed25519": with_another_rule},
    ),
    "docs/how-to/host-guest.md": Page(),
    "docs/how-to/lsf.md": SMALL,
    "docs/how-to/pbs.md": SMALL,
    "docs/how-to/profiles.md": Page(),
    "docs/how-to/reuse.md": Page(
        edits={"sophron new viscosity liquid": small_liquid, "snakemake --cores 2": with_own_rules},
    ),
    "docs/how-to/run-with-dpdispatcher.md": Page(),
    "docs/how-to/run-with-globus-compute.md": Page(),
    "docs/how-to/run-with-parsl.md": Page(),
    "docs/how-to/sandbox.md": Page(),
    "docs/how-to/sign-and-amend.md": Page(with_keys_of_others, inside="my-melt"),
    "docs/how-to/slurm.md": SMALL,
}


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKS)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    walk = WALKS[page]
    _reader(tmp_path, monkeypatch)
    walk.before(tmp_path)
    folder = tmp_path / walk.inside
    for line in commands(page):
        if any(re.match(pattern, line) for pattern in LEFT_OUT):
            continue
        folder, code, said = _type(re.sub(r"\d+", lambda number: walk.smaller.get(number[0], number[0]), line), folder)
        assert code == 0, f"{page}: {line}\n{said}"
        walk.edits.get(line, lambda folder: None)(tmp_path)


def _reader(home: Path, monkeypatch) -> None:
    """A person with a home, a key and no configuration."""
    (home / ".ssh").mkdir()
    _make_key(home / ".ssh" / "id_ed25519")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "SNAKEMAKE_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def _make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def _type(line: str, folder: Path) -> tuple[Path, int, str]:
    """Type a line in a terminal, and the digits that approve asks for; the folder after it, the exit code, the output."""
    script = f"{line}\ncode=$?; printf '\\nfolder=%s\\n' \"$PWD\"; exit $code"
    said, size = "", (50, 400)  # no line is wrapped
    terminal = pexpect.spawn("bash", ["-c", script], cwd=str(folder), encoding="utf-8", timeout=300, dimensions=size)
    while terminal.expect([PROMPT, pexpect.EOF]) == 0:
        said += terminal.before
        terminal.sendline(terminal.match[1])
    said += terminal.before
    terminal.close()
    (*_, place) = re.findall(r"^folder=(.*?)\r?$", said, flags=re.MULTILINE)
    return Path(place), terminal.exitstatus, said
