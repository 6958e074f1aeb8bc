# Rietveld refinement: each pattern is checked, refined by an agent with its tools, and recomputed from the model that the
# agent left, in parallel; in a sequential series each refinement waits for the one before it. Patterns of a long series
# follow the model of one that was refined so, several a step. What the stages do is in sophron.science.rietveld.


wildcard_constraints:
    pattern=r"[A-Za-z0-9][A-Za-z0-9_-]*",
    batch=r"\d+",


rule data:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        sample="<results>/data/{pattern}/sample.json",
        outcome="<results>/data/{pattern}/outcome.json",
    log:
        "<logs>/data/{pattern}.log",
    retries: CAMPAIGN.retries("data")
    conda:
        "../../envs/xrd.yaml"
    threads: CAMPAIGN.cores("data")
    resources:
        **CAMPAIGN.resources("data"),
    params:
        digest=CAMPAIGN.definition_digest("data"),
    shell:
        "sophron stage data --gate {input.gate} --wildcard pattern={wildcards.pattern} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


rule refinement:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/data/accepted.json"),
        outcome="<results>/data/{pattern}/outcome.json",
        sample="<results>/data/{pattern}/sample.json",
        neighbour=CAMPAIGN.before("refine", "pattern"),
    output:
        answer="<results>/refine/refinement/{pattern}/answer.json",
        trajectory="<results>/refine/refinement/{pattern}/trajectory.json",
        model="<results>/refine/refinement/{pattern}/model.json",
        structure="<results>/refine/refinement/{pattern}/model.cif",
    log:
        "<logs>/refinement/{pattern}.log",
    conda:
        "../../envs/xrd.yaml"
    resources:
        **CAMPAIGN.agent_resources(memory_mb=2000, runtime_min=60),
    params:
        digest=CAMPAIGN.agent_digest("refinement"),
    shell:
        "sophron agent run refinement --gate {input.gate} --wildcard pattern={wildcards.pattern} --answer {output.answer}"
        " --log {log} --digest {params.digest}"


rule refine:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=ancient("<results>/data/accepted.json"),
        outcome="<results>/data/{pattern}/outcome.json",
        answer="<results>/refine/refinement/{pattern}/answer.json",
        model="<results>/refine/refinement/{pattern}/model.json",
        trajectory="<results>/refine/refinement/{pattern}/trajectory.json",
    output:
        model="<results>/refine/{pattern}/model.json",
        structure="<results>/refine/{pattern}/structure.cif",
        curves="<results>/refine/{pattern}/curves.npz",
        pattern_plot=report(
            "<results>/refine/{pattern}/pattern.png",
            category="refine",
            caption="../report/pattern.rst",
        ),
        window_plot="<results>/refine/{pattern}/window.png",
        report="<results>/refine/{pattern}/report.json",
        trajectory="<results>/refine/{pattern}/trajectory.json",
        outcome="<results>/refine/{pattern}/outcome.json",
    log:
        "<logs>/refine/{pattern}.log",
    retries: CAMPAIGN.retries("refine")
    conda:
        "../../envs/xrd.yaml"
    threads: CAMPAIGN.cores("refine")
    resources:
        **CAMPAIGN.resources("refine"),
    params:
        digest=CAMPAIGN.definition_digest("refine"),
    shell:
        "sophron stage refine --gate {input.gate} --wildcard pattern={wildcards.pattern} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("series"):

    rule series:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/refine/accepted.json"),
            data=CAMPAIGN.outcomes("data"),
            refined=CAMPAIGN.outcomes("refine"),
        output:
            patterns="<results>/series/{batch}/patterns.zip",
            worst_plot=report(
                "<results>/series/{batch}/worst.png",
                category="series",
                caption="../report/pattern.rst",
            ),
            outcome="<results>/series/{batch}/outcome.json",
        log:
            "<logs>/series/{batch}.log",
        retries: CAMPAIGN.retries("series")
        conda:
            "../../envs/xrd.yaml"
        threads: CAMPAIGN.cores("series")
        resources:
            **CAMPAIGN.resources("series"),
        params:
            digest=CAMPAIGN.definition_digest("series"),
        shell:
            "sophron stage series --gate {input.gate} --wildcard batch={wildcards.batch} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


rule compare:
    input:
        gate=ancient(CAMPAIGN.gate),
        accepted=[
            ancient(f"<results>/{stage}/accepted.json")
            for stage in ("refine", "series")
            if CAMPAIGN.has(stage)
        ],
        outcomes=[
            *CAMPAIGN.outcomes("refine"),
            *(CAMPAIGN.outcomes("series") if CAMPAIGN.has("series") else []),
        ],
    output:
        series_plot=report(
            "<results>/compare/series.svg",
            category="compare",
            caption="../report/series.rst",
        ),
        outcome="<results>/compare/outcome.json",
    log:
        "<logs>/compare/compare.log",
    retries: CAMPAIGN.retries("compare")
    conda:
        "../../envs/xrd.yaml"
    threads: CAMPAIGN.cores("compare")
    resources:
        **CAMPAIGN.resources("compare"),
    params:
        digest=CAMPAIGN.definition_digest("compare"),
    shell:
        "sophron stage compare --gate {input.gate} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"
