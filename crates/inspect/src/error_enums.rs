//! The enumerations of errors that a program's own code defines, from its debug information.
//!
//! An enumeration counts if its name ends in `Error` and its variants have no fields: then a variant is
//! its number. Those of libraries do not count, since their numbers may mean other things: a name's first
//! namespace is the crate that defines it in Rust, and a unit of C has the name of its file.

use std::{collections::BTreeSet, sync::Arc};

use gimli::{Dwarf, Reader as _, Unit, constants as dw};
use selkie_isa::plain::line;

use crate::{
    dwarf::{self, Reader},
    own::is_library,
};

/// The enumerations of a program, and the variants of each. More are not read.
const ENUMS_MAX: usize = 256;
const VARIANTS_MAX: usize = 1024;

/// How the names of enumerations of errors end, in lower case.
const ENDING: &str = "error";

/// What separates the file of a crate's root from the name of the crate, in the name of a unit of rustc.
const CRATE_MARK: &str = "/@/";

/// An enumeration of errors, whose variants are numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorEnum {
    /// The name with its modules, `vault::error::VaultError`.
    pub name: String,
    /// The names of the variants, with their numbers.
    pub variants: Vec<(String, u64)>,
}

impl ErrorEnum {
    /// Returns the name of the variant with a number.
    #[must_use]
    pub fn variant(&self, number: u64) -> Option<&str> {
        self.variants.iter().find(|(_, it)| *it == number).map(|(name, _)| name.as_str())
    }
}

/// Returns the enumerations of errors in a program's own code, in the order of the file. None if the file
/// has no debug information, or if that cannot be read.
#[must_use]
pub fn error_enums(bytes: impl Into<Arc<[u8]>>) -> Vec<ErrorEnum> {
    let Ok(dwarf) = dwarf::load(&bytes.into()) else { return Vec::new() };
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        units.extend(dwarf.unit(header));
    }
    let (crates, mut found) = (own_crates(&units), Vec::new());
    for unit in &units {
        // What was read before an error is kept.
        let _ = read_unit(&dwarf, unit, &crates, &mut found);
    }
    found
}

/// Returns the name of a unit, and the path of the file that it is about.
fn name_and_path(unit: &Unit<Reader>) -> (String, String) {
    let text = |it: &Reader| line(&String::from_utf8_lossy(it.bytes())).into_owned();
    let name = unit.name.as_ref().map(text).unwrap_or_default();
    let file = name.split_once(CRATE_MARK).map_or(name.as_str(), |(file, _)| file);
    let path = match &unit.comp_dir {
        Some(folder) if !file.starts_with('/') => format!("{}/{file}", text(folder)),
        _ => file.to_owned(),
    };
    (name, path)
}

/// Returns the names of the crates whose sources are not a library's.
fn own_crates(units: &[Unit<Reader>]) -> BTreeSet<String> {
    let own = units.iter().filter_map(|unit| {
        let (name, path) = name_and_path(unit);
        let (_, name) = name.split_once(CRATE_MARK)?;
        let name = name.split('.').next().filter(|_| !is_library(&path))?;
        Some(name.to_owned())
    });
    own.collect()
}

/// Whether a unit was compiled from own code that has no crates: C.
fn is_own_file(unit: &Unit<Reader>) -> bool {
    let (name, path) = name_and_path(unit);
    !name.is_empty() && !name.contains(CRATE_MARK) && !is_library(&path)
}

fn read_unit(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    crates: &BTreeSet<String>,
    found: &mut Vec<ErrorEnum>,
) -> gimli::Result<()> {
    let is_own_file = is_own_file(unit);
    let mut entries = unit.entries_raw(None)?;
    // The open namespaces with their depths, and the depth of an enumeration that is being read.
    let mut namespaces: Vec<(usize, String)> = Vec::new();
    let (mut depth, mut inside) = (0_usize, None);
    while !entries.is_empty() {
        let Some(abbreviation) = entries.read_abbreviation()? else {
            depth = depth.saturating_sub(1);
            namespaces.retain(|(it, _)| *it < depth);
            inside = inside.filter(|it| *it < depth);
            continue;
        };
        let (mut name, mut value) = (None, None);
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            match attribute.name() {
                dw::DW_AT_name if is_wanted(abbreviation.tag()) => {
                    let text = dwarf.attr_string(unit, attribute.value())?;
                    name = Some(line(&text.to_string_lossy()?).into_owned());
                }
                dw::DW_AT_const_value => value = attribute.udata_value(),
                _ => {}
            }
        }
        match (abbreviation.tag(), name) {
            (dw::DW_TAG_namespace, Some(name)) if abbreviation.has_children() => {
                namespaces.push((depth, name));
            }
            (dw::DW_TAG_enumeration_type, Some(name)) if abbreviation.has_children() => {
                let is_own = match namespaces.first() {
                    Some((_, first)) => crates.contains(first),
                    None => is_own_file,
                };
                let is_error = name.to_ascii_lowercase().ends_with(ENDING);
                if is_own && is_error && found.len() < ENUMS_MAX {
                    let modules = namespaces.iter().map(|(_, it)| it.as_str());
                    let path: Vec<&str> = modules.chain([name.as_str()]).collect();
                    found.push(ErrorEnum { name: path.join("::"), variants: Vec::new() });
                    inside = Some(depth);
                }
            }
            (dw::DW_TAG_enumerator, Some(name)) if inside.is_some_and(|it| it + 1 == depth) => {
                if let (Some(last), Some(value)) = (found.last_mut(), value)
                    && last.variants.len() < VARIANTS_MAX
                {
                    last.variants.push((name, value));
                }
            }
            _ => {}
        }
        depth += usize::from(abbreviation.has_children());
    }
    Ok(())
}

/// Whether the name of an entry is read.
fn is_wanted(tag: gimli::DwTag) -> bool {
    [dw::DW_TAG_namespace, dw::DW_TAG_enumeration_type, dw::DW_TAG_enumerator].contains(&tag)
}
