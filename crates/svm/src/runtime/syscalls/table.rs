//! The syscalls, one row each.
//!
//! From a row come the syscall's registration, what is charged when it is called, the call of its
//! handler, its documentation and its name in errors: to add a syscall is to add a row and the
//! function that it names.

use selkie_vm::SyscallError as Error;
use solana_sdk_ids::sysvar as ids;

use super::{
    Call, big_mod_exp, bn254, cpi, curve, hash, log, memory, misc, pda, poseidon, return_data,
    secp256k1, sysvar,
};
use crate::{
    chain::{
        cost::{self, CREATE_PROGRAM_ADDRESS, LOG_64, LOG_PUBKEY, SYSCALL_BASE},
        features::{Feature, FeatureSet},
    },
    programs::file::Purpose,
};

/// Hands the rows to the macro `$mac`.
///
/// A row is `"name", gate, "price" => charge, family::handler(arguments), "what it does";`. The
/// charge is taken before the handler runs, and may use the arguments and the [`Call`], which goes
/// by the name in front of the rows; what the handler takes on top of it, the price tells.
macro_rules! for_each_syscall {
    ($mac:ident) => {
        $mac! {
            call;
            "abort", Always, "0" => 0,
                misc::abort(),
                "Ends the program with an error.";
            "sol_panic_", Always, "len" => len,
                misc::panic(file, len, line, column),
                "Ends the program with an error that tells a place in its source.";

            "sol_log_", Always, "max(100, len)" => SYSCALL_BASE.max(len),
                log::message(addr, len),
                "Logs a text, which must be UTF-8.";
            "sol_log_64_", Always, "100" => LOG_64,
                log::numbers(a, b, c, d, e),
                "Logs five numbers in hexadecimal.";
            "sol_log_pubkey", Always, "100" => LOG_PUBKEY,
                log::pubkey(addr),
                "Logs an address in base 58.";
            "sol_log_compute_units_", Always, "100" => SYSCALL_BASE,
                log::compute_units(),
                "Logs the compute units that are left.";
            "sol_log_data", Always, "100 + 100 per slice + 1 per byte" => SYSCALL_BASE,
                log::data(slices, count),
                "Logs slices of bytes in base 64.";

            "sol_memcpy_", Always, "max(10, len / 250)" => cost::mem_op(len),
                memory::copy_apart(dst, src, len),
                "Copies bytes between places that do not overlap.";
            "sol_memmove_", Always, "max(10, len / 250)" => cost::mem_op(len),
                memory::copy(dst, src, len),
                "Copies bytes.";
            "sol_memset_", Always, "max(10, len / 250)" => cost::mem_op(len),
                memory::fill(dst, byte, len),
                "Fills memory with a byte.";
            "sol_memcmp_", Always, "max(10, len / 250)" => cost::mem_op(len),
                memory::compare(left, right, len, out),
                "Writes the difference of the first bytes that differ, or 0, as an i32.";

            "sol_sha256", Always, "85 + max(10, len / 2) per slice" => hash::price(call, "Sha256", count)?,
                hash::sha256(slices, count, out),
                "Hashes slices of bytes with SHA-256.";
            "sol_keccak256", Always, "85 + max(10, len / 2) per slice" => hash::price(call, "Keccak256", count)?,
                hash::keccak256(slices, count, out),
                "Hashes slices of bytes with Keccak-256.";
            "sol_blake3", Feature(Feature::Blake3), "85 + max(10, len / 2) per slice" => hash::price(call, "Blake3", count)?,
                hash::blake3(slices, count, out),
                "Hashes slices of bytes with BLAKE3.";
            "sol_sha512", Feature(Feature::Sha512), "85 + max(10, len / 2) per slice" => hash::price(call, "Sha512", count)?,
                hash::sha512(slices, count, out),
                "Hashes slices of bytes with SHA-512.";

            "sol_poseidon", Feature(Feature::Poseidon), "542 + 61 * inputs * inputs" => poseidon::price(call, parameters, endianness, count)?,
                poseidon::hash_slices(parameters, endianness, slices, count, out),
                "Hashes up to 12 numbers of 32 bytes with Poseidon over BN254; r0 is 1 if one is no such number.";

            "sol_secp256k1_recover", Always, "25000" => cost::SECP256K1_RECOVER,
                secp256k1::recover_key(hash, recovery_id, signature, out),
                "Writes the key that signed a hash; r0 is 2 for a wrong recovery id, 3 for a wrong signature.";
            "sol_curve_validate_point", Feature(Feature::Curve25519), "Edwards 159, Ristretto 169; BLS12-381: G1 1565, G2 1968" => 0,
                curve::validate_point(curve, point),
                "Checks a point of a curve; r0 is 1 if there is no such point.";
            "sol_curve_group_op", Feature(Feature::Curve25519), "add, subtract, multiply: Edwards 473, 475, 2177; Ristretto 521, 519, 2208; BLS12-381: G1 128, 129, 4627; G2 203, 204, 8255" => 0,
                curve::group_op(curve, operation, left, right, out),
                "Adds (0) or subtracts (1) points, or multiplies (2) a scalar and a point; r0 is 1 if there is no such point or scalar.";
            "sol_curve_multiscalar_mul", Feature(Feature::Curve25519), "Edwards 2273 + 758, Ristretto 2303 + 788 per point after the first" => 0,
                curve::multiscalar_multiply(curve, scalars, points, count, out),
                "Adds up multiples of points, 512 at most; r0 is 1 if there is no such point or scalar.";
            "sol_curve_decompress", Feature(Feature::Bls12381), "G1 2100, G2 3050" => 0,
                curve::decompress(curve, point, out),
                "Decompresses a point of BLS12-381; r0 is 1 if there is no such point.";
            "sol_curve_pairing_map", Feature(Feature::Bls12381), "25445 + 13023 per pair after the first" => 0,
                curve::pairing(curve, count, g1, g2, out),
                "Writes the product of pairings on BLS12-381, 8 at most; r0 is 1 if there is no such point.";
            "sol_alt_bn128_group_op", Feature(Feature::AltBn128), "G1: add 334, multiply 3840; G2: add 535, multiply 15670; pairing 36481 + 12121 per pair after the first + len" => 0,
                bn254::group_op(operation, input, len, out),
                "Adds (0) or multiplies (2) on alt_bn128, pairs (3), adds (4) or multiplies (6) in G2; r0 is 1 if the input is wrong.";
            "sol_alt_bn128_compression", Feature(Feature::AltBn128Compression), "G1: compress 130, decompress 498; G2: compress 186, decompress 13710" => 0,
                bn254::compression(operation, input, len, out),
                "Compresses (0) or decompresses (1) a point of alt_bn128, or one of G2 (2, 3); r0 is 1 if the input is wrong.";
            "sol_big_mod_exp", Feature(Feature::BigModExp), "422 + (multiplication * max(75, bits of exponent)) / 189" => cost::BIG_MOD_EXP_BASE,
                big_mod_exp::power(params, out),
                "Raises a number to a power modulo another, little-endian and 512 bytes at most each.";

            "sol_create_program_address", Always, "1500" => CREATE_PROGRAM_ADDRESS,
                pda::create(seeds, count, program, out),
                "Derives a program address from seeds; r0 is 1 if there is none.";
            "sol_try_find_program_address", Always, "1500 + 1500 per failed bump" => CREATE_PROGRAM_ADDRESS,
                pda::try_find(seeds, count, program, out, bump_out),
                "Derives a program address from seeds and the greatest bump for which there is one.";

            "sol_get_clock_sysvar", Always, "140" => sysvar::price(&ids::clock::ID),
                sysvar::clock(out),
                "Writes the clock.";
            "sol_get_epoch_schedule_sysvar", Always, "140" => sysvar::price(&ids::epoch_schedule::ID),
                sysvar::epoch_schedule(out),
                "Writes the epoch schedule.";
            "sol_get_rent_sysvar", Always, "124" => sysvar::price(&ids::rent::ID),
                sysvar::rent(out),
                "Writes the rent.";
            "sol_get_epoch_rewards_sysvar", Always, "196" => sysvar::price(&ids::epoch_rewards::ID),
                sysvar::epoch_rewards(out),
                "Writes the epoch rewards.";
            "sol_get_fees_sysvar", Without(Feature::DisableFeesSysvar), "108" => sysvar::FEES_PRICE,
                sysvar::fees(out),
                "Writes the fees, which no cluster has any more: it fails.";
            "sol_get_last_restart_slot", Feature(Feature::LastRestartSlot), "108" => sysvar::price(&ids::last_restart_slot::ID),
                sysvar::last_restart_slot(out),
                "Writes the slot of the cluster's last restart.";
            "sol_get_sysvar", Feature(Feature::GetSysvar), "100 + max(10, len / 250)" => SYSCALL_BASE.saturating_add(cost::mem_op(len)),
                sysvar::get(id, out, offset, len),
                "Writes a part of a sysvar; r0 is 1 if it is not that long, 2 if there is no such sysvar.";
            "sol_get_epoch_stake", Feature(Feature::GetEpochStake), "110; 100 for address 0" => sysvar::epoch_stake_price(vote_account),
                sysvar::epoch_stake(vote_account),
                "Returns the stake of a vote account, or for address 0 of the whole cluster.";

            "sol_set_return_data", Always, "100 + len / 250" => SYSCALL_BASE.saturating_add(len / cost::BYTES_PER_UNIT),
                return_data::set(addr, len),
                "Sets what the program returns: 1024 bytes at most.";
            "sol_get_return_data", Always, "100 + (min(len, length of data) + 32) / 250 if that is not 0" => SYSCALL_BASE,
                return_data::get(out, len, program_out),
                "Writes what the last program returned, and returns its full length.";

            "sol_get_stack_height", Always, "100" => SYSCALL_BASE,
                misc::stack_height(),
                "Returns how deep the instruction is nested: 1 for the outermost.";
            "sol_get_processed_sibling_instruction", Always, "100" => SYSCALL_BASE,
                misc::sibling(index, meta, program_out, data_out, accounts_out),
                "Writes an instruction that was processed before; returns whether there is one.";
            "sol_remaining_compute_units", Feature(Feature::RemainingComputeUnits), "100" => SYSCALL_BASE,
                misc::remaining_compute_units(),
                "Returns the compute units that are left.";
            "sol_invoke_signed_rust", Always, "946 + (len + 34 per account) / 250 + (80 per info) / 250 + data of accounts / 250" => cost::INVOKE,
                cpi::invoke_rust(instruction, infos, infos_count, seeds, seeds_count),
                "Calls another program, in the layout of the Rust SDK.";
            "sol_invoke_signed_c", Always, "946 + (len + 34 per account) / 250 + (80 per info) / 250 + data of accounts / 250" => cost::INVOKE,
                cpi::invoke_c(instruction, infos, infos_count, seeds, seeds_count),
                "Calls another program, in the layout of the C SDK.";
            "sol_alloc_free_", ExecutionOnly, "0" => 0,
                misc::alloc_free(size, addr),
                "Allocates heap, from the bottom up; frees nothing. Not allowed in new programs.";
        }
    };
}

