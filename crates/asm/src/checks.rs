//! Checks of a whole program or object, after emission.

use selkie_isa::{Insn, Kind, Version, layout::SLOT_BYTES, symbol::murmur3, syscalls};

use crate::{
    ast::SectionId, diagnostic::Diagnostic, emit::Emitted, names::Name, session::Session,
    source::Span, value::Base,
};

/// Reports names that `.globl` names for nothing; `is_used` says which of those that the source does
/// not define it refers to all the same.
pub(crate) fn report_undefined_globals(session: &mut Session<'_>, is_used: impl Fn(Name) -> bool) {
    for name in session.globals.clone() {
        let symbol = session.symbols.get(name);
        let text = session.names.text(name);
        if !session.is_undefined(name) || symbol.external || syscalls::find(text).is_some() {
            continue;
        }
        if is_used(name) {
            continue;
        }
        let near = session.suggest_symbol(text);
        let diagnostic = Diagnostic::error(
            symbol.global.unwrap_or_default(),
            format!("`.globl` names `{text}`, which is not defined"),
        );
        let diagnostic = match near {
            Some(near) => diagnostic.did_you_mean(Some(near)),
            None => diagnostic.help(format!("put `{text}:` before the instruction that it names")),
        };
        session.diagnostics.push(diagnostic);
    }
}

pub(crate) fn warn_if_falls_off(session: &mut Session<'_>, emitted: &Emitted, section: SectionId) {
    let never_return = ["abort", "sol_panic_"].map(|name| session.names.intern(name));
    if !falls_off(session.options.version, emitted, section, &never_return) {
        return;
    }
    let spans = &emitted.spans[section.0 as usize];
    let span = spans.last().map_or(Span::default(), |(_, span)| *span);
    let diagnostic = Diagnostic::warning(span, "execution can run past the last instruction")
        .note("the program would stop with an error there")
        .help("end it with `exit`, or with a `ja`");
    session.diagnostics.push(diagnostic);
}

/// Whether control can run past the last instruction of a section; `never_return` are functions
/// that end the program.
fn falls_off(
    version: Version,
    emitted: &Emitted,
    section: SectionId,
    never_return: &[Name],
) -> bool {
    let index = section.0 as usize;
    let last = emitted.spans[index].last().map_or(0, |(pc, _)| *pc);
    let text = &emitted.sections[index];
    let Some(insn) = Insn::decode(version, text, last as usize) else { return false };
    let names_one = |imm: i64| {
        let mut names = ["abort", "sol_panic_"].iter();
        names.any(|name| i64::from(murmur3(name.as_bytes()).cast_signed()) == imm)
    };
    match insn.op.kind() {
        Kind::Exit | Kind::Jump => false,
        Kind::CallStatic | Kind::CallHash => {
            let by_name = emitted
                .syscalls
                .iter()
                .any(|(pc, name)| *pc == last && never_return.contains(name));
            let linked = emitted.relocations.iter().rfind(|it| it.section == section);
            let by_symbol = linked.is_some_and(|it| {
                let is_last = u64::from(it.offset) == u64::from(last) * SLOT_BYTES as u64;
                let names_one = |name| never_return.contains(name);
                is_last && matches!(&it.target, Base::Symbol(name) if names_one(name))
            });
            !(names_one(insn.imm) || by_name || by_symbol)
        }
        _ => true,
    }
}
