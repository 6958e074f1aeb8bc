"""What the design agent is told: everything that a draft needs, in few tokens, most of them the same from turn to turn."""

import json
from pathlib import Path

import pytest

import sophron.kinds
from sophron.agents.documents import model_request
from sophron.agents.gateway.backends.anthropic import request_body
from sophron.agents.supervisor import design_dialogue
from sophron.agents.tools import toolbox
from sophron.agents.tools.safe_open import OutsideError
from sophron.campaign.planning import campaign_agents
from sophron.campaign.scaffold import kind_catalogue
from sophron.campaign.scaffold.schema_outline import SchemaOutline
from sophron.interfaces.model_backend import Model
from sophron.records import documents, entry_points
from sophron.records.files import resource

MOST_TOKENS, BYTES_A_TOKEN = 15_000, 4
QUESTIONS = {
    "viscosity": "Viscosity of a Kremer-Grest melt of 50 chains of 20 beads, by Green-Kubo and by shear flow as in your example",
    "conductivity": "Thermal conductivity of SiC at 300 K with the Tersoff potential",
    "rietveld": "The cell edge of PbSO4 from a neutron powder pattern",
    "host_guest": "Binding free energies of guests of cucurbituril, as in SAMPL4",
    "sequence_bo": "Which sequence of a copolymer has the largest size, by Bayesian optimisation",
    "chain_conformation": "The radius of gyration of a chain of beads in a melt",
}


def sent(root):
    """The body as the service gets it, in the order in which it is read and cached: tools, system, messages."""
    agent = campaign_agents.find_agent(None, "design")
    request = model_request.request(agent, "design", design_dialogue.inputs(root), [toolbox.KIND_TOOL])
    body = request_body(request, Model("x", "anthropic", "x", 1), {})
    return json.dumps([body["tools"], body["system"], body["messages"]], ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_turn_is_small_and_most_of_it_is_that_of_the_turn_before(kind, tmp_path):
    dialogue = design_dialogue.dialogue(tmp_path)
    dialogue.begin(QUESTIONS[kind])
    first = sent(tmp_path)
    dialogue.add_answer(1, "At which pressure, and why? " * 40, "At 1 atm, since that is measured. " * 20)
    second = sent(tmp_path)
    for body in (first, second):
        assert len(body.encode()) < MOST_TOKENS * BYTES_A_TOKEN
        assert f"## Kind {kind}" in body
    common = next(end for end, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    assert common > 0.8 * len(second)


def test_the_constants_are_what_the_service_caches(tmp_path):
    design_dialogue.dialogue(tmp_path).begin(QUESTIONS["viscosity"])
    agent = campaign_agents.find_agent(None, "design")
    request = model_request.request(agent, "design", design_dialogue.inputs(tmp_path))
    assert "### Stage green_kubo" in request.system
    assert QUESTIONS["viscosity"] not in request.system
    (message,) = request.messages
    told = "".join(part.text for part in message.parts)
    assert QUESTIONS["viscosity"] in told
    assert "{{" not in request.system + told


def test_a_request_that_names_no_kind_gets_one_by_its_answers(tmp_path):
    dialogue = design_dialogue.dialogue(tmp_path)
    dialogue.begin("How does it flow?")
    assert design_dialogue.inputs(tmp_path)["nearest"] == design_dialogue.NO_KIND_IS_NEAR
    dialogue.add_answer(1, "What is to be computed?", QUESTIONS["viscosity"])
    assert "## Kind viscosity" in design_dialogue.inputs(tmp_path)["nearest"]


def test_every_key_of_a_kind_and_every_result_field_is_told():
    for name in entry_points.names("sophron.kinds"):
        for stage in entry_points.load("sophron.kinds", name).stages:
            text = toolbox.look_up_kind(f"{name}/{stage.name}")
            for part in ("definition", "result"):
                for key, about in documents.schema(stage.schema)["$defs"][part].get("properties", {}).items():
                    assert f"  {key}" in text
                    assert str(about.get("description", "")).strip().partition("; null")[0] in text


def test_the_tool_gives_kinds_and_examples_and_names_the_nearest_to_a_wrong_name():
    assert "## Kind rietveld" in toolbox.look_up_kind("rietveld")
    assert "kind: viscosity" in toolbox.look_up_kind("kg-melt-viscosity")
    with pytest.raises(OutsideError, match="viscosity"):
        toolbox.look_up_kind("viscosty")


def test_a_line_says_type_bounds_and_meaning():
    schema = {
        "required": ["a", "list"],
        "properties": {
            "a": {"type": "number", "exclusiveMinimum": 0, "maximum": 5, "description": "Length in sigma."},
            "b": {"enum": ["x", "y"]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/point"}},
            "again": {"$ref": "#/$defs/point"},
        },
    }
    defs = {"point": {"type": "object", "required": ["x"], "properties": {"x": {"type": ["number", "null"]}}}}
    assert list(SchemaOutline(defs).lines(schema)) == [
        "a: number > 0 <= 5; Length in sigma.",
        "b?: x|y",
        "list: list",
        "  each:",
        "    x: number or null",
        "again?:",
        "  (as point above)",
    ]
    brief = SchemaOutline(defs)
    brief.brief = True
    assert list(brief.lines(schema)) == ["a: number; Length in sigma.", "b?: x|y", "list: list", "again?:"]


def test_each_kind_says_what_it_computes():
    lines = dict(line.split(": ", 1) for line in kind_catalogue.kind_lines().splitlines())
    shipped = {path.parent.name for path in Path(sophron.kinds.__file__).parent.glob("*/kind.py")} - {
        "workflow",
        "task",
    }  # campaigns name their stages
    assert shipped
    assert not any(lines[name].startswith("no word") for name in shipped)


def test_no_description_is_cut_at_a_comma():
    """In YAML's short form an unquoted comma ends a description, and the rest becomes a key without a value."""

    def keys_of_nothing(part):
        if isinstance(part, dict):
            yield from (key for key, value in part.items() if value is None and key not in ("const", "default"))
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        for one in inner:
            yield from keys_of_nothing(one)

    for path in resource("schemas").rglob("*.schema.yaml"):
        assert list(keys_of_nothing(documents.load_yaml(path).data)) == [], path


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (
            "Viscosity of the Lennard-Jones liquid, Green-Kubo, then NVE: the result is for T = 0.722.",
            "lj-liquid-viscosity",
        ),
        ("LJ liquid viscosity at the triple point with a cut-off of 3.5 sigma, eight replicas", "lj-liquid-viscosity"),
        ("Zero-shear viscosity of a Kremer-Grest melt, with the cross-check by shear", "kg-melt-viscosity"),
        ("Conductivity of SiC with Tersoff's potential", "sic-conductivity"),
        ("The cell of lead sulfate from a powder pattern", "rietveld-pbso4"),
        ("Lennard-Jones dimers in the host as in your lj-dimer-apr example, binding free energy", "lj-dimer-apr"),
    ],
)
def test_the_example_shown_is_the_nearest(words, example):
    kind = kind_catalogue.nearest(words)[0]
    assert f"### Example {example}\n" in kind_catalogue.kind_text(kind, words)
