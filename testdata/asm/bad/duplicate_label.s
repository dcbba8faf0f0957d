.globl entrypoint
entrypoint:
    ja done
done:
    exit
done:
    exit
