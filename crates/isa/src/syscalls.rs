//! The syscall table: the name, arguments and summary of every syscall, one row each.
//!
//! A program calls a syscall by name until it is linked or loaded, and by the Murmur3 hash of the
//! name after that. The assembler resolves and suggests names by this table. The runtime's own
//! table adds what depends on the runtime: costs, features and handlers.

use core::cmp::Ordering;

use crate::symbol::murmur3;

/// A syscall: a row of [`SYSCALLS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Syscall {
    /// The name that programs call it by.
    pub name: &'static str,
    /// The Murmur3 hash of the name, which is the immediate of a call of the syscall.
    pub hash: u32,
    /// The names of the arguments, r1 first; at most 5.
    pub arguments: &'static [&'static str],
    /// What it does, in one sentence.
    pub summary: &'static str,
}

macro_rules! table {
    ($($name:ident($($argument:ident),*), $summary:literal;)*) => {
        /// Every syscall of the runtime, active or not, sorted by name.
        pub static SYSCALLS: &[Syscall] = &[$(Syscall {
            name: stringify!($name),
            hash: murmur3(stringify!($name).as_bytes()),
            arguments: &[$(stringify!($argument)),*],
            summary: $summary,
        }),*];
    };
}

table! {
    abort(),
        "Ends the program with an error.";
    sol_alloc_free_(size, addr),
        "Allocates heap memory from the bottom up; frees nothing. New programs cannot call it.";
    sol_alt_bn128_compression(operation, input, len, out),
        "Compresses (0) or decompresses (1) a point of alt_bn128 in G1, or in G2 (2, 3); r0 is 1 if the input is invalid.";
    sol_alt_bn128_group_op(operation, input, len, out),
        "Adds (0) or multiplies (2) on alt_bn128, computes pairings (3), adds (4) or multiplies (6) in G2; r0 is 1 if the input is invalid.";
    sol_big_mod_exp(params, out),
        "Raises a number to a power modulo another; all are little-endian, of at most 512 bytes.";
    sol_blake3(slices, count, out),
        "Hashes slices of bytes with BLAKE3.";
    sol_create_program_address(seeds, count, program, out),
        "Derives a program address from seeds; r0 is 1 if the result is not a valid address.";
    sol_curve_decompress(curve, point, out),
        "Decompresses a point of BLS12-381; r0 is 1 if it is invalid.";
    sol_curve_group_op(curve, operation, left, right, out),
        "Adds (0) or subtracts (1) two points, or multiplies (2) a scalar and a point; r0 is 1 if one of them is invalid.";
    sol_curve_multiscalar_mul(curve, scalars, points, count, out),
        "Sums at most 512 points, each multiplied by a scalar; r0 is 1 if a point or scalar is invalid.";
    sol_curve_pairing_map(curve, count, g1, g2, out),
        "Writes the product of at most 8 pairings on BLS12-381; r0 is 1 if a point is invalid.";
    sol_curve_validate_point(curve, point),
        "Checks whether a point is on a curve; r0 is 1 if it is not.";
    sol_get_clock_sysvar(out),
        "Writes the Clock sysvar.";
    sol_get_epoch_rewards_sysvar(out),
        "Writes the EpochRewards sysvar.";
    sol_get_epoch_schedule_sysvar(out),
        "Writes the EpochSchedule sysvar.";
    sol_get_epoch_stake(vote_account),
        "Returns the stake of a vote account, or of the whole cluster if the address is 0.";
    sol_get_fees_sysvar(out),
        "Fails: no cluster has the Fees sysvar any more.";
    sol_get_last_restart_slot(out),
        "Writes the slot of the cluster's last restart.";
    sol_get_processed_sibling_instruction(index, meta, program_out, data_out, accounts_out),
        "Writes a sibling instruction that was processed earlier; returns whether there is one.";
    sol_get_rent_sysvar(out),
        "Writes the Rent sysvar.";
    sol_get_return_data(out, len, program_out),
        "Writes the return data of the last program that set any, and returns its full length.";
    sol_get_stack_height(),
        "Returns the stack height: 1 in a top-level instruction.";
    sol_get_sysvar(id, out, offset, len),
        "Writes part of a sysvar; r0 is 1 if the sysvar ends before it, 2 if there is no such sysvar.";
    sol_invoke_signed_c(instruction, infos, infos_count, seeds, seeds_count),
        "Invokes another program; the arguments have the layout of the C SDK.";
    sol_invoke_signed_rust(instruction, infos, infos_count, seeds, seeds_count),
        "Invokes another program; the arguments have the layout of the Rust SDK.";
    sol_keccak256(slices, count, out),
        "Hashes slices of bytes with Keccak-256.";
    sol_log_(addr, len),
        "Logs a message, which must be UTF-8.";
    sol_log_64_(a, b, c, d, e),
        "Logs five numbers in hexadecimal.";
    sol_log_compute_units_(),
        "Logs the remaining compute units.";
    sol_log_data(slices, count),
        "Logs slices of bytes in base64.";
    sol_log_pubkey(addr),
        "Logs a public key in base58.";
    sol_memcmp_(left, right, len, out),
        "Writes the difference of the first two bytes that differ, or 0, as an i32.";
    sol_memcpy_(dst, src, len),
        "Copies bytes; source and destination must not overlap.";
    sol_memmove_(dst, src, len),
        "Copies bytes; source and destination may overlap.";
    sol_memset_(dst, byte, len),
        "Fills memory with a byte.";
    sol_panic_(file, len, line, column),
        "Ends the program with an error that names a source location.";
    sol_poseidon(parameters, endianness, slices, count, out),
        "Hashes at most 12 field elements of 32 bytes with Poseidon over BN254; r0 is 1 if one is invalid.";
    sol_remaining_compute_units(),
        "Returns the remaining compute units.";
    sol_secp256k1_recover(hash, recovery_id, signature, out),
        "Recovers the public key that signed a hash; r0 is 2 if the recovery id is invalid, 3 if the signature is.";
    sol_set_return_data(addr, len),
        "Sets the return data of the program, at most 1024 bytes.";
    sol_sha256(slices, count, out),
        "Hashes slices of bytes with SHA-256.";
    sol_sha512(slices, count, out),
        "Hashes slices of bytes with SHA-512.";
    sol_try_find_program_address(seeds, count, program, out, bump_out),
        "Derives a program address from seeds and the largest bump that makes it valid.";
}

