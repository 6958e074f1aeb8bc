# Tasks: for each, a pre-scan by a program, then rounds of work by an agent and assessment by programs; the reviewer is asked
# of work that passed, and only if a sentence was signed as its to judge. What the steps do is in sophron.kinds.task.


wildcard_constraints:
    round=r"\d+",


def concluded_before(stage):
    """Input function: what the round before came to; nothing for the first one."""

    def before(wildcards):
        number = int(wildcards.round)
        return (
            []
            if number == 1
            else [
                getattr(checkpoints, f"conclude_{stage}")
                .get(round=number - 1)
                .output.outcome
            ]
        )

    return before


def reviewed(stage):
    """Input function: the reviewer's answer of a round whose work passed the programs."""

    def answer(wildcards):
        assessed = (
            getattr(checkpoints, f"assess_{stage}")
            .get(round=wildcards.round)
            .output.outcome
        )
        return (
            [f"<results>/{stage}/review/{wildcards.round}/answer.json"]
            if CAMPAIGN.result(assessed)["passed"]
            else []
        )

    return answer if CAMPAIGN.has(f"review_{stage}") else []


def concluded(stage):
    """Input function: all rounds up to the one after which none follows."""

    def rounds(_):
        found = []
        for number in CAMPAIGN.values("round"):
            found.append(
                getattr(checkpoints, f"conclude_{stage}")
                .get(round=number)
                .output.outcome
            )
            if CAMPAIGN.result(found[-1])["done"]:
                break
        return found

    return rounds


for stage in CAMPAIGN.stages:

    rule:
        name:
            f"prescan_{stage}"
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=[
                ancient(f"<results>/{below}/accepted.json")
                for below in CAMPAIGN.below(stage)
            ],
            outcomes=CAMPAIGN.outcomes_before(stage),
        output:
            tree=f"<results>/{stage}/prescan/work.tar",
            manifest=f"<results>/{stage}/prescan/manifest.json",
            environment=f"<results>/{stage}/prescan/environment.json",
            outcome=f"<results>/{stage}/prescan/outcome.json",
        log:
            f"<logs>/{stage}/prescan.log",
        retries: CAMPAIGN.retries(f"prescan_{stage}")
        threads: CAMPAIGN.cores(f"prescan_{stage}")
        resources:
            **CAMPAIGN.resources(f"prescan_{stage}"),
        params:
            stage=f"prescan_{stage}",
            digest=CAMPAIGN.definition_digest(f"prescan_{stage}"),
        shell:
            "sophron stage {params.stage} --gate {input.gate} --outcome {output.outcome} --log {log}"
            " --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime} --digest {params.digest}"

    rule:
        name:
            f"work_{stage}"
        input:
            gate=ancient(CAMPAIGN.gate),
            prescan=f"<results>/{stage}/prescan/outcome.json",
            before=concluded_before(stage),
        output:
            answer=f"<results>/{stage}/work/{{round}}/answer.json",
            tree=f"<results>/{stage}/work/{{round}}/work.tar",
            manifest=f"<results>/{stage}/work/{{round}}/manifest.json",
            calls=f"<results>/{stage}/work/{{round}}/tool_calls.jsonl",
        log:
            f"<logs>/{stage}/work/{{round}}.log",
        resources:
            **CAMPAIGN.agent_resources(memory_mb=2000, runtime_min=60),
        params:
            stage=f"work_{stage}",
            digest=CAMPAIGN.agent_digest(f"work_{stage}"),
        shell:
            "sophron agent run {params.stage} --gate {input.gate} --wildcard round={wildcards.round}"
            " --answer {output.answer} --log {log} --digest {params.digest}"

    checkpoint:
        name:
            f"assess_{stage}"
        input:
            gate=ancient(CAMPAIGN.gate),
            prescan=f"<results>/{stage}/prescan/outcome.json",
            answer=f"<results>/{stage}/work/{{round}}/answer.json",
        output:
            findings=f"<results>/{stage}/assess/{{round}}/findings.json",
            tests=f"<results>/{stage}/assess/{{round}}/test-stdout.txt",
            outcome=f"<results>/{stage}/assess/{{round}}/outcome.json",
        log:
            f"<logs>/{stage}/assess/{{round}}.log",
        retries: CAMPAIGN.retries(f"assess_{stage}")
        threads: CAMPAIGN.cores(f"assess_{stage}")
        resources:
            **CAMPAIGN.resources(f"assess_{stage}"),
        params:
            stage=f"assess_{stage}",
            digest=CAMPAIGN.definition_digest(f"assess_{stage}"),
        shell:
            "sophron stage {params.stage} --gate {input.gate} --wildcard round={wildcards.round}"
            " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
            " --runtime-min {resources.runtime} --digest {params.digest}"

    if CAMPAIGN.has(f"review_{stage}"):

        rule:
            name:
                f"review_{stage}"
            input:
                gate=ancient(CAMPAIGN.gate),
                assessed=f"<results>/{stage}/assess/{{round}}/outcome.json",
            output:
                answer=f"<results>/{stage}/review/{{round}}/answer.json",
            log:
                f"<logs>/{stage}/review/{{round}}.log",
            resources:
                **CAMPAIGN.agent_resources(memory_mb=2000, runtime_min=60),
            params:
                stage=f"review_{stage}",
                digest=CAMPAIGN.agent_digest(f"review_{stage}"),
            shell:
                "sophron agent run {params.stage} --gate {input.gate} --wildcard round={wildcards.round}"
                " --answer {output.answer} --log {log} --digest {params.digest}"

    checkpoint:
        name:
            f"conclude_{stage}"
        input:
            gate=ancient(CAMPAIGN.gate),
            assessed=f"<results>/{stage}/assess/{{round}}/outcome.json",
            reviewed=reviewed(stage),
            before=concluded_before(stage),
        output:
            history=f"<results>/{stage}/conclude/{{round}}/history.json",
            outcome=f"<results>/{stage}/conclude/{{round}}/outcome.json",
        log:
            f"<logs>/{stage}/conclude/{{round}}.log",
        retries: CAMPAIGN.retries(f"conclude_{stage}")
        threads: CAMPAIGN.cores(f"conclude_{stage}")
        resources:
            **CAMPAIGN.resources(f"conclude_{stage}"),
        params:
            stage=f"conclude_{stage}",
            digest=CAMPAIGN.definition_digest(f"conclude_{stage}"),
        shell:
            "sophron stage {params.stage} --gate {input.gate} --wildcard round={wildcards.round}"
            " --outcome {output.outcome} --log {log} --cores {threads} --memory-mb {resources.mem_mb}"
            " --runtime-min {resources.runtime} --digest {params.digest}"

    rule:
        name:
            stage
        input:
            gate=ancient(CAMPAIGN.gate),
            outcomes=CAMPAIGN.outcomes_before(stage),
            concluded=concluded(stage),
        output:
            tree=f"<results>/{stage}/work.tar",
            history=f"<results>/{stage}/history.json",
            outcome=f"<results>/{stage}/outcome.json",
        log:
            f"<logs>/{stage}/{stage}.log",
        retries: CAMPAIGN.retries(stage)
        threads: CAMPAIGN.cores(stage)
        resources:
            **CAMPAIGN.resources(stage),
        params:
            stage=stage,
            digest=CAMPAIGN.definition_digest(stage),
        shell:
            "sophron stage {params.stage} --gate {input.gate} --outcome {output.outcome} --log {log} --cores {threads}"
            " --memory-mb {resources.mem_mb} --runtime-min {resources.runtime} --digest {params.digest}"
