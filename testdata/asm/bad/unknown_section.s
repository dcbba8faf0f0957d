.section .mystery
.section
.section ".rodata.fine","a"
.text
.globl entrypoint
entrypoint:
    exit
