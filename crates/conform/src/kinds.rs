//! The table of kinds of vectors: one row each.

use core::fmt;

use serde_json::Value;

use crate::{
    BadVector, Context, Verdict, cfg, disasm, elf_load, elf_loader, exec, fixture::FIXTURES,
    memmap, named, svm, vector::is_kind, verify, vm_interp, vm_syscall,
};

/// A kind of vector.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name of the kind.
    pub name: &'static str,
    /// The fields that are compared.
    pub compared: &'static str,
    /// Returns whether a line is a vector of this kind.
    pub matches: fn(&Value) -> bool,
    /// Runs a vector of this kind and compares the result.
    pub judge: fn(&Value, &Context) -> Result<Verdict, BadVector>,
}

/// The table of kinds, in the order in which they are tried on a line: first the kinds recognised by
/// their fields, whose lines may use `kind` for something else, then those recognised by `kind`.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "elf_loader",
        compared: "error, or the loaded image, text, entry and functions",
        matches: elf_loader::matches,
        judge: elf_loader::judge,
    },
    Kind {
        name: "vm_interp",
        compared: "error, r0, compute units, pc, depth, registers, memory",
        matches: vm_interp::matches,
        judge: |line, context| vm_interp::judge(line, context.engine()),
    },
    Kind {
        name: "vm_syscall",
        compared: "error, r0, compute units, memory",
        matches: vm_syscall::matches,
        judge: vm_syscall::judge,
    },
    Kind {
        name: "svm",
        compared: "a transaction's stage, result, accounts, fee, compute units, logs, inner \
                   instructions",
        matches: svm::matches,
        judge: svm::judge,
    },
    Kind {
        name: "fd_instr",
        compared: "result, compute units, accounts, return data: Firedancer's instructions",
        matches: named::is_instr,
        judge: named::judge_instr,
    },
    Kind {
        name: "fd_vm_syscall",
        compared: "error, r0, compute units, memory: Firedancer's syscalls and calls between \
                   programs",
        matches: named::is_syscall,
        judge: named::judge_syscall,
    },
    Kind {
        name: "fd_elf_loader",
        compared: "error, or the loaded image, text, entry and functions: Firedancer's ELF files",
        matches: elf_loader::is_fixture,
        judge: elf_loader::judge,
    },
    Kind {
        name: "elf_load",
        compared: "error, or the loaded image, text, entry, functions and verdict",
        matches: |line| is_kind(line, "elf_load"),
        judge: elf_load::judge,
    },
    Kind {
        name: "verify",
        compared: "the verifier's verdict and its text",
        matches: |line| is_kind(line, "verify"),
        judge: verify::judge,
    },
    Kind {
        name: "exec",
        compared: "result, error text, instruction count, final pc, registers, memory, trace",
        matches: |line| is_kind(line, "exec"),
        judge: exec::judge,
    },
    Kind {
        name: "memmap",
        compared: "whether an access to memory is allowed, or its error",
        matches: |line| is_kind(line, "memmap"),
        judge: |line, _| memmap::judge(line),
    },
    Kind {
        name: "disasm",
        compared: "the listing, as `selkie disasm --style anza` prints it",
        matches: |line| is_kind(line, "disasm"),
        judge: disasm::judge,
    },
    Kind {
        name: "cfg",
        compared: "blocks, edges and dominators",
        matches: |line| is_kind(line, "cfg"),
        judge: cfg::judge,
    },
];

/// Returns the name and the compared fields of each kind of vector, then of each kind of fixture.
pub fn compared() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = KINDS.iter().map(|kind| (kind.name, kind.compared));
    kinds.chain(FIXTURES.iter().map(|kind| (kind.name, kind.compared)))
}

/// Kinds that are recognised but not supported, with the field that tells them.
const NOT_YET: &[(&str, &str)] = &[("Firedancer fixture", "fixture")];

/// Returns the kind of a line, or the reason to skip it.
pub(crate) fn kind_of(line: &Value) -> Result<&'static Kind, UnknownKind> {
    KINDS.iter().find(|kind| (kind.matches)(line)).ok_or_else(|| {
        let known = NOT_YET.iter().find(|(_, field)| line.get(field).is_some());
        let name = known.map(|(name, _)| *name).or_else(|| line.get("kind")?.as_str());
        UnknownKind(name.map(str::to_owned))
    })
}

/// A line of no kind in the table, with what it calls its kind.
#[derive(Debug)]
pub(crate) struct UnknownKind(Option<String>);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("the line has no known kind"),
            Some(name) => write!(f, "kind {name} is not supported yet"),
        }
    }
}
