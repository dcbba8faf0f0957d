//! Public names: a type's name is that of one concept.
//!
//! What libraries export at their root is read without the library's name. Two of them export a type of the
//! same name only if [`SHARED`] says why.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Files;

/// Names that several libraries export, and why.
const SHARED: &[(&str, &str)] = &[
    (
        "Options Progress Report Outcome Input Kind State Event View Check Stop",
        "what the library's main function takes, gives or tells: written with the library's name",
    ),
    (
        "Instruction InstructionAccount Transaction",
        "the same thing, in the form that a fixture has",
    ),
    (
        "InnerInstruction InnerInstructions ReturnData",
        "the same thing, in the form in which ledgers keep it",
    ),
    ("AddressQuery", "the same question, to a ledger and to a node that has one"),
    ("Invocation", "the same call of a program, as it runs, in a receipt, and in a timeline"),
    ("Program", "the same program: decoded, and with its loader and syscalls"),
    ("ProgramFile", "the same file, with and without what debuggers read"),
    ("Programs", "the programs of a transaction, and those of a profile with their symbols"),
    ("SyscallError", "the same error: what a host returns, and what a trap holds"),
    (
        "Environment",
        "what programs are loaded for, and what transactions run in: each its crate's word",
    ),
    ("Engine", "the same choice, and how vectors are run with it"),
    ("Recorded", "what was recorded, of a case and of a search"),
    ("History", "what was before: of a debugged transaction, and of a ledger"),
    ("Block", "a basic block, and a block of a chain: both are the field's word"),
    ("Line", "a line of a source, and one of a listing"),
    ("Location", "a place in a source, as assembled and as debug information has it"),
    ("Function Symbol", "an entry of an ELF file, and what a report or a source says of it"),
    ("Content", "what a hash stands for, and what a file is that is no program"),
    ("Difference", "what differs: layouts of a host and sBPF, results of a vector"),
    ("Missing", "what is not there: a vector's support, a variable's value"),
    ("Operand", "an operand of an instruction, and one of an expression"),
];

/// Names that are shared without a reason, and reasons that are not needed.
pub(crate) fn findings(files: &Files) -> Vec<String> {
    let exported = exported(files);
    let shared: BTreeMap<&str, &BTreeSet<&str>> = exported
        .iter()
        .filter(|(_, crates)| crates.len() > 1)
        .map(|(name, crates)| (*name, crates))
        .collect();
    let known: BTreeSet<&str> = SHARED.iter().flat_map(|(names, _)| names.split(' ')).collect();
    let unknown = shared.iter().filter(|(name, _)| !known.contains(*name)).map(|(name, crates)| {
        let crates: Vec<&str> = crates.iter().copied().collect();
        format!("{name}: exported by {}; give one of them another name", crates.join(", "))
    });
    let unused = known.iter().filter(|name| !shared.contains_key(*name));
    let unused = unused.map(|name| format!("xtask/src/names.rs: {name} is shared no longer"));
    unknown.chain(unused).collect()
}

/// The types that libraries declare and export at their root, with the libraries.
fn exported(files: &Files) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut declared: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (path, text) in files.iter() {
        let Some(library) = library(path) else { continue };
        let words = text.lines().filter_map(|line| {
            let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
            let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union");
            words.next().filter(|_| is_type).map(first_word)
        });
        declared.extend(words.map(|name| (library, name)));
    }
    let mut exported: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in files.iter() {
        let Some(library) = library(path).filter(|_| path.ends_with("/src/lib.rs")) else {
            continue;
        };
        let uses = text.split("pub use ").skip(1).filter_map(|it| it.split(';').next());
        let own = uses.filter(|it| it.starts_with("crate::") || it.starts_with("self::"));
        for name in own.flat_map(|it| it.split(|it: char| !it.is_alphanumeric() && it != '_')) {
            if declared.contains(&(library, name)) {
                exported.entry(name).or_default().insert(library);
            }
        }
    }
    exported
}

/// The library that a file of the product belongs to.
fn library(path: &str) -> Option<&str> {
    let (library, file) = path.strip_prefix("crates/")?.split_once('/')?;
    (file.starts_with("src/") && file.ends_with(".rs") && !["cli", "testdata"].contains(&library))
        .then_some(library)
}

fn first_word(text: &str) -> &str {
    text.split(|it: char| !it.is_alphanumeric() && it != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_libraries_export_is_found() {
        let [one, two] = ["struct Frame;", "enum Frame {}"].map(|it| format!("pub {it}\n"));
        let lib = "mod a;\npub use crate::a::{\n    Frame,\n};\n";
        let files = Files::from([
            ("crates/a/src/a.rs", one.as_str()),
            ("crates/a/src/lib.rs", lib),
            ("crates/b/src/a.rs", two.as_str()),
            ("crates/b/src/lib.rs", lib),
            ("crates/cli/src/a.rs", two.as_str()),
            ("crates/c/src/a.rs", two.as_str()),
            ("crates/c/src/lib.rs", "mod a;\n"),
        ]);
        let found = findings(&files);
        assert_eq!(found[0], "Frame: exported by a, b; give one of them another name");
        assert!(found.contains(&"xtask/src/names.rs: Options is shared no longer".to_owned()));
    }
}
