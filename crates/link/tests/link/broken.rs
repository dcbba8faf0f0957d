//! Objects with a wrong byte, or truncated: they are refused, or link to a program that loads.
//! There is no other result, and no panic.

use std::fs;

use selkie_link::{Input, Options, link};
use selkie_svm::{FeatureSet, Purpose, elf_environment};
use selkie_vm::{verify, verify_calls};

use crate::{machine::VERSIONS, mixed::object_of, testdata};

fn check(bytes: &[u8], what: &str) {
    for version in VERSIONS {
        let options = Options { version, ..Options::default() };
        let Ok(linked) = link(&[Input { name: "a.o", bytes }], &options) else { continue };
        let environment = elf_environment(FeatureSet::mainnet(), Purpose::Deployment);
        let syscalls = selkie_elf::Syscalls::new(selkie_protocol::syscalls::names());
        let environment = selkie_elf::Environment { syscalls: syscalls.into(), ..environment };
        let executable = selkie_elf::load(&linked.elf, &environment);
        let executable = executable.unwrap_or_else(|error| panic!("{what}: {error}"));
        verify(&executable).unwrap_or_else(|error| panic!("{what}: {error}"));
        verify_calls(&executable).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn corrupted_compiled_objects_are_refused_or_load() {
    for name in ["hello.o", "signed.v4.clang-19.o", "lines.v4.clang-22.o", "rust.v3.rustc-1.96.o"] {
        let object = fs::read(testdata().join("objects").join(name)).expect("it is there");
        check_broken(name, &object);
    }
}

#[test]
fn corrupted_assembled_objects_are_refused_or_load() {
    for name in ["weak_names/defaults.s", "functions_before_syscalls/a.s"] {
        for version in VERSIONS {
            let object = object_of(&testdata().join("mixed").join(name), version);
            check_broken(name, &object.elf);
        }
    }
}

fn check_broken(name: &str, object: &[u8]) {
    for at in (0..object.len()).step_by((object.len() / 120).max(1)) {
        for value in [0, 0xff, object[at] ^ 1, object[at] ^ 0x80] {
            let mut wrong = object.to_vec();
            wrong[at] = value;
            check(&wrong, &format!("{name}: {value:#04x} at {at:#x}"));
        }
        check(&object[..at], &format!("{name} of {at:#x} bytes"));
    }
}
