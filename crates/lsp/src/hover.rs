//! Hover: describes what is under the cursor.

use core::ops::Range;
use std::rc::Rc;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use selkie_asm::{
    Definition, Meaning,
    syntax::{Class, Line, Statement, Token, instructions, register_number},
};
use selkie_isa::{Insn, NoNames, Version};
use selkie_protocol::syscalls;

use crate::{
    analysis::Analysis,
    describe,
    index::{Key, Occurrence, Role},
    source::{Source, occurrences},
};

/// The source of a hover request, and what is known of it.
pub(crate) struct HoverRequest<'a> {
    pub(crate) unit: &'a [Rc<Source>],
    pub(crate) source: &'a Source,
    pub(crate) analysis: &'a Analysis,
    pub(crate) version: Version,
}

impl HoverRequest<'_> {
    pub(crate) fn hover(&self, offset: usize) -> Option<Hover> {
        let (line, token) = self.source.token_at(offset)?;
        let (text, range) = match self.source.index.at(offset) {
            Some(found) => (self.name(found, &token)?, found.range.clone()),
            None => (self.word(line, &token)?, token.range.clone()),
        };
        let value = text.trim_end().to_owned();
        Some(Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
            range: Some(self.source.range(range)),
        })
    }

    /// Describes a word that is not a name.
    fn word(&self, line: &Line, token: &Token) -> Option<String> {
        let text = self.source.file.slice(token);
        let is_first = self.source.file.word(line).is_some_and(|it| it.range == token.range);
        if token.class == Class::Number {
            return number(text);
        }
        if let Some(register) = register_number(text) {
            // At the first word of pseudo-C, the instruction is described, too.
            let insn = if is_first { self.encoded(line) } else { None };
            let register = format!("`{text}`: {}", describe::register(register));
            return Some(insn.map_or_else(|| register.clone(), |it| format!("{it}\n{register}")));
        }
        match line.statement {
            Statement::Directive(found) if is_first => Some(describe::directive(found)),
            Statement::Instruction if is_first => {
                let ops = instructions(text);
                let what = match (text, ops) {
                    (_, []) | ("call", _) => {
                        "Calls a function, or a syscall if no label has the name: 1 CU, plus the \
                         cost of the callee.\n"
                            .to_owned()
                    }
                    _ => describe::mnemonic(text, ops, self.version),
                };
                let encoded = self.encoded(line).unwrap_or_default();
                Some(format!("{what}\n{encoded}"))
            }
            Statement::Pseudo if token.class == Class::Word => self.encoded(line),
            _ => None,
        }
    }

    /// Describes the instruction that a line was assembled to.
    fn encoded(&self, line: &Line) -> Option<String> {
        let assembly = self.analysis.assembly.as_ref()?;
        let number = u32::try_from(self.source.file.line_at(line.range.start)).ok()? + 1;
        let path = self.source.path.to_str()?;
        let file = assembly.files.iter().position(|it| it == path)?;
        let line_entry = assembly
            .lines
            .iter()
            .find(|it| it.line == number && usize::try_from(it.file) == Ok(file))?;
        let pc = line_entry.pc as usize;
        let insn = Insn::decode(assembly.version, &assembly.text, pc)?;
        let bytes = assembly.text.get(pc * 8..(pc + insn.slots()) * 8)?;
        let bytes: Vec<String> = bytes.iter().map(|it| format!("{it:02x}")).collect();
        let what = match line.statement {
            Statement::Pseudo => {
                let meaning = selkie_isa::syntax::meaning(insn.op);
                let text = insn.display(pc, &NoNames).to_string();
                format!("{}`{meaning}`, 1 CU\n\n", describe::code(&text))
            }
            _ => String::new(),
        };
        Some(format!("{what}slot {pc}: `{}`\n", bytes.join(" ")))
    }

    fn name(&self, found: &Occurrence, token: &Token) -> Option<String> {
        let definition =
            occurrences(self.unit, self.source, &found.key).find(|(_, it)| it.defines());
        let name = match &found.key {
            Key::Symbol(name) | Key::Macro(name) => name.clone(),
            Key::Parameter { name, .. } => return Some(format!("`{name}`: a parameter\n")),
            Key::Local(_) => self.source.file.slice(token).to_owned(),
        };
        let Some((home, it)) = definition else {
            return self.undefined(&name, found);
        };
        let line = self.source_line(home, it);
        let value = self.value(&name, found.range.clone());
        let mut text = match it.role {
            Role::Macro => describe::code(&line),
            Role::Label => {
                format!("{}{}", describe::code(&format!("{name}:")), self.label(&name, it))
            }
            _ => describe::code(&line),
        };
        if let (Some(value), false) = (value, it.role == Role::Label) {
            text.push_str(&format!("`{name}` = {value}\n\n"));
        }
        if home.uri != self.source.uri {
            text.push_str(&format!("in {}:{}\n\n", home.path.display(), it.line + 1));
        }
        let comment = home.comment_above(it.line);
        if !comment.is_empty() {
            text.push_str(&format!("\n{comment}\n"));
        }
        Some(text)
    }

    fn source_line(&self, home: &Source, it: &Occurrence) -> String {
        home.text()[home.file.lines()[it.line].range.clone()].trim().to_owned()
    }

    /// Describes a name without a definition in a source: a syscall, or a constant that a directive or
    /// the command line defines.
    fn undefined(&self, name: &str, found: &Occurrence) -> Option<String> {
        if let Some(syscall) = syscalls::find(name) {
            return Some(describe::syscall(syscall));
        }
        let value = self.value(name, found.range.clone())?;
        Some(format!("`{name}` = {value}\n"))
    }

    /// Returns the value of a name at a position: that of the last definition before it.
    fn value(&self, name: &str, range: Range<usize>) -> Option<String> {
        let found = self.analysis.definitions.get(name)?;
        let path = self.source.path.to_string_lossy();
        let before = found.iter().rev().find(|(_, defined)| {
            defined.as_ref().is_none_or(|it| it.file != path || it.range.start <= range.start)
        });
        let (Definition { meaning, .. }, _) = before.or(found.first())?;
        Some(match meaning {
            Meaning::Number(number) => decimal_and_hex(*number),
            Meaning::Text(offset) => format!("slot {}", offset / 8),
            Meaning::Rodata(offset) => format!("byte {offset} of the read-only data"),
        })
    }

    fn label(&self, name: &str, it: &Occurrence) -> String {
        let mut text = match self.value(name, it.range.clone()) {
            Some(value) => format!("{value}\n\n"),
            None => String::new(),
        };
        let pc = self.analysis.label_pc(name);
        if let Some(cost) = pc.and_then(|pc| self.analysis.costs()?.at(pc)) {
            text.push_str(&format!("{}\n\n", crate::hints::long(cost)));
        }
        text
    }
}

/// Formats a number in decimal and hexadecimal.
fn decimal_and_hex(number: i128) -> String {
    match number {
        -9..=9 => format!("`{number}`"),
        _ if number < 0 => format!("`{number}` (`-{:#x}`)", number.unsigned_abs()),
        _ => format!("`{number}` (`{number:#x}`)"),
    }
}

fn number(text: &str) -> Option<String> {
    let source = format!("V = {text}");
    let (_, found) = selkie_asm::analyze(&source, &selkie_asm::Options::default());
    let value = found.iter().find(|it| it.name == "V")?;
    match value.meaning {
        Meaning::Number(number) => Some(format!("{}\n", decimal_and_hex(number))),
        _ => None,
    }
}
