//! The symbols of labels, with the sizes of functions.

use selkie_elf::write::SymbolKind;
use selkie_isa::symbol::ENTRYPOINT;

use crate::{assembly::Symbol, names::Name, session::Session, symbols::Def};

/// Returns the named labels of each section, sorted by offset, functions with their sizes.
/// `sections` has the size of each section and whether it contains instructions.
pub(crate) fn labels(session: &Session<'_>, sections: &[(bool, u32)]) -> Vec<Vec<(Name, Symbol)>> {
    let mut labels: Vec<Vec<(Name, Symbol)>> = vec![Vec::new(); sections.len()];
    for (name, _) in session.names.all().filter(|(name, _)| session.is_source_name(*name)) {
        let Def::Label(Some((section, offset))) = session.symbols.get(name).def else { continue };
        let index = section.0 as usize;
        let Some(&section) = sections.get(index) else { continue };
        labels[index].push((name, label(session, name, section, offset)));
    }
    for (labels, (_, bytes)) in labels.iter_mut().zip(sections) {
        labels.sort_by(|(_, a), (_, b)| a.offset.cmp(&b.offset).then_with(|| a.name.cmp(&b.name)));
        size_functions(labels.iter_mut().map(|(_, it)| it), *bytes);
    }
    labels
}

fn label(session: &Session<'_>, name: Name, (in_text, bytes): (bool, u32), offset: u32) -> Symbol {
    let (symbol, text) = (session.symbols.get(name), session.names.text(name));
    // The linker needs the entry even if the source does not declare it global.
    let linked = session.is_object() && (symbol.weak || text == ENTRYPOINT);
    let global = symbol.global.is_some() || linked;
    let function = symbol.function || global || text == ENTRYPOINT;
    let kind = match (in_text, function) {
        (true, true) if offset < bytes => SymbolKind::Function,
        (true, _) => SymbolKind::Label,
        (false, _) => SymbolKind::Object,
    };
    Symbol { name: text.to_owned(), kind, offset, size: 0, global }
}

/// Sets the sizes of functions: each ends where the next one starts.
fn size_functions<'a>(labels: impl DoubleEndedIterator<Item = &'a mut Symbol>, section_bytes: u32) {
    let (mut start, mut end) = (section_bytes, section_bytes);
    for symbol in labels.rev().filter(|it| it.kind == SymbolKind::Function) {
        // Functions at the same offset have the same end.
        if symbol.offset < start {
            end = start;
            start = symbol.offset;
        }
        symbol.size = end - symbol.offset;
    }
}
