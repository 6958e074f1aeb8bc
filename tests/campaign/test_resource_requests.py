"""Mechanical blocks and overlays: only signed choices, never above a ceiling, and each fault one sentence."""

from pathlib import Path

import pytest

from sophron.campaign.spec.resource_requests import (
    Mechanical,
    check_mechanical,
    chosen_amounts,
    most_chosen,
    overlaid,
    reservation_lines,
)
from sophron.records import OVERLAYS_NAME, documents
from sophron.records.errors import UserError

BLOCK = {
    "memory_mb": 500,
    "runtime_min": 10,
    "ranks": 2,
    "threads": 1,
    "retries": 2,
    "choices": {"threads": [1, 2], "ranks": [1, 2, 4], "accelerator": ["none", "omp"], "memory_mb": [500, 900]},
    "ceilings": {"cores": 8, "memory_mb": 1200, "runtime_min": 25},
}


def overlay(key, value, stage="build"):
    value = value if isinstance(value, str) else repr(value)
    return f"- {{stage: {stage}, key: {key}, value: {value}, by: kim, timestamp: now, reason: faster}}\n"


def write(root, *overlays):
    (root / OVERLAYS_NAME).write_text("".join(overlays))


def test_a_try_grows_up_to_its_ceiling():
    mechanical = Mechanical.of(BLOCK)
    assert [mechanical.memory_at(attempt) for attempt in (1, 2, 3)] == [500, 1000, 1200]
    assert [mechanical.runtime_at(attempt) for attempt in (1, 2, 3)] == [10, 20, 25]
    assert mechanical.cores == 2
    assert mechanical.core_hours() == pytest.approx(8 * 25 / 60 * 3)


def test_retries_are_a_choice_that_counts_in_the_bound(tmp_path):
    block = BLOCK | {"choices": BLOCK["choices"] | {"retries": [4]}}
    assert Mechanical.of(block).retries == 2
    assert Mechanical.of(block).core_hours() == pytest.approx(8 * 25 / 60 * 5)
    write(tmp_path, overlay("retries", 4))
    assert overlaid(block, "build", tmp_path).retries == 4
    assert chosen_amounts(tmp_path, "build", block) == {"retries": 4}
    assert "retries" not in most_chosen(block)  # which is about what one try reserves


def test_the_last_overlay_of_a_key_counts_and_other_stages_do_not(tmp_path):
    assert overlaid(BLOCK, "build", tmp_path) == Mechanical.of(BLOCK)
    write(tmp_path, overlay("threads", 2), overlay("ranks", 1), overlay("ranks", 4), overlay("threads", 1, "relax"))
    found = overlaid(BLOCK, "build", tmp_path)
    assert (found.threads, found.ranks, found.memory_mb, found.cores) == (2, 4, 500, 8)
    write(tmp_path, overlay("accelerator", "omp"))
    assert overlaid(BLOCK, "build", tmp_path).accelerator == "omp"


@pytest.mark.parametrize(
    ("key", "value"),
    [("threads", 3), ("threads", "true"), ("threads", "'1'"), ("memory_mb", 901), ("runtime_min", 11),
     ("accelerator", "gpu"), ("accelerator", "'; rm -rf /'"), ("ranks", 0), ("ranks", -1), ("ranks", "1.5")],
)  # fmt: skip
def test_a_value_that_was_never_signed_is_refused_with_its_line(tmp_path, key, value):
    write(tmp_path, overlay("ranks", 4), overlay(key, value))
    with pytest.raises(UserError) as caught:
        overlaid(BLOCK, "build", tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / OVERLAYS_NAME}:2: [1].value: ")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("key", ["unsandboxed_fragments", "ceiling_cores", "choices", "definition"])
def test_nothing_else_can_be_overlaid(tmp_path, key):
    write(tmp_path, overlay(key, 1))
    with pytest.raises(UserError, match=rf"{OVERLAYS_NAME}:1: \[0\].key: .* is not one of ranks, threads"):
        overlaid(BLOCK, "build", tmp_path)


@pytest.mark.parametrize("text", ["", "a: 1", "- 1", "- {stage: build}", "\x00", "- [}"])
def test_a_log_that_is_none_is_refused(tmp_path, text):
    (tmp_path / OVERLAYS_NAME).write_text(text)
    with pytest.raises(UserError, match=f"{OVERLAYS_NAME}:1:"):
        overlaid(BLOCK, "build", tmp_path)


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        ({"ranks": 9}, "cores", 18),
        ({"choices": {"ranks": [1, 4], "threads": [3]}}, "cores", 12),
        ({"memory_mb": 1201}, "memory_mb", 1201),
        ({"choices": {"memory_mb": [5000]}}, "memory_mb", 5000),
        ({"runtime_min": 26}, "runtime_min", 26),
        ({"choices": {"runtime_min": [60]}}, "runtime_min", 60),
    ],
)
def test_no_block_and_no_choice_goes_above_a_ceiling(change, name, value):
    data = {"stages": {"build": {"mechanical": BLOCK | change}}}
    document = documents.Document(data, Path("campaign.yaml"), {("stages", "build", "mechanical", "ceilings", name): 7})
    with pytest.raises(UserError) as caught:
        check_mechanical(document, ["stages", "build", "mechanical"])
    assert str(caught.value).startswith(f"campaign.yaml:7: stages.build.mechanical.ceilings.{name}: ")
    assert str(value) in str(caught.value)
    document = documents.Document({"stages": {"build": {"mechanical": BLOCK}}}, Path("campaign.yaml"))
    check_mechanical(document, ["stages", "build", "mechanical"])


def test_a_further_try_may_have_more_until_the_last_one_or_the_ceiling():
    shape = Mechanical.of(BLOCK)
    assert shape.may_grow(500, 10) == {"memory", "time"}
    assert shape.may_grow(1000, 25) == {"memory"}
    assert shape.may_grow(1200, 25) == set()
    assert Mechanical.of(BLOCK | {"retries": 0}).may_grow(500, 10) == set()


def test_the_review_says_what_minutes_and_memory_mean_for_an_engine():
    blocks = [BLOCK | {"runtime_min": 1}, BLOCK | {"runtime_min": 5}]
    time, memory = reservation_lines(map(Mechanical.of, blocks))
    assert "30 s of 1 min, 180 s of 5 min, 1,350 s of 25 min" in time
    assert "without a queue a plain step may take more" in memory
    assert reservation_lines([]) == []
