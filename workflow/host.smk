# What a host workflow imports as a module: stages of our kinds, the gate of its own rules, and what judges and records them.
# See docs/how-to/gate-your-workflow.md and reuse.md. Position in the host does not matter; nothing of the host is overridden.
from sophron.campaign.host_workflow.open_host import open_host

CAMPAIGN = open_host(config["campaign"], workflow)

# A process that executes nothing but jobs of the host does without our rules.
if CAMPAIGN is not None:
    from sophron.campaign.snakefile.snakefile_api import check_library

    wildcard_constraints:
        stage="|".join(CAMPAIGN.stages),
        replica=r"\d+",
        rate=r"[0-9.e+-]+",
        attempt=r"\d+",

    pathvars:  # a host that gives the module its own has them elsewhere
        results=CAMPAIGN.place("results"),
        logs=CAMPAIGN.place("logs"),

    include: "rules/gate.smk"
    include: "rules/verdict.smk"
    include: "rules/agents.smk"
    include: "rules/report.smk"

    for rule_file in CAMPAIGN.rule_files:

        include: rule_file

    check_library()
