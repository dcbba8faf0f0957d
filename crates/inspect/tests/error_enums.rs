//! Enumerations of errors in the debug information of programs.

mod support;

use gimli::{
    DW_AT_comp_dir, DW_AT_const_value, DW_AT_name, DW_TAG_enumeration_type, DW_TAG_enumerator,
    DW_TAG_namespace, Encoding, Format, LittleEndian,
    write::{AttributeValue, DwarfUnit, EndianVec, Sections, UnitEntryId},
};
use selkie_inspect::{ErrorEnum, error_enums};
use selkie_isa::Version;
use support::{EXIT, Section, bytes, elf};

/// An enumeration: the namespaces around it, its name, and its variants in the order of their numbers.
type Given<'a> = (&'a [&'a str], &'a str, &'a [&'a str]);

fn file(unit: &str, folder: &str, enums: &[Given<'_>]) -> Vec<u8> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
    let mut dwarf = DwarfUnit::new(encoding);
    let text = |text: &str| AttributeValue::String(text.into());
    let root = dwarf.unit.root();
    dwarf.unit.get_mut(root).set(DW_AT_name, text(unit));
    dwarf.unit.get_mut(root).set(DW_AT_comp_dir, text(folder));
    for (namespaces, name, variants) in enums {
        let mut parent: UnitEntryId = root;
        for namespace in *namespaces {
            parent = dwarf.unit.add(parent, DW_TAG_namespace);
            dwarf.unit.get_mut(parent).set(DW_AT_name, text(namespace));
        }
        let enumeration = dwarf.unit.add(parent, DW_TAG_enumeration_type);
        dwarf.unit.get_mut(enumeration).set(DW_AT_name, text(name));
        for (number, variant) in variants.iter().enumerate() {
            let entry = dwarf.unit.add(enumeration, DW_TAG_enumerator);
            dwarf.unit.get_mut(entry).set(DW_AT_name, text(variant));
            let number = AttributeValue::Udata(number as u64);
            dwarf.unit.get_mut(entry).set(DW_AT_const_value, number);
        }
    }
    let mut written = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut written).unwrap();
    let mut sections = vec![Section::new(".text", 64, bytes(&[EXIT; 2]))];
    written
        .for_each(|id, data| {
            sections.push(Section::new(id.name(), 0, data.slice().to_vec()));
            Ok::<_, gimli::write::Error>(())
        })
        .unwrap();
    elf(Version::V0, 64, sections)
}

const UNIT: &str = "src/lib.rs/@/vault.0123456789abcdef-cgu.0";

#[test]
fn enumerations_of_own_crates_are_found() {
    let file = file(
        UNIT,
        "/users/ada/vault",
        &[
            (&["core", "num"], "ParseError", &["Zero", "One"]),
            (&["spl_token", "error"], "TokenError", &["NotRentExempt", "InsufficientFunds"]),
            (&["vault", "error"], "VaultError", &["Empty", "Full"]),
            (&["vault"], "Side", &["Left", "Right"]),
            (&["vault"], "PoolError", &["Closed"]),
        ],
    );
    let found = error_enums(file);
    let expected = |name: &str, variants: &[&str]| ErrorEnum {
        name: name.to_owned(),
        variants: (0..).zip(variants).map(|(number, name)| ((*name).to_owned(), number)).collect(),
    };
    let vault = expected("vault::error::VaultError", &["Empty", "Full"]);
    assert_eq!(found, [vault, expected("vault::PoolError", &["Closed"])]);
    assert_eq!(found[0].variant(1), Some("Full"));
    assert_eq!(found[0].variant(2), None);
}

#[test]
fn a_crate_from_a_registry_is_not_own() {
    let folder = "/users/ada/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/vault-1.0.0";
    let other = "/users/ada/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/vault-1.0.0/src/lib.rs\
                 /@/vault.0123456789abcdef-cgu.0";
    let enums: &[Given<'_>] = &[(&["vault"], "VaultError", &["Empty"])];
    assert_eq!(error_enums(file(UNIT, folder, enums)), []);
    assert_eq!(error_enums(file(other, "/users/ada/mine", enums)), []);
}

#[test]
fn enumerations_of_c_have_no_namespace() {
    let enums: &[Given<'_>] = &[(&[], "vault_error", &["VAULT_EMPTY"]), (&[], "side", &["LEFT"])];
    let found = error_enums(file("vault.c", "/users/ada/vault", enums));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].variant(0), Some("VAULT_EMPTY"));
    assert_eq!(error_enums(file("stdio.c", "/usr/include", enums)), []);
}

#[test]
fn broken_files_have_none() {
    let whole = file(UNIT, "/users/ada/vault", &[(&["vault"], "VaultError", &["Empty", "Full"])]);
    for at in 64..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        let _ = error_enums(broken);
    }
    assert_eq!(error_enums(&b"no file"[..]), []);
}
