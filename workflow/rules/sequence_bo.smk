# Bayesian optimisation of a sequence: warm-up, a loop of rounds (propose, evaluate beside each other, update), validation
# with fresh seeds, comparison. Whether another round comes is read from update, the checkpoint of the loop. What the
# steps do is in sophron.science.sequence_bo.


wildcard_constraints:
    sequence=r"\d+",
    round=r"\d+",
    item=r"\d+",
    candidate=r"\d+|warm_up",


def before(wildcards):
    """What was known after the round before; nothing for the first one."""
    number = int(wildcards.round)
    return (
        [] if number == 0 else [checkpoints.update.get(round=number - 1).output.outcome]
    )


def asked(wildcards):
    """The answer of the agent of the round, if the campaign has one."""
    answer = "<results>/rounds/propose_sequences/{round}/answer.json"
    return answer if CAMPAIGN.has("propose_sequences") else []


def updated(wildcards):
    """All rounds up to the one after which no further one comes."""
    found = []
    for number in CAMPAIGN.values("round"):
        found.append(checkpoints.update.get(round=number).output.outcome)
        if CAMPAIGN.result(found[-1])["over"]:
            break
    return found


rule warm_up:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        outcome="<results>/warm_up/{sequence}/outcome.json",
    log:
        "<logs>/warm_up/{sequence}.log",
    retries: CAMPAIGN.retries("warm_up")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("warm_up")
    resources:
        **CAMPAIGN.resources("warm_up"),
    params:
        digest=CAMPAIGN.definition_digest("warm_up"),
    shell:
        "sophron stage warm_up --gate {input.gate} --wildcard sequence={wildcards.sequence} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("propose_sequences"):

    rule propose_sequences:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/warm_up/accepted.json"),
            warm_up=CAMPAIGN.outcomes("warm_up"),
            before=before,
        output:
            answer="<results>/rounds/propose_sequences/{round}/answer.json",
        log:
            "<logs>/rounds/propose_sequences/{round}.log",
        localrule: True
        resources:
            **CAMPAIGN.agent_resources(),
        params:
            digest=CAMPAIGN.agent_digest("propose_sequences"),
        shell:
            "sophron agent run propose_sequences --gate {input.gate} --wildcard round={wildcards.round}"
            " --answer {output.answer} --log {log} --digest {params.digest}"


rule propose:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/warm_up/accepted.json"),
        warm_up=CAMPAIGN.outcomes("warm_up"),
        before=before,
        asked=asked,
    output:
        outcome="<results>/rounds/propose/{round}/outcome.json",
    log:
        "<logs>/rounds/propose/{round}.log",
    retries: CAMPAIGN.retries("propose")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("propose")
    resources:
        **CAMPAIGN.resources("propose"),
    params:
        digest=CAMPAIGN.definition_digest("propose"),
    shell:
        "sophron stage propose --gate {input.gate} --wildcard round={wildcards.round} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule evaluate:
    input:
        gate=ancient(CAMPAIGN.gate),
        proposed="<results>/rounds/propose/{round}/outcome.json",
    output:
        outcome="<results>/rounds/evaluate/{round}/{item}/outcome.json",
    log:
        "<logs>/rounds/evaluate/{round}-{item}.log",
    retries: CAMPAIGN.retries("evaluate")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("evaluate")
    resources:
        **CAMPAIGN.resources("evaluate"),
    params:
        digest=CAMPAIGN.definition_digest("evaluate"),
    shell:
        "sophron stage evaluate --gate {input.gate} --wildcard round={wildcards.round} --wildcard item={wildcards.item}"
        " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
        " --runtime-min {resources.runtime} --digest {params.digest}"


checkpoint update:
    input:
        gate=ancient(CAMPAIGN.gate),
        warm_up=CAMPAIGN.outcomes("warm_up"),
        proposed="<results>/rounds/propose/{round}/outcome.json",
        evaluated=expand(
            "<results>/rounds/evaluate/{{round}}/{item}/outcome.json",
            item=CAMPAIGN.values("item"),
        ),
        before=before,
    output:
        outcome="<results>/rounds/update/{round}/outcome.json",
    log:
        "<logs>/rounds/update/{round}.log",
    retries: CAMPAIGN.retries("update")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("update")
    resources:
        **CAMPAIGN.resources("update"),
    params:
        digest=CAMPAIGN.definition_digest("update"),
    shell:
        "sophron stage update --gate {input.gate} --wildcard round={wildcards.round} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule rounds:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/warm_up/accepted.json"),
        warm_up=CAMPAIGN.outcomes("warm_up"),
        updated=updated,
    output:
        progress_plot=report(
            "<results>/rounds/progress.svg",
            category="rounds",
            caption="../report/progress.rst",
        ),
        outcome="<results>/rounds/outcome.json",
    log:
        "<logs>/rounds/rounds.log",
    retries: CAMPAIGN.retries("rounds")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("rounds")
    resources:
        **CAMPAIGN.resources("rounds"),
    params:
        digest=CAMPAIGN.definition_digest("rounds"),
    shell:
        "sophron stage rounds --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule validate:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/rounds/accepted.json"),
        rounds="<results>/rounds/outcome.json",
    output:
        outcome="<results>/validate/{candidate}/outcome.json",
    log:
        "<logs>/validate/{candidate}.log",
    retries: CAMPAIGN.retries("validate")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("validate")
    resources:
        **CAMPAIGN.resources("validate"),
    params:
        digest=CAMPAIGN.definition_digest("validate"),
    shell:
        "sophron stage validate --gate {input.gate} --wildcard candidate={wildcards.candidate}"
        " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
        " --runtime-min {resources.runtime} --digest {params.digest}"


rule compare:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/validate/accepted.json"),
        validated=CAMPAIGN.outcomes("validate"),
    output:
        candidates_plot=report(
            "<results>/compare/candidates.svg",
            category="compare",
            caption="../report/candidates.rst",
        ),
        outcome="<results>/compare/outcome.json",
    log:
        "<logs>/compare/compare.log",
    retries: CAMPAIGN.retries("compare")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("compare")
    resources:
        **CAMPAIGN.resources("compare"),
    params:
        digest=CAMPAIGN.definition_digest("compare"),
    shell:
        "sophron stage compare --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
