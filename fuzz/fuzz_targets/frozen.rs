//! Freezes a program, changes some bytes or none, and thaws it. Unchanged it must be the same
//! program; changed it must still run alike on both engines.

#![no_main]

mod program;

use libfuzzer_sys::{
    arbitrary::{self, Arbitrary},
    fuzz_target,
};
use selkie_vm::{JitOptions, MachineCode, Program, run};

use crate::program::Input;

#[derive(Arbitrary, Debug)]
struct Changed<'a> {
    input: Input<'a>,
    /// The changes: offset and new byte.
    changes: Vec<(u16, u8)>,
    cut: Option<u16>,
    elf: &'a [u8],
}

fuzz_target!(|changed: Changed<'_>| {
    let Changed { input, changes, cut, elf } = changed;
    let Some(program) = input.program() else { return };
    let mut frozen = program.freeze(elf);
    for (at, byte) in &changes {
        let len = frozen.len();
        frozen[usize::from(*at) % len] = *byte;
    }
    frozen.truncate(cut.map_or(usize::MAX, usize::from));
    let thawed = Program::thaw(&frozen, elf, program.executable().syscalls());
    if changes.is_empty() && cut.is_none() {
        let thawed = thawed.as_ref().expect("nothing was changed");
        assert_eq!(thawed.executable(), program.executable());
    }
    let Ok(thawed) = thawed else { return };
    if !MachineCode::SUPPORTED {
        return;
    }
    let interpreted = input.execute(&thawed, run);
    let code = MachineCode::compile(&thawed, &input.config(), &JitOptions::plain());
    let code = code.expect("this host runs machine code");
    let compiled =
        input.execute(&thawed, |program, machine, host| code.run(program, machine, &mut { host }));
    assert_eq!(compiled, interpreted);
});
