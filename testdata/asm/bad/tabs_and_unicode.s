.globl entrypoint
entrypoint:
	mov64	r1,	grüße ; öäü
	mov64 r1, 'ß', 5
    exit
