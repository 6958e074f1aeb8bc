rule included:
    output:
        "out/included.txt",
    shell:
        "echo i > {output}"
