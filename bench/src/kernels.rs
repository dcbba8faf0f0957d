//! The measured kernels: loops, each of which stresses one feature.
//!
//! A kernel executes a few hundred thousand instructions, which takes less than a time slice. `r9`
//! counts the rounds of every loop.

/// A loop to measure.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// Runs before the loop.
    setup: &'static str,
    /// One round of the loop, or the whole program if `rounds` is 0.
    body: &'static str,
    rounds: u32,
    /// Regions into which the input is cut.
    pub(crate) input_regions: usize,
}

impl Kernel {
    /// How many times as fast as anza's machine code Selkie's must be.
    pub(crate) fn goal(&self) -> Option<f64> {
        GOALS.iter().find(|(name, _)| *name == self.name).map(|(_, ratio)| *ratio)
    }

    /// The source of the program.
    pub(crate) fn assembly(&self) -> String {
        let Self { setup, body, rounds, .. } = self;
        let entry = ".globl entrypoint\nentrypoint:";
        if *rounds == 0 {
            return format!("{entry}\n{setup}\n{body}\n");
        }
        format!(
            "{entry}\n{setup}\nmov64 r9, {rounds}\ntop:\n{body}\nsub64 r9, 1\njne r9, 0, top\n\
             mov64 r0, 0\nexit\n"
        )
    }
}

/// Bytes of input; cut evenly where a kernel asks for several regions.
pub(crate) const INPUT_BYTES: usize = 33 * 32 * 1024;

const fn looped(
    name: &'static str,
    rounds: u32,
    setup: &'static str,
    body: &'static str,
) -> Kernel {
    Kernel { name, setup, body, rounds, input_regions: 1 }
}

const fn whole(name: &'static str, body: &'static str) -> Kernel {
    Kernel { name, setup: "", body, rounds: 0, input_regions: 1 }
}

/// The goals, by names of kernels.
const GOALS: [(&str, f64); 17] = [
    ("alu_dep", 1.0),
    ("alu_indep", 1.0),
    ("alu32", 1.0),
    ("alu_bigimm", 1.0),
    ("muldiv", 1.0),
    ("branchy_rand", 1.0),
    ("branchy_pred", 1.3),
    ("mem_stack", 20.0),
    ("mem_heap", 8.0),
    ("mem_input", 8.0),
    ("mem_input_33", 8.0),
    ("bytecopy", 6.0),
    ("wordcopy8", 6.0),
    ("fib_rec", 2.5),
    ("leaf_call", 2.5),
    ("callx", 2.5),
    ("syscall", 3.0),
];

const SCATTERED_LOADS: &str = "
    ldxdw r2, [r1+8]
    ldxdw r3, [r4+8]
    add64 r2, r3
    stxdw [r1+16], r2
    stxdw [r4+16], r3
    ldxdw r2, [r5+24]
    ldxdw r3, [r6+24]
    stxdw [r5+32], r2
    stxdw [r6+32], r3
";
const SCATTERED_SETUP: &str = "
    lddw r1, 0x400000100
    mov64 r4, r1
    add64 r4, 0x40000
    mov64 r5, r4
    add64 r5, 0x40000
    mov64 r6, r5
    add64 r6, 0x40000
";

