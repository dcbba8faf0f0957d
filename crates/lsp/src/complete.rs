//! Completion: the words that can be typed at the cursor.

use core::ops::Range;
use std::rc::Rc;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent,
    MarkupKind, TextEdit,
};
use selkie_asm::{
    directives::{DIRECTIVES, Directive},
    syntax::{Class, Line, Statement, Token, instructions},
};
use selkie_isa::{Kind, Op, Shape, Version, layout::FRAME_POINTER, syntax::mnemonics};
use selkie_protocol::syscalls::SYSCALLS;

use crate::{
    describe,
    index::{Key, Role},
    source::{Source, defined},
};

/// What can be typed at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    /// An instruction, a directive, a macro.
    Statement,
    /// A function or a syscall.
    Callee,
    Syscall,
    /// A label.
    Target,
    /// A register, a constant, a label.
    Operand,
    /// A constant or a label.
    Value,
    /// A parameter of the enclosing macro.
    Parameter,
    Nothing,
}

pub(crate) fn complete(
    unit: &[Rc<Source>],
    source: &Source,
    offset: usize,
    version: Version,
) -> Vec<CompletionItem> {
    let line = source.line_at(offset);
    let tokens: Vec<Token> = source
        .file
        .labels(line)
        .chain(source.file.word(line))
        .chain(source.file.operands(line))
        .collect();
    let typed = tokens.iter().find(|it| it.range.start < offset && offset <= it.range.end);
    let range = match typed {
        Some(it) if it.class == Class::Word => it.range.clone(),
        Some(it) if matches!(it.class, Class::Text | Class::Number | Class::LocalLabel) => {
            return Vec::new();
        }
        _ => offset..offset,
    };
    if is_comment(source, line, &tokens, offset) {
        return Vec::new();
    }
    let expected = expected(source, line, range.start);
    let mut list = List { source, range, items: Vec::new() };
    list.add_expected(expected, unit, offset, version);
    list.items
}

fn is_value(role: Role) -> bool {
    !matches!(role, Role::Macro | Role::Reference | Role::Parameter)
}

/// Whether an offset is within a comment: between it and the token before is more than white space.
pub(crate) fn is_comment(source: &Source, line: &Line, tokens: &[Token], offset: usize) -> bool {
    let before = tokens.iter().rfind(|it| it.range.start < offset);
    let start = before.map_or(line.range.start, |it| it.range.end);
    let between = source.text().get(start..offset).unwrap_or_default();
    between.chars().any(|it| !it.is_whitespace())
}

/// Returns what can be typed at `start`, where a word begins.
fn expected(source: &Source, line: &Line, start: usize) -> Expected {
    if source.text()[..start].ends_with('\\') {
        return Expected::Parameter;
    }
    let Some(word) = source.file.word(line) else {
        // After labels, or on an empty line; the `*` of a store is not a word.
        return match line.statement {
            Statement::None => Expected::Statement,
            _ => Expected::Operand,
        };
    };
    if start <= word.range.start {
        return Expected::Statement;
    }
    let commas = source
        .file
        .operands(line)
        .filter(|it| it.class == Class::Comma && it.range.end <= start)
        .count();
    match line.statement {
        Statement::Instruction => match source.file.slice(&word) {
            "call" => Expected::Callee,
            "syscall" => Expected::Syscall,
            mnemonic => operand(instructions(mnemonic), commas),
        },
        Statement::Pseudo => {
            let before: Vec<Token> =
                source.file.operands(line).filter(|it| it.range.end <= start).collect();
            let last = before.last().unwrap_or(&word);
            match source.file.slice(last) {
                "goto" => Expected::Target,
                _ => Expected::Operand,
            }
        }
        Statement::Constant => Expected::Value,
        Statement::Directive(directive) => directive_operand(directive, commas),
        Statement::Call | Statement::None => Expected::Operand,
    }
}

/// Returns what the operand of a directive after `commas` commas can be.
fn directive_operand(directive: &Directive, commas: usize) -> Expected {
    match directive.names[0] {
        ".globl" | ".type" | ".weak" | ".hidden" | ".protected" | ".local" => Expected::Target,
        ".size" if commas == 0 => Expected::Target,
        ".extern" => Expected::Syscall,
        ".macro" | ".irp" | ".irpc" | ".struct" | ".section" | ".pushsection" | ".include"
        | ".incbin" | ".ascii" | ".asciz" | ".pubkey" | ".error" | ".warning" => Expected::Nothing,
        ".equ" | ".set" | ".field" if commas == 0 => Expected::Nothing,
        _ if directive.is_ignored() => Expected::Nothing,
        _ => Expected::Value,
    }
}

/// Returns what the operand after `commas` commas can be.
fn operand(ops: &[Op], commas: usize) -> Expected {
    let targets = |op: &Op| match op.kind() {
        Kind::Jump => commas == 0,
        Kind::Branch(..) => commas == 2,
        _ => false,
    };
    let has_more = |op: &Op| match op.kind().shape() {
        Shape::None => false,
        Shape::Dst | Shape::CallReg | Shape::Target | Shape::Call => commas == 0,
        Shape::DstImmTarget | Shape::DstSrcTarget => commas < 3,
        _ => commas < 2,
    };
    if ops.iter().any(targets) {
        Expected::Target
    } else if ops.iter().any(has_more) {
        Expected::Operand
    } else {
        Expected::Nothing
    }
}

