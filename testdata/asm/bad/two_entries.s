.globl start
.globl main
start:
    exit
main:
    exit
