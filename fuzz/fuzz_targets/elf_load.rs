//! Loads any bytes with any settings, opens them for tools, verifies and decodes the program.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_elf::{Environment, Sections, Syscalls, load};
use selkie_vm::{Program, verify};

fuzz_target!(|input: (u8, &[u8])| {
    let (flags, bytes) = input;
    let environment = Environment {
        syscalls: Syscalls::new(["abort", "sol_log_", "sol_memcpy_"]).into(),
        reject_broken_elfs: flags & 1 != 0,
        optimize_rodata: flags & 2 != 0,
        labels: flags & 4 != 0,
        ..Environment::default()
    };
    let sections = Sections::read(bytes);
    let _ = (sections.symbols().count(), sections.imports().count());
    if let Ok(executable) = load(bytes, &environment) {
        let _ = sections.function_names(&executable);
        if verify(&executable).is_ok() {
            let slots = executable.text().len() / 8;
            assert!((executable.entry_pc() as usize) < slots, "a valid program has its entry");
        }
        let _ = Program::new(executable);
    }
});
