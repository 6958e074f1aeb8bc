# What a host workflow imports as a module: the gate of its own rules, and the steps that judge and record them.
# See docs/how-to/gate-your-workflow.md. Position in the host does not matter; nothing of the host is overridden.
from sophron.campaign.host_workflow.host_gate import open_host
from sophron.campaign.snakefile.snakefile_api import check_library

CAMPAIGN = open_host(config["campaign"], workflow)


pathvars:
    results=CAMPAIGN.place("results"),
    logs=CAMPAIGN.place("logs"),


include: "rules/gate.smk"
include: "rules/verdict.smk"
include: "rules/agents.smk"
include: "rules/report.smk"
include: CAMPAIGN.rules


check_library()