/// When a syscall is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// At all times.
    Always,
    /// Where the feature is switched on.
    Feature(Feature),
    /// Where the feature is switched off.
    Without(Feature),
    /// For programs that are deployed already.
    ExecutionOnly,
}

/// A syscall: its row.
pub struct Syscall {
    /// The name that programs call it by.
    pub name: &'static str,
    /// When it is there.
    pub gate: Gate,
    /// What it costs, for people.
    pub price: &'static str,
    /// Its arguments, r1 first.
    pub arguments: &'static [&'static str],
    /// What it does, in a sentence.
    pub what: &'static str,
    pub(crate) run: fn(&mut Call<'_, '_, '_>, [u64; 5]) -> Result<u64, Error>,
}

macro_rules! rows {
    ($call:ident; $($name:literal, $gate:ident $(($feature:expr))?, $price:literal => $charge:expr,
        $family:ident::$handler:ident($($argument:ident),*), $what:literal;)*) => {
        /// Every syscall that the runtime has.
        pub static SYSCALLS: &[Syscall] = &[$(Syscall {
            name: $name,
            gate: Gate::$gate $(($feature))?,
            price: $price,
            arguments: &[$(stringify!($argument)),*],
            what: $what,
            run: |$call, arguments| {
                let [$($argument,)* ..] = arguments;
                let units = $charge;
                $call.charge(units)?;
                $family::$handler($call $(, $argument)*)
            },
        }),*];
    };
}

