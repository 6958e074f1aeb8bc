# Rules of the arithmetic kind. A kind of another distribution names this file in `Kind.rules` by its whole path.


rule a:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        numbers="<results>/a/numbers.txt",
        outcome="<results>/a/outcome.json",
    log:
        "<logs>/a/a.log",
    retries: CAMPAIGN.retries("a")
    threads: CAMPAIGN.cores("a")
    resources:
        **CAMPAIGN.resources("a"),
    params:
        digest=CAMPAIGN.definition_digest("a"),
    shell:
        "sophron stage a --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule b:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted_a=ancient("<results>/a/accepted.json"),
        outcome_a="<results>/a/outcome.json",
        numbers_a="<results>/a/numbers.txt",
    output:
        numbers="<results>/b/{replica}/numbers.txt",
        outcome="<results>/b/{replica}/outcome.json",
    log:
        "<logs>/b/{replica}.log",
    retries: CAMPAIGN.retries("b")
    threads: CAMPAIGN.cores("b")
    resources:
        **CAMPAIGN.resources("b"),
    params:
        digest=CAMPAIGN.definition_digest("b"),
    shell:
        "sophron stage b --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule c:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted_b=ancient("<results>/b/accepted.json"),
        outcomes_b=CAMPAIGN.outcomes("b"),
        numbers_b=CAMPAIGN.files("b", "numbers"),
    output:
        numbers="<results>/c/numbers.txt",
        outcome="<results>/c/outcome.json",
    log:
        "<logs>/c/c.log",
    retries: CAMPAIGN.retries("c")
    threads: CAMPAIGN.cores("c")
    resources:
        **CAMPAIGN.resources("c"),
    params:
        digest=CAMPAIGN.definition_digest("c"),
    shell:
        "sophron stage c --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule d:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted_c=ancient("<results>/c/accepted.json"),
        outcome_c="<results>/c/outcome.json",
        numbers_c="<results>/c/numbers.txt",
    output:
        numbers="<results>/d/numbers.txt",
        outcome="<results>/d/outcome.json",
    log:
        "<logs>/d/d.log",
    retries: CAMPAIGN.retries("d")
    threads: CAMPAIGN.cores("d")
    resources:
        **CAMPAIGN.resources("d"),
    params:
        digest=CAMPAIGN.definition_digest("d"),
    shell:
        "sophron stage d --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("e"):

    rule e:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted_a=ancient("<results>/a/accepted.json"),
            outcome_a="<results>/a/outcome.json",
            numbers_a="<results>/a/numbers.txt",
        output:
            numbers="<results>/e/numbers.txt",
            outcome="<results>/e/outcome.json",
        log:
            "<logs>/e/e.log",
        retries: CAMPAIGN.retries("e")
        threads: CAMPAIGN.cores("e")
        resources:
            **CAMPAIGN.resources("e"),
        params:
            digest=CAMPAIGN.definition_digest("e"),
        shell:
            "sophron stage e --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("f"):

    rule f:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted_c=ancient("<results>/c/accepted.json"),
            outcome_c="<results>/c/outcome.json",
            numbers_c="<results>/c/numbers.txt",
            accepted_e=ancient("<results>/e/accepted.json"),
            outcome_e="<results>/e/outcome.json",
            numbers_e="<results>/e/numbers.txt",
        output:
            numbers="<results>/f/numbers.txt",
            outcome="<results>/f/outcome.json",
        log:
            "<logs>/f/f.log",
        retries: CAMPAIGN.retries("f")
        threads: CAMPAIGN.cores("f")
        resources:
            **CAMPAIGN.resources("f"),
        params:
            digest=CAMPAIGN.definition_digest("f"),
        shell:
            "sophron stage f --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("g"):

    rule g:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted_c=ancient("<results>/c/accepted.json"),
            outcome_c="<results>/c/outcome.json",
            numbers_c="<results>/c/numbers.txt",
            accepted_e=ancient("<results>/e/accepted.json"),
            outcome_e="<results>/e/outcome.json",
            numbers_e="<results>/e/numbers.txt",
        output:
            numbers="<results>/g/numbers.txt",
            outcome="<results>/g/outcome.json",
        log:
            "<logs>/g/g.log",
        retries: CAMPAIGN.retries("g")
        threads: CAMPAIGN.cores("g")
        resources:
            **CAMPAIGN.resources("g"),
        params:
            digest=CAMPAIGN.definition_digest("g"),
        shell:
            "sophron stage g --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"
