.globl entrypont
entrypoint:
    exit
