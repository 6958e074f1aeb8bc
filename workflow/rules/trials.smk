# The loop of trials (MDForge, algorithm 1): write, look at it mechanically, rehearse with an Engineer, debate, execute,
# benchmark, debate, close. What comes next in a trial is read from its rehearsal and its benchmark, and whether another
# one comes from how it closed: these three are checkpoints, one after the other.


def before(wildcards):
    """How the trial before closed; nothing for the first one."""
    number = int(wildcards.trial)
    return (
        [] if number == 0 else [checkpoints.close.get(trial=number - 1).output.outcome]
    )


def rehearsals(wildcards):
    """The rehearsals of a trial, up to the one after which the Engineer is not asked."""
    found = []
    for number in CAMPAIGN.values("attempt"):
        found.append(
            checkpoints.rehearse.get(
                trial=wildcards.trial, attempt=number
            ).output.outcome
        )
        if CAMPAIGN.result(found[-1])["state"] != "crashed":
            break
    return found


def fixes(wildcards):
    """What the Engineer answered to all rehearsals before this one."""
    return expand(
        "<results>/trials/engineer/{trial}/{fix}/answer.json",
        trial=wildcards.trial,
        fix=range(int(wildcards.attempt)),
    )


def produced(wildcards):
    """All windows of one guest, as many as its trial's pipeline has."""
    windows = CAMPAIGN.result(rehearsals(wildcards)[-1])["windows"]
    return expand(
        "<results>/trials/produce/{trial}/{guest}/{window}/outcome.json",
        trial=wildcards.trial,
        guest=wildcards.guest,
        window=range(windows),
    )


def ended(wildcards):
    """What the end of a trial looks at: as much of it as there was."""
    found = rehearsals(wildcards)
    if CAMPAIGN.result(found[-1])["state"] != "ready":
        return found
    scored = checkpoints.benchmark.get(trial=wildcards.trial).output.outcome
    found += [scored]
    if CAMPAIGN.has("examine"):
        found += expand(
            "<results>/trials/examine/{trial}/{guest}/outcome.json",
            trial=wildcards.trial,
            guest=CAMPAIGN.values("training"),
        )
    if CAMPAIGN.has("review") and CAMPAIGN.result(scored)["analysed"]:
        found.append(f"<results>/trials/review/{wildcards.trial}/outcome.json")
    return found


def closed(wildcards):
    """All trials up to the one after which no further one comes."""
    found = []
    for number in CAMPAIGN.values("trial"):
        found.append(checkpoints.close.get(trial=number).output.outcome)
        if CAMPAIGN.result(found[-1])["over"]:
            break
    return found


def held_out(wildcards):
    """The analyses of the held-out guests, once the loop is over: by the deployed pipeline, or by all that could be."""
    last = CAMPAIGN.result(closed(wildcards)[-1])
    # An earlier version's result says no more than which one is deployed.
    deployed = last["standing"]["deployed"]
    alone = [] if deployed is None else [deployed]
    return expand(
        "<results>/trials/analyse/{trial}/{guest}/outcome.json",
        trial=last.get("held_out_of", alone),
        guest=CAMPAIGN.values("held_out"),
    )


rule pipeline_author:
    input:
        gate=ancient(CAMPAIGN.gate),
        tasks=ancient("<results>/tasks/accepted.json"),
        discussed=ancient(
            ["<results>/discussion/accepted.json"]
            if CAMPAIGN.has("discussion")
            else []
        ),
        before=before,
    output:
        answer="<results>/trials/write/{trial}/answer.json",
    log:
        "<logs>/trials/write/{trial}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(runtime_min=60),
    params:
        digest=CAMPAIGN.agent_digest("pipeline_author"),
    shell:
        "sophron agent run pipeline_author --gate {input.gate} --wildcard trial={wildcards.trial} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


if CAMPAIGN.has("pipeline_critic"):

    rule pipeline_critic:
        input:
            gate=ancient(CAMPAIGN.gate),
            written="<results>/trials/write/{trial}/answer.json",
        output:
            answer="<results>/trials/criticise/{trial}/answer.json",
        log:
            "<logs>/trials/criticise/{trial}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(runtime_min=60),
        params:
            digest=CAMPAIGN.agent_digest("pipeline_critic"),
        shell:
            "sophron agent run pipeline_critic --gate {input.gate} --wildcard trial={wildcards.trial} --answer {output.answer}"
            " --log {log} --digest {params.digest}"


