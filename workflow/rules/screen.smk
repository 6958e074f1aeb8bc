# One pipeline over a library of guests. Every step is known before anything runs; what they do is in
# sophron.debate.screening.ranking.


wildcard_constraints:
    guest=r"[a-z0-9_]+",
    window=r"\d+",


rule tasks:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        left="<results>/tasks/{guest}/left.tar",
        outcome="<results>/tasks/{guest}/outcome.json",
    log:
        "<logs>/tasks/{guest}.log",
    retries: CAMPAIGN.retries("tasks")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("tasks")
    resources:
        **CAMPAIGN.resources("tasks"),
    params:
        digest=CAMPAIGN.definition_digest("tasks"),
    shell:
        "sophron stage tasks --gate {input.gate} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule prepare:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/tasks/accepted.json"),
        tasks="<results>/tasks/{guest}/outcome.json",
    output:
        left="<results>/prepare/{guest}/left.tar",
        executed="<results>/prepare/{guest}/executed.json",
        outcome="<results>/prepare/{guest}/outcome.json",
    log:
        "<logs>/prepare/{guest}.log",
    retries: CAMPAIGN.retries("prepare")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("prepare")
    resources:
        **CAMPAIGN.resources("prepare"),
    params:
        digest=CAMPAIGN.definition_digest("prepare"),
    shell:
        "sophron stage prepare --gate {input.gate} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule equilibrate:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/prepare/accepted.json"),
        tasks="<results>/tasks/{guest}/outcome.json",
        prepare="<results>/prepare/{guest}/outcome.json",
    output:
        left="<results>/equilibrate/{guest}/left.tar",
        executed="<results>/equilibrate/{guest}/executed.json",
        outcome="<results>/equilibrate/{guest}/outcome.json",
    log:
        "<logs>/equilibrate/{guest}.log",
    retries: CAMPAIGN.retries("equilibrate")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("equilibrate")
    resources:
        **CAMPAIGN.resources("equilibrate"),
    params:
        digest=CAMPAIGN.definition_digest("equilibrate"),
    shell:
        "sophron stage equilibrate --gate {input.gate} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule produce:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/equilibrate/accepted.json"),
        tasks="<results>/tasks/{guest}/outcome.json",
        prepare="<results>/prepare/{guest}/outcome.json",
        equilibrate="<results>/equilibrate/{guest}/outcome.json",
    output:
        left="<results>/produce/{guest}/{window}/left.tar",
        executed="<results>/produce/{guest}/{window}/executed.json",
        outcome="<results>/produce/{guest}/{window}/outcome.json",
    log:
        "<logs>/produce/{guest}-{window}.log",
    retries: CAMPAIGN.retries("produce")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("produce")
    resources:
        **CAMPAIGN.resources("produce"),
    params:
        digest=CAMPAIGN.definition_digest("produce"),
    shell:
        "sophron stage produce --gate {input.gate} --wildcard guest={wildcards.guest} --wildcard window={wildcards.window} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule analyse:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/produce/accepted.json"),
        tasks="<results>/tasks/{guest}/outcome.json",
        prepare="<results>/prepare/{guest}/outcome.json",
        equilibrate="<results>/equilibrate/{guest}/outcome.json",
        produce=expand(
            "<results>/produce/{{guest}}/{window}/outcome.json",
            window=CAMPAIGN.values("window"),
        ),
    output:
        left="<results>/analyse/{guest}/left.tar",
        executed="<results>/analyse/{guest}/executed.json",
        outcome="<results>/analyse/{guest}/outcome.json",
    log:
        "<logs>/analyse/{guest}.log",
    retries: CAMPAIGN.retries("analyse")
    conda:
        "../../envs/chem.yaml"
    threads: CAMPAIGN.cores("analyse")
    resources:
        **CAMPAIGN.resources("analyse"),
    params:
        digest=CAMPAIGN.definition_digest("analyse"),
    shell:
        "sophron stage analyse --gate {input.gate} --wildcard guest={wildcards.guest} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule rank:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/analyse/accepted.json"),
        outcomes=CAMPAIGN.outcomes("analyse"),
    output:
        ranking="<results>/rank/ranking.csv",
        ranking_plot="<results>/rank/ranking.svg",
        outcome="<results>/rank/outcome.json",
    log:
        "<logs>/rank/rank.log",
    retries: CAMPAIGN.retries("rank")
    conda:
        "../../envs/sophron.yaml"
    threads: CAMPAIGN.cores("rank")
    resources:
        **CAMPAIGN.resources("rank"),
    params:
        digest=CAMPAIGN.definition_digest("rank"),
    shell:
        "sophron stage rank --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
