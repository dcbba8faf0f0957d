# A program reads behind its input.
entrypoint:
    ldxdw r2, [r1 + 8192]
    exit
