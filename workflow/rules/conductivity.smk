# Thermal conductivity: replicas of a crystal or liquid are equilibrated, then measured by Green-Kubo (green_kubo_flux,
# green_kubo) or by an imposed flux (mueller_plathe, extrapolate); or a crystal's phonons are computed (displace, forces,
# transport). A campaign has the stages of one method, or of several.
# Each stage is one rule; what it does is in sophron.science.conductivity.


rule build:
    input:
        gate=ancient(CAMPAIGN.gate),
    output:
        system="<results>/build/{replica}/system.data",
        outcome="<results>/build/{replica}/outcome.json",
    log:
        "<logs>/build/{replica}.log",
    retries: CAMPAIGN.retries("build")
    conda:
        "../../envs/md.yaml"
    threads: CAMPAIGN.cores("build")
    resources:
        **CAMPAIGN.resources("build"),
    params:
        digest=CAMPAIGN.definition_digest("build"),
    shell:
        "sophron stage build --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
        " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
        " --digest {params.digest}"


if CAMPAIGN.has("equilibrate"):

    rule equilibrate:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/build/accepted.json"),
            outcome="<results>/build/{replica}/outcome.json",
            system="<results>/build/{replica}/system.data",
        output:
            system="<results>/equilibrate/{replica}/system.data",
            outcome="<results>/equilibrate/{replica}/outcome.json",
        log:
            "<logs>/equilibrate/{replica}.log",
        retries: CAMPAIGN.retries("equilibrate")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("equilibrate")
        resources:
            **CAMPAIGN.resources("equilibrate"),
        params:
            digest=CAMPAIGN.definition_digest("equilibrate"),
        shell:
            "sophron stage equilibrate --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("green_kubo_flux"):

    rule green_kubo_flux:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            flux="<results>/green_kubo_flux/{replica}/flux.npz",
            outcome="<results>/green_kubo_flux/{replica}/outcome.json",
        log:
            "<logs>/green_kubo_flux/{replica}.log",
        retries: CAMPAIGN.retries("green_kubo_flux")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("green_kubo_flux")
        resources:
            **CAMPAIGN.resources("green_kubo_flux"),
        params:
            digest=CAMPAIGN.definition_digest("green_kubo_flux"),
        shell:
            "sophron stage green_kubo_flux --gate {input.gate} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("green_kubo"):

    rule green_kubo:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/green_kubo_flux/accepted.json"),
            outcomes=CAMPAIGN.outcomes("green_kubo_flux"),
            fluxes=CAMPAIGN.files("green_kubo_flux", "flux"),
        output:
            curves="<results>/green_kubo/curves.npz",
            integral_plot=report(
                "<results>/green_kubo/integral.svg",
                category="green_kubo",
                caption="../report/heat_flux.rst",
            ),
            outcome="<results>/green_kubo/outcome.json",
        log:
            "<logs>/green_kubo/green_kubo.log",
        retries: CAMPAIGN.retries("green_kubo")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("green_kubo")
        resources:
            **CAMPAIGN.resources("green_kubo"),
        params:
            digest=CAMPAIGN.definition_digest("green_kubo"),
        shell:
            "sophron stage green_kubo --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("mueller_plathe"):

    rule mueller_plathe:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/equilibrate/accepted.json"),
            outcome="<results>/equilibrate/{replica}/outcome.json",
            system="<results>/equilibrate/{replica}/system.data",
        output:
            profile="<results>/mueller_plathe/{copies}/{replica}/profile.npz",
            outcome="<results>/mueller_plathe/{copies}/{replica}/outcome.json",
        log:
            "<logs>/mueller_plathe/{copies}-{replica}.log",
        wildcard_constraints:
            copies=r"\d+",
        retries: CAMPAIGN.retries("mueller_plathe")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("mueller_plathe")
        resources:
            **CAMPAIGN.resources("mueller_plathe"),
        params:
            digest=CAMPAIGN.definition_digest("mueller_plathe"),
        shell:
            "sophron stage mueller_plathe --gate {input.gate} --wildcard copies={wildcards.copies} --wildcard replica={wildcards.replica} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("extrapolate"):

    rule extrapolate:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/mueller_plathe/accepted.json"),
            outcomes=CAMPAIGN.outcomes("mueller_plathe"),
            profiles=CAMPAIGN.files("mueller_plathe", "profile"),
        output:
            lengths_plot=report(
                "<results>/extrapolate/lengths.svg",
                category="extrapolate",
                caption="../report/box_length.rst",
            ),
            outcome="<results>/extrapolate/outcome.json",
        log:
            "<logs>/extrapolate/extrapolate.log",
        retries: CAMPAIGN.retries("extrapolate")
        conda:
            "../../envs/md.yaml"
        threads: CAMPAIGN.cores("extrapolate")
        resources:
            **CAMPAIGN.resources("extrapolate"),
        params:
            digest=CAMPAIGN.definition_digest("extrapolate"),
        shell:
            "sophron stage extrapolate --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("displace"):

    rule displace:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/build/accepted.json"),
            outcomes=CAMPAIGN.outcomes("build"),
            systems=CAMPAIGN.files("build", "system"),
        output:
            displacements="<results>/displace/displacements.npz",
            outcome="<results>/displace/outcome.json",
        log:
            "<logs>/displace/displace.log",
        retries: CAMPAIGN.retries("displace")
        conda:
            "../../envs/phonons.yaml"
        threads: CAMPAIGN.cores("displace")
        resources:
            **CAMPAIGN.resources("displace"),
        params:
            digest=CAMPAIGN.definition_digest("displace"),
        shell:
            "sophron stage displace --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("forces"):

    rule forces:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/displace/accepted.json"),
            outcome="<results>/displace/outcome.json",
            displacements="<results>/displace/displacements.npz",
        output:
            forces="<results>/forces/{batch}/forces.npz",
            outcome="<results>/forces/{batch}/outcome.json",
        log:
            "<logs>/forces/{batch}.log",
        wildcard_constraints:
            batch=r"\d+",
        retries: CAMPAIGN.retries("forces")
        conda:
            "../../envs/phonons.yaml"
        threads: CAMPAIGN.cores("forces")
        resources:
            **CAMPAIGN.resources("forces"),
        params:
            digest=CAMPAIGN.definition_digest("forces"),
        shell:
            "sophron stage forces --gate {input.gate} --wildcard batch={wildcards.batch} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"


if CAMPAIGN.has("transport"):

    rule transport:
        input:
            gate=ancient(CAMPAIGN.gate),
            accepted=ancient("<results>/displace/accepted.json"),
            computed=ancient("<results>/forces/accepted.json"),
            outcome="<results>/displace/outcome.json",
            outcomes=CAMPAIGN.outcomes("forces"),
            displacements="<results>/displace/displacements.npz",
            forces=CAMPAIGN.files("forces", "forces"),
        output:
            lengths_plot=report(
                "<results>/transport/lengths.svg",
                category="transport",
                caption="../report/phonon_walls.rst",
            ),
            outcome="<results>/transport/outcome.json",
        log:
            "<logs>/transport/transport.log",
        retries: CAMPAIGN.retries("transport")
        conda:
            "../../envs/phonons.yaml"
        threads: CAMPAIGN.cores("transport")
        resources:
            **CAMPAIGN.resources("transport"),
        params:
            digest=CAMPAIGN.definition_digest("transport"),
        shell:
            "sophron stage transport --gate {input.gate} --outcome {output.outcome}"
            " --log {log} --cores {threads} --memory-mb {resources.mem_mb} --runtime-min {resources.runtime}"
            " --digest {params.digest}"
