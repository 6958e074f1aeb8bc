"""One compute step: its outcome, its tries, what it never computes twice, and how it fails."""

import errno
import json
import os
import shutil
import time

import arithmetic_kind
import pytest
import toy

from sophron.campaign.execution import environment_faults, outcome_store, run_step
from sophron.campaign.spec import resource_requests, spec
from sophron.records import approvals, core_hours
from sophron.records.digests import file_digest
from sophron.records.errors import UserError


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    toy.plan_here(monkeypatch)
    return toy.campaign(tmp_path, monkeypatch)


def outcome(campaign, step="a"):
    return json.loads((campaign.root / "results" / step / "outcome.json").read_text())


def tries(campaign, step):
    paths = sorted((campaign.root / "records" / step).glob("*/try.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_an_outcome_embeds_definition_inputs_files_and_tools(campaign):
    campaign.sign()
    assert campaign.run_here("a", "b-1") == 0
    loaded = spec.load(campaign.spec)
    found = outcome(campaign, "b/1")
    path = campaign.root / "results" / "b" / "1" / "numbers.txt"
    upstream = file_digest(campaign.root / "results" / "a" / "outcome.json")
    assert found["definition_digest"] == loaded.definition_digest("b")
    assert found["inputs"] == {"a": upstream}
    assert found["seed"] == loaded.seed("b", {"replica": "1"})
    assert found["status"] == "done"
    assert found["files"] == {
        "numbers": {"file": "numbers.txt", "sha256": file_digest(path), "bytes": path.stat().st_size}
    }
    assert found["tools"].keys() == {"arithmetic", "sophron"}
    assert found["result"]["total"] == sum(map(float, path.read_text().split()))


def test_equal_definitions_give_equal_bytes_wherever_and_whenever(campaign, tmp_path, monkeypatch):
    campaign.sign()
    campaign.run_here("a", "b-0", "b-1", "c")
    (tmp_path / "elsewhere").mkdir()
    other = toy.campaign(tmp_path / "elsewhere", monkeypatch)
    other.sign()
    other.run_here("a", "b-1", "b-0", "c")
    assert campaign.results() == other.results()


def test_what_stands_finished_is_not_computed_again(campaign):
    campaign.sign()
    campaign.run_here("a")
    before = campaign.results()
    shutil.rmtree(campaign.root / "results")
    assert campaign.run_here("a") == 0
    assert campaign.results() == before
    assert campaign.tries() == {"a": 1}
    assert campaign.events("step_ended")[-1]["reason"] == "it stood finished"


@pytest.mark.parametrize("name", ["numbers.txt", "outcome.json"])
def test_what_no_longer_stands_as_it_was_finished_is_computed_again(campaign, name):
    """Results are links of the finished files, so an edit of a result is one of both."""
    campaign.sign()
    campaign.run_here("a")
    before = campaign.results()
    with (campaign.root / "results" / "a" / name).open("a") as stream:
        stream.write(" ")
    shutil.rmtree(campaign.root / "results")
    campaign.run_here("a")
    assert campaign.results() == before
    assert campaign.tries() == {"a": 2}


def test_a_failed_engine_is_an_outcome_that_stops_what_builds_on_it(campaign, capsys):
    campaign.edit("{factor: 2}", "{factor: 2, breaks: true}")
    campaign.sign()
    assert campaign.run_here("a", "b-0") == 0
    failed = outcome(campaign, "b/0")
    assert (failed["status"], failed["reason"], failed["result"]) == ("failed", "b cannot add these numbers", {})
    assert failed["files"]["numbers"]["bytes"] == 0
    assert campaign.run_here("b-1", "c") == 2
    assert "b-0 failed (b cannot add these numbers); nothing can build on it" in capsys.readouterr().err
    assert campaign.run_here("b-0") == 0
    assert [note["status"] for note in tries(campaign, "b-0")] == ["failed", "failed"]


def test_kills_and_failures_that_memory_cures_are_tried_again_with_more(campaign):
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, kills: 1}")
    campaign.edit("{factor: 2}", "{factor: 2, needs_mb: 500}")
    campaign.sign()
    campaign.complete("results/b/0/outcome.json", "--quiet", "all")
    assert [note["status"] for note in tries(campaign, "a")] == ["killed", "done"]
    assert [note["status"] for note in tries(campaign, "b-0")] == ["retry", "retry", "done"]
    assert tries(campaign, "b-0")[0]["reason"] == "b ran out of memory at 200 MB"
    reasons = [event["reason"] for event in campaign.events("step_ended") if event["status"] == "killed"]
    assert reasons == ["its process was killed, or could not write how it ended"]
    ended = sum(note["core_seconds"] for step in ("a", "b-0") for note in tries(campaign, step))
    used = json.loads((campaign.root / "records" / "usage.json").read_text())["core_seconds"]
    assert used == pytest.approx(ended, abs=0.01)


def test_what_no_further_try_can_cure_is_not_said_to_be_tried_with_more(campaign, capsys):
    campaign.edit("{first: 1, terms: 4}", "{first: 1, terms: 4, needs_mb: 500}")
    head, tail = campaign.spec.read_text().split("  b:\n")
    campaign.spec.write_text(head.replace("retries: 2", "retries: 0") + "  b:\n" + tail)
    campaign.sign()
    assert campaign.run_here("a") == 1
    said = capsys.readouterr().err
    assert "a ran out of memory at 200 MB; no further try may have more" in said
    assert "tried again" not in said
    assert [note["status"] for note in tries(campaign, "a")] == ["short"]


def test_what_the_machine_lacks_is_tried_again_by_the_same_line_once_it_is_there(campaign):
    campaign.edit("{factor: 2}", "{factor: 2, wants: engine.txt}")
    campaign.sign()
    first = campaign.snakemake("--quiet", "all", "--", "results/b/0/outcome.json")
    assert first.returncode != 0
    assert "b-0: engine.txt is not there, which b needs; put it there; nothing of the science failed" in first.stdout
    assert "the same line again: snakemake" in first.stdout
    assert not (campaign.root / "results" / "b").exists()
    assert [note["status"] for note in tries(campaign, "b-0")] == ["environment"] * 3, "the rule has two retries"
    (campaign.root / "engine.txt").touch()
    campaign.complete("--quiet", "all", "--", "results/b/0/outcome.json")
    assert outcome(campaign, "b/0")["status"] == "done"
    assert tries(campaign, "b-0")[0]["reason"] == "engine.txt is not there, which b needs; put it there"


def full_disk(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "numbers.txt")


def absent_package(_):
    import no_such_package  # noqa: F401


@pytest.mark.parametrize(
    ("fault", "said"),
    [(full_disk, "No space left on device (numbers.txt)"), (absent_package, "No module named 'no_such_package'")],
)
def test_faults_that_python_meets_are_told_from_our_own(campaign, monkeypatch, capsys, fault, said):
    campaign.sign()
    monkeypatch.setattr(arithmetic_kind, "a", fault)
    assert campaign.run_here("a") == 1
    assert said in capsys.readouterr().err
    (note,) = tries(campaign, "a")
    assert (note["status"], said in note["reason"]) == ("environment", True)
    monkeypatch.undo()


def test_whatever_an_engine_says_of_a_full_disk_is_no_outcome(campaign, monkeypatch):
    campaign.edit("{first: 1,", "{breaks: true, first: 1,")
    campaign.sign()
    with monkeypatch.context() as full:
        full.setattr(environment_faults, "unwritable", lambda _: "No space left on device (scratch)")
        assert campaign.run_here("a") == 1
    (note,) = tries(campaign, "a")
    assert note["reason"] == "a cannot add these numbers (No space left on device (scratch))"
    assert campaign.run_here("a") == 0
    assert outcome(campaign)["status"] == "failed"


def test_a_folder_that_takes_no_file_is_found(tmp_path, monkeypatch):
    assert environment_faults.unwritable(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(os, "fsync", full_disk)
    assert "No space left on device" in environment_faults.unwritable(tmp_path)


def test_a_disk_that_is_full_before_the_step_is_one_sentence(campaign, monkeypatch, capsys):
    campaign.sign()
    monkeypatch.setattr(run_step.tries, "new", lambda *_: full_disk(_))
    assert campaign.run_here("a") == 2
    assert "sophron stage: a: No space left on device (numbers.txt); nothing of the science failed" in (
        capsys.readouterr().err
    )


def scratch_of(campaign, step="a"):
    return campaign.root / "scratch" / spec.load(campaign.spec).definition_digest(step)[:16] / step


def killed(campaign, monkeypatch, *, runtime_min=5):
    """A try of `a` that was killed, and whose scratch says that it ended in a hundred years."""
    campaign.sign()
    monkeypatch.setattr(run_step.tries, "end", lambda *_: None)
    monkeypatch.setattr(arithmetic_kind, "a", full_disk)
    campaign.run_here("a")
    monkeypatch.undo()
    path = campaign.root / "records" / "a" / "1" / "try.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"runtime_min": runtime_min}))
    (scratch_of(campaign) / "restart.1").touch()
    os.utime(scratch_of(campaign) / "restart.1", (4e9, 4e9))
    return path


@pytest.mark.parametrize(("runtime_min", "most_s"), [(5, 300), (0, 3600)])
def test_a_time_stamp_of_the_future_charges_no_more_than_what_was_reserved(
    campaign, monkeypatch, tmp_path, runtime_min, most_s
):
    path = killed(campaign, monkeypatch, runtime_min=runtime_min)
    os.utime(path, (time.time() - 3600,) * 2)
    for variable, value in toy.settings(tmp_path).items():
        monkeypatch.setenv(variable, value)
    assert campaign.run_here("a") == 0
    assert tries(campaign, "a")[0]["core_seconds"] == pytest.approx(most_s, abs=60)


@pytest.mark.parametrize("name", ["outcome.json", "numbers.txt"])
def test_a_purge_of_scratch_that_left_its_note_is_no_obstacle(campaign, name):
    campaign.sign()
    campaign.run_here("a")
    before = campaign.results()
    (scratch_of(campaign) / "finished" / name).unlink()
    shutil.rmtree(campaign.root / "results")
    assert campaign.run_here("a") == 0
    assert campaign.results() == before


def test_a_try_that_was_cut_off_after_its_result_is_closed_and_charged(campaign):
    campaign.sign()
    campaign.run_here("a")
    path = campaign.root / "records" / "a" / "1" / "try.json"
    opened = {key: value for key, value in json.loads(path.read_text()).items() if key not in ("ended", "status")}
    path.write_text(json.dumps(opened))
    os.utime(path, (time.time() - 100,) * 2)
    used = core_hours.core_hours(campaign.root)
    assert campaign.run_here("a") == 0
    (note,) = tries(campaign, "a")
    assert note["status"] == "done"
    assert core_hours.core_hours(campaign.root) - used > 90 / 3600
    assert campaign.run_here("a") == 0
    assert core_hours.core_hours(campaign.root) - used < 200 / 3600, "charged once"


def test_a_damaged_record_of_a_try_is_named_with_its_field(campaign):
    folder = outcome_store.record_folder(campaign.root, "a") / "1"
    folder.mkdir(parents=True)
    (folder / "try.json").write_text('{"step": "a", "cores": 1}')
    with pytest.raises(UserError, match=r"a/1/try\.json: is damaged, not a record \(started is missing\)"):
        run_step.tries.tries_of(campaign.root, "a")


def test_a_hole_of_a_terabyte_is_no_result_and_is_not_read(campaign, capsys):
    campaign.sign()
    campaign.run_here("a")
    begun = time.monotonic()
    os.truncate(campaign.root / "results" / "a" / "numbers.txt", 2**40)
    assert campaign.run_here("b-0") == 2
    assert "numbers.txt: is not what its outcome speaks of" in capsys.readouterr().err
    assert campaign.run_here("a") == 0
    assert time.monotonic() - begun < 60
    assert (campaign.root / "results" / "a" / "numbers.txt").stat().st_size < 100


def test_a_pipe_in_place_of_the_log_holds_nobody(campaign):
    campaign.sign()
    (campaign.root / "logs").mkdir()
    os.mkfifo(campaign.root / "logs" / "a.log")
    assert campaign.run_here("a") == 0


def test_a_fault_in_a_stages_code_is_recorded_and_shown(campaign, monkeypatch):
    campaign.sign()
    monkeypatch.setattr(arithmetic_kind, "a", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        campaign.run_here("a")
    (note,) = tries(campaign, "a")
    assert (note["status"], note["reason"]) == ("crashed", "ZeroDivisionError: division by zero")
    assert not (campaign.root / "results").exists()
    monkeypatch.undo()


def test_a_result_that_breaks_its_schema_is_no_outcome(campaign, monkeypatch, capsys):
    campaign.sign()
    whole = arithmetic_kind.a

    def wrong(ctx):
        made = whole(ctx)
        return run_step.StepResult({**made.result, "terms": "four"}, made.files, made.tools)

    monkeypatch.setattr(arithmetic_kind, "a", wrong)
    assert campaign.run_here("a") == 2
    assert '"four" is not of type integer' in capsys.readouterr().err
    assert not (campaign.root / "results").exists()


def test_scratch_of_other_inputs_is_kept_but_not_continued(campaign):
    campaign.sign()
    campaign.run_here("a")
    digest = spec.load(campaign.spec).definition_digest("b")
    scratch = campaign.root / "scratch" / digest[:16] / "b-0"
    scratch.mkdir(parents=True)
    (scratch / "key.json").write_text('{"key": "of other inputs"}')
    (scratch / "restart.1").write_text("half of it")
    assert campaign.run_here("b-0") == 0
    (aside,) = scratch.parent.glob("b-0.set-aside-*")
    assert (aside / "restart.1").read_text() == "half of it"
    assert not (scratch / "restart.1").exists()


def test_a_finished_steps_scratch_keeps_only_what_a_repetition_needs(campaign):
    campaign.sign()
    campaign.run_here("a")
    digest = spec.load(campaign.spec).definition_digest("a")
    scratch = campaign.root / "scratch" / digest[:16] / "a"
    assert {path.name for path in scratch.iterdir()} == {"finished", "done.json", "key.json"}


def test_a_refused_step_changes_nothing_but_the_record_of_it(campaign, capsys):
    campaign.sign()
    campaign.edit("{first: 1,", "{first: 2,")
    assert campaign.run_here("a") == 2
    assert "campaign.yaml was changed since version 1 was signed: sophron amend" in capsys.readouterr().err
    (event,) = campaign.events("refused")
    assert event["step"] == "a"
    assert campaign.tries() == {}
    assert not (campaign.root / "scratch").exists()


def test_fewer_cores_than_the_spec_has_are_taken_as_given(campaign, monkeypatch):
    campaign.edit("memory_mb: 200", "ranks: 2\n      memory_mb: 200")
    campaign.edit("choices: {threads: [1, 2]}", "choices: {}")
    campaign.sign()
    seen = []
    whole = arithmetic_kind.a
    monkeypatch.setattr(arithmetic_kind, "a", lambda ctx: (seen.append(ctx), whole(ctx))[1])
    campaign.run_here("a")  # with one core
    (ctx,) = seen
    assert (ctx.cores.ranks, ctx.cores.threads, ctx.memory_mb, ctx.runtime_min) == (1, 1, 200, 5)
    assert (
        resource_requests.overlaid(spec.load(campaign.spec).data["stages"]["a"]["mechanical"], "a", campaign.root).cores
        == 2
    )


def test_outcomes_are_found_by_their_record_wherever_a_host_puts_them(campaign, tmp_path):
    campaign.sign()
    loaded = spec.load(campaign.spec)
    digest = loaded.definition_digest("a")
    line = "stage a --gate approvals/gate.json --outcome X --log L --cores 1 --memory-mb 200 --runtime-min 5 --digest"
    claim = approvals.Claim("a", digest, "a", {}, [*line.split(), digest], 1, 200, 5)
    outcome_path = campaign.root / "results" / ".." / ".." / "host" / "a" / "outcome.json"
    run_step.execute(run_step.Order(claim, campaign.gate, outcome_path), lambda _: arithmetic_kind.a)
    assert outcome_store.published(campaign.root, "a") == tmp_path / "host" / "a" / "outcome.json"
    assert outcome_store.finished(campaign.root, loaded, "a", {}).files["numbers"].is_file()
    campaign.amend("seed=8")
    assert not (tmp_path / "host" / "a" / "outcome.json").exists()
    (kept,) = (campaign.root / "invalidated" / "v1" / "outside").rglob("outcome.json")
    assert kept.is_file()


def test_a_dispatched_step_names_the_marker_of_its_end(campaign, monkeypatch):
    campaign.sign()
    monkeypatch.setenv("DPDISP_DONE", str(campaign.root / "records" / "dispatched" / "x" / "1.DPDISP_DONE"))
    campaign.run_here("a")
    assert campaign.events("step_started")[-1]["marker"] == "records/dispatched/x/1.DPDISP_DONE"
    monkeypatch.delenv("DPDISP_DONE")
    campaign.run_here("b-0")
    assert "marker" not in campaign.events("step_started")[-1]


def test_links_that_a_program_leaves_in_its_scratch_are_removed_and_not_followed(campaign, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("not ours")
    campaign.sign()
    whole = arithmetic_kind.a

    def linking(ctx):
        (ctx.workdir / "to-a-folder").symlink_to(tmp_path / "elsewhere")
        (ctx.workdir / "to-nothing").symlink_to("nowhere")
        return whole(ctx)

    monkeypatch.setattr(arithmetic_kind, "a", linking)
    assert campaign.run_here("a") == 0
    assert (tmp_path / "elsewhere" / "file").read_text() == "not ours"
    scratch = campaign.root / "scratch" / spec.load(campaign.spec).definition_digest("a")[:16] / "a"
    assert {path.name for path in scratch.iterdir()} == {"finished", "done.json", "key.json"}


def test_a_published_step_does_not_fail_because_its_scratch_cannot_be_tidied(campaign, monkeypatch):
    campaign.sign()
    whole = arithmetic_kind.a

    def leaving(ctx):
        (ctx.workdir / "left").mkdir()
        return whole(ctx)

    real = shutil.rmtree

    def refuse(path, *arguments, **options):
        if "scratch" in str(path):
            raise OSError(16, "Device or resource busy", str(path))
        real(path, *arguments, **options)

    monkeypatch.setattr(arithmetic_kind, "a", leaving)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert campaign.run_here("a") == 0
    assert outcome(campaign)["status"] == "done"


def test_a_dangling_link_in_the_scratch_of_a_killed_try_is_no_obstacle(campaign):
    campaign.sign()
    digest = spec.load(campaign.spec).definition_digest("a")
    scratch, folder = (
        campaign.root / "scratch" / digest[:16] / "a",
        outcome_store.record_folder(campaign.root, "a") / "1",
    )
    scratch.mkdir(parents=True)
    (scratch / "dangling").symlink_to("nowhere")
    folder.mkdir(parents=True)
    (folder / "try.json").write_text('{"step": "a", "started": "2026-11-22T20:00:00+00:00", "cores": 1}')
    assert campaign.run_here("a") == 0
    assert [note["status"] for note in tries(campaign, "a")] == ["killed", "done"]
