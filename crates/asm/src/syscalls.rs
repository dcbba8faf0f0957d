//! The names of the syscalls that a runtime may offer: what a call of an undefined name may mean,
//! and what a misspelt one probably meant.

use selkie_isa::symbol::murmur3;

/// Every syscall of the runtime, active or not, in alphabetical order.
pub const NAMES: &[&str] = &[
    "abort",
    "sol_alloc_free_",
    "sol_alt_bn128_compression",
    "sol_alt_bn128_group_op",
    "sol_big_mod_exp",
    "sol_blake3",
    "sol_create_program_address",
    "sol_curve_decompress",
    "sol_curve_group_op",
    "sol_curve_multiscalar_mul",
    "sol_curve_pairing_map",
    "sol_curve_validate_point",
    "sol_get_clock_sysvar",
    "sol_get_epoch_rewards_sysvar",
    "sol_get_epoch_schedule_sysvar",
    "sol_get_epoch_stake",
    "sol_get_fees_sysvar",
    "sol_get_last_restart_slot",
    "sol_get_processed_sibling_instruction",
    "sol_get_rent_sysvar",
    "sol_get_return_data",
    "sol_get_stack_height",
    "sol_get_sysvar",
    "sol_invoke_signed_c",
    "sol_invoke_signed_rust",
    "sol_keccak256",
    "sol_log_",
    "sol_log_64_",
    "sol_log_compute_units_",
    "sol_log_data",
    "sol_log_pubkey",
    "sol_memcmp_",
    "sol_memcpy_",
    "sol_memmove_",
    "sol_memset_",
    "sol_panic_",
    "sol_poseidon",
    "sol_remaining_compute_units",
    "sol_secp256k1_recover",
    "sol_set_return_data",
    "sol_sha256",
    "sol_sha512",
    "sol_try_find_program_address",
];

/// Whether `name` is a syscall of the runtime.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

/// The syscall whose name hashes to `key`.
pub(crate) fn by_key(key: u32) -> Option<&'static str> {
    NAMES.iter().copied().find(|name| murmur3(name.as_bytes()) == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_their_keys_differ() {
        assert!(NAMES.is_sorted());
        assert!(NAMES.iter().all(|name| is_known(name)));
        assert!(NAMES.iter().all(|name| by_key(murmur3(name.as_bytes())) == Some(name)));
        assert!(!is_known("sol_log"));
    }
}
