"""The spec: what is checked when it is read, what its digests depend on, and what they do not."""

import keyword
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sophron.campaign.spec import criteria, spec
from sophron.records.errors import UserError
from sophron.records.files import resource

DATA = Path(__file__).parent.parent / "data"
SMOKE = (DATA / "smoke" / "campaign.yaml").read_text()
TOY = (DATA / "arithmetic" / "campaign.yaml").read_text()
STAGES = ["build", "relax", "equilibrate", "produce", "green_kubo"]


def load(tmp_path, text):
    path = tmp_path / "campaign.yaml"
    path.write_text(text)
    return spec.load(path)


def changed(old, new, text=SMOKE):
    assert old in text, old
    return text.replace(old, new, 1)


def digests(found):
    return {
        **{f"definition {stage.name}": found.definition_digest(stage.name) for stage in found.stages},
        **{f"criteria {stage.name}": found.criteria_digest(stage.name) for stage in found.stages},
        "report": found.report_digest(),
    }


def touched(tmp_path, text, before=SMOKE):
    """Names of the digests that differ between two specs, and whether the whole spec's does."""
    (tmp_path / "old").mkdir()
    old, new = load(tmp_path / "old", before), load(tmp_path, text)
    first, second = digests(old), digests(new)
    return {name for name in first if first[name] != second[name]}, old.digest != new.digest


def fault(tmp_path, text):
    with pytest.raises(UserError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(f"{tmp_path}/campaign.yaml:")
    return message.removeprefix(f"{tmp_path}/campaign.yaml:")


def line_of(part, text=SMOKE):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_good_spec_is_read_with_its_kind(tmp_path):
    found = load(tmp_path, SMOKE)
    assert (found.campaign, found.version, found.kind.name) == ("smoke-viscosity", 1, "viscosity")
    assert [stage.name for stage in found.stages] == STAGES
    assert found.steps("produce") == [{"replica": "0"}, {"replica": "1"}]
    assert found.steps("green_kubo") == [{}]
    assert found.descendants(["equilibrate"]) == ["equilibrate", "produce", "green_kubo"]
    assert found.unverified() == []
    assert found.definition("build")["atoms"] == 108
    assert [item.id for item in found.criteria("produce")] == ["samples", "temperature"]
    assert found.mechanical("relax").ceiling_memory_mb == 2000
    with pytest.raises(UserError, match='there is no stage "shear"; this campaign has build, relax'):
        found.stage("shear")


def test_what_nobody_verified_is_named(tmp_path):
    assert load(tmp_path, changed("status: verified", "status: UNVERIFIED")).unverified() == ["equilibrium"]


def test_seeds_are_distinct_fixed_and_what_lammps_takes(tmp_path):
    found = load(tmp_path, SMOKE)
    seeds = [found.seed(stage, {"replica": str(replica)}) for stage in STAGES for replica in range(200)]
    assert len(set(seeds)) == len(seeds)
    assert all(1 <= seed <= 900_000_000 for seed in seeds)
    assert found.seed("build", {"replica": "0"}) == load(tmp_path, "# other layout\n" + SMOKE).seed(
        "build", {"replica": "0"}
    )
    other = load(tmp_path, changed("seed: 2026", "seed: 2027"))
    assert other.seed("build", {"replica": "0"}) != found.seed("build", {"replica": "0"})


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n\n" + SMOKE.replace("  build:", "  build:   # the start") + "# the end\n",
        SMOKE.replace("\n", "\r\n"),
        changed("atoms: 108\n", "atoms: 108.0\n"),
        changed("damping: 0.5", "damping: 5.0e-1"),
        changed("kind: viscosity", '"kind": "viscosity"'),
        yaml.safe_dump(yaml.safe_load(SMOKE.replace("1e-6", "1e-6")), sort_keys=True),
        changed("depends_on: [build]", "depends_on:\n      - build"),
    ],
)
def test_comments_layout_and_the_order_of_keys_change_no_digest(tmp_path, text):
    assert touched(tmp_path, text) == (set(), False)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("density: 0.8442\n", "density: 0.85\n", {"definition build", "criteria build"}),
        ("steps: 2000", "steps: 2005", {"definition produce", "criteria produce"}),
        ("damping: 0.5", "damping: 0.6", {"definition equilibrate"}),
        ("replicas: 2,", "replicas: 3,", {"definition green_kubo", "criteria green_kubo"}),
        ("atoms == definition.atoms", "atoms == 109", {"criteria build"}),
        ("All atoms are there.", "All of them.", {"criteria build"}),
        ("quantity: shear viscosity", "quantity: zero-rate shear viscosity", {"report"}),
        ("name: Green-Kubo", "name: Green and Kubo", {"report"}),
        ("choices: {threads: [1, 2]}", "choices: {threads: [1]}", set()),
        ("memory_mb: 500", "memory_mb: 600", set()),
        ("retries: 2", "retries: 3", set()),
        ("runtime_min: 30", "runtime_min: 60", set()),
        ("core_hours: 1000", "core_hours: 2000", set()),
        ("version: 1", "version: 2", set()),
    ],
)
def test_a_change_touches_the_digests_it_should_and_no_other(tmp_path, old, new, wanted):
    assert touched(tmp_path, changed(old, new)) == (wanted, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [("damping: 0.5", "damping: 0.6"), ("temperature: 0.722}\nmethod", "temperature: 0.723}\nmethod")],
)
def test_a_verdict_goes_stale_with_a_number_of_another_place_that_its_criteria_name(tmp_path, old, new):
    named = "abs(temperature_mean - equilibrate.definition.damping - question.conditions.temperature) < 0.2"
    before = changed("abs(temperature_mean - equilibrate.definition.temperature) < 0.2", named)
    assert "criteria produce" in touched(tmp_path, changed(old, new, before), before)[0]


