# A panel of three experts: every vote of every expert in every round is a step and a file of its own. The second round
# sees the first. What they say is advice; `discussion`, `screen` and `review` weigh it.
from sophron.debate.ablation import EXPERTS


def votes(stage, stem, turns=("1", "2")):
    """Input function: all votes of a panel in these rounds, none where the campaign's method has no panel."""
    asked = CAMPAIGN.values("experts")
    trial = [] if stage == "discussion" else ["{trial}"]
    paths = [
        "/".join(["<results>", stage, f"{stem}_{one}", *trial, turn, "answer.json"])
        for one in asked
        for turn in turns
    ]
    return lambda wildcards: [
        path.replace("{trial}", wildcards.get("trial", "")) for path in paths
    ]


def earlier_votes(stage, stem):
    """Input function: the first round, for a vote in the second."""
    first = votes(stage, stem, ("1",))
    return lambda wildcards: [] if wildcards.turn == "1" else first(wildcards)


if CAMPAIGN.has("discussion"):

    for expert in EXPERTS:

        rule:
            name:
                f"design_{expert}"
            input:
                gate=ancient(CAMPAIGN.gate),
                accepted=ancient("<results>/tasks/accepted.json"),
                votes=earlier_votes("discussion", "design"),
            output:
                answer=f"<results>/discussion/design_{expert}/{{turn}}/answer.json",
            log:
                f"<logs>/discussion/design_{expert}/{{turn}}.log",
            localrule: True
            conda:
                "../../envs/sophron.yaml"
            resources:
                mem_mb=1000,
                runtime=30,
                llm_calls=1,
            params:
                digest=CAMPAIGN.agent_digest(f"design_{expert}"),
            shell:
                f"sophron agent run design_{expert} --gate {{input.gate}} --wildcard turn={{wildcards.turn}} --answer {{output.answer}}"
                " --log {log} --digest {params.digest}"

    rule discussion:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/tasks/accepted.json"),
            tasks=CAMPAIGN.outcomes("tasks"),
            votes=votes("discussion", "design"),
        output:
            outcome="<results>/discussion/outcome.json",
        log:
            "<logs>/discussion/discussion.log",
        retries: CAMPAIGN.retries("discussion")
        conda:
            "../../envs/sophron.yaml"
        threads: CAMPAIGN.cores("discussion")
        resources:
            **CAMPAIGN.requests("discussion"),
            mem_mb=CAMPAIGN.memory("discussion"),
            runtime=CAMPAIGN.runtime("discussion"),
        params:
            digest=CAMPAIGN.definition_digest("discussion"),
        shell:
            "sophron stage discussion --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


for expert in EXPERTS:

    rule:
        name:
            f"pre_{expert}"
        input:
            gate=ancient(CAMPAIGN.gate),
            ready=ready,
            votes=earlier_votes("trials", "pre"),
        output:
            answer=f"<results>/trials/pre_{expert}/{{trial}}/{{turn}}/answer.json",
        log:
            f"<logs>/trials/pre_{expert}/{{trial}}-{{turn}}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
            llm_calls=1,
        params:
            digest=CAMPAIGN.agent_digest(f"pre_{expert}"),
        shell:
            f"sophron agent run pre_{expert} --gate {{input.gate}} --wildcard trial={{wildcards.trial}} --wildcard turn={{wildcards.turn}} --answer {{output.answer}}"
            " --log {log} --digest {params.digest}"


rule screen:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=ready,
        votes=votes("trials", "pre"),
    output:
        outcome="<results>/trials/screen/{trial}/outcome.json",
    log:
        "<logs>/trials/screen/{trial}.log",
    retries: CAMPAIGN.retries("screen")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("screen")
    resources:
        **CAMPAIGN.requests("screen"),
        mem_mb=CAMPAIGN.memory("screen"),
        runtime=CAMPAIGN.runtime("screen"),
    params:
        digest=CAMPAIGN.definition_digest("screen"),
    shell:
        "sophron stage screen --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


for expert in EXPERTS:

    rule:
        name:
            f"post_{expert}"
        input:
            gate=ancient(CAMPAIGN.gate),
            benchmark="<results>/trials/benchmark/{trial}/outcome.json",
            votes=earlier_votes("trials", "post"),
        output:
            answer=f"<results>/trials/post_{expert}/{{trial}}/{{turn}}/answer.json",
        log:
            f"<logs>/trials/post_{expert}/{{trial}}-{{turn}}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
            llm_calls=1,
        params:
            digest=CAMPAIGN.agent_digest(f"post_{expert}"),
        shell:
            f"sophron agent run post_{expert} --gate {{input.gate}} --wildcard trial={{wildcards.trial}} --wildcard turn={{wildcards.turn}} --answer {{output.answer}}"
            " --log {log} --digest {params.digest}"


rule review:
    input:
        gate=ancient(CAMPAIGN.gate),
        benchmark="<results>/trials/benchmark/{trial}/outcome.json",
        votes=votes("trials", "post"),
    output:
        outcome="<results>/trials/review/{trial}/outcome.json",
    log:
        "<logs>/trials/review/{trial}.log",
    retries: CAMPAIGN.retries("review")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("review")
    resources:
        **CAMPAIGN.requests("review"),
        mem_mb=CAMPAIGN.memory("review"),
        runtime=CAMPAIGN.runtime("review"),
    params:
        digest=CAMPAIGN.definition_digest("review"),
    shell:
        "sophron stage review --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
