"""The trail of a build: gathered, as W3C PROV, as an RO-Crate that others read, and after a retune."""

import io
import json
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from urllib.response import addinfourl

import pytest
import rocrate
import toy_build
from prov.model import ProvDocument
from rocrate.rocrate import ROCrate
from scripted import Rounds, ScriptedAgents, toy_contract

from sophron.agentbuild.release import package, provenance, trail
from sophron.kinds.agent_build import contract_campaign
from sophron.records.digests import file_digest
from sophron.records.errors import UserError

NEW = {"backend": "anthropic", "model": "claude-haiku"}


@pytest.fixture
def build(tmp_path):
    """The trail of a finished build."""
    return toy_build.make(tmp_path / "build")


@pytest.fixture
def crate(build):
    """The folder of the crate of a released agent."""
    made = package.release(build, "v1.0")
    return provenance.write_crate(trail.load(build), made)


def tuned(build, **about):
    """The trail after a retune whose rerun is a build in the form that the loop leaves."""
    models = toy_build.MODELS | {"agent": NEW}
    course = ({"small": {"D1": 4, "T1": 4}, "large": {"D1": 4, "T1": 4}},)
    agent = toy_build.AUD | {"helpers/checks.py": "LARGEST = 12\n"} | about.pop("agent", {})
    source = toy_build.source(build.with_name("rerun"), models=models, course=course, agent=agent)
    return contract_campaign.retune(build, NEW, lambda handles: source if handles == models else None)


def test_a_build_becomes_a_trail(build):
    found = trail.load(build)
    (entry,) = found.entries
    assert found.content.agent == "toy-sums"
    assert found.contract.authors == ("alex", "kim")
    assert found.contract.rubric.thresholds == {"D1": 3, "T1": 2}
    assert entry.tools == {"sophron": "0.1.0", "abacus": "7"}
    assert entry.inventory == ("abacus__add",)
    first, second = entry.iterations
    assert (first.diff, first.parent) == (None, None)
    assert second.diff.status == "applied"
    assert (build / second.diff.file).read_text() == toy_build.DIFF
    assert second.ended == "2026-11-22T02:00:00+00:00"
    assert [one.file for one in second.cases[0].transcripts] == [
        "entries/1/iterations/2/judge/large.json",
        "entries/1/iterations/2/audits/score-2-large-1.jsonl",
    ]
    assert trail.misses(found.contract, first) == ["small has D1 1 (least 3)"]
    assert not trail.misses(found.contract, second)


def test_the_knowledge_base_is_named_and_nowhere_copied(build, crate):
    assert "contract/knowledge/adding.md" in trail.load(build).contract.files
    for path in (path for path in build.rglob("*") if path.is_file()):
        assert b"only the producer" not in path.read_bytes(), path


def test_a_contract_that_was_changed_after_the_build_is_found(build, tmp_path):
    source = toy_build.source(tmp_path / "other")
    (source.contract / "rubric.yaml").write_text("title: easier\n")
    with pytest.raises(UserError, match="is not the contract of"):
        trail.begin(tmp_path / "trail", source)


def test_the_pictures_that_a_judge_was_shown_are_transcripts_too(tmp_path):
    source = toy_build.source(tmp_path / "records")
    shown = source.records / "records" / "score-2-small-1" / "pictures" / ("a" * 64)
    shown.parent.mkdir()
    shown.write_bytes(b"a picture")
    found = trail.begin(tmp_path / "trail", source)
    (small,) = (one for one in found.last.cases if one.case == "small")
    kept = small.transcripts[-1]
    assert kept.file == f"entries/1/iterations/2/audits/score-2-small-1/{'a' * 64}"
    assert (tmp_path / "trail" / kept.file).read_bytes() == b"a picture"


def test_a_change_that_was_rolled_back_is_in_the_trail_and_no_release_rests_on_it(tmp_path):
    frozen = "--- /dev/null\n+++ b/rubric.yaml\n@@ -0,0 +1 @@\n+title: mine\n"
    made = toy_contract(tmp_path / "numbers")
    rounds = Rounds(tmp_path / "rounds", made, ScriptedAgents([frozen]), 2)
    rounds.run()
    found = trail.begin(tmp_path / "trail", rounds.source(tmp_path / "build"))
    last = found.entries[0].iterations[-1]
    assert (last.active, last.diff.status) == ((), "rolled_back")
    assert trail.misses(found.contract, last) == ["no case was run"]
    with pytest.raises(UserError, match="does not pass P-strict"):
        package.release(tmp_path / "trail", "v1.0")


def test_prov_covers_what_the_paper_asks_for(build):
    document = provenance.prov_document(trail.load(build))
    assert ProvDocument.deserialize(content=document.serialize(format="json"), format="json") == document
    found = provenance.prov_json(trail.load(build))
    entities, agents = found["entity"], found["agent"]
    assert entities["b:rubric"]["s:version"] == "1.2.0"
    assert entities["b:curriculum"]["s:sha256"] == file_digest(build / "contract" / "curriculum.yaml")
    assert entities["b:entries/1/iterations/2/diff"]["s:status"] == "applied"
    assert "b:entries/1/iterations/2/judge/small.json" in entities
    assert "b:entries/1/iterations/2/audits/score-2-small-1.jsonl" in entities
    assert agents["b:1-model-optimize"]["s:backend"] == "heuristic"
    assert agents["b:1-tool-abacus"]["s:version"] == "7"
    derived = {(one["prov:generatedEntity"], one["prov:usedEntity"]) for one in found["wasDerivedFrom"].values()}
    assert ("b:1-agent-2", "b:1-agent-1") in derived


