//! From what was read to a program: layout, emission, and what concerns the whole of it.

use selkie_elf::write::{self, SymbolKind};
use selkie_isa::{layout::SLOT_BYTES, symbol::ENTRYPOINT};

use crate::{
    Assembly, Symbol,
    ast::{Ast, SectionId},
    diagnostic::Diagnostic,
    emit::{self, Emitted},
    layout,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    syscalls,
};

/// Makes the program; `None` if there was an error, then or before.
pub(crate) fn finish(session: &mut Session<'_>, ast: &mut Ast) -> Option<Assembly> {
    if ast.is_partial {
        return None;
    }
    let layout = layout::layout(session, ast)?;
    let version = session.options.version;
    let text_offset = text_offset(session);
    let addresses = write::addresses(version, layout.text_bytes as usize, text_offset);
    let emitted = emit::emit(session, ast, &layout, addresses);
    let first = emitted.spans.first().map_or(Span::default(), |(_, span)| *span);
    let entry_pc = entry(session, layout.text_bytes, first);
    if session.diagnostics.error_count() > 0 {
        return None;
    }
    warn_if_falls_off(session, &emitted);
    let symbols = symbols(session, layout.text_bytes, entry_pc?);
    let (lines, files) = session.sources.lines(&emitted.spans);
    let named = |(pc, name): &(u32, Name)| (*pc, session.names.text(*name).to_owned());
    let mut syscalls: Vec<(u32, String)> = emitted.syscalls.iter().map(named).collect();
    syscalls.sort_unstable();
    Some(Assembly {
        version,
        entry_pc: entry_pc?,
        syscalls,
        symbols,
        lines,
        files,
        text: emitted.text,
        text_offset,
        rodata: emitted.rodata,
        strip: session.options.strip,
        debug_info: session.options.debug_info,
    })
}

/// Where in the file the instructions start: what `.text_offset` says, which listings of other
/// programs use to keep their addresses.
fn text_offset(session: &mut Session<'_>) -> u64 {
    const MAX: i128 = 1 << 20;
    let Some(expr) = session.text_offset else { return write::TEXT_OFFSET_MIN };
    let span = session.exprs.get(expr).span;
    let Some(number) = session.eval_number(expr) else { return write::TEXT_OFFSET_MIN };
    let found = if session.options.version.strict_elf() {
        let version = session.options.version;
        Diagnostic::error(span, format!("instructions of {version} start at a fixed address"))
            .help("leave `.text_offset` out")
    } else if number % 8 == 0 && (write::TEXT_OFFSET_MIN.into()..=MAX).contains(&number) {
        return u64::try_from(number).expect("the range was checked");
    } else {
        Diagnostic::error(span, "instructions cannot start there")
            .note(format!("the offset is a multiple of 8 from {} to {MAX}", write::TEXT_OFFSET_MIN))
    };
    session.diagnostics.push(found);
    write::TEXT_OFFSET_MIN
}

/// The slot at which the program starts; `None` after a report. `start` is where it would start for
/// want of anything better.
fn entry(session: &mut Session<'_>, text_bytes: u32, start: Span) -> Option<u32> {
    if text_bytes == 0 {
        if session.diagnostics.error_count() == 0 {
            let found = Diagnostic::error(start, "the program has no instructions")
                .help("the smallest program is `mov64 r0, 0` and `exit`");
            session.diagnostics.push(found);
        }
        return None;
    }
    report_undefined_globals(session);
    let entrypoint = session.names.intern(ENTRYPOINT);
    if let Def::Label(Some((section, offset))) = session.symbols.get(entrypoint).def {
        return label_pc(session, entrypoint, (section, offset), text_bytes);
    }
    let mut globals: Vec<(Name, u32)> = Vec::new();
    for &name in &session.globals {
        if let Def::Label(Some((SectionId::TEXT, offset))) = session.symbols.get(name).def
            && !globals.iter().any(|(known, _)| *known == name)
        {
            globals.push((name, offset));
        }
    }
    match globals[..] {
        [(name, offset)] => label_pc(session, name, (SectionId::TEXT, offset), text_bytes),
        [] if session.diagnostics.error_count() > 0 => None,
        [] => {
            let found = Diagnostic::warning(start, "the program has no label `entrypoint`")
                .note("it starts at its first instruction")
                .help("put `.globl entrypoint` and `entrypoint:` before that instruction");
            session.diagnostics.push(found);
            Some(0)
        }
        [(first, _), (second, _), ..] => {
            let span = |name: Name| session.symbols.get(name).global.unwrap_or_default();
            let text = |name: Name| session.names.text(name);
            let message =
                format!("`{}` and `{}` could both be the entry", text(first), text(second));
            let found = Diagnostic::error(span(second), message)
                .secondary(span(first), "one is declared here")
                .help("name the one where the program starts `entrypoint`");
            session.diagnostics.push(found);
            None
        }
    }
}

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
    let found = Diagnostic::error(session.symbols.get(name).span, message);
    session.diagnostics.push(if is_text {
        found.help("put the label before the instruction that the program starts with")
    } else {
        found.help("put `.text` before the label")
    });
    None
}

fn report_undefined_globals(session: &mut Session<'_>) {
    for name in session.globals.clone() {
        let symbol = session.symbols.get(name);
        let text = session.names.text(name);
        if !matches!(symbol.def, Def::None) || symbol.external || syscalls::is_known(text) {
            continue;
        }
        let near = session.near_symbol(text);
        let found = Diagnostic::error(
            symbol.global.unwrap_or_default(),
            format!("`.globl` names `{text}`, which is not defined"),
        );
        let found = match near {
            Some(near) => found.did_you_mean(Some(near)),
            None => found.help(format!("put `{text}:` before the instruction that it names")),
        };
        session.diagnostics.push(found);
    }
}

fn warn_if_falls_off(session: &mut Session<'_>, emitted: &Emitted) {
    let never_return = ["abort", "sol_panic_"].map(|name| session.names.intern(name));
    if !emit::falls_off(session.options.version, emitted, &never_return) {
        return;
    }
    let span = emitted.spans.last().map_or(Span::default(), |(_, span)| *span);
    let found = Diagnostic::warning(span, "execution can run past the last instruction")
        .note("the program would stop with an error there")
        .help("end it with `exit`, or with a `ja`");
    session.diagnostics.push(found);
}

/// Every label that has a name, functions with their sizes.
fn symbols(session: &Session<'_>, text_bytes: u32, entry_pc: u32) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (name, text) in session.names.all() {
        let symbol = session.symbols.get(name);
        let Def::Label(Some((section, offset))) = symbol.def else { continue };
        if !session.is_spelt(name) {
            continue;
        }
        let function = symbol.function || symbol.global.is_some() || text == ENTRYPOINT;
        let kind = match (section, function) {
            (SectionId::TEXT, true) if offset < text_bytes => SymbolKind::Function,
            (SectionId::TEXT, _) => SymbolKind::Label,
            _ => SymbolKind::Object,
        };
        let global = symbol.global.is_some();
        symbols.push(Symbol { name: text.to_owned(), kind, offset, size: 0, global });
    }
    symbols.sort_by(|a, b| {
        let key = |it: &Symbol| (it.kind == SymbolKind::Object, it.offset);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    let mut end = text_bytes;
    let mut start = text_bytes;
    for symbol in symbols.iter_mut().rev().filter(|it| it.kind == SymbolKind::Function) {
        if symbol.offset < start {
            end = start;
            start = symbol.offset;
        }
        symbol.size = end - symbol.offset;
    }
    debug_assert!(entry_pc * 8 < text_bytes, "`entry` answers with a slot of the program");
    symbols
}
