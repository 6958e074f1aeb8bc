"""A campaign of trials on disk whose loop has ended: its records are written here, and nothing of it was run.

What agents said is said by their rules of thumb, and the pipelines are real ones; only what was measured is made up.
"""

import hashlib
import json
from pathlib import Path

from sophron.agents.gateway import ledger
from sophron.agents.rule_based import experts, pipeline_agents
from sophron.campaign.execution import outcome_store
from sophron.campaign.scaffold import campaign_folder
from sophron.campaign.spec import spec
from sophron.debate.panel.votes import Label, Mode, Vote, aggregate
from sophron.debate.pipelines.pipeline import Pipeline
from sophron.debate.trials import panel_stages
from sophron.debate.trials.scores import compare
from sophron.debate.trials.trial_loop import Bounds, Guest, Trial, standing
from sophron.records import documents
from sophron.records.digests import step_name
from sophron.records.files import append_json_line, resource, write_bytes, write_json
from sophron.records.typed_json import to_json

TRAINING = ("weak", "middle", "strong")
REFERENCES = {"weak": -1.0, "middle": -2.0, "strong": -3.0}
RULES = {
    "force-field": experts.judge_force_field,
    "sampling": experts.judge_sampling,
    "analysis": experts.judge_analysis,
}
GOOD, LOST = 0.2, 0.001


def campaign(root, method="full"):
    """The shipped campaign of dimers, with another method."""
    data = dict(documents.load_yaml(resource("campaigns", "lj-dimer-apr") / "campaign.yaml").data)
    data["stages"]["trials"]["definition"]["method"] = method
    if method != "full":
        del data["stages"]["discussion"]
        data["stages"]["trials"]["depends_on"] = ["tasks", "references"]
    campaign_folder.from_draft(root, data)
    return spec.load(root / "campaign.yaml")


def put(root, loaded, name, wildcards, /, result, **files):
    """A finished step with its files, as it would lie there; the result has to fit its schema."""
    unit = loaded.unit(name)
    documents.validate(documents.Document(result, Path(name)), unit.schema, "result")
    owner = loaded.owner(name)
    folder = root.joinpath("results", owner, *([] if owner == name else [name]), *wildcards.values())
    entries = {}
    for output, file in unit.outputs.items():
        content = files.get(output, "").encode()
        write_bytes(folder / file, content)
        entries[output] = {"file": file, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    about = {"stage": name, "wildcards": wildcards, "status": "done", "reason": None, "inputs": {}, "seed": 1}
    digest = {"definition_digest": loaded.definition_digest(name)}
    outcome = {**about, **digest, "result": result, "files": entries, "tools": {"sophron": "0"}}
    write_json(folder / "outcome.json", outcome)
    outcome_store.publish(root, step_name(name, wildcards), folder / "outcome.json")


def analysis(windows, overlap, value):
    """What an analysis of so many windows leaves; refused where `value` is None."""
    held = overlap >= 0.03
    overlaps = [GOOD, *[overlap] * (windows - 2)]
    found = {
        "stage": 4,
        "status": "refused" if value is None else "completed",
        "wall_time_seconds": 1.0,
        "delta_g_kcal_per_mol": value,
        "statistical_error_kcal_per_mol": None if value is None else 0.1,
        "systematic_error_kcal_per_mol": None if value is None else 0.0,
        "convergence_flags": {"mbar_overlap_above_0p03": held},
        "energy_components": {},
        "diagnostics": {"window_count": windows, "overlaps": overlaps, "minimum_overlap": min(overlaps)},
        "writer_notes": "",
    }
    if value is None:
        found["failure"] = {"kind": "no_overlap", "sentence": "Neighbours do not overlap.", "windows": [1]}
    documents.validate(documents.Document(found, Path("stage_04_result.json")), "debate/stage_result")
    return found


def panel(made, analysed):
    """The rules of thumb of the three experts on these analyses, weighed."""
    guests = {name: {"stages": {"1": {}, "2": {}, "3": {}, "4": one}} for name, one in analysed.items()}
    about = {"windows": made.windows, "guests": guests, "scores": None}
    told = {"mode": "post_benchmark", "results": about, "pipeline": made.reply, "votes": {}}
    votes = {name: Vote.read(rule(told), Path(name)) for name, rule in RULES.items()}
    return to_json(aggregate(Mode.POST_BENCHMARK, [votes, votes], dict.fromkeys(RULES, 0.5)))


def revised(made, critique):
    """The author's next pipeline, by its rule of thumb."""
    told = {"pipeline": made.reply, "critiques": {"post": critique}, "task": {"most_windows": 18}}
    return Pipeline.parse(pipeline_agents.author(told)["reply"])


def trial(root, loaded, number, made, analysed):
    """Records of one trial that ran to its end; what it was, and the panel's critique."""
    where = {"trial": str(number)}
    about = {"state": "ready", "file": "", "said": "", "windows": made.windows}
    put(root, loaded, "rehearse", {**where, "attempt": "0"}, about, pipeline=made.reply)
    for guest, one in analysed.items():
        analyse(root, loaded, {**where, "guest": guest}, one)
    critique = panel(made, analysed)
    if "review" in loaded.parts:
        put(root, loaded, "review", where, {"critique": critique})
    values = {guest: one["delta_g_kcal_per_mol"] for guest, one in analysed.items()}
    done = {1: "completed", 2: "completed", 3: "completed"}
    guests = {guest: Guest({**done, 4: one["status"]}, values[guest]) for guest, one in analysed.items()}
    scores, label = compare(values, REFERENCES), Label(critique["label"])
    ended = Trial(number, True, guests, len(TRAINING), scores, {}, label=label, score=critique["score"])
    return ended, critique


def analyse(root, loaded, where, one):
    """Records of the analysis of a guest in a trial."""
    kept = {"status": one["status"], "key": "k", "seed": 1, "delta_g_kcal_per_mol": one["delta_g_kcal_per_mol"]}
    executed = {"result": one, "measured": {"wall_time_s": 1.0, "exit_code": 0, "limit": None, "stderr_tail": ""}}
    kept["failure"] = one.get("failure")
    put(root, loaded, "analyse", where, kept, executed=json.dumps(executed))


def close(root, loaded, trials):
    """Records of the end of the loop."""
    now = standing(trials, Bounds(2, 2, 0.8))
    about = {"failure": trials[-1].failure.value, "succeeded": trials[-1].succeeded, "over": True}
    about |= {"standing": to_json(now), "trials": to_json(trials)}
    put(root, loaded, "close", {"trial": str(trials[-1].number)}, json.loads(json.dumps(about)))
    whole = {
        "trials": len(trials),
        "successes": now.successes,
        "end": now.end.value if now.end else None,
        "deployed": now.deployed,
        "failures": panel_stages._counted(trials),
        "refused": 0,
        "predictions": 3,
        "training": None,
        "held_out": None,
        "held_out_error_kcal_per_mol": None,
        "held_out_standard_error_kcal_per_mol": None,
        "refusal": "nothing was run",
        "predicted": {},
    }
    put(root, loaded, "trials", {}, whole, trials_plot="<svg/>")


def spend(root, *amounts):
    """A line of the ledger for each (step, tokens, dollars)."""
    for number, (step, tokens, dollars) in enumerate(amounts):
        amount = {"calls": 1, "tokens": tokens, "dollars": dollars}
        reserved = {"event": "reserve", "id": str(number), "step": step, **amount}
        append_json_line(root / ledger.FILE, reserved, sync=False)
