//! The routines that compilers call implicitly: memory functions, which call syscalls, and 128-bit
//! arithmetic and conversions, which are written in assembly. Others stand for what a program lacks.
//!
//! Those of archives are not used: their compiler may pass 128-bit integers in another way than
//! LLVM's implicit calls do. Rustc 1.99, for instance, returns them in memory.

use selkie_asm::Assembly;
use selkie_isa::{Insn, Op, Version, insn::instructions, layout::FRAME_POINTER};
use selkie_protocol::syscalls;

/// A routine that the linker provides unless an object defines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Routine {
    Memcpy,
    Memmove,
    Memset,
    Memcmp,
    Bcmp,
    /// `__bpf_trap`, which LLVM calls at unreachable locations.
    Trap,
    /// 128-bit arithmetic.
    Int128(Int128),
    /// A conversion between 128-bit integers and floats.
    Convert(Convert),
    /// A source of random numbers, which refuses.
    Random(Random),
    /// A function that calls a syscall, for pointers to the syscall.
    Syscall(&'static str),
}

/// An operation on two 128-bit integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Int128 {
    Product,
    CheckedProduct,
    Quotient,
    Remainder,
    SignedQuotient,
    SignedRemainder,
}

/// A source of random numbers that versions of Rust's crate `getrandom` call where they know none.
/// A program has no such source; a program may define one itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Random {
    name: &'static str,
    /// The crate's error number for an unsupported system.
    error: i32,
}

const RANDOM: [Random; 2] = [
    Random { name: "__getrandom_custom", error: i32::MIN },
    Random { name: "__getrandom_v03_custom", error: 1 << 16 },
];

/// A conversion between a 128-bit integer and a float.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Convert {
    name: &'static str,
    /// What distinguishes it in the source, `convert.s`.
    defined: &'static [&'static str],
}

/// All conversions.
const CONVERSIONS: [Convert; 8] = [
    Convert { name: "__floatuntidf", defined: &["TO_FLOAT"] },
    Convert { name: "__floattidf", defined: &["TO_FLOAT", "SIGNED"] },
    Convert { name: "__floatuntisf", defined: &["TO_FLOAT", "NARROW"] },
    Convert { name: "__floattisf", defined: &["TO_FLOAT", "NARROW", "SIGNED"] },
    Convert { name: "__fixunsdfti", defined: &[] },
    Convert { name: "__fixdfti", defined: &["SIGNED"] },
    Convert { name: "__fixunssfti", defined: &["NARROW"] },
    Convert { name: "__fixsfti", defined: &["NARROW", "SIGNED"] },
];

const ROUTINES: &[Routine] = &[
    Routine::Memcpy,
    Routine::Memmove,
    Routine::Memset,
    Routine::Memcmp,
    Routine::Bcmp,
    Routine::Trap,
    Routine::Int128(Int128::Product),
    Routine::Int128(Int128::CheckedProduct),
    Routine::Int128(Int128::Quotient),
    Routine::Int128(Int128::Remainder),
    Routine::Int128(Int128::SignedQuotient),
    Routine::Int128(Int128::SignedRemainder),
];

/// A syscall that only programs deployed long ago may call; new deployments are refused.
const RETIRED: &str = "sol_alloc_free_";

/// Returns the syscall of that name, from the assembler's list.
pub(crate) fn syscall(name: &str) -> Option<&'static str> {
    if name == RETIRED {
        return None;
    }
    syscalls::find(name).map(|syscall| syscall.name)
}

/// Returns the names of all syscalls and routines.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    syscalls::names().filter(|it| *it != RETIRED).chain(routines().map(Routine::name))
}

fn routines() -> impl Iterator<Item = Routine> {
    let tables = CONVERSIONS.map(Routine::Convert).into_iter().chain(RANDOM.map(Routine::Random));
    ROUTINES.iter().copied().chain(tables)
}

/// Returns whether a name is that of a syscall or routine, so that no archive need be searched.
pub(crate) fn provides(name: &str) -> bool {
    syscall(name).is_some() || Routine::by_name(name).is_some()
}

/// Returns the help for an undefined symbol that compilers call implicitly.
pub(crate) fn advice_of_builtin(name: &str) -> Option<&'static str> {
    const ARITHMETIC: &[&str] =
        &["__ashlti3", "__lshrti3", "__ashrti3", "__udivmodti4", "__muloti4", "__mulodi4"];
    let is_float = name.starts_with("__") && (name.ends_with("df3") || name.ends_with("sf3"));
    (ARITHMETIC.contains(&name) || is_float).then_some(
        "compilers call it implicitly: link the archive that defines it, Rust's \
         libcompiler_builtins or LLVM's compiler-rt",
    )
}

