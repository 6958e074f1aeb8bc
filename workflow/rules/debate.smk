# A panel of three experts: every vote of every expert in every round is a step and a file of its own. The second round
# sees the first. What they say is advice; `discussion`, `screen`, `examine` and `review` weigh it. A method without a
# panel has none of these rules.


def votes(stage, stem, turns=("1", "2")):
    """Input function: all votes of a panel in these rounds. stem: what the names of their folders begin with."""
    place = {"design": [], "single": ["{trial}", "{guest}"]}.get(stem, ["{trial}"])
    paths = [
        "/".join(["<results>", stage, f"{stem}_{one}", *place, turn, "answer.json"])
        for one in CAMPAIGN.values("expert")
        for turn in turns
    ]
    return lambda wildcards: expand(paths, **dict(wildcards.items()))


def earlier_votes(stage, stem):
    """Input function: the first round, for a vote in the second."""
    first = votes(stage, stem, ("1",))
    return lambda wildcards: [] if wildcards.turn == "1" else first(wildcards)


if CAMPAIGN.has("discussion"):

    rule vote_design:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/tasks/accepted.json"),
            votes=earlier_votes("discussion", "design"),
        output:
            answer="<results>/discussion/design_{expert}/{turn}/answer.json",
        log:
            "<logs>/discussion/design_{expert}/{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(),
        params:
            digest=CAMPAIGN.agent_digest("vote_design"),
        shell:
            "sophron agent run vote_design --gate {input.gate} --wildcard expert={wildcards.expert} --wildcard turn={wildcards.turn} --answer {output.answer}"
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
            **CAMPAIGN.resources("discussion"),
        params:
            digest=CAMPAIGN.definition_digest("discussion"),
        shell:
            "sophron stage discussion --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("screen"):

    rule vote_pre:
        input:
            gate=ancient(CAMPAIGN.gate),
            ready=rehearsals,
            votes=earlier_votes("trials", "pre"),
        output:
            answer="<results>/trials/pre_{expert}/{trial}/{turn}/answer.json",
        log:
            "<logs>/trials/pre_{expert}/{trial}-{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(),
        params:
            digest=CAMPAIGN.agent_digest("vote_pre"),
        shell:
            "sophron agent run vote_pre --gate {input.gate} --wildcard expert={wildcards.expert} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
            " --log {log} --digest {params.digest}"

    rule screen:
        input:
            gate=ancient(CAMPAIGN.gate),
            ready=rehearsals,
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
            **CAMPAIGN.resources("screen"),
        params:
            digest=CAMPAIGN.definition_digest("screen"),
        shell:
            "sophron stage screen --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("examine"):

    rule vote_single:
        input:
            gate=ancient(CAMPAIGN.gate),
            analysed="<results>/trials/analyse/{trial}/{guest}/outcome.json",
            votes=earlier_votes("trials", "single"),
        output:
            answer="<results>/trials/single_{expert}/{trial}/{guest}/{turn}/answer.json",
        log:
            "<logs>/trials/single_{expert}/{trial}-{guest}-{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(),
        params:
            digest=CAMPAIGN.agent_digest("vote_single"),
        shell:
            "sophron agent run vote_single --gate {input.gate} --wildcard expert={wildcards.expert} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --wildcard turn={wildcards.turn} --answer {output.answer}"
            " --log {log} --digest {params.digest}"

    rule examine:
        input:
            gate=ancient(CAMPAIGN.gate),
            analysed="<results>/trials/analyse/{trial}/{guest}/outcome.json",
            votes=votes("trials", "single"),
        output:
            outcome="<results>/trials/examine/{trial}/{guest}/outcome.json",
        log:
            "<logs>/trials/examine/{trial}-{guest}.log",
        retries: CAMPAIGN.retries("examine")
        conda:
            "../../envs/sophron.yaml"
        threads: CAMPAIGN.cores("examine")
        resources:
            **CAMPAIGN.resources("examine"),
        params:
            digest=CAMPAIGN.definition_digest("examine"),
        shell:
            "sophron stage examine --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("review"):

    rule vote_post:
        input:
            gate=ancient(CAMPAIGN.gate),
            benchmark="<results>/trials/benchmark/{trial}/outcome.json",
            votes=earlier_votes("trials", "post"),
        output:
            answer="<results>/trials/post_{expert}/{trial}/{turn}/answer.json",
        log:
            "<logs>/trials/post_{expert}/{trial}-{turn}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(),
        params:
            digest=CAMPAIGN.agent_digest("vote_post"),
        shell:
            "sophron agent run vote_post --gate {input.gate} --wildcard expert={wildcards.expert} --wildcard trial={wildcards.trial} --wildcard turn={wildcards.turn} --answer {output.answer}"
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
            **CAMPAIGN.resources("review"),
        params:
            digest=CAMPAIGN.definition_digest("review"),
        shell:
            "sophron stage review --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"