rule layer1:
    input:
        gate=ancient(CAMPAIGN.gate),
        written="<results>/trials/{by}/{{trial}}/answer.json".format(
            by="criticise" if CAMPAIGN.has("pipeline_critic") else "write"
        ),
    output:
        pipeline="<results>/trials/layer1/{trial}/pipeline.txt",
        outcome="<results>/trials/layer1/{trial}/outcome.json",
    log:
        "<logs>/trials/layer1/{trial}.log",
    retries: CAMPAIGN.retries("layer1")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("layer1")
    resources:
        **CAMPAIGN.resources("layer1"),
    params:
        digest=CAMPAIGN.definition_digest("layer1"),
    shell:
        "sophron stage layer1 --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


checkpoint rehearse:
    input:
        gate=ancient(CAMPAIGN.gate),
        tasks=ancient("<results>/tasks/accepted.json"),
        looked="<results>/trials/layer1/{trial}/outcome.json",
        fixes=fixes,
    output:
        pipeline="<results>/trials/rehearse/{trial}/{attempt}/pipeline.txt",
        outcome="<results>/trials/rehearse/{trial}/{attempt}/outcome.json",
    log:
        "<logs>/trials/rehearse/{trial}-{attempt}.log",
    retries: CAMPAIGN.retries("rehearse")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("rehearse")
    resources:
        **CAMPAIGN.resources("rehearse"),
    params:
        digest=CAMPAIGN.definition_digest("rehearse"),
    shell:
        "sophron stage rehearse --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard attempt={wildcards.attempt} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("pipeline_engineer"):

    rule pipeline_engineer:
        input:
            gate=ancient(CAMPAIGN.gate),
            rehearsal="<results>/trials/rehearse/{trial}/{fix}/outcome.json",
        output:
            answer="<results>/trials/engineer/{trial}/{fix}/answer.json",
        log:
            "<logs>/trials/engineer/{trial}-{fix}.log",
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        resources:
            **CAMPAIGN.agent_resources(runtime_min=60),
        params:
            digest=CAMPAIGN.agent_digest("pipeline_engineer"),
        shell:
            "sophron agent run pipeline_engineer --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard fix={wildcards.fix} --answer {output.answer}"
            " --log {log} --digest {params.digest}"


checkpoint benchmark:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/references/accepted.json"),
        analysed=lambda wildcards: expand(
            "<results>/trials/analyse/{trial}/{guest}/outcome.json",
            trial=wildcards.trial,
            guest=CAMPAIGN.values("training"),
        ),
    output:
        outcome="<results>/trials/benchmark/{trial}/outcome.json",
    log:
        "<logs>/trials/benchmark/{trial}.log",
    retries: CAMPAIGN.retries("benchmark")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("benchmark")
    resources:
        **CAMPAIGN.resources("benchmark"),
    params:
        digest=CAMPAIGN.definition_digest("benchmark"),
    shell:
        "sophron stage benchmark --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


checkpoint close:
    input:
        gate=ancient(CAMPAIGN.gate),
        ended=ended,
        before=before,
    output:
        outcome="<results>/trials/close/{trial}/outcome.json",
    log:
        "<logs>/trials/close/{trial}.log",
    retries: CAMPAIGN.retries("close")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("close")
    resources:
        **CAMPAIGN.resources("close"),
    params:
        digest=CAMPAIGN.definition_digest("close"),
    shell:
        "sophron stage close --gate {input.gate} --wildcard trial={wildcards.trial} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule trials:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/references/accepted.json"),
        tasks=CAMPAIGN.outcomes("tasks"),
        references="<results>/references/outcome.json",
        discussion=CAMPAIGN.outcomes("discussion") if CAMPAIGN.has("discussion") else [],
        closed=closed,
        held_out=held_out,
    output:
        pipeline="<results>/trials/pipeline.txt",
        reputation="<results>/trials/reputation.json",
        trials_plot=report(
            "<results>/trials/trials.svg",
            category="trials",
            caption="../report/trials.rst",
        ),
        outcome="<results>/trials/outcome.json",
    log:
        "<logs>/trials/trials.log",
    retries: CAMPAIGN.retries("trials")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("trials")
    resources:
        **CAMPAIGN.resources("trials"),
    params:
        digest=CAMPAIGN.definition_digest("trials"),
    shell:
        "sophron stage trials --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