/// Every kernel, in the order of the table.
pub(crate) const KERNELS: [Kernel; 24] = [
    looped(
        "alu_dep",
        15_000,
        "lddw r0, 0x9e3779b97f4a7c15",
        "
        mov64 r1, r0
        lsh64 r1, 13
        xor64 r0, r1
        mov64 r1, r0
        rsh64 r1, 7
        xor64 r0, r1
        mov64 r1, r0
        lsh64 r1, 17
        xor64 r0, r1
        add64 r0, 1
        ",
    ),
    looped(
        "alu_indep",
        15_000,
        "",
        "
        add64 r0, 1
        add64 r1, 2
        xor64 r2, 3
        sub64 r3, 4
        add64 r4, 5
        or64 r5, 6
        add64 r6, 7
        and64 r7, 8
        add64 r8, 9
        mov64 r0, 10
        ",
    ),
    looped(
        "alu32",
        15_000,
        "mov64 r0, 1",
        "
        add32 r0, 3
        xor32 r1, r0
        lsh32 r1, 3
        add32 r2, r1
        rsh32 r2, 1
        mov32 r3, r2
        sub32 r3, r0
        and32 r3, 0xff
        or32 r0, r3
        arsh32 r1, 2
        ",
    ),
    looped(
        "alu_bigimm",
        15_000,
        "",
        "
        add64 r0, 0x12345678
        xor64 r1, 0x5a5a1234
        add64 r2, 0x7fff1234
        xor64 r0, 0x13572468
        sub64 r1, 0x24681357
        and64 r2, 0x7ffffff1
        or64 r3, 0x11223344
        add64 r3, 0x55667788
        xor64 r4, 0x10203040
        add64 r4, 0x66778811
        ",
    ),
    looped(
        "muldiv",
        15_000,
        "lddw r0, 0x123456789abcdef\nmov64 r3, 13",
        "
        mul64 r0, 31
        add64 r0, 7
        mov64 r1, r0
        div64 r1, r3
        mov64 r2, r0
        mod64 r2, r3
        mul64 r1, r2
        add64 r0, r1
        ",
    ),
    looped(
        "mem_stack",
        15_000,
        "mov64 r2, 3",
        "
        stxdw [r10-8], r9
        stxdw [r10-16], r2
        stxdw [r10-24], r3
        stxw [r10-32], r4
        ldxdw r2, [r10-64]
        ldxdw r3, [r10-72]
        ldxw r4, [r10-80]
        ldxb r5, [r10-88]
        ",
    ),
    looped(
        "mem_heap",
        15_000,
        "lddw r6, 0x300000000\nmov64 r2, 3",
        "
        stxdw [r6+8], r9
        stxdw [r6+16], r2
        stxdw [r6+24], r3
        stxw [r6+32], r4
        ldxdw r2, [r6+64]
        ldxdw r3, [r6+72]
        ldxw r4, [r6+80]
        ldxb r5, [r6+88]
        ",
    ),
    looped("mem_input", 15_000, SCATTERED_SETUP, SCATTERED_LOADS),
    Kernel {
        name: "mem_input_33",
        setup: SCATTERED_SETUP,
        body: SCATTERED_LOADS,
        rounds: 15_000,
        input_regions: 33,
    },
    looped(
        "mem_mixed",
        15_000,
        "lddw r6, 0x300000000\nmov64 r2, 3",
        "
        ldxdw r2, [r1+8]
        stxdw [r10-8], r9
        stxdw [r6+16], r3
        ldxdw r4, [r10-64]
        stxdw [r1+24], r2
        ldxw r5, [r6+64]
        ldxdw r3, [r1+64]
        stxb [r10-32], r4
        ",
    ),
    looped(
        "stride",
        20_000,
        "mov64 r5, r1",
        "
        ldxdw r3, [r5+0]
        add64 r2, r3
        add64 r4, 0x8000
        and64 r4, 0xfffff
        mov64 r5, r1
        add64 r5, r4
        ",
    ),
    whole(
        "bytecopy",
        "
        lddw r2, 0x300000000
        mov64 r3, 30000
        byte:
        ldxb r4, [r1+0]
        stxb [r2+0], r4
        add64 r1, 1
        add64 r2, 1
        sub64 r3, 1
        jne r3, 0, byte
        mov64 r0, 0
        exit
        ",
    ),
    looped(
        "wordcopy8",
        8,
        "",
        "
        lddw r2, 0x300000000
        lddw r1, 0x400000000
        mov64 r3, 4000
        word:
        ldxdw r4, [r1+0]
        stxdw [r2+0], r4
        add64 r1, 8
        add64 r2, 8
        sub64 r3, 1
        jne r3, 0, word
        ",
    ),
    whole(
        "fib_rec",
        "
        mov64 r1, 18
        call fib
        exit
        fib:
        jgt r1, 1, deeper
        mov64 r0, r1
        exit
        deeper:
        mov64 r6, r1
        sub64 r1, 1
        call fib
        mov64 r7, r0
        mov64 r1, r6
        sub64 r1, 2
        call fib
        add64 r0, r7
        exit
        ",
    ),
    whole(
        "leaf_call",
        "
        mov64 r9, 30000
        again:
        call leaf
        sub64 r9, 1
        jne r9, 0, again
        exit
        leaf:
        add64 r0, 1
        exit
        ",
    ),
    whole(
        "callx",
        "
        mov64 r9, 30000
        lddw r8, leaf
        again:
        callx r8
        sub64 r9, 1
        jne r9, 0, again
        exit
        leaf:
        add64 r0, 1
        exit
        ",
    ),
    looped("syscall", 40_000, "", "add64 r1, 1\ncall sol_get_stack_height"),
    looped(
        "memcpy32",
        20_000,
        "lddw r6, 0x300000100\nmov64 r7, r6\nadd64 r7, 256",
        "mov64 r1, r6\nmov64 r2, r7\nmov64 r3, 32\ncall sol_memcpy_",
    ),
    looped(
        "memcpy_stack",
        20_000,
        "lddw r6, 0x300000100",
        "mov64 r1, r10\nadd64 r1, -200\nmov64 r2, r6\nmov64 r3, 165\ncall sol_memcpy_",
    ),
    looped(
        "memset64",
        20_000,
        "lddw r6, 0x300000100",
        "mov64 r1, r6\nmov64 r2, 7\nmov64 r3, 64\ncall sol_memset_",
    ),
    looped(
        "memcmp32",
        20_000,
        "lddw r6, 0x300000100\nmov64 r7, r6\nadd64 r7, 256",
        "mov64 r1, r6\nmov64 r2, r7\nmov64 r3, 32\nmov64 r4, r10\nadd64 r4, -8\ncall sol_memcmp_",
    ),
    looped(
        "branchy_rand",
        15_000,
        "lddw r0, 0x9e3779b97f4a7c15\nmov64 r5, 0x41c64e6d",
        "
        mul64 r0, r5
        add64 r0, 12345
        mov64 r1, r0
        rsh64 r1, 40
        jset r1, 1, odd
        add64 r2, 1
        odd:
        jset r1, 2, second
        add64 r3, 1
        second:
        jset r1, 4, fourth
        add64 r4, 1
        fourth:
        ",
    ),
    looped(
        "branchy_pred",
        15_000,
        "mov64 r1, 5",
        "
        add64 r0, 1
        jeq r1, 1, never
        jeq r1, 2, never
        jgt r1, 9, never
        jlt r1, 2, never
        jset r1, 2, never
        jsgt r1, 6, never
        never:
        ",
    ),
    whole(
        "sieve",
        "
        lddw r6, 0x300000000
        mov64 r1, 2
        candidate:
        mov64 r2, r6
        add64 r2, r1
        ldxb r3, [r2+0]
        jne r3, 0, next
        add64 r0, 1
        mov64 r4, r1
        add64 r4, r1
        cross:
        jge r4, 20000, next
        mov64 r2, r6
        add64 r2, r4
        stb [r2+0], 1
        add64 r4, r1
        ja cross
        next:
        add64 r1, 1
        jlt r1, 20000, candidate
        mov64 r0, 0
        exit
        ",
    ),
];
