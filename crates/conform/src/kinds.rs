//! The table of kinds: one row each.

use serde_json::Value;

use crate::{
    BadVector, Context, Verdict, cfg, disasm, elf_load, elf_loader, exec, fixture::FIXTURES,
    memmap, named, svm, verify, vm_interp, vm_syscall,
};

/// One kind of vector.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// What is compared of it.
    pub compared: &'static str,
    /// Whether a line is a vector of this kind.
    pub matches: fn(&Value) -> bool,
    /// Runs a vector of this kind and compares what came out.
    pub judge: fn(&Value, &Context) -> Result<Verdict, BadVector>,
}

/// Every kind, in the order in which lines are tried on them: first those that the fields tell,
/// since they have their own use for the name `kind`, then those that `kind` tells.
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
        matches: |line| is(line, "elf_load"),
        judge: elf_load::judge,
    },
    Kind {
        name: "verify",
        compared: "the verifier's verdict and its text",
        matches: |line| is(line, "verify"),
        judge: verify::judge,
    },
    Kind {
        name: "exec",
        compared: "result, error text, instruction count, final pc, registers, memory, trace",
        matches: |line| is(line, "exec"),
        judge: exec::judge,
    },
    Kind {
        name: "memmap",
        compared: "whether an access to memory is allowed, or its error",
        matches: |line| is(line, "memmap"),
        judge: |line, _| memmap::judge(line),
    },
    Kind {
        name: "disasm",
        compared: "the listing, as `selkie disasm --style anza` prints it",
        matches: |line| is(line, "disasm"),
        judge: disasm::judge,
    },
    Kind {
        name: "cfg",
        compared: "blocks, edges and dominators",
        matches: |line| is(line, "cfg"),
        judge: cfg::judge,
    },
];

/// What is compared of everything that is judged, by name: of the kinds of vectors, then of the
/// kinds of fixtures.
pub fn compared() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = KINDS.iter().map(|kind| (kind.name, kind.compared));
    kinds.chain(FIXTURES.iter().map(|kind| (kind.name, kind.compared)))
}

/// Kinds that are known but not run, and the field that tells them.
const NOT_YET: &[(&str, &str)] = &[("Firedancer fixture", "fixture")];

/// Whether the line says that it is of this kind.
#[must_use]
pub fn is(line: &Value, kind: &str) -> bool {
    line.get("kind").is_some_and(|found| found == kind)
}

/// The kind of a line, or why there is none.
pub(crate) fn kind_of(line: &Value) -> Result<&'static Kind, String> {
    KINDS.iter().find(|kind| (kind.matches)(line)).ok_or_else(|| {
        let known = NOT_YET.iter().find(|(_, field)| line.get(field).is_some());
        let name = known.map(|(name, _)| *name).or_else(|| line.get("kind")?.as_str());
        name.map_or_else(
            || "the line does not tell its kind".to_owned(),
            |name| format!("kind {name} is not supported yet"),
        )
    })
}
