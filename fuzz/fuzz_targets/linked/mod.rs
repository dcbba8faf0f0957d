//! The checks of every linked program.

use selkie_elf::{Environment, Syscalls, load};
use selkie_link::Linked;
use selkie_vm::{verify, verify_calls};

/// Loads a program as a deployment would, and verifies it.
pub(crate) fn check(linked: &Linked) {
    let environment = Environment {
        syscalls: Syscalls::new(selkie_protocol::syscalls::names()).into(),
        reject_broken_elfs: true,
        ..Environment::default()
    };
    let executable = load(&linked.elf, &environment).expect("what is linked is loadable");
    verify(&executable).expect("what is linked is valid");
    verify_calls(&executable).expect("what is linked calls what there is");
    let _ = linked.map();
}