/// Returns the help for an undefined symbol to which no known name is similar.
pub(crate) fn advice(name: &str) -> &'static str {
    match name {
        "malloc" | "calloc" | "realloc" | "free" => {
            "there is no allocator: define one over the heap, which starts at 0x300000000"
        }
        RETIRED => {
            "programs with this syscall cannot be deployed any more: allocate from the heap, which \
             starts at 0x300000000"
        }
        "printf" | "puts" | "putchar" => "there is no standard output: log with `sol_log_`",
        _ => "link the object or archive that defines it, or correct its declaration",
    }
}

impl Routine {
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        routines().find(|it| it.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Memmove => "memmove",
            Self::Memset => "memset",
            Self::Memcmp => "memcmp",
            Self::Bcmp => "bcmp",
            Self::Trap => "__bpf_trap",
            Self::Int128(Int128::Product) => "__multi3",
            Self::Int128(Int128::CheckedProduct) => "__muloti4",
            Self::Int128(Int128::Quotient) => "__udivti3",
            Self::Int128(Int128::Remainder) => "__umodti3",
            Self::Int128(Int128::SignedQuotient) => "__divti3",
            Self::Int128(Int128::SignedRemainder) => "__modti3",
            Self::Convert(Convert { name, .. })
            | Self::Random(Random { name, .. })
            | Self::Syscall(name) => name,
        }
    }

    /// Returns the syscall that the routine calls.
    fn syscall(self) -> Option<&'static str> {
        match self {
            // Compilers copy objects onto themselves, which `sol_memcpy_` refuses as overlapping.
            Self::Memcpy | Self::Memmove => Some("sol_memmove_"),
            Self::Memset => Some("sol_memset_"),
            Self::Memcmp | Self::Bcmp => Some("sol_memcmp_"),
            Self::Trap => Some("abort"),
            Self::Syscall(name) => Some(name),
            Self::Int128(_) | Self::Convert(_) | Self::Random(_) => None,
        }
    }

    /// Returns the code of the routine. `Err` stands for a call of a syscall.
    pub(crate) fn code(self) -> Vec<Result<Insn, &'static str>> {
        let insn = |op, dst, src, off, imm| Ok(Insn { op, dst, src, off, imm });
        let call = self.syscall().map(Err);
        let exit = insn(Op::Exit, 0, 0, 0, 0);
        let (before, after) = match self {
            // The functions return their first argument, which r6 preserves across the syscall.
            Self::Memcpy | Self::Memmove | Self::Memset => {
                (vec![insn(Op::Mov64Reg, 6, 1, 0, 0)], vec![insn(Op::Mov64Reg, 0, 6, 0, 0), exit])
            }
            // The syscall writes its result, an `int`, to memory.
            Self::Memcmp | Self::Bcmp => (
                vec![insn(Op::Mov64Reg, 4, FRAME_POINTER, 0, 0), insn(Op::Add64Imm, 4, 0, 0, -8)],
                vec![
                    insn(Op::Ldxw, 0, FRAME_POINTER, -8, 0),
                    insn(Op::Lsh64Imm, 0, 0, 0, 32),
                    insn(Op::Arsh64Imm, 0, 0, 0, 32),
                    exit,
                ],
            ),
            Self::Trap | Self::Syscall(_) => (vec![], vec![exit]),
            Self::Random(it) => (vec![insn(Op::Mov64Imm, 0, 0, 0, it.error.into())], vec![exit]),
            Self::Int128(wide) => (wide.code(), vec![]),
            Self::Convert(Convert { defined, .. }) => {
                (assembled(include_str!("routines/convert.s"), defined), vec![])
            }
        };
        before.into_iter().chain(call).chain(after).collect()
    }
}

impl Int128 {
    fn code(self) -> Vec<Result<Insn, &'static str>> {
        const CHECKED: &str = include_str!("routines/checked.s");
        const DIVIDE: &str = include_str!("routines/divide.s");
        let (rest, defined): (_, &[&str]) = match self {
            Self::Product => ("", &["PRODUCT"]),
            Self::CheckedProduct => (CHECKED, &[]),
            Self::Quotient => (DIVIDE, &[]),
            Self::Remainder => (DIVIDE, &["REMAINDER"]),
            Self::SignedQuotient => (DIVIDE, &["SIGNED"]),
            Self::SignedRemainder => (DIVIDE, &["SIGNED", "REMAINDER"]),
        };
        assembled(rest, defined)
    }
}

/// Assembles a routine, behind the macros of all of them.
fn assembled(source: &str, defined: &[&str]) -> Vec<Result<Insn, &'static str>> {
    const MACROS: &str = include_str!("routines/multiply.s");
    let options = selkie_asm::Options {
        version: Version::V3,
        defines: defined.iter().map(|&name| (name.to_owned(), 1)).collect(),
        ..selkie_asm::Options::default()
    };
    let output = selkie_asm::assemble(&format!("{MACROS}{source}"), &options);
    let Assembly { text, .. } = output.assembly.expect("the linker's own source is sound");
    instructions(Version::V3, &text)
        .map(|(_, insn)| Ok(insn.expect("it was just assembled")))
        .collect()
}
