//! Signature help: the operands of the instruction, directive, macro or syscall that is typed.

use std::rc::Rc;

use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureInformation,
};
use selkie_asm::{
    directives::Directive,
    syntax::{Class, Line, Statement, Token, instructions, register_number},
};
use selkie_isa::{Op, Shape, Version, syntax::meaning};
use selkie_protocol::syscalls::{SYSCALLS, Syscall};

use crate::{
    complete::is_comment,
    describe,
    index::{Key, Role},
    source::{Source, defined},
};

/// Returns the signatures of the first word of a line, if the cursor is after it.
pub(crate) fn help(
    unit: &[Rc<Source>],
    source: &Source,
    offset: usize,
    version: Version,
) -> Option<SignatureHelp> {
    let line = source.line_at(offset);
    let word = source.file.word(line).filter(|it| it.range.end < offset)?;
    let name = source.file.slice(&word);
    let operands: Vec<Token> = source.file.operands(line).collect();
    let tokens: Vec<Token> = core::iter::once(word.clone()).chain(operands.clone()).collect();
    if is_comment(source, line, &tokens, offset) {
        return None;
    }
    let before = operands.iter().filter(|it| it.class == Class::Comma && it.range.end <= offset);
    let commas = before.count();
    match line.statement {
        Statement::Instruction if matches!(name, "call" | "syscall") => {
            let callee = operands.first().map(|it| source.file.slice(it)).unwrap_or_default();
            let is_label = defined(unit).contains_key(&Key::Symbol(callee.to_owned()));
            let found = SYSCALLS.iter().find(|it| it.name == callee && !is_label);
            Some(alone(found.map_or_else(|| call(name), syscall), None))
        }
        Statement::Instruction => instruction(source, line, name, commas, version),
        Statement::Directive(found) => directive(found, name, commas),
        Statement::Call => macro_call(unit, name, commas),
        _ => None,
    }
}

fn alone(signature: SignatureInformation, active: Option<usize>) -> SignatureHelp {
    let active_parameter = active.and_then(|it| u32::try_from(it).ok());
    SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter }
}

/// Returns a signature: `name`, then parts, separated by `, `.
fn signature(
    name: &str,
    between: (&str, &str),
    parts: &[(String, String)],
    text: String,
) -> SignatureInformation {
    let (open, close) = between;
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    let label = format!("{name}{open}{}{close}", names.join(", "));
    let mut at = utf16(name) + utf16(open);
    let parameters = parts.iter().map(|(name, text)| {
        let start = at;
        at += utf16(name) + utf16(", ");
        ParameterInformation {
            label: ParameterLabel::LabelOffsets([start, start + utf16(name)]),
            documentation: (!text.is_empty()).then(|| Documentation::String(text.clone())),
        }
    });
    let parameters = Some(parameters.collect());
    let documentation = Some(Documentation::MarkupContent(MarkupContent {
        kind: MarkupKind::Markdown,
        value: text.trim_end().to_owned(),
    }));
    SignatureInformation { label, documentation, parameters, active_parameter: None }
}

