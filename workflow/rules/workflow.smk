# The kind workflow: one rule a stage, which reads the declared results out of what the host's rules made.
# The stage's name is a param: an f-string in the shell line is made when the job runs, and then of the last stage.

for stage in CAMPAIGN.host_stages:

    rule:
        name:
            stage
        input:
            gate=ancient(CAMPAIGN.gate),
            outcomes=CAMPAIGN.outcomes_before(stage),
            made=CAMPAIGN.host_files(stage),
        output:
            outcome=f"<results>/{stage}/outcome.json",
        log:
            f"<logs>/{stage}/{stage}.log",
        retries: CAMPAIGN.retries(stage)
        localrule: True
        conda:
            "../../envs/sophron.yaml"
        threads: CAMPAIGN.cores(stage)
        resources:
            **CAMPAIGN.resources(stage),
        params:
            stage=stage,
            digest=CAMPAIGN.definition_digest(stage),
        shell:
            "sophron stage {params.stage}"
            " --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"
