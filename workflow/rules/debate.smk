# A panel of three experts: every vote of every expert in every round is a step and a file of its own. The second round
# sees the first. What they say is advice; `discussion`, `screen` and `review` weigh it.


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

    rule design_force_field:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/tasks/accepted.json"),
            votes=earlier_votes("discussion", "design"),
        output:
            answer="<results>/discussion/design_force_field/{turn}/answer.json",
        log:
            "<logs>/discussion/design_force_field/{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
            llm_calls=1,
        params:
            digest=CAMPAIGN.agent_digest("design_force_field"),
        shell:
            "sophron agent run design_force_field --gate {input.gate} --wildcard turn={wildcards.turn} --answer {output.answer}"
            " --log {log} --digest {params.digest}"

    rule design_sampling:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/tasks/accepted.json"),
            votes=earlier_votes("discussion", "design"),
        output:
            answer="<results>/discussion/design_sampling/{turn}/answer.json",
        log:
            "<logs>/discussion/design_sampling/{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
            llm_calls=1,
        params:
            digest=CAMPAIGN.agent_digest("design_sampling"),
        shell:
            "sophron agent run design_sampling --gate {input.gate} --wildcard turn={wildcards.turn} --answer {output.answer}"
            " --log {log} --digest {params.digest}"

    rule design_analysis:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/tasks/accepted.json"),
            votes=earlier_votes("discussion", "design"),
        output:
            answer="<results>/discussion/design_analysis/{turn}/answer.json",
        log:
            "<logs>/discussion/design_analysis/{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            mem_mb=1000,
            runtime=30,
            llm_calls=1,
        params:
            digest=CAMPAIGN.agent_digest("design_analysis"),
        shell:
            "sophron agent run design_analysis --gate {input.gate} --wildcard turn={wildcards.turn} --answer {output.answer}"
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


rule pre_force_field:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=ready,
        votes=earlier_votes("trials", "pre"),
    output:
        answer="<results>/trials/pre_force_field/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/pre_force_field/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("pre_force_field"),
    shell:
        "sophron agent run pre_force_field --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule pre_sampling:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=ready,
        votes=earlier_votes("trials", "pre"),
    output:
        answer="<results>/trials/pre_sampling/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/pre_sampling/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("pre_sampling"),
    shell:
        "sophron agent run pre_sampling --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule pre_analysis:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=ready,
        votes=earlier_votes("trials", "pre"),
    output:
        answer="<results>/trials/pre_analysis/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/pre_analysis/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("pre_analysis"),
    shell:
        "sophron agent run pre_analysis --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
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


rule post_force_field:
    input:
        gate=ancient(CAMPAIGN.gate),
        benchmark="<results>/trials/benchmark/{trial}/outcome.json",
        votes=earlier_votes("trials", "post"),
    output:
        answer="<results>/trials/post_force_field/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/post_force_field/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("post_force_field"),
    shell:
        "sophron agent run post_force_field --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule post_sampling:
    input:
        gate=ancient(CAMPAIGN.gate),
        benchmark="<results>/trials/benchmark/{trial}/outcome.json",
        votes=earlier_votes("trials", "post"),
    output:
        answer="<results>/trials/post_sampling/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/post_sampling/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("post_sampling"),
    shell:
        "sophron agent run post_sampling --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule post_analysis:
    input:
        gate=ancient(CAMPAIGN.gate),
        benchmark="<results>/trials/benchmark/{trial}/outcome.json",
        votes=earlier_votes("trials", "post"),
    output:
        answer="<results>/trials/post_analysis/{trial}/{turn}/answer.json",
    log:
        "<logs>/trials/post_analysis/{trial}-{turn}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=30,
        llm_calls=1,
    params:
        digest=CAMPAIGN.agent_digest("post_analysis"),
    shell:
        "sophron agent run post_analysis --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
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
