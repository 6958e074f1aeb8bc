# The Specify gate. Only `sophron approve` makes this file, and replaces it; the rule says so where it is missing.
# It has no params on purpose: a gate that reruns would hide every other rerun.


rule gate:
    output:
        CAMPAIGN.gate,
    log:
        "<logs>/gate.log",
    localrule: True
    conda:
        "../../envs/sophron.yaml"
    shell:
        "sophron gate {output} --log {log}"
