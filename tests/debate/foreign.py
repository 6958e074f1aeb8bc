"""Pipelines that others wrote (`corpus/`), with and without a planted fault, and what a panel is told of them.

Nothing here knows an expert's rule: a fault is an edit in `pipeline_faults.yaml`.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from sophron.agents.rule_based import experts
from sophron.debate.panel.votes import Mode, Vote, aggregate
from sophron.debate.pipelines.pipeline import PRODUCTION, STAGES, Pipeline
from sophron.debate.trials.stage_sandbox import Work, run
from sophron.kinds.host_guest.agent_inputs import shown_stage
from sophron.sandbox.select_backend import choose

HERE = Path(__file__).parent
TABLE = yaml.safe_load((HERE / "pipeline_faults.yaml").read_text())
EVIDENCE = HERE / "panel_evidence"
EXPERTS = {
    "force-field": experts.judge_force_field,
    "sampling": experts.judge_sampling,
    "analysis": experts.judge_analysis,
}
DIGITS = 6
SEED = 20_000


def sound(name):
    """A pipeline of the corpus."""
    return Pipeline.parse((HERE / "corpus" / f"{name}.txt").read_text())


def planted(edit):
    """The pipeline with an edit of the table."""
    made = sound(edit["pipeline"])
    text = made.files[edit["file"]]
    assert text.count(edit["old"]) == 1, edit["name"]
    return Pipeline(made.rationale, made.windows, {**made.files, edit["file"]: text.replace(edit["old"], edit["new"])})


def cases():
    """Name -> (pipeline's name, what is run, the fault or None), sound ones first."""
    found = {name: (name, sound(name), None) for name in TABLE["pipelines"]}
    found |= {edit["name"]: (edit["pipeline"], planted(edit), None) for edit in TABLE["harmless"]}
    faults = [*TABLE["faults"], *TABLE["later"]]
    return found | {edit["name"]: (edit["pipeline"], planted(edit), edit) for edit in faults}


def metadata(name):
    """The task of one guest."""
    about = TABLE["pipelines"][name]
    return {
        "task": "guest",
        "temperature_k": about["temperature_k"],
        "host_charge_e": 0,
        "guest_charge_e": 0,
        "symmetry": {"equivalent_sites": 1, "locked_by_restraint": False},
        "ph": 7.0,
        "solvent": "none",
        "interaction": {
            "epsilon_kcal_per_mol": about["epsilon"],
            "sigma_a": about["sigma_a"],
            "bound_within_a": 8.0,
        },
    }


def through(name, made, folder, like=None, workers=1):
    """Documents of each stage by number. like: (pipeline, folder) that ran; what comes out the same is taken from it."""
    documents, places = {}, {}
    for stage in STAGES:
        numbers = range(made.windows) if stage is PRODUCTION else [None]
        same = like and all(made.files[each.file] == like[0].files[each.file] for each in STAGES[: stage.number])
        base = like[1] if same else folder
        labels = [stage.folder if number is None else f"windows/{number}" for number in numbers]
        earlier = dict(places)
        if not same:
            works = [
                _work(name, made, stage, (base / label, number), earlier)
                for label, number in zip(labels, numbers, strict=True)
            ]
            with ThreadPoolExecutor(workers) as pool:
                for label, done in zip(labels, pool.map(lambda one: run(one, choose()), works), strict=True):
                    (base / label / "executed.json").write_text(json.dumps(done.as_document()))
        documents[stage.number] = [json.loads((base / label / "executed.json").read_text()) for label in labels]
        places |= {label: base / label / "work" for label in labels}
        if any(each["result"]["status"] != "completed" for each in documents[stage.number]):
            break
    return documents


def _work(name, made, stage, where, earlier):
    place, window = where
    ns = TABLE["pipelines"][name]["ns"]
    seed = SEED + stage.number * 1000 + (window or 0)
    return Work(made, stage, metadata(name), place, seed, ns, "Reference", window, earlier=earlier, wall_s=600)


def results(made, documents):
    """What a panel is told of one guest, numbers to six digits."""
    stages = {str(stage.number): _shown(documents.get(stage.number, []), stage.number) for stage in STAGES}
    return {"windows": made.windows, "guests": {"guest": {"stages": stages}}, "scores": None}


def _shown(documents, number):
    shown = shown_stage(documents, number)
    if shown:
        shown["wall_time_s"] = shown["wall_time_seconds"] = 1.0  # clocks tell nothing here, and change each time
    return _rounded(shown)


def _rounded(value):
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def told(name, made, evidence, mode="post_single"):
    """Inputs of an expert. evidence: `results`, or nothing before a run."""
    about = TABLE["pipelines"].get(name)
    guests = {"guest": metadata(name)} if about else {}
    task = {"guests": guests, "ns_per_window": about["ns"] if about else None}
    return {"mode": mode, "task": task, "votes": {}, "pipeline": made.reply, "results": evidence}


def panel(name, made, evidence, mode="post_single"):
    """Expert -> its vote."""
    inputs = told(name, made, evidence, mode)
    return {expert: Vote.read(rule(inputs), Path(expert)) for expert, rule in EXPERTS.items()}


def grave(votes):
    """Stages that experts name with a high concern, with what they say."""
    return [(one.focus.value, one.text) for vote in votes.values() for one in vote.concerns if one.severity == "high"]


def evidence(name):
    """What a panel was told of a case, or None."""
    path = EVIDENCE / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def judged(name, base, made, fault):
    """One row of the table: what is found before a run and after it, and whether the right stage is named."""
    seen = evidence(name)
    votes = {"pre": panel(base, made, {}, "pre")}
    if seen:
        votes["post"] = panel(base, made, seen)
    critiques = {mode: aggregate(Mode.POST_SINGLE, [each], dict.fromkeys(EXPERTS, 0.5)) for mode, each in votes.items()}
    return {
        "pipeline": base,
        "kind": fault["kind"] if fault else "sound" if name == base else "harmless edit",
        "stage": fault["stage"] if fault else None,
        "run": bool(seen),
        "labels": {mode: {expert: vote.label.value for expert, vote in each.items()} for mode, each in votes.items()},
        "focus": {
            mode: critique.focus.value if critique.focus and grave(votes[mode]) else None
            for mode, critique in critiques.items()
        },
        "findings": {mode: [text for _, text in grave(each)] for mode, each in votes.items()},
    }


def table():
    """Every case as it is judged now, and sums."""
    rows = {name: judged(name, *about) for name, about in cases().items()}
    rows |= {
        name: judged(name, name, sound(name), None)
        for name in (path.stem for path in sorted((HERE / "corpus").glob("molecules*.txt")))
    }
    ran = {name: row for name, row in rows.items() if row["stage"] and row["run"]}
    later = {name: row for name, row in ran.items() if name in {edit["name"] for edit in TABLE["later"]}}
    faults = {name: row for name, row in ran.items() if name not in later}
    fine = {name: row for name, row in rows.items() if not row["stage"]}
    last = {name: row["focus"].get("post", row["focus"]["pre"]) for name, row in rows.items()}
    totals = {
        "pipelines_with_faults": len({row["pipeline"] for row in faults.values()}),
        "faults": len(faults),
        "localised": sum(last[name] == row["stage"] for name, row in faults.items()),
        "localised_before_a_run": sum(row["focus"]["pre"] == row["stage"] for row in faults.values()),
        "not_localised": [name for name, row in faults.items() if last[name] != row["stage"]],
        "later_faults": len(later),
        "later_localised": sum(last[name] == row["stage"] for name, row in later.items()),
        "later_not_localised": [name for name, row in later.items() if last[name] != row["stage"]],
        "sound": len(fine),
        "sound_run": sum(row["run"] for row in fine.values()),
        "sound_without_finding": sum(not last[name] and not row["focus"]["pre"] for name, row in fine.items()),
        "sound_with_finding": [name for name, row in fine.items() if last[name] or row["focus"]["pre"]],
    }
    return {"frozen_on": TABLE["frozen"], "totals": totals, "rows": rows}


def good(totals):
    """Whether at least 20 faults are localised in 80 of 100, and 90 of 100 sound ones are left in peace."""
    found = totals["faults"] >= 20 and totals["localised"] >= 0.8 * totals["faults"]
    return found and totals["sound_without_finding"] >= 0.9 * totals["sound"]