/// Returns a length in UTF-16, which offsets into labels use whatever encoding was negotiated.
fn utf16(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

/// Returns the signature of a call whose callee is unknown, or not typed yet.
fn call(word: &str) -> SignatureInformation {
    let (what, text) = match word {
        "call" => {
            ("function or syscall", "Calls a function, or a syscall if no label has the name.")
        }
        _ => ("syscall", "Calls a syscall."),
    };
    let text = format!("{text}\n\nr1 to r5 are its arguments, r0 its result.");
    signature(word, (" ", ""), &[(what.to_owned(), String::new())], text)
}

/// Returns the signature of a syscall, with the registers of its arguments.
fn syscall(syscall: &Syscall) -> SignatureInformation {
    let arguments = (1..).zip(syscall.arguments).map(|(register, name): (u8, _)| {
        (format!("r{register}: {name}"), describe::register(register).to_owned())
    });
    let arguments: Vec<(String, String)> = arguments.collect();
    let text = format!("{}\n\n{}", syscall.summary, describe::cost_and_gate(syscall));
    signature(syscall.name, ("(", ")"), &arguments, text)
}

/// Returns the forms of an instruction that the version has, or else all of them.
fn instruction(
    source: &Source,
    line: &Line,
    name: &str,
    commas: usize,
    version: Version,
) -> Option<SignatureHelp> {
    let mut forms: Vec<Op> = Vec::new();
    let rows = instructions(name);
    let is_known = |op: &Op| op.versions().contains(version);
    let has_any = rows.iter().any(is_known);
    for &op in rows.iter().filter(|op| !has_any || is_known(op)) {
        if forms.iter().all(|it| it.kind().shape() != op.kind().shape()) {
            forms.push(op);
        }
    }
    forms.retain(|op| op.kind().shape() != Shape::None);
    // The active form is the first that matches what was typed.
    let fits = |op: &Op| {
        let parts = operands_of(*op);
        let typed = typed(source, line);
        typed.iter().zip(&parts).all(|(typed, part)| typed.is_none_or(|it| it.fits(part)))
            && typed.len() <= parts.len()
    };
    let active = forms.iter().position(fits).unwrap_or(0);
    let signatures: Vec<SignatureInformation> = forms
        .iter()
        .map(|&op| {
            let parts: Vec<(String, String)> =
                operands_of(op).into_iter().map(|it| (it, String::new())).collect();
            signature(name, (" ", ""), &parts, format!("`{}`", meaning(op)))
        })
        .collect();
    (!signatures.is_empty()).then(|| SignatureHelp {
        signatures,
        active_signature: u32::try_from(active).ok(),
        active_parameter: u32::try_from(commas).ok(),
    })
}

fn operands_of(op: Op) -> Vec<String> {
    op.kind().shape().to_string().split(", ").map(str::to_owned).collect()
}

/// The kind of an operand, by its first token.
#[derive(Clone, Copy)]
enum Typed {
    Register,
    Memory,
    Value,
}

impl Typed {
    fn fits(self, operand: &str) -> bool {
        match self {
            Self::Register => matches!(operand, "dst" | "src" | "register"),
            Self::Memory => operand.starts_with('['),
            Self::Value => matches!(operand, "imm" | "imm64" | "target"),
        }
    }
}

/// Returns the operands that were typed so far.
fn typed(source: &Source, line: &Line) -> Vec<Option<Typed>> {
    let mut found = vec![None];
    for token in source.file.operands(line) {
        let text = source.file.slice(&token);
        if token.class == Class::Comma {
            found.push(None);
        } else if let Some(last @ None) = found.last_mut() {
            *last = Some(match text {
                "[" => Typed::Memory,
                _ if register_number(text).is_some() => Typed::Register,
                _ => Typed::Value,
            });
        }
    }
    found
}

fn directive(found: &Directive, name: &str, commas: usize) -> Option<SignatureHelp> {
    if found.operands.is_empty() {
        return None;
    }
    let parts: Vec<&str> = found.operands.split(", ").collect();
    // `value, …` takes any number of operands.
    let active = match parts.last() {
        Some(&"…") => commas.min(parts.len().saturating_sub(2)),
        _ => commas,
    };
    let parts: Vec<(String, String)> =
        parts.into_iter().map(|it| (it.to_owned(), String::new())).collect();
    Some(alone(signature(name, (" ", ""), &parts, found.summary.to_owned()), Some(active)))
}

fn macro_call(unit: &[Rc<Source>], name: &str, commas: usize) -> Option<SignatureHelp> {
    let key = Key::Macro(name.to_owned());
    let (home, it) = defined(unit).remove(&key).filter(|(_, it)| it.role == Role::Macro)?;
    let head = home.text()[home.file.lines()[it.line].range.clone()].trim();
    let parameters = head.split_once(name).map_or("", |(_, rest)| rest.trim());
    let parts: Vec<(String, String)> = parameters
        .split(',')
        .map(|it| (it.trim().to_owned(), String::new()))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let signature = signature(name, (" ", ""), &parts, home.comment_above(it.line));
    Some(alone(signature, Some(commas)))
}
