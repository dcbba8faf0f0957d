//! The routines that compilers take for granted: those about memory in terms of syscalls, those of
//! 128 bits in assembly.
//!
//! Archives have them too, but as their compiler passes numbers of 128 bits, which LLVM's calls need
//! not agree with: rustc 1.99 returns them in memory.

use selkie_asm::Assembly;
use selkie_isa::{Insn, Op, Version, insn::instructions, layout::FRAME_POINTER, syscalls};

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
    /// A number of 128 bits by another.
    Wide(Wide),
    /// A syscall as a function, for those who take its address.
    Syscall(&'static str),
}

/// What is done with two numbers of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Wide {
    Product,
    CheckedProduct,
    Quotient,
    Remainder,
    SignedQuotient,
    SignedRemainder,
}

const ROUTINES: &[Support] = &[
    Support::Memcpy,
    Support::Memmove,
    Support::Memset,
    Support::Memcmp,
    Support::Bcmp,
    Support::Trap,
    Support::Wide(Wide::Product),
    Support::Wide(Wide::CheckedProduct),
    Support::Wide(Wide::Quotient),
    Support::Wide(Wide::Remainder),
    Support::Wide(Wide::SignedQuotient),
    Support::Wide(Wide::SignedRemainder),
];

/// There for programs that were deployed long ago; new ones are refused.
const RETIRED: &str = "sol_alloc_free_";

/// The name of the syscall `name`, if there is one that new programs may call.
pub(crate) fn syscall(name: &str) -> Option<&'static str> {
    if name == RETIRED {
        return None;
    }
    syscalls::find(name).map(|syscall| syscall.name)
}

/// Every name that the linker gives a meaning.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    syscalls::names().filter(|it| *it != RETIRED).chain(ROUTINES.iter().map(|it| it.name()))
}

/// Whether the linker gives the name a meaning, so that no archive need be searched.
pub(crate) fn provides(name: &str) -> bool {
    syscall(name).is_some() || Support::by_name(name).is_some()
}

/// Whether it turns numbers of 128 bits into floating-point ones or back. Compilers do not agree on
/// how such numbers are passed, and nobody has needed these.
pub(crate) fn is_refused(name: &str) -> bool {
    let rest = name.strip_prefix("__fix").or_else(|| name.strip_prefix("__float"));
    rest.is_some_and(|it| {
        ["dfti", "sfti", "unsdfti", "unssfti", "tidf", "tisf", "untidf", "untisf"].contains(&it)
    })
}

/// What to do about an undefined name that compilers call of their own accord.
pub(crate) fn advice_of_builtin(name: &str) -> Option<&'static str> {
    const ARITHMETIC: &[&str] =
        &["__ashlti3", "__lshrti3", "__ashrti3", "__udivmodti4", "__muloti4", "__mulodi4"];
    let is_float = name.starts_with("__") && (name.ends_with("df3") || name.ends_with("sf3"));
    (ARITHMETIC.contains(&name) || is_float).then_some(
        "it is one of the compiler's own routines: link the archive that has them, \
         libcompiler_builtins of Rust or compiler-rt of LLVM",
    )
}

/// What to do about an undefined name that is like no other.
pub(crate) fn advice(name: &str) -> &'static str {
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
            Self::Wide(Wide::Product) => "__multi3",
            Self::Wide(Wide::CheckedProduct) => "__muloti4",
            Self::Wide(Wide::Quotient) => "__udivti3",
            Self::Wide(Wide::Remainder) => "__umodti3",
            Self::Wide(Wide::SignedQuotient) => "__divti3",
            Self::Wide(Wide::SignedRemainder) => "__modti3",
            Self::Syscall(name) => name,
        }
    }

    /// The syscall that does the work.
    fn syscall(self) -> Option<&'static str> {
        match self {
            // Compilers copy objects onto themselves, which `sol_memcpy_` takes for overlapping.
            Self::Memcpy | Self::Memmove => Some("sol_memmove_"),
            Self::Memset => Some("sol_memset_"),
            Self::Memcmp | Self::Bcmp => Some("sol_memcmp_"),
            Self::Trap => Some("abort"),
            Self::Syscall(name) => Some(name),
            Self::Wide(_) => None,
        }
    }

    /// The routine: instructions, and where among them which syscall is called.
    pub(crate) fn code(self) -> Vec<Result<Insn, &'static str>> {
        let insn = |op, dst, src, off, imm| Ok(Insn { op, dst, src, off, imm });
        let call = self.syscall().map(Err);
        let exit = insn(Op::Exit, 0, 0, 0, 0);
        let (before, after) = match self {
            // The syscalls return 0, the functions their first argument. Calls keep r6.
            Self::Memcpy | Self::Memmove | Self::Memset => {
                (vec![insn(Op::Mov64Reg, 6, 1, 0, 0)], vec![insn(Op::Mov64Reg, 0, 6, 0, 0), exit])
            }
            // The result comes in memory, as an `int`.
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
            Self::Wide(wide) => (wide.code(), vec![]),
        };
        before.into_iter().chain(call).chain(after).collect()
    }
}

impl Wide {
    fn code(self) -> Vec<Result<Insn, &'static str>> {
        const MULTIPLY: &str = include_str!("support/multiply.s");
        const CHECKED: &str = include_str!("support/checked.s");
        const DIVIDE: &str = include_str!("support/divide.s");
        let (rest, defined): (_, &[&str]) = match self {
            Self::Product => ("", &["PRODUCT"]),
            Self::CheckedProduct => (CHECKED, &[]),
            Self::Quotient => (DIVIDE, &[]),
            Self::Remainder => (DIVIDE, &["REMAINDER"]),
            Self::SignedQuotient => (DIVIDE, &["SIGNED"]),
            Self::SignedRemainder => (DIVIDE, &["SIGNED", "REMAINDER"]),
        };
        let options = selkie_asm::Options {
            version: Version::V3,
            defines: defined.iter().map(|&name| (name.to_owned(), 1)).collect(),
            ..selkie_asm::Options::default()
        };
        let output = selkie_asm::assemble(&format!("{MULTIPLY}{rest}"), &options);
        let Assembly { text, .. } = output.assembly.expect("the linker's own source is sound");
        instructions(Version::V3, &text)
            .map(|(_, insn)| Ok(insn.expect("it was just assembled")))
            .collect()
    }
}
