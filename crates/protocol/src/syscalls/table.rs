//! The rows of the syscall table, sorted by name.

use selkie_isa::symbol::murmur3;

use super::{Gate, Syscall};
use crate::{
    cost::{
        self, Amount, BLS12_381_G1, BLS12_381_G2, Case, Cost, EDWARDS, Part, RISTRETTO, Rate,
        SYSCALL_BASE,
    },
    features::Feature,
};

macro_rules! table {
    ($($name:ident($($argument:ident),*), $gate:ident $(($feature:ident))?, $cost:expr,
        $summary:literal;)*) => {
        /// Every syscall, active or not, sorted by name.
        pub static SYSCALLS: &[Syscall] = &indexed([$(Syscall {
            index: 0,
            name: stringify!($name),
            hash: murmur3(stringify!($name).as_bytes()),
            arguments: &[$(stringify!($argument)),*],
            gate: Gate::$gate $((Feature::$feature))?,
            cost: $cost,
            summary: $summary,
        }),*]);
    };
}

/// Gives each row its index.
const fn indexed<const N: usize>(mut rows: [Syscall; N]) -> [Syscall; N] {
    let mut index = 0;
    while index < N {
        rows[index].index = index;
        index = index.saturating_add(1);
    }
    rows
}

/// A cost that is the same for every call, charged on entry.
const fn fixed(compute_units: u64) -> Cost {
    Cost::on_entry(Amount::fixed(compute_units))
}

/// The cost of the getter of a sysvar whose C struct has `bytes` bytes.
const fn sysvar(bytes: u64) -> Cost {
    fixed(cost::SYSVAR_BASE.saturating_add(bytes))
}

const fn case(group: &'static str, name: &'static str, compute_units: u64) -> Case {
    Case { group, name, amount: Amount::fixed(compute_units) }
}

const fn plain(name: &'static str, compute_units: u64) -> Case {
    case("", name, compute_units)
}

const MEM_OP: Cost = Cost::on_entry(Amount::rate(cost::MEM_OP));

const HASH: Cost = Cost::after_checks(&[
    Part::Once(Amount::fixed(cost::HASH_BASE)),
    Part::Each { of: "slice", amount: Amount::rate(cost::HASH_SLICE) },
]);

const INVOKE: Cost = fixed(cost::INVOKE).and(&[
    Part::Once(Amount::rate(cost::INVOKE_DATA)),
    Part::Once(Amount::rate(cost::INVOKE_ACCOUNT_METAS)),
    Part::Once(Amount::rate(cost::INVOKE_ACCOUNT_INFOS)),
    Part::Each { of: "account", amount: Amount::rate(cost::INVOKE_ACCOUNT_DATA) },
]);

