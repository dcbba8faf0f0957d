.include "include_itself.s"
.globl entrypoint
entrypoint:
    exit