const _: () = {
    let mut index = 0;
    while index < SYSCALLS.len() {
        let Syscall { name, hash, arguments, .. } = SYSCALLS[index];
        assert!(arguments.len() <= 5, "syscalls take at most five arguments");
        if index > 0 {
            let order = compare(SYSCALLS[index - 1].name, name);
            assert!(matches!(order, Ordering::Less), "the rows must be sorted by name");
        }
        let mut other = 0;
        while other < index {
            assert!(SYSCALLS[other].hash != hash, "two syscalls have the same hash");
            other += 1;
        }
        index += 1;
    }
};

/// Returns the row of the syscall `name`.
///
/// ```
/// use selkie_isa::syscalls;
/// // A row that is known to exist is found at compile time.
/// const LOG: &syscalls::Syscall = syscalls::find("sol_log_").expect("the table has this row");
/// assert_eq!(LOG.hash, 0x2075_59bd);
/// assert_eq!(LOG.arguments, ["addr", "len"]);
/// assert_eq!(syscalls::find("sol_log"), None);
/// ```
#[must_use]
pub const fn find(name: &str) -> Option<&'static Syscall> {
    let (mut start, mut end) = (0, SYSCALLS.len());
    while start < end {
        let middle = usize::midpoint(start, end);
        match compare(SYSCALLS[middle].name, name) {
            Ordering::Less => start = middle + 1,
            Ordering::Equal => return Some(&SYSCALLS[middle]),
            Ordering::Greater => end = middle,
        }
    }
    None
}

/// Returns the row of the syscall whose name hashes to `hash`.
///
/// ```
/// use selkie_isa::syscalls;
/// assert_eq!(syscalls::find_hash(0x2075_59bd), syscalls::find("sol_log_"));
/// ```
#[must_use]
pub const fn find_hash(hash: u32) -> Option<&'static Syscall> {
    let mut index = 0;
    while index < SYSCALLS.len() {
        if SYSCALLS[index].hash == hash {
            return Some(&SYSCALLS[index]);
        }
        index += 1;
    }
    None
}

/// Returns the names of all syscalls, sorted.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    SYSCALLS.iter().map(|syscall| syscall.name)
}

impl Syscall {
    /// Whether the arguments have these names, in this order: for tables that repeat them, to
    /// assert at compile time that they agree with the row.
    ///
    /// ```
    /// const LOG: &selkie_isa::syscalls::Syscall = selkie_isa::syscalls::find("sol_log_").unwrap();
    /// const _: () = assert!(LOG.has_arguments(&["addr", "len"]));
    /// ```
    #[must_use]
    pub const fn has_arguments(&self, names: &[&str]) -> bool {
        if names.len() != self.arguments.len() {
            return false;
        }
        let mut index = 0;
        while index < names.len() {
            if !matches!(compare(self.arguments[index], names[index]), Ordering::Equal) {
                return false;
            }
            index += 1;
        }
        true
    }
}

/// Compares as `Ord::cmp` does, which cannot be called at compile time.
const fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut index = 0;
    while index < left.len() && index < right.len() {
        if left[index] != right[index] {
            return if left[index] < right[index] { Ordering::Less } else { Ordering::Greater };
        }
        index += 1;
    }
    if left.len() == right.len() {
        Ordering::Equal
    } else if left.len() < right.len() {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_by_its_hash() {
        for syscall in SYSCALLS {
            assert!(core::ptr::eq(find(syscall.name).unwrap(), syscall));
            assert!(core::ptr::eq(find_hash(murmur3(syscall.name.as_bytes())).unwrap(), syscall));
        }
    }

    #[test]
    fn names_that_differ_by_one_character_are_not_found() {
        for Syscall { name, .. } in SYSCALLS {
            assert_eq!(find(&format!("{name}x")), None);
            assert_eq!(find(&name[..name.len() - 1]), None);
        }
        assert_eq!(find(""), None);
    }

    #[test]
    fn summaries_are_sentences() {
        for Syscall { name, summary, .. } in SYSCALLS {
            assert!(summary.ends_with('.') && summary.starts_with(char::is_uppercase), "{name}");
        }
    }
}
