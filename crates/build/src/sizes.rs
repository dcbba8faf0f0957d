//! What the bytes of a program are, which crates they come from, and why they are there.

use std::collections::{BTreeMap, HashMap};

use selkie_isa::layout::SLOT_BYTES;
use selkie_link::{Linked, User};

/// The name of the crate for functions that compilers call implicitly and the linker provides.
const LINKER: &str = "linker";

/// The name of the crate for functions whose names have no path: in C, and `extern "C"`.
const NO_CRATE: &str = "extern";

/// The types of the language, whose methods are in `core`.
const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16",
    "u32", "u64", "u128", "usize",
];

/// The sizes of a program's parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The crates, largest first.
    pub crates: Vec<CrateSize>,
    /// The functions and read-only data, largest first.
    pub items: Vec<ItemSize>,
    /// Bytes of the file that are neither code nor read-only data: headers, symbols, padding.
    pub other: u64,
}

/// What a crate has in a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CrateSize {
    /// The name.
    pub name: String,
    /// Bytes of its functions. A generic function counts for the crate that defines it.
    pub code: u64,
    /// Bytes of the data that its functions were the first to refer to.
    pub data: u64,
    /// The number of its functions.
    pub functions: usize,
}

/// A function or a section of read-only data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemSize {
    /// The name, demangled.
    pub name: String,
    /// The crate.
    pub krate: String,
    /// Whether it is a function.
    pub is_function: bool,
    /// Its size.
    pub bytes: u64,
    /// The names of equal functions that share it.
    pub folded: Vec<String>,
    /// What keeps it in the program: the function or data that refers to it, what refers to that, and
    /// so on up to the entry.
    pub kept_by: Vec<String>,
}

impl Sizes {
    /// Returns the sizes of a linked program.
    #[must_use]
    pub fn of(linked: &Linked) -> Self {
        let users = Users::new(linked);
        let functions = linked.functions.iter().map(|it| ItemSize {
            krate: it.object.as_ref().map_or(LINKER, |_| crate_of(&it.name)).to_owned(),
            name: it.name.clone(),
            is_function: true,
            bytes: u64::from(it.slots) * SLOT_BYTES as u64,
            folded: it.folded.clone(),
            kept_by: users.chain(it.user.as_ref()),
        });
        let data = linked.data.iter().filter(|it| !it.is_writable).map(|it| ItemSize {
            krate: users.first_function(it.user.as_ref()).map_or(NO_CRATE, crate_of).to_owned(),
            name: it.name.clone(),
            is_function: false,
            bytes: it.size,
            folded: Vec::new(),
            kept_by: users.chain(it.user.as_ref()),
        });
        let mut items: Vec<ItemSize> = functions.chain(data).collect();
        items.sort_by_key(|it| core::cmp::Reverse(it.bytes));
        let counted: u64 = items.iter().map(|it| it.bytes).sum();
        let other = (linked.elf.len() as u64).saturating_sub(counted);
        Self { crates: crates(&items), items, other }
    }
}

fn crates(items: &[ItemSize]) -> Vec<CrateSize> {
    let mut crates: BTreeMap<&str, CrateSize> = BTreeMap::new();
    for it in items {
        let of = crates.entry(&it.krate).or_default();
        *(if it.is_function { &mut of.code } else { &mut of.data }) += it.bytes;
        of.functions += usize::from(it.is_function);
    }
    let named = crates.into_iter().map(|(name, it)| CrateSize { name: name.to_owned(), ..it });
    let mut crates: Vec<CrateSize> = named.collect();
    crates.sort_by_key(|it| core::cmp::Reverse(it.code + it.data));
    crates
}

/// What refers to each address of a function or of data.
struct Users<'a> {
    by_address: HashMap<u64, Option<&'a User>>,
    functions: HashMap<u64, &'a str>,
}

impl<'a> Users<'a> {
    fn new(linked: &'a Linked) -> Self {
        let functions = linked.functions.iter().map(|it| (it.addr, it.user.as_ref()));
        let data = linked.data.iter().map(|it| (it.addr, it.user.as_ref()));
        Self {
            by_address: functions.chain(data).collect(),
            functions: linked.functions.iter().map(|it| (it.addr, it.name.as_str())).collect(),
        }
    }

