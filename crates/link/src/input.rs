//! The inputs: objects, and those members of archives that define a needed symbol.

use std::collections::{BTreeSet, HashMap};

use selkie_isa::truncate;

use object::read::archive::ArchiveFile;

use crate::{
    LinkError,
    error::{CORRUPT, Errors},
    object::{Binding, Definition, NameBudget, Object, is_bitcode},
};

/// A file to link.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Its content: an object, or an archive of objects.
    pub bytes: &'a [u8],
}

/// A member of an archive.
struct Member<'a> {
    name: String,
    bytes: &'a [u8],
}

/// The members of all archives, by the symbols that they define.
#[derive(Default)]
struct Archives<'a> {
    members: Vec<Member<'a>>,
    /// The first member that defines a name.
    by_symbol: HashMap<&'a str, usize>,
}

/// Reads all objects, and the members of archives that they need, directly or indirectly. Archives
/// are not searched for names for which `is_provided` returns true: the linker defines them.
pub(crate) fn read<'a>(
    inputs: &[Input<'a>],
    entry: &'a str,
    is_provided: impl Fn(&str) -> bool,
    errors: &mut Errors,
) -> Vec<Object<'a>> {
    let mut objects = Vec::new();
    let mut archives = Archives::default();
    for input in inputs {
        match is_archive(input.bytes) {
            true => archives.add(input, errors),
            false => match Object::read(input.name, input.bytes) {
                Ok(object) => objects.push(object),
                Err(error) => errors.push(error),
            },
        }
    }
    let mut defined = BTreeSet::new();
    let mut wanted = vec![entry];
    objects.iter().for_each(|object| record_symbols(object, &mut defined, &mut wanted));
    let mut pulled = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if defined.contains(name) || is_provided(name) {
            continue;
        }
        let Some(&index) = archives.by_symbol.get(name) else { continue };
        if !pulled.insert(index) {
            continue;
        }
        let member = &archives.members[index];
        match Object::read(&member.name, member.bytes) {
            Ok(object) => {
                record_symbols(&object, &mut defined, &mut wanted);
                objects.push(Object { is_member: true, ..object });
            }
            Err(error) => errors.push(error),
        }
    }
    objects
}

/// Adds the symbols that an object defines to `defined`, and those that it needs to `wanted`.
fn record_symbols<'a>(
    object: &Object<'a>,
    defined: &mut BTreeSet<&'a str>,
    wanted: &mut Vec<&'a str>,
) {
    for symbol in object.symbols.iter().filter(|it| it.binding != Binding::Local) {
        match (symbol.definition, symbol.binding) {
            // A weak reference needs no definition.
            (Definition::Undefined, Binding::Weak) => {}
            (Definition::Undefined, _) => wanted.push(symbol.name),
            _ => _ = defined.insert(symbol.name),
        }
    }
}

fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}

impl<'a> Archives<'a> {
    fn add(&mut self, input: &Input<'a>, errors: &mut Errors) {
        if let Err(error) = self.read(input) {
            errors.push(error.object(input.name));
        }
    }

    fn read(&mut self, input: &Input<'a>) -> Result<(), LinkError> {
        let broken =
            |it: object::read::Error| LinkError::new(format!("broken archive: {it}")).help(CORRUPT);
        let archive = ArchiveFile::parse(input.bytes).map_err(broken)?;
        if archive.is_thin() {
            let help = "make it without `T`, so that it holds its members";
            return Err(LinkError::new("a thin archive, which holds no objects").help(help));
        }
        let mut budget = NameBudget::of(input.bytes.len());
        for member in archive.members() {
            let member = member.map_err(broken)?;
            let overlap =
                || LinkError::new("broken archive: names of members overlap").help(CORRUPT);
            budget.take(member.name()).ok_or_else(overlap)?;
            let bytes = member.data(input.bytes).map_err(broken)?;
            // An rlib has its crate's metadata beside its objects.
            if !bytes.starts_with(b"\x7fELF") && !is_bitcode(bytes) {
                continue;
            }
            let name = String::from_utf8_lossy(member.name());
            let name = format!("{}({})", input.name, truncate::name(&name));
            let index = self.members.len();
            for symbol in defined_names(bytes) {
                self.by_symbol.entry(symbol).or_insert(index);
            }
            self.members.push(Member { name, bytes });
        }
        Ok(())
    }
}

/// Returns the global symbols that an object defines. The symbol index of an archive is not used,
/// since it may be wrong. Metadata of Rust's rlibs is an ELF file too, but defines nothing. Errors
/// in a member are reported when the member is needed.
fn defined_names(bytes: &[u8]) -> Vec<&str> {
    use object::{
        LittleEndian as LE, elf,
        read::elf::{FileHeader as _, Sym as _},
    };
    let read = || -> object::read::Result<Vec<&str>> {
        let header = elf::FileHeader64::<LE>::parse(bytes)?;
        let sections = header.sections(LE, bytes)?;
        let symbols = sections.symbols(LE, bytes, elf::SHT_SYMTAB)?;
        let defined = symbols
            .iter()
            .filter(|it| it.st_bind() != elf::STB_LOCAL && it.st_shndx(LE) != elf::SHN_UNDEF);
        let names = defined.filter_map(|it| symbols.symbol_name(LE, it).ok());
        let mut budget = NameBudget::of(bytes.len());
        let names = names.take_while(|name| budget.take(name).is_some());
        Ok(names.filter_map(|it| core::str::from_utf8(it).ok()).collect())
    };
    read().unwrap_or_default()
}
