.globl entrypoint
entrypoint:
    jeq r1, 0, end
    exit
end:
