.globl entrypoint
entrypoint:
    ja +70000
    ja -5
    exit
