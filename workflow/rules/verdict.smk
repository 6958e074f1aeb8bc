# Verify judges a stage and always ends well; accept stops the workflow at a failed verdict.
# `accepted` is kept where accept fails (update), so that nothing downstream that is finished runs again; `passed`
# is not, so that a failed accept is tried again by the next call.


rule verify:
    input:
        gate=ancient(CAMPAIGN.gate),
        outcomes=CAMPAIGN.outcomes_of,
    output:
        verdict="<results>/{stage}/verdict.json",
    log:
        "<logs>/{stage}/verify.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=CAMPAIGN.criteria_digest_of,
    shell:
        "sophron verify {wildcards.stage} --gate {input.gate} --verdict {output.verdict} --log {log}"
        " --digest {params.digest}"


rule accept:
    input:
        gate=ancient(CAMPAIGN.gate),
        verdict="<results>/{stage}/verdict.json",
    output:
        accepted=update("<results>/{stage}/accepted.json"),
        passed="<results>/{stage}/passed",
    log:
        "<logs>/{stage}/accept.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=CAMPAIGN.definition_digest_of,
    shell:
        "sophron accept {wildcards.stage} --gate {input.gate} --verdict {input.verdict}"
        " --accepted {output.accepted} --passed {output.passed} --log {log} --digest {params.digest}"
