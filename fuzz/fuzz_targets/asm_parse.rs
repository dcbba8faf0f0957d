//! Assembles any text for any version. The program must load.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, Syscalls, load};
use selkie_isa::Version;

fuzz_target!(|input: (u8, &str)| {
    let (choice, source) = input;
    let options = Options {
        version: Version::ALL[usize::from(choice) % Version::ALL.len()],
        debug_info: choice & 64 != 0,
        strip: choice & 128 != 0,
        ..Options::default()
    };
    let output = assemble(source, &options);
    let _ = output.render(false);
    assert_eq!(output.assembly.is_some(), output.error_count() == 0);
    let Some(assembly) = output.assembly else { return };
    let names: std::collections::BTreeSet<String> =
        assembly.syscalls.iter().map(|(_, name)| name.clone()).collect();
    let environment =
        Environment { syscalls: Syscalls::new(names).into(), ..Environment::default() };
    let elf = assembly.to_elf();
    load(&elf, &environment).expect("what was assembled without errors loads");
});
