# An agent is built from a contract: in each round a candidate is run on every active case, judged, and changed, until
# the last tier has passed and what was held out was tried, or no round is left. What the rules do is in sophron.agentbuild.


wildcard_constraints:
    round=r"\d+",
    case=r"[a-z][a-z0-9-]*",
    repeat=r"\d+",


def concluded_before(wildcards):
    """What the round before came to; nothing for the first one."""
    number = int(wildcards.round)
    return (
        []
        if number == 1
        else [checkpoints.conclude.get(round=number - 1).output.outcome]
    )


def improvement(wildcards):
    """What the meta-optimizer proposed for this round, where it was asked."""
    before = concluded_before(wildcards)
    if not before or not CAMPAIGN.result(before[0])["improve"]:
        return []
    return f"<results>/build/improve/{int(wildcards.round) - 1}/answer.json"


def cards(wildcards):
    """The scorecards of a round: those of the cases that its candidate runs."""
    candidate = checkpoints.candidate.get(round=wildcards.round).output.outcome
    cases = CAMPAIGN.result(candidate)["cases"]
    return expand(
        "<results>/build/card/{round}/{case}/outcome.json",
        round=wildcards.round,
        case=cases,
    )


def concluded(wildcards):
    """All rounds up to the one after which none follows."""
    found = []
    for number in CAMPAIGN.values("round"):
        found.append(checkpoints.conclude.get(round=number).output.outcome)
        if CAMPAIGN.result(found[-1])["done"]:
            break
    return found


rule sample:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        sample="<results>/sample/{case}/sample.json",
        task="<results>/sample/{case}/task.json",
        outcome="<results>/sample/{case}/outcome.json",
    log:
        "<logs>/sample/{case}.log",
    retries: CAMPAIGN.retries("sample")
    threads: CAMPAIGN.cores("sample")
    resources:
        **CAMPAIGN.resources("sample"),
    params:
        digest=CAMPAIGN.definition_digest("sample"),
    shell:
        "sophron stage sample --gate {input.gate} --wildcard case={wildcards.case} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


checkpoint candidate:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/sample/accepted.json"),
        before=concluded_before,
        improvement=improvement,
    output:
        agent="<results>/build/candidate/{round}/agent.json",
        change="<results>/build/candidate/{round}/change.json",
        outcome="<results>/build/candidate/{round}/outcome.json",
    log:
        "<logs>/build/candidate/{round}.log",
    retries: CAMPAIGN.retries("candidate")
    threads: CAMPAIGN.cores("candidate")
    resources:
        **CAMPAIGN.resources("candidate"),
    params:
        digest=CAMPAIGN.definition_digest("candidate"),
    shell:
        "sophron stage candidate --gate {input.gate} --wildcard round={wildcards.round} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule aud:
    input:
        gate=ancient(CAMPAIGN.gate),
        candidate="<results>/build/candidate/{round}/outcome.json",
        sample="<results>/sample/{case}/sample.json",
    output:
        answer="<results>/build/try_case/{round}/{case}/answer.json",
        trajectory="<results>/build/try_case/{round}/{case}/trajectory.json",
    log:
        "<logs>/build/try_case/{round}-{case}.log",
    resources:
        **CAMPAIGN.agent_resources(memory_mb=2000, runtime_min=60),
    params:
        digest=CAMPAIGN.agent_digest("aud"),
    shell:
        "sophron agent run aud --gate {input.gate} --wildcard round={wildcards.round} --wildcard case={wildcards.case}"
        " --answer {output.answer} --log {log} --digest {params.digest}"


rule judge_screen:
    input:
        gate=ancient(CAMPAIGN.gate),
        answer="<results>/build/try_case/{round}/{case}/answer.json",
    output:
        answer="<results>/build/screen_case/{round}/{case}/answer.json",
    log:
        "<logs>/build/screen_case/{round}-{case}.log",
    localrule: True
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("judge_screen"),
    shell:
        "sophron agent run judge_screen --gate {input.gate} --wildcard round={wildcards.round}"
        " --wildcard case={wildcards.case} --answer {output.answer} --log {log} --digest {params.digest}"


rule judge_score:
    input:
        gate=ancient(CAMPAIGN.gate),
        answer="<results>/build/try_case/{round}/{case}/answer.json",
    output:
        answer="<results>/build/score_case/{round}/{case}/{repeat}/answer.json",
    log:
        "<logs>/build/score_case/{round}-{case}-{repeat}.log",
    localrule: True
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("judge_score"),
    shell:
        "sophron agent run judge_score --gate {input.gate} --wildcard round={wildcards.round}"
        " --wildcard case={wildcards.case} --wildcard repeat={wildcards.repeat} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule card:
    input:
        gate=ancient(CAMPAIGN.gate),
        answer="<results>/build/try_case/{round}/{case}/answer.json",
        screened="<results>/build/screen_case/{round}/{case}/answer.json",
        scored=lambda wildcards: expand(
            "<results>/build/score_case/{round}/{case}/{repeat}/answer.json",
            round=wildcards.round,
            case=wildcards.case,
            repeat=CAMPAIGN.values("repeat"),
        ),
    output:
        card="<results>/build/card/{round}/{case}/card.json",
        outcome="<results>/build/card/{round}/{case}/outcome.json",
    log:
        "<logs>/build/card/{round}-{case}.log",
    retries: CAMPAIGN.retries("card")
    threads: CAMPAIGN.cores("card")
    resources:
        **CAMPAIGN.resources("card"),
    params:
        digest=CAMPAIGN.definition_digest("card"),
    shell:
        "sophron stage card --gate {input.gate} --wildcard round={wildcards.round} --wildcard case={wildcards.case}"
        " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
        " --runtime-min {resources.runtime} --digest {params.digest}"


checkpoint conclude:
    input:
        gate=ancient(CAMPAIGN.gate),
        candidate="<results>/build/candidate/{round}/outcome.json",
        cards=cards,
        before=concluded_before,
    output:
        best="<results>/build/conclude/{round}/best.json",
        cards="<results>/build/conclude/{round}/cards.json",
        history="<results>/build/conclude/{round}/history.json",
        outcome="<results>/build/conclude/{round}/outcome.json",
    log:
        "<logs>/build/conclude/{round}.log",
    retries: CAMPAIGN.retries("conclude")
    threads: CAMPAIGN.cores("conclude")
    resources:
        **CAMPAIGN.resources("conclude"),
    params:
        digest=CAMPAIGN.definition_digest("conclude"),
    shell:
        "sophron stage conclude --gate {input.gate} --wildcard round={wildcards.round} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule optimize:
    input:
        gate=ancient(CAMPAIGN.gate),
        concluded="<results>/build/conclude/{round}/outcome.json",
    output:
        answer="<results>/build/improve/{round}/answer.json",
    log:
        "<logs>/build/improve/{round}.log",
    localrule: True
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("optimize"),
    shell:
        "sophron agent run optimize --gate {input.gate} --wildcard round={wildcards.round} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule build:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/sample/accepted.json"),
        samples=CAMPAIGN.outcomes("sample"),
        concluded=concluded,
    output:
        agent="<results>/build/agent.json",
        history="<results>/build/history.json",
        outcome="<results>/build/outcome.json",
    log:
        "<logs>/build/build.log",
    retries: CAMPAIGN.retries("build")
    threads: CAMPAIGN.cores("build")
    resources:
        **CAMPAIGN.resources("build"),
    params:
        digest=CAMPAIGN.definition_digest("build"),
    shell:
        "sophron stage build --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
