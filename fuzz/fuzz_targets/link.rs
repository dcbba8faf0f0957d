//! Any bytes, linked as an object or an archive. What links must load as a deployment would load
//! it, and verify.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_elf::{Environment, Syscalls, load};
use selkie_isa::Version;
use selkie_link::{Input, Options, Statics, link};
use selkie_vm::{verify, verify_calls};

fuzz_target!(|bytes: &[u8]| {
    // Flags come last, so that objects can be seeds as they are.
    let flags = bytes.last().copied().unwrap_or_default();
    let options = Options {
        version: if flags & 1 == 0 { Version::V0 } else { Version::V3 },
        strip: flags & 2 != 0,
        statics: if flags & 4 == 0 { Statics::Heap } else { Statics::Refuse },
        ..Options::default()
    };
    let Ok(linked) = link(&[Input { name: "a.o", bytes }], &options) else { return };
    let environment = Environment {
        syscalls: Syscalls::new(selkie_asm::syscalls::NAMES.iter().copied()).into(),
        reject_broken_elfs: true,
        ..Environment::default()
    };
    let executable = load(&linked.elf, &environment).expect("what is linked is loadable");
    verify(&executable).expect("what is linked is valid");
    verify_calls(&executable).expect("what is linked calls what there is");
    let _ = linked.map();
});