table! {
    abort(), Always, Cost::FREE,
        "Ends the program with an error.";
    sol_alloc_free_(size, addr), ExecutionOnlyWith(DisableDeployOfAllocFree), Cost::FREE,
        "Allocates heap memory from the bottom up; frees nothing. New programs cannot call it.";
    sol_alt_bn128_compression(operation, input, len, out), Feature(AltBn128Compression),
        Cost::after_checks(&[Part::OneOf(&[
            case("G1", "compress", cost::ALT_BN128_G1_COMPRESS),
            case("G1", "decompress", cost::ALT_BN128_G1_DECOMPRESS),
            case("G2", "compress", cost::ALT_BN128_G2_COMPRESS),
            case("G2", "decompress", cost::ALT_BN128_G2_DECOMPRESS),
        ])]),
        "Compresses (0) or decompresses (1) a point of alt_bn128 in G1, or in G2 (2, 3); r0 is 1 if the input is invalid.";
    sol_alt_bn128_group_op(operation, input, len, out), Feature(AltBn128),
        Cost::after_checks(&[Part::OneOf(&[
            case("G1", "add", cost::ALT_BN128_G1_ADD),
            case("G1", "multiply", cost::ALT_BN128_G1_MULTIPLY),
            case("G2", "add", cost::ALT_BN128_G2_ADD),
            case("G2", "multiply", cost::ALT_BN128_G2_MULTIPLY),
            Case { group: "", name: "pairing", amount: cost::ALT_BN128_PAIRING },
        ])]),
        "Adds (0) or multiplies (2) on alt_bn128, computes pairings (3), adds (4) or multiplies (6) in G2; r0 is 1 if the input is invalid.";
    sol_big_mod_exp(params, out), Feature(BigModExp),
        fixed(cost::BIG_MOD_EXP_BASE).and(&[Part::Formula {
            text: "(multiplication * max({}, bits of the exponent)) / {}",
            numbers: &[cost::BIG_MOD_EXP_MULTIPLICATIONS_MIN, cost::BIG_MOD_EXP_DIVISOR],
            minimum: 0,
        }]),
        "Raises a number to a power modulo another; all are little-endian, of at most 512 bytes.";
    sol_blake3(slices, count, out), Feature(Blake3), HASH,
        "Hashes slices of bytes with BLAKE3.";
    sol_create_program_address(seeds, count, program, out), Always,
        fixed(cost::CREATE_PROGRAM_ADDRESS),
        "Derives a program address from seeds; r0 is 1 if the result is not a valid address.";
    sol_curve_decompress(curve, point, out), Feature(Bls12381),
        Cost::after_checks(&[Part::OneOf(&[
            plain("G1", cost::BLS12_381_G1_DECOMPRESS),
            plain("G2", cost::BLS12_381_G2_DECOMPRESS),
        ])]),
        "Decompresses a point of BLS12-381; r0 is 1 if it is invalid.";
    sol_curve_group_op(curve, operation, left, right, out), Feature(Curve25519),
        Cost::after_checks(&[Part::OneOf(&[
            case("Edwards", "add", EDWARDS.add),
            case("Edwards", "subtract", EDWARDS.subtract),
            case("Edwards", "multiply", EDWARDS.multiply),
            case("Ristretto", "add", RISTRETTO.add),
            case("Ristretto", "subtract", RISTRETTO.subtract),
            case("Ristretto", "multiply", RISTRETTO.multiply),
            case("BLS12-381 G1", "add", BLS12_381_G1.add),
            case("BLS12-381 G1", "subtract", BLS12_381_G1.subtract),
            case("BLS12-381 G1", "multiply", BLS12_381_G1.multiply),
            case("BLS12-381 G2", "add", BLS12_381_G2.add),
            case("BLS12-381 G2", "subtract", BLS12_381_G2.subtract),
            case("BLS12-381 G2", "multiply", BLS12_381_G2.multiply),
        ])]),
        "Adds (0) or subtracts (1) two points, or multiplies (2) a scalar and a point; r0 is 1 if one of them is invalid.";
    sol_curve_multiscalar_mul(curve, scalars, points, count, out), Feature(Curve25519),
        Cost::after_checks(&[Part::OneOf(&[
            Case {
                group: "",
                name: "Edwards",
                amount: Amount::series(cost::EDWARDS_MULTISCALAR),
            },
            Case {
                group: "",
                name: "Ristretto",
                amount: Amount::series(cost::RISTRETTO_MULTISCALAR),
            },
        ])]),
        "Sums at most 512 points, each multiplied by a scalar; r0 is 1 if a point or scalar is invalid.";
    sol_curve_pairing_map(curve, count, g1, g2, out), Feature(Bls12381),
        Cost::after_checks(&[Part::Once(Amount::series(cost::BLS12_381_PAIRING))]),
        "Writes the product of at most 8 pairings on BLS12-381; r0 is 1 if a point is invalid.";
    sol_curve_validate_point(curve, point), Feature(Curve25519),
        Cost::after_checks(&[Part::OneOf(&[
            plain("Edwards", EDWARDS.validate),
            plain("Ristretto", RISTRETTO.validate),
            plain("BLS12-381 G1", BLS12_381_G1.validate),
            plain("BLS12-381 G2", BLS12_381_G2.validate),
        ])]),
        "Checks whether a point is on a curve; r0 is 1 if it is not.";
    sol_get_clock_sysvar(out), Always, sysvar(40),
        "Writes the Clock sysvar.";
    sol_get_epoch_rewards_sysvar(out), Always, sysvar(96),
        "Writes the EpochRewards sysvar.";
    sol_get_epoch_schedule_sysvar(out), Always, sysvar(40),
        "Writes the EpochSchedule sysvar.";
    sol_get_epoch_stake(vote_account), Feature(GetEpochStake),
        Cost::after_checks(&[Part::OneOf(&[
            plain("cluster", cost::EPOCH_STAKE_CLUSTER),
            plain("vote account", cost::EPOCH_STAKE_VOTE_ACCOUNT),
        ])]),
        "Returns the stake of a vote account, or of the whole cluster if the address is 0.";
    sol_get_fees_sysvar(out), Without(DisableFeesSysvar), sysvar(8),
        "Fails: no cluster has the Fees sysvar any more.";
    sol_get_last_restart_slot(out), Feature(LastRestartSlot), sysvar(8),
        "Writes the slot of the cluster's last restart.";
    sol_get_processed_sibling_instruction(index, meta, program_out, data_out, accounts_out), Always,
        fixed(SYSCALL_BASE),
        "Writes a sibling instruction that was processed earlier; returns whether there is one.";
    sol_get_rent_sysvar(out), Always, sysvar(24),
        "Writes the Rent sysvar.";
    sol_get_return_data(out, len, program_out), Always,
        fixed(SYSCALL_BASE).and(&[Part::Formula {
            text: "(min(len, length of the data) + 32) / {} if there is data",
            numbers: &[cost::BYTES_PER_COMPUTE_UNIT],
            minimum: 0,
        }]),
        "Writes the return data of the last program that set any, and returns its full length.";
    sol_get_stack_height(), Always, fixed(SYSCALL_BASE),
        "Returns the stack height: 1 in a top-level instruction.";
    sol_get_sysvar(id, out, offset, len), Feature(GetSysvar),
        Cost::on_entry(Amount::fixed(SYSCALL_BASE).plus(cost::MEM_OP)),
        "Writes part of a sysvar; r0 is 1 if the sysvar ends before it, 2 if there is no such sysvar.";
    sol_invoke_signed_c(instruction, infos, infos_count, seeds, seeds_count), Always, INVOKE,
        "Invokes another program; the arguments have the layout of the C SDK.";
    sol_invoke_signed_rust(instruction, infos, infos_count, seeds, seeds_count), Always, INVOKE,
        "Invokes another program; the arguments have the layout of the Rust SDK.";
    sol_keccak256(slices, count, out), Always, HASH,
        "Hashes slices of bytes with Keccak-256.";
    sol_log_(addr, len), Always, Cost::on_entry(Amount::rate(cost::LOG)),
        "Logs a message, which must be UTF-8.";
    sol_log_64_(a, b, c, d, e), Always, fixed(cost::LOG_64),
        "Logs five numbers in hexadecimal.";
    sol_log_compute_units_(), Always, fixed(SYSCALL_BASE),
        "Logs the remaining compute units.";
    sol_log_data(slices, count), Always,
        fixed(SYSCALL_BASE).and(&[
            Part::Each { of: "slice", amount: Amount::fixed(cost::LOG_DATA_SLICE) },
            Part::Each { of: "byte", amount: Amount::fixed(cost::LOG_DATA_BYTE) },
        ]),
        "Logs slices of bytes in base64.";
    sol_log_pubkey(addr), Always, fixed(cost::LOG_PUBKEY),
        "Logs a public key in base58.";
    sol_memcmp_(left, right, len, out), Always, MEM_OP,
        "Writes the difference of the first two bytes that differ, or 0, as an i32.";
    sol_memcpy_(dst, src, len), Always, MEM_OP,
        "Copies bytes; source and destination must not overlap.";
    sol_memmove_(dst, src, len), Always, MEM_OP,
        "Copies bytes; source and destination may overlap.";
    sol_memset_(dst, byte, len), Always, MEM_OP,
        "Fills memory with a byte.";
    sol_panic_(file, len, line, column), Always, Cost::on_entry(Amount::rate(Rate::new("len", 1))),
        "Ends the program with an error that names a source location.";
    sol_poseidon(parameters, endianness, slices, count, out), Feature(Poseidon),
        Cost::after_checks(&[Part::Formula {
            text: "{} + {} * count * count",
            numbers: &[cost::POSEIDON_BASE, cost::POSEIDON_FACTOR],
            minimum: cost::POSEIDON_BASE,
        }]),
        "Hashes at most 12 field elements of 32 bytes with Poseidon over BN254; r0 is 1 if one is invalid.";
    sol_remaining_compute_units(), Feature(RemainingComputeUnits), fixed(SYSCALL_BASE),
        "Returns the remaining compute units.";
    sol_secp256k1_recover(hash, recovery_id, signature, out), Always,
        fixed(cost::SECP256K1_RECOVER),
        "Recovers the public key that signed a hash; r0 is 2 if the recovery id is invalid, 3 if the signature is.";
    sol_set_return_data(addr, len), Always,
        Cost::on_entry(Amount::fixed(SYSCALL_BASE).plus(Rate::new("len", cost::BYTES_PER_COMPUTE_UNIT))),
        "Sets the return data of the program, at most 1024 bytes.";
    sol_sha256(slices, count, out), Always, HASH,
        "Hashes slices of bytes with SHA-256.";
    sol_sha512(slices, count, out), Feature(Sha512), HASH,
        "Hashes slices of bytes with SHA-512.";
    sol_try_find_program_address(seeds, count, program, out, bump_out), Always,
        fixed(cost::CREATE_PROGRAM_ADDRESS).and(&[Part::Each {
            of: "failed bump",
            amount: Amount::fixed(cost::CREATE_PROGRAM_ADDRESS),
        }]),
        "Derives a program address from seeds and the largest bump that makes it valid.";
}
