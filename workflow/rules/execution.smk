# The four stage files of a trial's pipeline on each guest, in the sandbox; production is one step a window, and a failed
# analysis repeats none of them. A step that a later trial would repeat unchanged is taken over from the trial before.


rule prepare:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=rehearsals,
        screened=ancient(
            ["<results>/trials/screen/{trial}/outcome.json"]
            if CAMPAIGN.has("screen")
            else []
        ),
        before=before,
    output:
        left="<results>/trials/prepare/{trial}/{guest}/left.tar",
        executed="<results>/trials/prepare/{trial}/{guest}/executed.json",
        outcome="<results>/trials/prepare/{trial}/{guest}/outcome.json",
    log:
        "<logs>/trials/prepare/{trial}-{guest}.log",
    retries: CAMPAIGN.retries("prepare")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("prepare")
    resources:
        **CAMPAIGN.resources("prepare"),
    params:
        digest=CAMPAIGN.definition_digest("prepare"),
    shell:
        "sophron stage prepare --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule equilibrate:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=rehearsals,
        prepared="<results>/trials/prepare/{trial}/{guest}/outcome.json",
        before=before,
    output:
        left="<results>/trials/equilibrate/{trial}/{guest}/left.tar",
        executed="<results>/trials/equilibrate/{trial}/{guest}/executed.json",
        outcome="<results>/trials/equilibrate/{trial}/{guest}/outcome.json",
    log:
        "<logs>/trials/equilibrate/{trial}-{guest}.log",
    retries: CAMPAIGN.retries("equilibrate")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("equilibrate")
    resources:
        **CAMPAIGN.resources("equilibrate"),
    params:
        digest=CAMPAIGN.definition_digest("equilibrate"),
    shell:
        "sophron stage equilibrate --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule produce:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=rehearsals,
        equilibrated="<results>/trials/equilibrate/{trial}/{guest}/outcome.json",
        before=before,
    output:
        left="<results>/trials/produce/{trial}/{guest}/{window}/left.tar",
        executed="<results>/trials/produce/{trial}/{guest}/{window}/executed.json",
        outcome="<results>/trials/produce/{trial}/{guest}/{window}/outcome.json",
    log:
        "<logs>/trials/produce/{trial}-{guest}-{window}.log",
    retries: CAMPAIGN.retries("produce")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("produce")
    resources:
        **CAMPAIGN.resources("produce"),
    params:
        digest=CAMPAIGN.definition_digest("produce"),
    shell:
        "sophron stage produce --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --wildcard window={wildcards.window} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule analyse:
    input:
        gate=ancient(CAMPAIGN.gate),
        ready=rehearsals,
        produced=produced,
        before=before,
    output:
        left="<results>/trials/analyse/{trial}/{guest}/left.tar",
        executed="<results>/trials/analyse/{trial}/{guest}/executed.json",
        outcome="<results>/trials/analyse/{trial}/{guest}/outcome.json",
    log:
        "<logs>/trials/analyse/{trial}-{guest}.log",
    retries: CAMPAIGN.retries("analyse")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("analyse")
    resources:
        **CAMPAIGN.resources("analyse"),
    params:
        digest=CAMPAIGN.definition_digest("analyse"),
    shell:
        "sophron stage analyse --gate {input.gate} --wildcard trial={wildcards.trial} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