for_each_syscall!(rows);

impl Syscall {
    /// The syscall of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SYSCALLS.iter().find(|syscall| syscall.name == name)
    }

    /// Whether programs that are loaded for `purpose` can call it.
    #[must_use]
    pub fn is_registered(&self, features: FeatureSet, purpose: Purpose) -> bool {
        match self.gate {
            Gate::Always => true,
            Gate::Feature(feature) => features.has(feature),
            Gate::Without(feature) => !features.has(feature),
            Gate::ExecutionOnly => {
                purpose == Purpose::Execution || !features.has(Feature::DisableDeployOfAllocFree)
            }
        }
    }
}

impl core::fmt::Debug for Syscall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// Syscalls that mainnet has and this runtime has not.
pub const UNSUPPORTED: &[&str] = &[];

/// What is known of a call that reached no syscall: a sentence for whoever wonders.
#[must_use]
pub fn explain_unknown(key: u32) -> Option<String> {
    let named = |name: &&str| selkie_isa::symbol::murmur3(name.as_bytes()) == key;
    if let Some(syscall) = SYSCALLS.iter().find(|syscall| named(&syscall.name)) {
        let name = syscall.name;
        return Some(match syscall.gate {
            Gate::Feature(feature) => format!(
                "syscall `{name}` is not there: feature {} is switched off",
                feature.address()
            ),
            Gate::Without(feature) => format!(
                "syscall `{name}` is not there: feature {} is switched on",
                feature.address()
            ),
            Gate::Always | Gate::ExecutionOnly => {
                format!("syscall `{name}` is not part of the environment of this program")
            }
        });
    }
    let name = UNSUPPORTED.iter().find(|name| named(name))?;
    Some(format!("syscall `{name}` is not supported yet by Selkie"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for syscall in SYSCALLS {
            assert!(core::ptr::eq(Syscall::find(syscall.name).unwrap(), syscall));
            assert!(!UNSUPPORTED.contains(&syscall.name));
            assert!(syscall.arguments.len() <= 5);
        }
    }

    #[test]
    fn gates() {
        let is_registered =
            |name, features, purpose| Syscall::find(name).unwrap().is_registered(features, purpose);
        let mainnet = FeatureSet::mainnet();
        assert!(is_registered("sol_log_", FeatureSet::none(), Purpose::Deployment));
        assert!(is_registered("sol_get_sysvar", mainnet, Purpose::Deployment));
        assert!(!is_registered("sol_blake3", mainnet, Purpose::Execution));
        assert!(is_registered("sol_blake3", FeatureSet::all(), Purpose::Execution));
        assert!(is_registered("sol_alloc_free_", mainnet, Purpose::Execution));
        assert!(!is_registered("sol_alloc_free_", mainnet, Purpose::Deployment));
        assert!(is_registered("sol_alloc_free_", FeatureSet::none(), Purpose::Deployment));
    }

    #[test]
    fn unknown_calls_are_explained() {
        let explain = |name: &str| explain_unknown(selkie_isa::symbol::murmur3(name.as_bytes()));
        assert_eq!(explain("sol_nonsense"), None);
        let text = explain("sol_get_fees_sysvar").unwrap();
        assert!(text.ends_with("JAN1trEUEtZjgXYzNBYHU9DYd7GnThhXfFP7SzPXkPsG is switched on"));
        let text = explain("sol_alloc_free_").unwrap();
        assert!(text.ends_with("is not part of the environment of this program"), "{text}");
        assert!(
            explain("sol_blake3").unwrap().contains("HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3")
        );
    }
}