    /// Returns a user, its user and so on. The entry has none, but functions that were folded may
    /// form a cycle, which is cut.
    fn walk(&self, user: Option<&'a User>) -> impl Iterator<Item = &'a User> {
        let next = |it: &&'a User| self.by_address.get(&it.addr).copied().flatten();
        core::iter::successors(user, next).take(self.by_address.len())
    }

    fn chain(&self, user: Option<&'a User>) -> Vec<String> {
        let mut seen = Vec::new();
        for it in self.walk(user) {
            if seen.contains(&&it.name) {
                break;
            }
            seen.push(&it.name);
        }
        seen.into_iter().cloned().collect()
    }

    fn first_function(&self, user: Option<&'a User>) -> Option<&'a str> {
        self.walk(user).find_map(|it| self.functions.get(&it.addr).copied())
    }
}

/// Returns the crate of a function by its demangled name: that of the path with which it begins, or of
/// the type of a method.
fn crate_of(name: &str) -> &str {
    let mut rest = name.trim_start_matches(['<', '&', '*', '(', '[']);
    while let Some((word, after)) = rest.split_once(' ') {
        if !["mut", "const", "dyn", "unsafe", "fn"].contains(&word) {
            break;
        }
        rest = after.trim_start_matches(['<', '&', '*', '(', '[']);
    }
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
    let (first, after) = rest.split_at(end);
    match first {
        _ if after.starts_with("::") => first,
        _ if PRIMITIVES.contains(&first) => "core",
        _ => NO_CRATE,
    }
}

#[cfg(test)]
mod tests {
    use selkie_isa::Version;
    use selkie_link::Function;

    use super::*;

    #[test]
    fn crate_of_a_function_is_that_of_its_path_or_type() {
        let names = [
            ("vault::process", "vault"),
            ("<alloc::vec::Vec<vault::Order>>::push", "alloc"),
            ("<&mut dyn core::fmt::Write as core::fmt::Write>::write_str", "core"),
            ("<[u8] as solana_program::Bytes>::len", "core"),
            ("<u64 as core::fmt::Display>::fmt", "core"),
            ("entrypoint", NO_CRATE),
            ("", NO_CRATE),
        ];
        for (name, expected) in names {
            assert_eq!(crate_of(name), expected, "{name}");
        }
    }

    fn function(name: &str, addr: u64, slots: u32, user: Option<(&str, u64)>) -> Function {
        Function {
            name: name.to_owned(),
            object: Some("a.o".to_owned()),
            pc: 0,
            addr,
            slots,
            slots_added: 0,
            stack: 0,
            user: user.map(|(name, addr)| User { name: name.to_owned(), addr }),
            folded: Vec::new(),
        }
    }

    #[test]
    fn items_tell_what_keeps_them_up_to_the_entry() {
        let linked = Linked {
            elf: vec![0; 1000],
            debug_elf: None,
            version: Version::V3,
            functions: vec![
                function("entrypoint", 0, 10, None),
                function("vault::process", 80, 20, Some(("entrypoint", 0))),
                function("vault::fail", 240, 30, Some(("vault::process", 80))),
            ],
            data: vec![selkie_link::Datum {
                name: ".rodata..L1".to_owned(),
                object: None,
                addr: 500,
                size: 40,
                is_writable: false,
                user: Some(User { name: "vault::fail".to_owned(), addr: 240 }),
            }],
            rodata_bytes: 40,
            heap_bytes: 0,
        };
        let sizes = Sizes::of(&linked);
        assert_eq!(sizes.other, 1000 - 60 * 8 - 40);
        let vault = CrateSize { name: "vault".to_owned(), code: 400, data: 40, functions: 2 };
        assert_eq!(sizes.crates[0], vault);
        assert_eq!(sizes.items[0].name, "vault::fail");
        assert_eq!(sizes.items[0].kept_by, ["vault::process", "entrypoint"]);
        let data = sizes.items.iter().find(|it| !it.is_function).expect("there is one");
        assert_eq!(data.kept_by, ["vault::fail", "vault::process", "entrypoint"]);
    }
}
