"""A pipeline whose `sophron` is a stand-in: steps that tell of themselves and end as their first wildcard says."""

import os
import subprocess
import sys

# A stand-in for `sophron`: it tells of its steps as they do, and ends as their first wildcard says.
STEP = """#!{python}
import os, signal, sys, time
from pathlib import Path
from sophron.campaign.state import projector
from sophron.records import events, process_identity
root, words = Path({root!r}), sys.argv[1:]
if words[0] != "stage":
    sys.exit(1)
wildcards = dict(word.split("=") for flag, word in zip(words, words[1:]) if flag == "--wildcard")
step = "-".join([words[1], *wildcards.values()])
number = len(list((root / "records").glob(step + "/*"))) + 1
log = root / "records" / step / str(number)
log.mkdir(parents=True)
about = dict(step=step, stage=words[1], wildcards=wildcards)
me = dict(pid=os.getpid(), pid_start=process_identity.start_of(os.getpid()), host=process_identity.host())
events.append(root, "sophron", "step_started", **about, **me, rule=words[1], log=str(log), digest="d", **{{"try": number}})
projector.project(root)
if wildcards["how"] == "dies" and number == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if wildcards["how"] == "sleeps" and number == 1:
    time.sleep(60)
status = "retry" if wildcards["how"] == "retries" and number == 1 else "done"
events.append(root, "sophron", "step_ended", **about, status=status, reason="out of memory")
projector.project(root)
Path(words[words.index("--outcome") + 1]).write_text("")
sys.exit(status == "retry")
"""
SNAKEFILE = """
rule all:
    input: {wanted}
rule x_produce:
    output: "results/produce/{{how}}/{{replica}}/outcome.json"
    retries: 1
    shell:
        "sophron stage produce --gate g --wildcard how={{wildcards.how}} --wildcard replica={{wildcards.replica}}"
        " --outcome {{output}} --digest d"
rule x_accept:
    output: "passed"
    shell: "sophron accept produce --gate g --digest d"
rule foreign:
    output: "foreign"
    shell: "touch {{output}}"
"""


def make_pipeline(root, *wanted):
    """A pipeline that is a campaign as well; its folder."""
    (root / "bin").mkdir()
    program = root / "bin" / "sophron"
    program.write_text(STEP.format(python=sys.executable, root=str(root)))
    program.chmod(0o755)
    (root / "campaign.yaml").write_text("campaign: x\n")
    (root / "Snakefile").write_text(SNAKEFILE.format(wanted=", ".join(map(repr, wanted))))
    return root


def command(root, *options):
    """Arguments and environment of a Snakemake there."""
    line = [sys.executable, "-m", "snakemake", "--logger", "sophron", "--cores", "1", *options]
    env = os.environ | {"PATH": f"{root / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    return {"args": line, "env": env}


def snakemake(root, *options, cwd=None):
    """Run it to its end."""
    return subprocess.run(**command(root, *options), cwd=cwd or root, capture_output=True, text=True, check=False)


def outcome(how, replica=0):
    """The target of a step that retries, dies, works or sleeps."""
    return f"results/produce/{how}/{replica}/outcome.json"
