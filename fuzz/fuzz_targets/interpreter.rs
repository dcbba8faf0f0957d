//! Runs any program on any memory, verified or not, with and without an observer: both must agree.

#![no_main]

mod program;

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use selkie_vm::{Machine, Observer, observe, run};

use crate::program::Input;

struct Nothing;

impl Observer for Nothing {
    fn instruction(&mut self, _: &mut Machine<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fuzz_target!(|input: Input<'_>| {
    let Some(program) = input.program() else { return };
    let watched = input
        .execute(&program, |program, machine, host| observe(program, machine, host, &mut Nothing));
    assert_eq!(input.execute(&program, run), watched);
});
