//! Assembly of a program: layout, emission, the entry, and checks of the whole.

use selkie_elf::write;
use selkie_isa::{layout::SLOT_BYTES, symbol::ENTRYPOINT};

use crate::{
    assembly::Assembly,
    ast::{Ast, SectionId},
    checks::{report_undefined_globals, warn_if_falls_off},
    diagnostic::Diagnostic,
    emit::{self, Emitted},
    labels::labels,
    layout,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
};

/// Returns the program; `None` if there was an error, in this or an earlier phase.
pub(crate) fn program(session: &mut Session<'_>, ast: &mut Ast) -> Option<Assembly> {
    if ast.is_partial {
        return None;
    }
    let layout = layout::layout(session, ast)?;
    let version = session.options.version;
    let text_offset = text_offset(session);
    let text_bytes = layout.size(SectionId::TEXT);
    let addresses = write::addresses(version, text_bytes as usize, text_offset);
    let emitted = emit::emit(session, ast, &layout, Some(addresses));
    let spans = emitted.spans.first().map_or(&[][..], Vec::as_slice);
    let first = spans.first().map_or(Span::default(), |(_, span)| *span);
    let entry_pc = entry(session, text_bytes, first)?;
    if session.diagnostics.error_count() > 0 {
        return None;
    }
    debug_assert!(entry_pc * 8 < text_bytes, "`entry` returns a slot of the program");
    warn_if_falls_off(session, &emitted, SectionId::TEXT);
    let sections = [(true, text_bytes), (false, layout.size(SectionId::RODATA))];
    let symbols = labels(session, &sections).into_iter().flatten().map(|(_, it)| it).collect();
    let (lines, files) = session.sources.lines(spans);
    let syscalls = syscalls(session, &emitted);
    let mut sections = emitted.sections.into_iter();
    let [text, rodata] = [(); 2].map(|()| sections.next().unwrap_or_default());
    let (strip, debug_info) = (session.options.strip, session.options.debug_info);
    Some(Assembly {
        version,
        text,
        text_offset,
        rodata,
        entry_pc,
        syscalls,
        symbols,
        lines,
        files,
        strip,
        debug_info,
    })
}

fn syscalls(session: &Session<'_>, emitted: &Emitted) -> Vec<(u32, String)> {
    let named = |(pc, name): &(u32, Name)| (*pc, session.names.text(*name).to_owned());
    let mut syscalls: Vec<(u32, String)> = emitted.syscalls.iter().map(named).collect();
    syscalls.sort_unstable();
    syscalls
}

/// Returns the file offset of the instructions. Disassemblies of programs that other tools built
/// set it with `.text_offset`, to keep their addresses.
fn text_offset(session: &mut Session<'_>) -> u64 {
    const MAX: i128 = 1 << 20;
    let Some(expr) = session.text_offset else { return write::TEXT_OFFSET_MIN };
    let span = session.exprs.get(expr).span;
    let Some(number) = session.eval_number(expr) else { return write::TEXT_OFFSET_MIN };
    let diagnostic = if session.options.version.strict_elf() {
        let version = session.options.version;
        Diagnostic::error(span, format!("instructions of {version} start at a fixed address"))
            .help("leave `.text_offset` out")
    } else if number % 8 == 0 && (write::TEXT_OFFSET_MIN.into()..=MAX).contains(&number) {
        return u64::try_from(number).expect("the range was checked");
    } else {
        Diagnostic::error(span, "instructions cannot start there")
            .note(format!("the offset is a multiple of 8 from {} to {MAX}", write::TEXT_OFFSET_MIN))
    };
    session.diagnostics.push(diagnostic);
    write::TEXT_OFFSET_MIN
}

/// Returns the slot at which the program starts; `None` after a report. `first` is the span of the
/// first instruction.
fn entry(session: &mut Session<'_>, text_bytes: u32, first: Span) -> Option<u32> {
    if text_bytes == 0 {
        if session.diagnostics.error_count() == 0 {
            let diagnostic = Diagnostic::error(first, "the program has no instructions")
                .help("the smallest program is `mov64 r0, 0` and `exit`");
            session.diagnostics.push(diagnostic);
        }
        return None;
    }
    report_undefined_globals(session, |_| false);
    let entrypoint = session.names.intern(ENTRYPOINT);
    if let Def::Label(Some((section, offset))) = session.symbols.get(entrypoint).def {
        return label_pc(session, entrypoint, (section, offset), text_bytes);
    }
    let (pc, diagnostic) = match global_functions(session)[..] {
        [(name, offset)] => {
            return label_pc(session, name, (SectionId::TEXT, offset), text_bytes);
        }
        [] if session.diagnostics.error_count() > 0 => return None,
        [] => (Some(0), no_entry(first)),
        [(first, _), (second, _), ..] => (None, ambiguous_entry(session, first, second)),
    };
    session.diagnostics.push(diagnostic);
    pc
}

/// Returns the labels in `.text` that are declared global, with their offsets.
fn global_functions(session: &Session<'_>) -> Vec<(Name, u32)> {
    let mut globals: Vec<(Name, u32)> = Vec::new();
    for &name in &session.globals {
        if let Def::Label(Some((SectionId::TEXT, offset))) = session.symbols.get(name).def
            && !globals.iter().any(|(known, _)| *known == name)
        {
            globals.push((name, offset));
        }
    }
    globals
}

fn no_entry(first: Span) -> Diagnostic {
    Diagnostic::warning(first, "the program has no label `entrypoint`")
        .note("it starts at its first instruction")
        .help("put `.globl entrypoint` and `entrypoint:` before that instruction")
}

fn ambiguous_entry(session: &Session<'_>, first: Name, second: Name) -> Diagnostic {
    let span = |name: Name| session.symbols.get(name).global.unwrap_or_default();
    let text = |name: Name| session.names.text(name);
    let message = format!("`{}` and `{}` could both be the entry", text(first), text(second));
    Diagnostic::error(span(second), message)
        .secondary(span(first), "one is declared here")
        .help("rename the function that the program starts with to `entrypoint`")
}

/// Returns the slot of the label that is the entry; `None` after a report.
fn label_pc(
    session: &mut Session<'_>,
    name: Name,
    (section, offset): (SectionId, u32),
    text_bytes: u32,
) -> Option<u32> {
    let is_text = section == SectionId::TEXT;
    if is_text && offset < text_bytes && (offset as usize).is_multiple_of(SLOT_BYTES) {
        session.symbols.entry(name).function = true;
        return Some(offset / 8);
    }
    let message = format!("the entry `{}` is not an instruction", session.names.text(name));
    let diagnostic = Diagnostic::error(session.symbols.get(name).span, message);
    session.diagnostics.push(if is_text {
        diagnostic.help("put the label before the instruction that the program starts with")
    } else {
        diagnostic.help("put `.text` before the label")
    });
    None
}
