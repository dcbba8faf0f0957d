//! Targets of jumps and calls.

use selkie_isa::{layout::SLOT_BYTES, symbol::murmur3};
use selkie_protocol::syscalls;

use super::{Emitter, RelocationKind};
use crate::{
    ast::{ExprId, ExprKind},
    diagnostic::Diagnostic,
    names::Name,
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// Bytes of a syscall's name in a relocation, including the NUL (anza sbpf: `elf_parser`).
const RELOCATED_NAME_BYTES: usize = 64;

/// Source nibble and immediate of a call.
type CallFields = (u8, i64);

impl Emitter<'_, '_> {
    /// Returns the distance of a jump.
    pub(super) fn jump(&mut self, expr: ExprId) -> Option<i16> {
        let value = match self.session.exprs.get(expr).kind {
            // A jump stays in its function even if another object overrides a weak label.
            ExprKind::Symbol(name) => match self.session.symbols.get(name).def {
                Def::Label(Some((section, offset))) => {
                    Value { base: Some(Base::Section(section)), number: offset.into() }
                }
                _ => self.session.eval(expr)?,
            },
            _ => self.session.eval(expr)?,
        };
        let target = self.target(expr, value, "jump")?;
        let distance = target - i128::from(self.cursor.pc()) - 1;
        if let Ok(offset) = i16::try_from(distance) {
            return Some(offset);
        }
        let message = format!("the target is {distance} instructions away");
        let mut diagnostic = Diagnostic::error(self.span_of(expr), message)
            .note("a jump reaches -32768 to 32767 slots")
            .help("jump in two steps, through a `ja` in between, or make it a function and `call`");
        if let Some(label) = self.label_span(expr) {
            diagnostic = diagnostic.secondary(label, "the target");
        }
        self.report(diagnostic);
        None
    }

    fn label_span(&self, expr: ExprId) -> Option<Span> {
        let ExprKind::Symbol(name) = self.session.exprs.get(expr).kind else { return None };
        Some(self.session.symbols.get(name).span).filter(|span| *span != Span::default())
    }

    /// Returns the slot in this section that a jump or call goes to: the value is a label, or a
    /// distance from the next slot.
    fn target(&mut self, expr: ExprId, value: Value, verb: &str) -> Option<i128> {
        let target = match self.target_slot(expr, value, verb) {
            Ok(target) => target,
            Err(diagnostic) => {
                self.report(*diagnostic);
                return None;
            }
        };
        let span = self.span_of(expr);
        if let Some(slot) = u32::try_from(target).ok().filter(|slot| *slot < self.slots) {
            if !matches!(self.session.exprs.get(expr).kind, ExprKind::Symbol(_)) {
                self.computed_targets.push((self.cursor.section, slot, span));
            }
            return Some(target);
        }
        let last = self.slots.saturating_sub(1);
        let diagnostic = Diagnostic::error(span, format!("the {verb} leaves the program"))
            .label(format!("to slot {target}"))
            .note(format!("the program has slots 0 to {last}"));
        self.report(diagnostic);
        None
    }

    fn target_slot(&self, expr: ExprId, value: Value, verb: &str) -> Result<i128, Box<Diagnostic>> {
        let span = self.span_of(expr);
        let Value { base, number } = value;
        let diagnostic = match base {
            None => return Ok(i128::from(self.cursor.pc()) + 1 + number),
            Some(Base::Section(section)) if section == self.cursor.section => {
                if number % 8 == 0 {
                    return Ok(number / 8);
                }
                Diagnostic::error(span, format!("the {verb} goes between two instructions"))
            }
            Some(Base::Symbol(name)) if self.session.is_undefined(name) => {
                self.session.undefined(name, span)
            }
            Some(Base::Section(section)) if !self.is_text[section.0 as usize] => {
                Diagnostic::error(span, format!("the {verb} goes to data"))
            }
            Some(_) => Diagnostic::error(span, format!("the {verb} leaves its section"))
                .note("the linker places each section, and each function in it, separately")
                .help("`call` it, or move both into one section"),
        };
        Err(diagnostic.into())
    }

    /// Reports computed targets that are the second slot of an `lddw`, the only slot that begins
    /// with opcode 0.
    pub(super) fn check_computed_targets(&mut self) {
        for (section, slot, span) in core::mem::take(&mut self.computed_targets) {
            if self.out.sections[section.0 as usize][slot as usize * SLOT_BYTES] == 0 {
                let diagnostic =
                    Diagnostic::error(span, "the target is the second half of an `lddw`")
                        .note("`lddw` takes two slots; the verifier rejects jumps between them");
                self.report(diagnostic);
            }
        }
    }

    /// Returns the fields of a call.
    pub(super) fn call(&mut self, target: ExprId, syscall: bool) -> Option<CallFields> {
        let expr = self.session.exprs.get(target);
        if let ExprKind::Symbol(name) = expr.kind {
            let symbol = self.session.symbols.get(name);
            let resolved_by_linker = self.addresses.is_none() && self.session.is_linkable(name);
            if syscall || matches!(symbol.def, Def::None) && !resolved_by_linker {
                return self.named_syscall(name, expr.span, syscall);
            }
            if matches!(symbol.def, Def::Label(_)) {
                self.session.symbols.entry(name).function = true;
            }
        }
        if let Ok(Value { base: None, number }) = self.session.value(target)
            && let Ok(hash) = u32::try_from(number & 0xffff_ffff)
            && (syscall || syscalls::find_hash(hash).is_some())
        {
            return self.numbered_syscall(hash, expr.span);
        }
        let value = self.session.eval(target)?;
        if let (None, Some(base)) = (self.addresses, value.base) {
            let call = self.linked_call(target, base, value.number);
            if call.is_some() {
                return call;
            }
        }
        self.local_call(target, value)
    }

    /// Returns the fields of a call within the section.
    fn local_call(&mut self, expr: ExprId, value: Value) -> Option<CallFields> {
        let (slot, pc) = (self.target(expr, value, "call")?, i128::from(self.cursor.pc()));
        let is_relocated = !self.session.options.version.static_calls() || self.addresses.is_none();
        if slot == pc && is_relocated {
            let diagnostic = Diagnostic::error(self.span_of(expr), "the call targets itself")
                .note(
                    "files use its distance, -1, to mark calls that the loader or linker relocates",
                )
                .help("put an instruction between the label and the call");
            self.report(diagnostic);
            return None;
        }
        i64::try_from(slot - pc - 1).ok().map(|distance| (1, distance))
    }

    /// Returns the fields of a call that the linker relocates; `None` if its distance is already
    /// known, or if it cannot be relocated.
    fn linked_call(&mut self, expr: ExprId, base: Base, number: i128) -> Option<CallFields> {
        let (target, addend) = self.symbol_of(expr, base, number);
        let goes_to_data = match base {
            Base::Section(section) => !self.is_text[section.0 as usize],
            Base::Symbol(_) => false,
        };
        if goes_to_data || target == Base::Section(self.cursor.section) || addend % 8 != 0 {
            return None;
        }
        let slots = i32::try_from(addend / 8).ok()?.checked_sub(1)?;
        self.relocate(target, RelocationKind::Call, self.cursor.offset);
        Some((1, slots.into()))
    }

    fn named_syscall(&mut self, name: Name, span: Span, by_keyword: bool) -> Option<CallFields> {
        if !self.session.is_source_name(name) {
            let diagnostic = self.session.undefined(name, span);
            self.report(diagnostic);
            return None;
        }
        let text = self.session.names.shared(name);
        if !self.session.symbols.get(name).external && syscalls::find(&text).is_none() {
            self.unknown_syscall(&text, span, by_keyword)?;
        }
        self.session.symbols.entry(name).external = true;
        if self.session.options.version.static_calls() || self.addresses.is_none() {
            return Some((0, murmur3(text.as_bytes()).cast_signed().into()));
        }
        if text.len() >= RELOCATED_NAME_BYTES {
            self.session.error(span, "the loader reads names of at most 63 bytes");
            return None;
        }
        self.out.syscalls.push((self.cursor.pc(), name));
        Some((1, -1))
    }

    /// Reports a syscall that the runtime does not have: as a warning if it was written as
    /// `syscall name`, else as an error.
    fn unknown_syscall(&mut self, name: &str, span: Span, by_keyword: bool) -> Option<()> {
        let suggestion = self.session.suggest_callable(name);
        if by_keyword {
            let diagnostic =
                Diagnostic::warning(span, format!("`{name}` is not a syscall of the runtime"))
                    .did_you_mean(suggestion)
                    .help(format!("declare it if it is your own: `.syscall {name}`"));
            self.report(diagnostic);
            return Some(());
        }
        let diagnostic = Diagnostic::error(span, format!("undefined function or syscall `{name}`"))
            .label("not a label, and no syscall has this name");
        let diagnostic = match suggestion {
            Some(suggestion) => diagnostic.did_you_mean(Some(suggestion)),
            None => diagnostic.help(format!("if it is a syscall, declare it: `.syscall {name}`")),
        };
        self.report(diagnostic);
        None
    }

    fn numbered_syscall(&mut self, hash: u32, span: Span) -> Option<CallFields> {
        if self.session.options.version.static_calls() || self.addresses.is_none() {
            return Some((0, hash.cast_signed().into()));
        }
        let Some(syscall) = syscalls::find_hash(hash) else {
            let message = format!("no syscall of the runtime has the hash {hash:#x}");
            let diagnostic =
                Diagnostic::error(span, message).note("until v2, files call syscalls by name");
            self.report(diagnostic);
            return None;
        };
        let name = self.session.names.intern(syscall.name);
        self.out.syscalls.push((self.cursor.pc(), name));
        Some((1, -1))
    }
}
