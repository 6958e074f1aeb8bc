# Agent steps: files in, one typed answer out. `design` and `plan` make a spec or speak about one, so they need no
# approval; a daily cap in the user's configuration bounds them. `caveats` comes before the report; the others stand in the plan as
# bounded templates, and run when `sophron run` or a person asks for them by their output.


rule caveats:
    input:
        gate=ancient(CAMPAIGN.gate),
        verdicts=expand("<results>/{stage}/verdict.json", stage=CAMPAIGN.stages),
        passed=expand("<results>/{stage}/passed", stage=CAMPAIGN.stages),
    output:
        answer="<results>/caveats.json",
    log:
        "<logs>/caveats.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("caveats"),
    shell:
        "sophron agent run caveats --gate {input.gate} --answer {output.answer} --log {log} --digest {params.digest}"


rule explain:
    input:
        gate=ancient(CAMPAIGN.gate),
        verdict="<results>/{stage}/verdict.json",
    output:
        answer="<results>/{stage}/explanation.json",
    log:
        "<logs>/{stage}/explain.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("explain"),
    shell:
        "sophron agent run explain --gate {input.gate} --wildcard stage={wildcards.stage} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule debug:
    input:
        gate=ancient(CAMPAIGN.gate),
        failure=CAMPAIGN.failure,
        remembered=CAMPAIGN.remembered,
    output:
        answer="<results>/{stage}/debug-{attempt}.json",
    log:
        "<logs>/{stage}/debug-{attempt}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("debug"),
    shell:
        "sophron agent run debug --gate {input.gate} --wildcard stage={wildcards.stage}"
        " --wildcard attempt={wildcards.attempt} --answer {output.answer} --log {log} --digest {params.digest}"


rule amend:
    input:
        gate=ancient(CAMPAIGN.gate),
        failure=CAMPAIGN.failure,
    output:
        answer="<results>/{stage}/proposal-{attempt}.json",
    log:
        "<logs>/{stage}/proposal-{attempt}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("amend"),
    shell:
        "sophron agent run amend --gate {input.gate} --wildcard stage={wildcards.stage}"
        " --wildcard attempt={wildcards.attempt} --answer {output.answer} --log {log} --digest {params.digest}"


rule resume:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        answer="<results>/resume-{attempt}.json",
    log:
        "<logs>/resume-{attempt}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("resume"),
    shell:
        "sophron agent run resume --gate {input.gate} --wildcard attempt={wildcards.attempt}"
        " --answer {output.answer} --log {log} --digest {params.digest}"


rule checkpoint_management:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        answer="<results>/restart-files-{attempt}.json",
    log:
        "<logs>/restart-files-{attempt}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        digest=CAMPAIGN.agent_digest("checkpoint_management"),
    shell:
        "sophron agent run checkpoint_management --gate {input.gate} --wildcard attempt={wildcards.attempt}"
        " --answer {output.answer} --log {log} --digest {params.digest}"


rule design:
    input:
        request=CAMPAIGN.design("request.md"),
    output:
        answer=CAMPAIGN.design("answer-{attempt}.json"),
    log:
        "<logs>/design-{attempt}.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        campaign=CAMPAIGN.folder,
    shell:
        "sophron agent ask design {params.campaign} --answer {output.answer} --log {log}"


rule plan:
    input:
        spec=CAMPAIGN.spec_file,
    output:
        answer=CAMPAIGN.design("plan.json"),
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        **CAMPAIGN.agent_resources(),
    params:
        campaign=CAMPAIGN.folder,
    shell:
        "sophron agent ask plan {params.campaign} --answer {output.answer} --log {log}"
