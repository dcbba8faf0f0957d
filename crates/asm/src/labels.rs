//! The symbols of labels, with the sizes of functions.

use selkie_elf::write::SymbolKind;
use selkie_isa::symbol::ENTRYPOINT;

use crate::{assembly::Symbol, names::Name, session::Session, symbols::Def};

/// Every label that has a name, by section and offset, functions with their sizes. Of sections it
/// takes whether there are instructions in them, and their bytes.
pub(crate) fn labels(session: &Session<'_>, sections: &[(bool, u32)]) -> Vec<Vec<(Name, Symbol)>> {
    let mut labels: Vec<Vec<(Name, Symbol)>> = vec![Vec::new(); sections.len()];
    for (name, text) in session.names.all() {
        let symbol = session.symbols.get(name);
        let Def::Label(Some((section, offset))) = symbol.def else { continue };
        if !session.is_source_name(name) {
            continue;
        }
        let index = section.0 as usize;
        let Some(&(in_text, bytes)) = sections.get(index) else { continue };
        // Where the program starts is for the linker to know, said or not.
        let linked = session.is_object() && (symbol.weak || text == ENTRYPOINT);
        let global = symbol.global.is_some() || linked;
        let function = symbol.function || global || text == ENTRYPOINT;
        let kind = match (in_text, function) {
            (true, true) if offset < bytes => SymbolKind::Function,
            (true, _) => SymbolKind::Label,
            (false, _) => SymbolKind::Object,
        };
        labels[index].push((name, Symbol { name: text.to_owned(), kind, offset, size: 0, global }));
    }
    for (labels, (_, bytes)) in labels.iter_mut().zip(sections) {
        labels.sort_by(|(_, a), (_, b)| a.offset.cmp(&b.offset).then_with(|| a.name.cmp(&b.name)));
        let (mut start, mut end) = (*bytes, *bytes);
        let functions = labels.iter_mut().map(|(_, it)| it);
        for symbol in functions.rev().filter(|it| it.kind == SymbolKind::Function) {
            if symbol.offset < start {
                end = start;
                start = symbol.offset;
            }
            symbol.size = end - symbol.offset;
        }
    }
    labels
}
