//! Calling other programs; how, [`crate::runtime::cpi`] knows.

use selkie_vm::SyscallError as Error;

use super::Call;
use crate::runtime::cpi::{Convention, invoke};

pub(super) fn invoke_rust(
    call: &mut Call<'_, '_, '_>,
    instruction: u64,
    infos: u64,
    infos_count: u64,
    seeds: u64,
    seeds_count: u64,
) -> Result<u64, Error> {
    invoke(call, Convention::Rust, instruction, infos, infos_count, seeds, seeds_count)
}

pub(super) fn invoke_c(
    call: &mut Call<'_, '_, '_>,
    instruction: u64,
    infos: u64,
    infos_count: u64,
    seeds: u64,
    seeds_count: u64,
) -> Result<u64, Error> {
    invoke(call, Convention::C, instruction, infos, infos_count, seeds, seeds_count)
}
