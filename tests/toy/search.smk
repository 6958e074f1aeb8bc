# Rules of the search kind: a loop of rounds behind one batch checkpoint a round.


def before(wildcards):
    """The round before; nothing for the first one."""
    number = int(wildcards.round)
    return [] if number == 0 else [checkpoints.weigh.get(round=number - 1).output.outcome]


def guesses(wildcards):
    """The guesses of a round: as many as the round before asked for."""
    last = before(wildcards)
    count = CAMPAIGN.result(last[0])["next"] if last else 1
    return expand("<results>/search/guess/{round}/{item}/outcome.json", round=wildcards.round, item=range(count))


def weighed(wildcards):
    """All rounds up to the one that was enough."""
    found = []
    for number in CAMPAIGN.values("round"):
        found.append(checkpoints.weigh.get(round=number).output.outcome)
        if CAMPAIGN.result(found[-1])["enough"]:
            break
    return found


rule advise:
    input:
        gate=ancient(CAMPAIGN.gate),
        before=before,
    output:
        answer="<results>/search/advise/{round}/answer.json",
    log:
        "<logs>/search/advise/{round}.log",
    localrule: True
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("advise"),
    shell:
        "sophron agent run advise --gate {input.gate} --wildcard round={wildcards.round} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule guess:
    input:
        gate=ancient(CAMPAIGN.gate),
        advice="<results>/search/advise/{round}/answer.json",
    output:
        outcome="<results>/search/guess/{round}/{item}/outcome.json",
    log:
        "<logs>/search/guess/{round}-{item}.log",
    retries: CAMPAIGN.retries("guess")
    threads: CAMPAIGN.cores("guess")
    resources:
        **CAMPAIGN.resources("guess"),
    params:
        digest=CAMPAIGN.definition_digest("guess"),
    shell:
        "sophron stage guess --gate {input.gate} --wildcard round={wildcards.round} --wildcard item={wildcards.item}"
        " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
        " --runtime-min {resources.runtime} --digest {params.digest}"


checkpoint weigh:
    input:
        gate=ancient(CAMPAIGN.gate),
        guesses=guesses,
        before=before,
    output:
        outcome="<results>/search/weigh/{round}/outcome.json",
    log:
        "<logs>/search/weigh/{round}.log",
    retries: CAMPAIGN.retries("weigh")
    threads: CAMPAIGN.cores("weigh")
    resources:
        **CAMPAIGN.resources("weigh"),
    params:
        digest=CAMPAIGN.definition_digest("weigh"),
    shell:
        "sophron stage weigh --gate {input.gate} --wildcard round={wildcards.round} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule search:
    input:
        gate=ancient(CAMPAIGN.gate),
        weighed=weighed,
    output:
        outcome="<results>/search/outcome.json",
    log:
        "<logs>/search/search.log",
    retries: CAMPAIGN.retries("search")
    threads: CAMPAIGN.cores("search")
    resources:
        **CAMPAIGN.resources("search"),
    params:
        digest=CAMPAIGN.definition_digest("search"),
    shell:
        "sophron stage search --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
