//! The texts of hovers and completions, as Markdown, made from the tables.

use selkie_asm::directives::Directive;
use selkie_isa::{Kind, Op, Shape, Version, op::Versions, syntax::meaning};
use selkie_protocol::syscalls::Syscall;

/// The language of code blocks, by which editors highlight them.
pub(crate) const LANGUAGE: &str = "sbpf";

pub(crate) fn code(text: &str) -> String {
    format!("```{LANGUAGE}\n{text}\n```\n")
}

/// `V0 V1 V3 V4`, or `all versions`.
fn versions(versions: Versions) -> String {
    if versions == Versions::ALL {
        return "all versions".to_owned();
    }
    let names: Vec<String> = versions.iter().map(|it| format!("{it:?}")).collect();
    names.join(" ")
}

/// Returns the syntax of an instruction: `add64 dst, imm`.
pub(crate) fn form(mnemonic: &str, op: Op) -> String {
    match op.kind().shape() {
        Shape::None => mnemonic.to_owned(),
        shape => format!("{mnemonic} {shape}"),
    }
}

/// Describes the instructions of a mnemonic: those of `version`, or all if it has none of them.
pub(crate) fn mnemonic(word: &str, ops: &[Op], version: Version) -> String {
    let mut text = String::new();
    let is_known = |op: &&Op| op.versions().contains(version);
    let shown: Vec<Op> = match ops.iter().filter(is_known).count() {
        0 => ops.to_vec(),
        _ => ops.iter().filter(is_known).copied().collect(),
    };
    for op in shown {
        let slots = if op.kind() == Kind::LoadImm64 { ", two slots" } else { "" };
        text.push_str(&code(&form(word, op)));
        text.push_str(&format!(
            "`{}`\n\nopcode `0x{:02x}`{slots}, {}, 1 CU\n\n",
            meaning(op),
            op.code(),
            versions(op.versions())
        ));
    }
    if !ops.iter().any(|it| it.versions().contains(version)) {
        text.push_str(&format!("sBPF {version} does not have this instruction.\n"));
    }
    text
}

/// Describes a syscall: its arguments, what it does, what it costs and where it is available.
pub(crate) fn syscall(syscall: &Syscall) -> String {
    let arguments: Vec<String> = (1..)
        .zip(syscall.arguments)
        .map(|(register, name): (u8, _)| format!("r{register} = `{name}`"))
        .collect();
    let arguments = match &arguments[..] {
        [] => String::new(),
        _ => format!("{}\n\n", arguments.join(", ")),
    };
    format!(
        "{}{}\n\n{arguments}{}",
        code(&syscall.to_string()),
        syscall.summary,
        cost_and_gate(syscall)
    )
}

/// Describes what a syscall costs and where it is available.
pub(crate) fn cost_and_gate(syscall: &Syscall) -> String {
    let Syscall { cost, gate, .. } = syscall;
    format!("Cost: {cost} CU, on top of the 1 CU of the call\n\nAvailable: {gate}\n")
}

/// Returns what a syscall adds to the cost of its call: `+100 CU`, `+100… CU`, `+len CU`.
pub(crate) fn cost(syscall: &Syscall) -> String {
    let cost = &syscall.cost;
    match cost.minimum() {
        minimum if cost.is_fixed() => format!("+{minimum} CU"),
        0 => format!("+{cost} CU"),
        minimum => format!("+{minimum}… CU"),
    }
}

/// Describes a directive: its syntax and what it does.
pub(crate) fn directive(directive: &Directive) -> String {
    let names = directive.names.iter().map(|name| format!("{name} {}", directive.operands));
    let forms: Vec<String> = names.map(|it| it.trim_end().to_owned()).collect();
    format!("{}{}\n", code(&forms.join("\n")), directive.summary)
}

/// Describes what a register is used for.
pub(crate) fn register(number: u8) -> &'static str {
    match number {
        0 => "the result of a function, a syscall, the program",
        1 => "the first argument; at the start, the address of the serialized input",
        2..=5 => "an argument; calls may overwrite it",
        6..=9 => "preserved by calls",
        10 => "the frame pointer: the end of the function's stack frame; read-only",
        _ => "not a register: there are r0 to r10",
    }
}