struct List<'a> {
    source: &'a Source,
    range: Range<usize>,
    items: Vec<CompletionItem>,
}

impl List<'_> {
    /// Adds everything that can be typed.
    fn add_expected(
        &mut self,
        expected: Expected,
        unit: &[Rc<Source>],
        offset: usize,
        version: Version,
    ) {
        match expected {
            Expected::Nothing => {}
            Expected::Statement => {
                self.mnemonics(version);
                self.directives();
                self.names(unit, 'm', |role| role == Role::Macro);
            }
            Expected::Callee => {
                self.names(unit, 'a', |role| role == Role::Label);
                self.syscalls();
            }
            Expected::Syscall => self.syscalls(),
            Expected::Target => self.names(unit, 'a', |role| role == Role::Label),
            Expected::Operand => {
                self.registers();
                self.names(unit, 'b', is_value);
            }
            Expected::Value => self.names(unit, 'b', is_value),
            Expected::Parameter => self.parameters(offset),
        }
    }

    fn add(
        &mut self,
        label: &str,
        kind: CompletionItemKind,
        group: char,
        detail: String,
        documentation: String,
    ) {
        let range = self.source.range(self.range.clone());
        let documentation = (!documentation.is_empty()).then_some(documentation);
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail: (!detail.is_empty()).then_some(detail),
            documentation: documentation.map(|value| {
                Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
            }),
            sort_text: Some(format!("{group}{label}")),
            filter_text: Some(label.to_owned()),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit {
                range,
                new_text: label.to_owned(),
            })),
            ..CompletionItem::default()
        });
    }

    fn mnemonics(&mut self, version: Version) {
        for word in mnemonics(version) {
            let ops = instructions(&word);
            let mut shapes: Vec<String> = Vec::new();
            for op in ops.iter().filter(|it| it.versions().contains(version)) {
                let shape = op.kind().shape();
                let text = if shape == Shape::None { String::new() } else { shape.to_string() };
                if !shapes.contains(&text) {
                    shapes.push(text);
                }
            }
            let text = describe::mnemonic(&word, ops, version);
            self.add(&word, CompletionItemKind::KEYWORD, 'a', shapes.join(" | "), text);
        }
    }

    fn directives(&mut self) {
        for directive in DIRECTIVES.iter().filter(|it| !it.is_ignored()) {
            for name in directive.names {
                let text = describe::directive(directive);
                let detail = directive.operands.to_owned();
                self.add(name, CompletionItemKind::KEYWORD, 'z', detail, text);
            }
        }
    }

    fn syscalls(&mut self) {
        for syscall in SYSCALLS {
            let detail = format!("{syscall}  {}", describe::cost(syscall));
            let text = describe::syscall(syscall);
            self.add(syscall.name, CompletionItemKind::FUNCTION, 'b', detail, text);
        }
    }

    fn registers(&mut self) {
        for number in 0..=FRAME_POINTER {
            let detail = describe::register(number).to_owned();
            let label = format!("r{number}");
            self.add(&label, CompletionItemKind::VARIABLE, 'a', detail, String::new());
            let item = self.items.last_mut().expect("an item was just added");
            // r10 comes after r9.
            item.sort_text = Some(format!("a{number:02}"));
        }
    }

    fn names(&mut self, unit: &[Rc<Source>], group: char, wanted: impl Fn(Role) -> bool) {
        for (key, (home, it)) in defined(unit) {
            let (Key::Symbol(name) | Key::Macro(name)) = key else { continue };
            if !wanted(it.role)
                || (it.range.start <= self.range.start
                    && self.range.start < it.range.end
                    && home.uri == self.source.uri)
            {
                continue;
            }
            let kind = match it.role {
                Role::Label => CompletionItemKind::REFERENCE,
                Role::Macro => CompletionItemKind::SNIPPET,
                Role::Field => CompletionItemKind::FIELD,
                _ => CompletionItemKind::CONSTANT,
            };
            let line = home.file.lines()[it.line].range.clone();
            let detail = match it.role {
                Role::Label => String::new(),
                _ => home.text()[line].trim().to_owned(),
            };
            self.add(name, kind, group, detail, home.comment_above(it.line));
        }
    }

    fn parameters(&mut self, offset: usize) {
        let line = self.source.file.line_at(offset);
        let heads = self.source.index.definitions().filter_map(|it| match &it.key {
            Key::Parameter { line: head, name } if *head <= line => Some((*head, name.clone())),
            _ => None,
        });
        let heads: Vec<(usize, String)> = heads.collect();
        let last = heads.iter().map(|(head, _)| *head).max();
        for (_, name) in heads.iter().filter(|(head, _)| Some(*head) == last) {
            self.add(name, CompletionItemKind::VARIABLE, 'a', String::new(), String::new());
        }
    }
}
