# The Specify gate. Only `sophron approve` signs it and replaces it; if it is missing, the rule says so. A forced run
# (`-F`) removes it like every output: then the rule writes it again from the newest signed record of the log.
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
