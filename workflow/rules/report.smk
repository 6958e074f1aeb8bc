# The campaign's own report: one HTML file, and an RO-Crate beside it for other programs.


rule report:
    input:
        gate=ancient(CAMPAIGN.gate),
        verdicts=expand("<results>/{stage}/verdict.json", stage=CAMPAIGN.stages),
        passed=expand("<results>/{stage}/passed", stage=CAMPAIGN.stages),
        caveats="<results>/caveats.json",
    output:
        report="<results>/report.html",
        crate="<results>/ro-crate-metadata.json",
    log:
        "<logs>/report.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=CAMPAIGN.report_digest,
    shell:
        "sophron report --gate {input.gate} --caveats {input.caveats} --html {output.report} --crate {output.crate} --log {log}"
        " --digest {params.digest}"