def test_the_crate_stands_on_its_own(crate):
    read = ROCrate(crate)
    parts = {entity.id for entity in read.root_dataset["hasPart"]}
    assert {
        "contract/rubric.yaml",
        "contract/curriculum.yaml",
        "entries/1/iterations/2/diff",
        "entries/1/iterations/2/judge/large.json",
        "entries/1/iterations/2/audits/score-2-large-1.jsonl",
        "prov.json",
        "toy-sums-v1.0.tar",
    } <= parts
    assert read.dereference("contract/rubric.yaml")["version"] == "1.2.0"
    for part in parts:
        assert file_digest(crate / part) == read.dereference(part)["sha256"]
    there = {path.relative_to(crate).as_posix() for path in crate.rglob("*") if path.is_file()}
    assert there == parts | {"ro-crate-metadata.json"}
    authors = {entity["name"] for entity in read.root_dataset["author"]}
    assert authors == {"alex", "kim"}


@pytest.fixture
def offline(monkeypatch):
    """The context of RO-Crate 1.3 stands in for that of 1.1, which no package carries; its terms are all in it."""
    pytest.importorskip("rocrate_validator", reason="no roc-validator")
    import rdflib.parser
    from rocrate_validator.utils.http import HttpRequester

    context = (Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld").read_bytes()
    headers = Message()
    headers["Content-Type"] = "application/ld+json"

    def opened(request):
        assert request.full_url == "https://w3id.org/ro/crate/1.1/context"
        return addinfourl(io.BytesIO(context), headers, request.full_url, 200)

    def got(_, url, **__):
        assert url == "https://w3id.org/ro/crate/1.1/context"
        return SimpleNamespace(
            status_code=200, headers=headers, json=lambda: json.loads(context), text=context.decode()
        )

    monkeypatch.setattr(rdflib.parser, "_urlopen", opened)
    monkeypatch.setattr(HttpRequester, "get", got, raising=False)


def issues(folder: Path) -> list[str]:
    """What speaks against a crate as a Process Run Crate, and as an RO-Crate, which that is."""
    from rocrate_validator import services
    from rocrate_validator.models import Severity, ValidationSettings

    settings = ValidationSettings(
        rocrate_uri=folder,
        profile_identifier="process-run-crate",
        requirement_severity=Severity.REQUIRED,
    )
    return [str(issue.message) for issue in services.validate(settings).get_issues()]


def test_the_validator_finds_nothing(crate, offline):
    assert issues(crate) == []


def test_the_validator_finds_something_where_there_is_something(crate, offline):
    path = crate / "ro-crate-metadata.json"
    data = json.loads(path.read_text())
    data["@graph"][1].pop("datePublished")
    path.write_text(json.dumps(data))
    assert issues(crate)


def test_a_retune_is_one_entry_and_the_endpoint_stays(build):
    before, first = trail.load(build), package.release(build, "v1.0")
    earlier = provenance.prov_json(before)
    files = {path: path.read_bytes() for path in build.rglob("*") if path.is_file() and path.name != trail.NAME}
    after = tuned(build)
    assert after.entries[:-1] == before.entries
    assert after.entries[-1].kind == "retune"
    assert after.entries[-1].models["agent"] == NEW
    assert after.contract == before.contract
    assert {path: path.read_bytes() for path in files} == files
    second = package.release(build, "v2.0")
    assert second.manifest.aud != first.manifest.aud
    assert second.manifest.contract == first.manifest.contract
    endpoints = [made.folder / package.ENDPOINT_NAME for made in (first, second)]
    assert endpoints[0].read_bytes() == endpoints[1].read_bytes()
    cards = [package.agent_card(made.endpoint.card, made.manifest.tag, "http://x") for made in (first, second)]
    assert {key for key in cards[0] if cards[0][key] != cards[1][key]} == {"version"}
    later = provenance.prov_json(after)
    for kind, records in earlier.items():
        if kind not in ("prefix", "wasGeneratedBy", "used", "wasAssociatedWith", "hadMember", "wasDerivedFrom"):
            assert records.items() <= later[kind].items()
    new = {name for kind in ("entity", "activity", "agent") for name in later[kind].keys() - earlier[kind].keys()}
    assert all(name.startswith(("b:2-", "b:entries/2/")) for name in new)


def test_a_retune_keeps_what_callers_rely_on(build):
    package.release(build, "v1.0")
    other = toy_build.AGENT.replace("A remark that is handed back.", "A remark that is thrown away.")
    before = (build / trail.NAME).read_bytes()
    with pytest.raises(UserError, match="nothing that callers rely on"):
        tuned(build, agent={"agent.md": other})
    assert (build / trail.NAME).read_bytes() == before


def test_a_retune_keeps_the_contract(build):
    models = toy_build.MODELS | {"agent": NEW}
    with pytest.MonkeyPatch.context() as patch:
        easier = toy_build.CONTRACT["rubric.yaml"].replace("pass: 3", "pass: 1")
        patch.setitem(toy_build.CONTRACT, "rubric.yaml", easier)
        source = toy_build.source(build.with_name("rerun"), models=models)
    with pytest.raises(UserError, match=r"differs from the contract of .* in contract/rubric\.yaml"):
        contract_campaign.retune(build, NEW, lambda _: source)


def test_a_retune_asks_the_model_that_it_names(build):
    with pytest.raises(UserError, match="was built for heuristic already"):
        contract_campaign.retune(build, toy_build.HEURISTIC, lambda _: None)
    source = toy_build.source(build.with_name("rerun"))
    with pytest.raises(UserError, match="agent was heuristic, a retune asks anthropic claude-haiku"):
        contract_campaign.retune(build, NEW, lambda _: source)
