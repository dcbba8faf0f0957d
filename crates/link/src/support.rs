//! The routines that compilers take for granted, written in terms of syscalls.

use selkie_asm::syscalls::NAMES;
use selkie_isa::{Insn, Op, layout::FRAME_POINTER};

/// A routine that the linker writes where nobody else does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Support {
    Memcpy,
    Memmove,
    Memset,
    Memcmp,
    Bcmp,
    /// What a place that cannot be reached does all the same.
    Trap,
    /// A syscall as a function, for those who take its address.
    Syscall(&'static str),
}

const ROUTINES: &[Support] = &[
    Support::Memcpy,
    Support::Memmove,
    Support::Memset,
    Support::Memcmp,
    Support::Bcmp,
    Support::Trap,
];

/// There for programs that were deployed long ago; new ones are refused.
const RETIRED: &str = "sol_alloc_free_";

/// The syscall of that name, from the assembler's list.
pub(crate) fn syscall(name: &str) -> Option<&'static str> {
    if name == RETIRED {
        return None;
    }
    NAMES.binary_search(&name).ok().and_then(|index| NAMES.get(index).copied())
}

/// Every name that the linker gives a meaning.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().filter(|it| *it != RETIRED).chain(ROUTINES.iter().map(|it| it.name()))
}

/// Whether the linker gives the name a meaning, so that no archive need be searched.
pub(crate) fn provides(name: &str) -> bool {
    syscall(name).is_some() || Support::by_name(name).is_some()
}

/// What to do about an undefined name that is like no other.
pub(crate) fn advice(name: &str) -> &'static str {
    const ARITHMETIC: &[&str] = &[
        "__multi3",
        "__udivti3",
        "__umodti3",
        "__divti3",
        "__modti3",
        "__ashlti3",
        "__lshrti3",
        "__ashrti3",
        "__udivmodti4",
        "__muloti4",
        "__mulodi4",
    ];
    let is_float = name.starts_with("__") && (name.ends_with("df3") || name.ends_with("sf3"));
    if ARITHMETIC.contains(&name) || is_float {
        return "it is one of the compiler's own routines: link the archive that has them, \
                libcompiler_builtins of Rust or compiler-rt of LLVM";
    }
    match name {
        "malloc" | "calloc" | "realloc" | "free" => {
            "there is no allocator: define one over the heap, which starts at 0x300000000"
        }
        RETIRED => {
            "programs with this syscall cannot be deployed any more: hand out memory of the heap, \
             which starts at 0x300000000"
        }
        "printf" | "puts" | "putchar" => "programs log with `sol_log_`",
        _ => "link the object or archive that defines it, or correct its declaration",
    }
}

impl Support {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        ROUTINES.iter().copied().find(|it| it.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Memmove => "memmove",
            Self::Memset => "memset",
            Self::Memcmp => "memcmp",
            Self::Bcmp => "bcmp",
            Self::Trap => "__bpf_trap",
            Self::Syscall(name) => name,
        }
    }

    /// The syscall that does the work.
    fn syscall(self) -> &'static str {
        match self {
            // Compilers copy objects onto themselves, which `sol_memcpy_` takes for overlapping.
            Self::Memcpy | Self::Memmove => "sol_memmove_",
            Self::Memset => "sol_memset_",
            Self::Memcmp | Self::Bcmp => "sol_memcmp_",
            Self::Trap => "abort",
            Self::Syscall(name) => name,
        }
    }

    /// The routine: instructions, and where among them the syscall is called.
    pub(crate) fn code(self) -> (Vec<Option<Insn>>, &'static str) {
        let insn = |op, dst, src, off, imm| Some(Insn { op, dst, src, off, imm });
        let call = None;
        let exit = insn(Op::Exit, 0, 0, 0, 0);
        let code = match self {
            // The syscalls return 0, the functions their first argument. Calls keep r6.
            Self::Memcpy | Self::Memmove | Self::Memset => {
                vec![insn(Op::Mov64Reg, 6, 1, 0, 0), call, insn(Op::Mov64Reg, 0, 6, 0, 0), exit]
            }
            // The result comes in memory, as an `int`.
            Self::Memcmp | Self::Bcmp => vec![
                insn(Op::Mov64Reg, 4, FRAME_POINTER, 0, 0),
                insn(Op::Add64Imm, 4, 0, 0, -8),
                call,
                insn(Op::Ldxw, 0, FRAME_POINTER, -8, 0),
                insn(Op::Lsh64Imm, 0, 0, 0, 32),
                insn(Op::Arsh64Imm, 0, 0, 0, 32),
                exit,
            ],
            Self::Trap | Self::Syscall(_) => vec![call, exit],
        };
        (code, self.syscall())
    }
}
