	.text
	.globl	entrypoint
	.p2align	3
	.type	entrypoint,@function
entrypoint:
	r6 = r1
	r2 = *(u64 *)(r6 + 0)
	if r2 != 1 goto LBB0_2
	r3 = *(u32 *)(r6 + 8)
	*(u32 *)(r10 - 4) = r3
	*(u8 *)(r10 - 5) = 7
	r4 = 81985529216486895 ll
	r4 s>>= 3
	w4 += 5
	r4 = -r4
	r4 = be16 r4
	r4 ^= r3
	if r4 s> -5 goto LBB0_1
	w4 = 0
LBB0_1:
	call double
	call sol_log_64_
	callx r7
	r0 = 0
	exit
LBB0_2:
	r0 = 1
	exit
.Lfunc_end0:
	.size	entrypoint, .Lfunc_end0-entrypoint
double:
	r1 <<= 1
	goto .Lout
.Lout:
	exit