def test_only_what_a_stage_builds_on_may_be_named(tmp_path):
    text = changed("replicas == definition.replicas", "replicas == build.definition.chain_length + 1")
    assert load(tmp_path, text).constants("green_kubo")["build.definition.model.cutoff"] == 2.3
    text = changed("atoms == definition.atoms", "atoms == produce.definition.steps")
    assert 'no signed number "produce.definition.steps"' in fault(tmp_path, text)


KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True).filter(lambda key: not keyword.iskeyword(key))
VALUES = st.recursive(
    st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_number_of_a_definition_has_a_name_that_a_criterion_can_use(definition):
    named = {name: value for name, value in spec.dotted("definition", definition).items() if name != "definition"}
    numbers = {name: value for name, value in named.items() if isinstance(value, int | float)}
    for name, value in numbers.items():
        expression = f"x == {name}"
        criteria.check(expression, {"properties": {"x": {"type": "number"}}}, named)
        assert criteria.evaluate(expression, {"x": value, **named}).passed
        python = expression.removeprefix("x == ").replace("definition", "box.definition")
        assert eval(python, {"box": _Box({"definition": definition})}) == value


class _Box:
    """Nested mappings as attributes, as Python itself reads such a name."""

    def __init__(self, content):
        self.content = content

    def __len__(self):
        return len(self.content)

    def __getitem__(self, place):
        return _boxed(self.content[place])

    def __getattr__(self, key):
        return _boxed(self.content[key])


def _boxed(value):
    return _Box(value) if isinstance(value, dict | list) else value


SHIPPED = sorted(resource("campaigns").glob("*/campaign.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_the_criteria_of_a_shipped_campaign_name_what_is_there(path):
    found = spec.load(path)
    for stage in found.stages:
        constants = found.constants(stage.name)
        for criterion in found.criteria(stage.name):
            names = {name for name in criteria.names_of(criteria.parse(criterion.expression)) if "." in name}
            assert all(isinstance(constants[name], int | float) for name in names)


def test_all_shipped_campaigns_are_looked_at():
    assert len(SHIPPED) == 21


def test_the_seed_is_part_of_every_definition(tmp_path):
    assert touched(tmp_path, changed("seed: 2026", "seed: 2027"))[0] == {f"definition {stage}" for stage in STAGES}


def test_the_order_in_which_ancestors_are_listed_means_nothing(tmp_path):
    assert "depends_on: [c, e]" in TOY
    assert touched(tmp_path, changed("depends_on: [c, e]", "depends_on: [e, c]", TOY), TOY)[0] == set()


def test_definitions_of_two_stages_are_never_one_even_where_they_look_alike(tmp_path):
    found = digests(load(tmp_path, SMOKE))
    assert len(set(found.values())) == len(found)


BUILD, RELAX = line_of("  build:"), line_of("  relax:")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: viscosity",
            "kind: viscosty",
            '4: kind: "viscosty" is not installed in the registry sophron.kinds; did you mean',
        ),
        ("kind: viscosity", 'kind: "viscosity\\n"', '4: kind: "viscosity\\n" does not have the form'),
        ("campaign: smoke-viscosity", "campaign: Smoke", '2: campaign: "Smoke" does not have the form'),
        ("campaign: smoke-viscosity", 'campaign: "x\\n"', "2: campaign: "),
        ("version: 1", "version: 0", "3: version: 0 is below the least allowed value 1"),
        ("version: 1", "version: 1e300", "3: version: 1e+300 is not of type integer"),
        ("version: 1", "vresion: 1", '3: vresion: unknown key; did you mean "version"?'),
        ("version: 1\n", "", '2: the key "version" is missing; add it'),
        (
            "  relax:",
            "  relaxx:",
            f"{RELAX}: stages.relaxx: the kind viscosity has no such stage; known are build, relax",
        ),
        (
            "depends_on: [build]",
            "depends_on: []",
            f"{RELAX + 1}: stages.relax.depends_on: in the kind viscosity this stage depends",
        ),
        ("depends_on: [build]", "depends_on: [build, produce]", f"{RELAX + 1}: stages.relax.depends_on: in the kind"),
        ("depends_on: []", "depends_on: [green_kubo]", f"{BUILD + 1}: stages.build.depends_on: in the kind"),
        (
            "      atoms: 108",
            "      atom: 108",
            f'{BUILD + 3}: stages.build.definition.atom: unknown key; did you mean "atoms"?',
        ),
        ("      atoms: 108", "      atoms: 31", f"{BUILD + 3}: stages.build.definition.atoms: 31 is below the least"),
        ("pair: lj", "pair: eam", f'{BUILD + 6}: stages.build.definition.model.pair: "eam" is not one of lj'),
        (
            "atoms == definition.atoms",
            "atom == definition.atoms",
            f'{BUILD + 8}: stages.build.criteria[0].expression: the result has no "atom"; did you mean',
        ),
        (
            "atoms == definition.atoms",
            "model == 108",
            f'{BUILD + 8}: stages.build.criteria[0].expression: "model" is not a number',
        ),
        (
            "atoms == definition.atoms",
            "open(atoms)",
            f"{BUILD + 8}: stages.build.criteria[0].expression: only abs, sqrt",
        ),
        (
            "{id: density, ",
            "{id: atoms, ",
            f'{BUILD + 9}: stages.build.criteria[1].expression: the id "atoms" stands here twice',
        ),
        (
            "ranks: 1, ",
            "ranks: 3, ",
            f"{BUILD + 10}: stages.build.mechanical.ceilings.cores: the stage may ask for 6, above",
        ),
        (
            "status: verified",
            "status: checked",
            '16: method.assumptions[0].status: "checked" is not one of verified, UNVERIFIED',
        ),
        ("limits: {", "limits: {step: 100, ", 'limits.step: unknown key; did you mean "steps"?'),
        ("core_hours: 1000", "core_hours: .nan", ".nan is not a number that can be compared"),
        ("seed: 2026", "seed: -1", "seed: -1 is below the least allowed value 0"),
        ("seed: 2026", "seed: 2026\nseed: 2027", 'the key "seed" stands here twice'),
    ],
)
def test_a_fault_is_one_sentence_with_line_and_key(tmp_path, old, new, message):
    assert message in fault(tmp_path, changed(old, new))


@pytest.mark.parametrize("stage", STAGES)
def test_no_stage_of_the_kind_may_be_missing(tmp_path, stage):
    lines = SMOKE.splitlines(keepends=True)
    starts = [line_of(f"  {name}:") - 1 for name in STAGES] + [line_of("limits:") - 1]
    begin, end = next(pair for pair in pairwise(starts) if pair[0] == line_of(f"  {stage}:") - 1)
    message = fault(tmp_path, "".join(lines[:begin] + lines[end:]))
    assert f'the stage "{stage}" is missing' in message


@pytest.mark.parametrize("text", ["[]", "- a", "text", "1", "~"])
def test_what_is_no_campaign_at_all_says_how_to_begin(tmp_path, text):
    assert "sophron new" in fault(tmp_path, text)


def test_a_missing_spec_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"campaign.yaml: there is no such file"):
        spec.load(tmp_path / "campaign.yaml")
