//! The handler of each syscall. What a syscall is called, takes and costs, and where it is available,
//! is in its row in [`selkie_protocol::syscalls`].

use selkie_protocol::{
    cost::Amount,
    syscalls::{SYSCALLS, Syscall, find},
};
use selkie_vm::SyscallError as Error;

use super::{
    Call, big_mod_exp, bn254, cpi, curve, hash, log, memory, misc, pda, poseidon, return_data,
    secp256k1, sysvar,
};

/// Runs a syscall: charges what it costs on entry, and calls its handler.
///
/// # Errors
/// If compute units are exceeded, and what the handler returns.
#[inline]
pub(crate) fn run(
    syscall: &Syscall,
    call: &mut Call<'_, '_, '_>,
    arguments: [u64; 5],
) -> Result<u64, Error> {
    HANDLERS[syscall.index()](call, arguments)
}

type Handler = fn(&mut Call<'_, '_, '_>, [u64; 5]) -> Result<u64, Error>;

macro_rules! handlers {
    ($($name:ident => $family:ident::$handler:ident;)*) => {
        /// What the rows of [`SYSCALLS`] do, by index.
        static HANDLERS: [Handler; SYSCALLS.len()] = {
            let mut handlers: [Option<Handler>; SYSCALLS.len()] = [None; SYSCALLS.len()];
            $({
                const ROW: &Syscall = find(stringify!($name)).expect("handlers are those of rows");
                const ENTRY: Amount = ROW.cost.entry;
                // The argument that the charge depends on; any other argument does not matter.
                const ARGUMENT: usize = match ROW.entry_argument() {
                    Some(index) => index,
                    None => 0,
                };
                assert!(handlers[ROW.index()].is_none(), "a syscall has one handler");
                let handler: Handler = |call, arguments| {
                    call.charge(ENTRY.compute_units(arguments[ARGUMENT], 0))?;
                    $family::$handler(call, arguments)
                };
                handlers[ROW.index()] = Some(handler);
            })*
            complete(handlers)
        };
    };
}

/// Stops the build if a row has no handler.
const fn complete<const N: usize>(handlers: [Option<Handler>; N]) -> [Handler; N] {
    let mut complete: [Handler; N] = [|_, _| Ok(0); N];
    let mut index = 0;
    while index < N {
        complete[index] = handlers[index].expect("every syscall has a handler");
        index = index.saturating_add(1);
    }
    complete
}

handlers! {
    abort => misc::abort;
    sol_panic_ => misc::panic;

    sol_log_ => log::message;
    sol_log_64_ => log::numbers;
    sol_log_pubkey => log::pubkey;
    sol_log_compute_units_ => log::compute_units;
    sol_log_data => log::data;

    sol_memcpy_ => memory::copy_nonoverlapping;
    sol_memmove_ => memory::copy;
    sol_memset_ => memory::fill;
    sol_memcmp_ => memory::compare;

    sol_sha256 => hash::sha256;
    sol_keccak256 => hash::keccak256;
    sol_blake3 => hash::blake3;
    sol_sha512 => hash::sha512;
    sol_poseidon => poseidon::hash_slices;

    sol_secp256k1_recover => secp256k1::recover_key;
    sol_curve_validate_point => curve::validate_point;
    sol_curve_group_op => curve::group_op;
    sol_curve_multiscalar_mul => curve::multiscalar_multiply;
    sol_curve_decompress => curve::decompress;
    sol_curve_pairing_map => curve::pairing;
    sol_alt_bn128_group_op => bn254::group_op;
    sol_alt_bn128_compression => bn254::compression;
    sol_big_mod_exp => big_mod_exp::power;

    sol_create_program_address => pda::create;
    sol_try_find_program_address => pda::try_find;

    sol_get_clock_sysvar => sysvar::clock;
    sol_get_epoch_schedule_sysvar => sysvar::epoch_schedule;
    sol_get_rent_sysvar => sysvar::rent;
    sol_get_epoch_rewards_sysvar => sysvar::epoch_rewards;
    sol_get_fees_sysvar => sysvar::fees;
    sol_get_last_restart_slot => sysvar::last_restart_slot;
    sol_get_sysvar => sysvar::get;
    sol_get_epoch_stake => sysvar::epoch_stake;

    sol_set_return_data => return_data::set;
    sol_get_return_data => return_data::get;

    sol_get_stack_height => misc::stack_height;
    sol_get_processed_sibling_instruction => misc::sibling;
    sol_remaining_compute_units => misc::remaining_compute_units;
    sol_alloc_free_ => misc::alloc_free;

    sol_invoke_signed_rust => cpi::invoke_rust;
    sol_invoke_signed_c => cpi::invoke_c;
}
