//! Go to definition, references, highlights and renaming.

use selkie_isa::failure::Failure;
use std::{collections::HashMap, rc::Rc};

use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, Location, PrepareRenameResponse, TextEdit, Uri,
    WorkspaceEdit,
};
use selkie_asm::syntax::{Statement, is_plain_name, register_number};
use selkie_protocol::syscalls;

use crate::{
    analysis::Analysis,
    index::{Key, Occurrence, Role},
    source::{Source, occurrences},
};

/// Returns where the name at an offset is defined.
pub(crate) fn definition(
    unit: &[Rc<Source>],
    source: &Source,
    analysis: &Analysis,
    offset: usize,
) -> Vec<Location> {
    let Some(found) = source.index.at(offset) else { return Vec::new() };
    let defined = occurrences(unit, source, &found.key).filter(|(_, it)| it.defines());
    let defined: Vec<Location> =
        defined.map(|(home, it)| home.location(it.range.clone())).collect();
    if !defined.is_empty() {
        return defined;
    }
    // Constants that a directive such as `.accounts` defines are at the directive.
    let Key::Symbol(name) = &found.key else { return Vec::new() };
    let known = analysis.definitions.get(name).into_iter().flatten();
    let locations = known.filter_map(|(_, range)| {
        let range = range.as_ref()?;
        let home = unit.iter().find(|it| it.path.to_string_lossy() == range.file)?;
        Some(home.location(range.range.clone()))
    });
    locations.collect()
}

/// Returns the start of the file that an `.include` at an offset names.
pub(crate) fn included(
    source: &Source,
    offset: usize,
    find: impl Fn(&str) -> Option<Uri>,
) -> Option<Location> {
    let mut includes = source.index.includes.iter();
    let (name, _) = includes.find(|(_, it)| it.start <= offset && offset <= it.end)?;
    Some(Location { uri: find(name)?, range: lsp_types::Range::default() })
}

/// Returns where the name at an offset is used, and where it is defined if `with_definition`.
pub(crate) fn references(
    unit: &[Rc<Source>],
    source: &Source,
    offset: usize,
    with_definition: bool,
) -> Vec<Location> {
    let Some(found) = source.index.at(offset) else { return Vec::new() };
    occurrences(unit, source, &found.key)
        .filter(|(_, it)| with_definition || !it.defines())
        .map(|(home, it)| home.location(it.range.clone()))
        .collect()
}

/// Returns the occurrences of the name at an offset in its own file.
pub(crate) fn highlights(source: &Source, offset: usize) -> Vec<DocumentHighlight> {
    let Some(found) = source.index.at(offset) else { return Vec::new() };
    let same = source.index.occurrences.iter().filter(|it| it.key == found.key);
    same.map(|it| DocumentHighlight {
        range: source.range(it.range.clone()),
        kind: Some(match it.role {
            Role::Reference => DocumentHighlightKind::READ,
            _ => DocumentHighlightKind::WRITE,
        }),
    })
    .collect()
}

/// A name that can be renamed, with all its occurrences.
struct Renamed<'a> {
    found: &'a Occurrence,
    occurrences: Vec<(&'a Source, &'a Occurrence)>,
    role: Role,
}

/// Returns the name at an offset, or the reason why it cannot be renamed.
fn renamed<'a>(
    unit: &'a [Rc<Source>],
    source: &'a Source,
    offset: usize,
) -> Result<Renamed<'a>, Failure> {
    let Some(found) = source.index.at(offset) else { return Err(no_name(source, offset).into()) };
    let occurrences: Vec<_> = occurrences(unit, source, &found.key).collect();
    let name = match &found.key {
        Key::Symbol(name) | Key::Macro(name) | Key::Parameter { name, .. } => name.clone(),
        Key::Local(_) => {
            return Err("local labels are numbers and cannot be renamed".into());
        }
    };
    let Some((_, definition)) = occurrences.iter().find(|(_, it)| it.defines()) else {
        return Err(match syscalls::find(&name) {
            Some(_) => format!("`{name}` is a syscall and cannot be renamed").into(),
            None => format!("`{name}` is not defined in this source or in a file that it includes")
                .into(),
        });
    };
    match definition.role {
        Role::Structure => {
            Err("the name of a structure cannot be renamed: it is part of its fields' names".into())
        }
        Role::Parameter => {
            Err("parameters cannot be renamed: macros can build names from them".into())
        }
        role => Ok(Renamed { found, occurrences, role }),
    }
}

/// Returns the reason why there is no name at an offset.
fn no_name(source: &Source, offset: usize) -> String {
    let Some((line, token)) = source.token_at(offset) else {
        return "there is no name here".to_owned();
    };
    let text = source.file.slice(&token);
    let is_first = source.file.word(line).is_some_and(|it| it.range == token.range);
    match line.statement {
        _ if register_number(text).is_some() => format!("`{text}` is a register"),
        Statement::Instruction if is_first => format!("`{text}` is an instruction"),
        Statement::Directive(_) if is_first => format!("`{text}` is a directive"),
        _ => "there is no name here".to_owned(),
    }
}

/// Returns the range of a name that is replaced: of `NAME.field`, that of the field.
fn changed(source: &Source, it: &Occurrence, role: Role) -> core::ops::Range<usize> {
    let text = &source.text()[it.range.clone()];
    match text.rfind('.').filter(|_| role == Role::Field) {
        Some(dot) => it.range.start + dot + 1..it.range.end,
        None => it.range.clone(),
    }
}

/// Returns what would be renamed, or the reason why it cannot be.
pub(crate) fn prepare_rename(
    unit: &[Rc<Source>],
    source: &Source,
    offset: usize,
) -> Result<PrepareRenameResponse, Failure> {
    let renamed = renamed(unit, source, offset)?;
    let range = changed(source, renamed.found, renamed.role);
    let text = source.text()[range.clone()].trim_matches('"').to_owned();
    Ok(PrepareRenameResponse::RangeWithPlaceholder {
        range: source.range(range),
        placeholder: text,
    })
}

/// Returns the edits that rename the name at an offset, or the reason why it cannot be renamed.
pub(crate) fn rename(
    unit: &[Rc<Source>],
    source: &Source,
    offset: usize,
    name: &str,
) -> Result<WorkspaceEdit, Failure> {
    let renamed = renamed(unit, source, offset)?;
    if !is_plain_name(name) {
        return Err(format!(
            "`{name}` is not a name: names consist of letters, digits, `_`, `.` and `$`, and are not registers"
        ).into());
    }
    let key = match (&renamed.found.key, renamed.role) {
        (Key::Symbol(old), Role::Field) => {
            let outer = old.rsplit_once('.').map_or("", |(outer, _)| outer);
            Key::Symbol(format!("{outer}.{name}"))
        }
        (Key::Macro(_), _) => Key::Macro(name.to_owned()),
        _ => Key::Symbol(name.to_owned()),
    };
    let is_taken = occurrences(unit, source, &key).any(|(_, it)| it.defines());
    if is_taken && key != renamed.found.key {
        return Err(format!("`{name}` is already defined").into());
    }
    let mut changes: HashMap<_, Vec<TextEdit>> = HashMap::new();
    for (home, it) in &renamed.occurrences {
        let range = home.range(changed(home, it, renamed.role));
        let edit = TextEdit { range, new_text: name.to_owned() };
        changes.entry(home.uri.clone()).or_default().push(edit);
    }
    Ok(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
}
