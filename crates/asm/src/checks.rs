//! Checks of a whole program or object, after emission.

use selkie_isa::{Insn, Kind, layout::SLOT_BYTES, symbol::murmur3};
use selkie_protocol::syscalls;

use crate::{
    ast::SectionId, diagnostic::Diagnostic, emit::Emitted, names::Name, session::Session,
    source::Span, value::Base,
};

/// Reports operands of `.globl` that the source does not define, unless `is_used` returns that it
/// refers to them.
pub(crate) fn report_undefined_globals(session: &mut Session<'_>, is_used: impl Fn(Name) -> bool) {
    for name in session.globals.clone() {
        let symbol = session.symbols.get(name);
        let text = session.names.text(name);
        let is_syscall = symbol.external || syscalls::find(text).is_some();
        if !session.is_undefined(name) || is_syscall || is_used(name) {
            continue;
        }
        let suggestion = session.suggest_symbol(text);
        let diagnostic = Diagnostic::error(
            symbol.global.unwrap_or_default(),
            format!("`.globl` names `{text}`, which is not defined"),
        );
        let diagnostic = match suggestion {
            Some(suggestion) => diagnostic.did_you_mean(Some(suggestion)),
            None => diagnostic.help(format!("put `{text}:` before the instruction that it names")),
        };
        session.diagnostics.push(diagnostic);
    }
}

/// Warns if execution can run past the last instruction of a section.
pub(crate) fn warn_if_falls_off(session: &mut Session<'_>, emitted: &Emitted, section: SectionId) {
    if !falls_off(session, emitted, section) {
        return;
    }
    let spans = &emitted.spans[section.0 as usize];
    let span = spans.last().map_or(Span::default(), |(_, span)| *span);
    let diagnostic = Diagnostic::warning(span, "execution can run past the last instruction")
        .note("the program would stop with an error there")
        .help("end it with `exit`, or with a `ja`");
    session.diagnostics.push(diagnostic);
}

fn falls_off(session: &Session<'_>, emitted: &Emitted, section: SectionId) -> bool {
    let index = section.0 as usize;
    let last = emitted.spans[index].last().map_or(0, |(pc, _)| *pc);
    let text = &emitted.sections[index];
    let insn = Insn::decode(session.options.version, text, last as usize);
    let Some(insn) = insn else { return false };
    match insn.op.kind() {
        Kind::Exit | Kind::Jump => false,
        Kind::CallStatic | Kind::CallHash => {
            let hash_never_returns = NEVER_RETURN
                .iter()
                .any(|name| i64::from(murmur3(name.as_bytes()).cast_signed()) == insn.imm);
            let callee = called_syscall(emitted, last).or(linked_callee(emitted, section, last));
            let callee_never_returns =
                callee.is_some_and(|name| NEVER_RETURN.contains(&session.names.text(name)));
            !(hash_never_returns || callee_never_returns)
        }
        _ => true,
    }
}

/// The syscalls that end the program.
const NEVER_RETURN: [&str; 2] = ["abort", "sol_panic_"];

/// Returns the syscall that a program until V2 calls at slot `pc`.
fn called_syscall(emitted: &Emitted, pc: u32) -> Option<Name> {
    emitted.syscalls.iter().find(|(slot, _)| *slot == pc).map(|(_, name)| *name)
}

/// Returns the symbol that an object calls at slot `pc`, which is the last of the section.
fn linked_callee(emitted: &Emitted, section: SectionId, pc: u32) -> Option<Name> {
    let last = emitted.relocations.iter().rfind(|it| it.section == section)?;
    let is_at_pc = u64::from(last.offset) == u64::from(pc) * SLOT_BYTES as u64;
    match last.target {
        Base::Symbol(name) if is_at_pc => Some(name),
        _ => None,
    }
}
