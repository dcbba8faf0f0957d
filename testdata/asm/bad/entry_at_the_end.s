; The program would start behind its last instruction.
start:
    exit
entrypoint:
