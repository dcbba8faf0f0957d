//! What Selkie has: its tables, and for those that chores do not depend on, their sources.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use selkie_isa::layout::CALL_DEPTH_MAX;
use selkie_protocol::{cost, features::Feature, syscalls::SYSCALLS};

use super::{
    Fact,
    read::{constants, strings},
};

/// Selkie's side of a comparison.
pub(super) struct Ours {
    /// Names and addresses.
    pub(super) gates: Vec<(String, String)>,
    /// By agave's names: those of constants, and `Struct::field` of defaults.
    pub(super) constants: Vec<(String, u64)>,
    /// Kind, name and number of what is only there or not; the number may be empty.
    pub(super) names: Vec<(&'static str, String, String)>,
}

impl Ours {
    /// Reads the tables, and the sources in `root`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text =
            |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
        let gates = Feature::ALL.iter().map(|it| (format!("{it:?}"), it.address().to_string()));
        let mut constants: Vec<(String, u64)> =
            CONSTANTS.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        constants.extend(COSTS.iter().map(|(field, value)| (format!("{COST}{field}"), *value)));
        constants.extend(node_costs(&text("crates/node/src/cost.rs")?)?);
        let mut names: Vec<_> =
            SYSCALLS.iter().map(|it| ("syscall", it.name.to_owned(), String::new())).collect();
        names.extend(methods(&text("crates/rpc/src/methods/table.rs")?));
        names.extend(errors(&text("crates/rpc/src/error.rs")?));
        names.extend(error_variants(&text("crates/svm/src/chain/error.rs")?));
        for (name, path, ours) in INSTRUCTIONS {
            names.extend(instructions(name, ours, &text(path)?));
        }
        Ok(Self { gates: gates.collect(), constants, names })
    }

    /// Returns what Selkie has in place of a fact, or `None` if it has the same.
    #[allow(
        clippy::option_option,
        reason = "no difference, and nothing in its place, are not the same"
    )]
    pub(super) fn differs(&self, fact: &Fact) -> Option<Option<String>> {
        match fact.kind {
            "gate" => (!self.gates.iter().any(|(_, it)| *it == fact.value)).then_some(None),
            "constant" | "cost" => {
                let ours = self.constants.iter().find(|(name, _)| *name == fact.name);
                let Some((_, ours)) = ours else { return Some(None) };
                let ours = ours.to_string();
                (ours != fact.value).then_some(Some(ours))
            }
            // Agave's names of errors and instructions are not Selkie's; their numbers are.
            "variant" if INSTRUCTIONS.iter().any(|(name, ..)| is_of(name, fact)) => {
                let has = self.names.iter().any(|(kind, name, number)| {
                    *kind == fact.kind && is_of(name, fact) && *number == fact.value
                });
                (!has).then_some(None)
            }
            "error" => {
                let has = self.names.iter().any(|it| it.0 == "error" && it.2 == fact.value);
                (!has).then_some(None)
            }
            kind => {
                let ours = self.names.iter().find(|it| it.0 == kind && it.1 == fact.name);
                let Some((_, _, number)) = ours else { return Some(None) };
                (!number.is_empty() && *number != fact.value).then(|| Some(number.clone()))
            }
        }
    }
}

/// Agave's enums of instructions, and the file and name of the table that has theirs by number.
const INSTRUCTIONS: [(&str, &str, &str); 3] = [
    ("SystemInstruction", "crates/layout/src/system.rs", "SystemInstruction"),
    ("VoteInstruction", "crates/layout/src/vote.rs", "VoteInstruction"),
    ("UpgradeableLoaderInstruction", "crates/layout/src/loader.rs", "LoaderInstruction"),
];

/// Whether a fact is a variant of this enum.
fn is_of(name: &str, fact: &Fact) -> bool {
    fact.name.split_once("::").is_some_and(|(of, _)| of == name)
}

/// The numbers of a table of instructions, `ours`, as those of agave's enum.
fn instructions(agave: &str, ours: &str, text: &str) -> Vec<(&'static str, String, String)> {
    let table = text.split_once(&format!("> {ours}<")).map_or("", |(_, table)| table);
    let rows = table.lines().take_while(|line| *line != "    }");
    let numbers = rows.filter_map(|row| row.split_once(" => "));
    let numbers = numbers.filter_map(|(number, _)| number.trim().parse::<u32>().ok());
    numbers.map(|number| ("variant", agave.to_owned(), number.to_string())).collect()
}

/// Constants of the cost model, by agave's name and that of `crates/node/src/cost.rs`.
const NODE_COSTS: [(&str, &str); 3] = [
    ("SIGNATURE_COST", "SIGNATURE"),
    ("WRITE_LOCK_UNITS", "WRITE_LOCK"),
    ("INSTRUCTION_DATA_BYTES_COST", "DATA_BYTES_PER_UNIT"),
];

fn node_costs(text: &str) -> Result<Vec<(String, u64)>> {
    let found = constants(text);
    let value = |(agave, ours): (&str, &str)| {
        let it = found.iter().find(|it| it.name == ours);
        let value = it.and_then(|it| it.value.parse().ok());
        let value =
            value.with_context(|| format!("crates/node/src/cost.rs has no number {ours}"))?;
        Ok((agave.to_owned(), value))
    };
    NODE_COSTS.into_iter().map(value).collect()
}

/// Methods and subscriptions of the table of RPC.
fn methods(text: &str) -> Vec<(&'static str, String, String)> {
    let (served, _) = text.split_once("pub const UNSUPPORTED").unwrap_or((text, ""));
    let (methods, subscriptions) =
        served.split_once("pub const SUBSCRIPTIONS").unwrap_or((served, ""));
    let is_name = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric());
    let mut names: Vec<String> = strings(methods, is_name).into_iter().map(|it| it.name).collect();
    for it in strings(subscriptions, is_name) {
        names.extend(["Subscribe", "Unsubscribe"].map(|end| it.name.clone() + end));
    }
    names.into_iter().map(|name| ("method", name, String::new())).collect()
}

/// The numbers of the rows of RPC errors.
fn errors(text: &str) -> Vec<(&'static str, String, String)> {
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix("row(-"));
    let rows = rows.filter_map(|row| row.split_once(", \""));
    let error = |(number, rest): (&str, &str)| {
        let name = rest.split('"').next().unwrap_or_default();
        ("error", name.to_owned(), format!("-{number}"))
    };
    rows.map(error).collect()
}

/// The variants of both errors, with their indices, from the lists of `crates/svm/src/chain/error.rs`.
fn error_variants(text: &str) -> Vec<(&'static str, String, String)> {
    let lines = |from: &str, to: &str| {
        let list = text.split_once(from).and_then(|(_, rest)| rest.split_once(to));
        list.map_or("", |(list, _)| list).lines().map(str::trim)
    };
    let instruction = lines("const INSTRUCTION_ERRORS", "];")
        .filter_map(|it| it.strip_prefix("E::"))
        .map(|it| ("InstructionError", it.split(['(', '{', ',', ' ']).next().unwrap_or_default()));
    let transaction = lines("const TRANSACTION_ERRORS", "];")
        .filter_map(|it| it.strip_prefix('"'))
        .map(|it| ("TransactionError", it.trim_end_matches(['"', ','])));
    let numbered = instruction.enumerate().chain(transaction.enumerate());
    numbered
        .map(|(index, (name, it))| ("variant", format!("{name}::{it}"), index.to_string()))
        .collect()
}

const COST: &str = "SVMTransactionExecutionCost::";

/// Agave's constants by name, and Selkie's values.
#[rustfmt::skip]
const CONSTANTS: &[(&str, u64)] = &[
    ("MAX_INSTRUCTION_STACK_DEPTH", cost::INSTRUCTION_DEPTH_MAX as u64),
    ("MAX_INSTRUCTION_STACK_DEPTH_SIMD_0268", cost::INSTRUCTION_DEPTH_MAX_RAISED as u64),
    ("DEFAULT_INVOCATION_COST", cost::INVOKE),
    ("MAX_CALL_DEPTH", CALL_DEPTH_MAX as u64),
    ("MAX_COMPUTE_UNIT_LIMIT", cost::TRANSACTION_COMPUTE_UNITS_MAX),
    ("DEFAULT_HEAP_COST", cost::HEAP_STEP),
    ("DEFAULT_INSTRUCTION_COMPUTE_UNIT_LIMIT", cost::INSTRUCTION_COMPUTE_UNITS_DEFAULT),
    ("MAX_BUILTIN_ALLOCATION_COMPUTE_UNIT_LIMIT", cost::BUILTIN_COMPUTE_UNITS_DEFAULT),
    ("MAX_HEAP_FRAME_BYTES", cost::HEAP_BYTES_MAX as u64),
    ("MAX_LOADED_ACCOUNTS_DATA_SIZE_BYTES", cost::LOADED_BYTES_MAX as u64),
    ("MAX_SIGNERS", cost::CALL_SIGNERS_MAX as u64),
    ("MAX_CPI_ACCOUNT_INFOS", cost::CALL_ACCOUNT_INFOS_MAX),
    ("MAX_ACCOUNTS_PER_INSTRUCTION", cost::INSTRUCTION_ACCOUNTS_MAX as u64),
    ("MAX_INSTRUCTION_DATA_LEN", cost::CALL_DATA_BYTES_MAX),
    ("MAX_ACCOUNT_DATA_LEN", cost::ACCOUNT_BYTES_MAX as u64),
    ("MAX_ACCOUNT_DATA_GROWTH_PER_TRANSACTION", cost::TRANSACTION_GROWTH_MAX as u64),
    ("MAX_ACCOUNT_DATA_GROWTH_PER_INSTRUCTION", cost::ACCOUNT_GROWTH_MAX as u64),
    ("MAX_INSTRUCTION_TRACE_LENGTH", cost::INSTRUCTION_TRACE_MAX as u64),
];

const ALT_BN128_PAIRS: cost::Series = match cost::ALT_BN128_PAIRING.series {
    Some(series) => series,
    None => panic!("a pairing costs by pairs"),
};

/// Agave's costs of syscalls by field, and Selkie's values.
#[rustfmt::skip]
const COSTS: &[(&str, u64)] = &[
    ("log_64_units", cost::LOG_64),
    ("create_program_address_units", cost::CREATE_PROGRAM_ADDRESS),
    ("invoke_units", cost::INVOKE),
    ("sha256_base_cost", cost::HASH_BASE),
    ("log_pubkey_units", cost::LOG_PUBKEY),
    ("cpi_bytes_per_unit", cost::BYTES_PER_COMPUTE_UNIT),
    ("sysvar_base_cost", cost::SYSVAR_BASE),
    ("secp256k1_recover_cost", cost::SECP256K1_RECOVER),
    ("syscall_base_cost", cost::SYSCALL_BASE),
    ("curve25519_edwards_validate_point_cost", cost::EDWARDS.validate),
    ("curve25519_edwards_add_cost", cost::EDWARDS.add),
    ("curve25519_edwards_subtract_cost", cost::EDWARDS.subtract),
    ("curve25519_edwards_multiply_cost", cost::EDWARDS.multiply),
    ("curve25519_edwards_msm_base_cost", cost::EDWARDS_MULTISCALAR.first),
    ("curve25519_edwards_msm_incremental_cost", cost::EDWARDS_MULTISCALAR.each),
    ("curve25519_ristretto_validate_point_cost", cost::RISTRETTO.validate),
    ("curve25519_ristretto_add_cost", cost::RISTRETTO.add),
    ("curve25519_ristretto_subtract_cost", cost::RISTRETTO.subtract),
    ("curve25519_ristretto_multiply_cost", cost::RISTRETTO.multiply),
    ("curve25519_ristretto_msm_base_cost", cost::RISTRETTO_MULTISCALAR.first),
    ("curve25519_ristretto_msm_incremental_cost", cost::RISTRETTO_MULTISCALAR.each),
    ("heap_cost", cost::HEAP_STEP),
    ("mem_op_base_cost", cost::MEM_OP_BASE),
    ("alt_bn128_g1_addition_cost", cost::ALT_BN128_G1_ADD),
    ("alt_bn128_g2_addition_cost", cost::ALT_BN128_G2_ADD),
    ("alt_bn128_g1_multiplication_cost", cost::ALT_BN128_G1_MULTIPLY),
    ("alt_bn128_g2_multiplication_cost", cost::ALT_BN128_G2_MULTIPLY),
    ("alt_bn128_pairing_one_pair_cost_first", ALT_BN128_PAIRS.first),
    ("alt_bn128_pairing_one_pair_cost_other", ALT_BN128_PAIRS.each),
    ("big_modular_exponentiation_base_cost", cost::BIG_MOD_EXP_BASE),
    ("big_modular_exponentiation_cost_divisor", cost::BIG_MOD_EXP_DIVISOR),
    ("poseidon_cost_coefficient_a", cost::POSEIDON_FACTOR),
    ("poseidon_cost_coefficient_c", cost::POSEIDON_BASE),
    ("alt_bn128_g1_compress", cost::ALT_BN128_G1_COMPRESS - cost::SYSCALL_BASE),
    ("alt_bn128_g1_decompress", cost::ALT_BN128_G1_DECOMPRESS - cost::SYSCALL_BASE),
    ("alt_bn128_g2_compress", cost::ALT_BN128_G2_COMPRESS - cost::SYSCALL_BASE),
    ("alt_bn128_g2_decompress", cost::ALT_BN128_G2_DECOMPRESS - cost::SYSCALL_BASE),
    ("bls12_381_g1_add_cost", cost::BLS12_381_G1.add),
    ("bls12_381_g2_add_cost", cost::BLS12_381_G2.add),
    ("bls12_381_g1_subtract_cost", cost::BLS12_381_G1.subtract),
    ("bls12_381_g2_subtract_cost", cost::BLS12_381_G2.subtract),
    ("bls12_381_g1_multiply_cost", cost::BLS12_381_G1.multiply),
    ("bls12_381_g2_multiply_cost", cost::BLS12_381_G2.multiply),
    ("bls12_381_g1_decompress_cost", cost::BLS12_381_G1_DECOMPRESS),
    ("bls12_381_g2_decompress_cost", cost::BLS12_381_G2_DECOMPRESS),
    ("bls12_381_g1_validate_cost", cost::BLS12_381_G1.validate),
    ("bls12_381_g2_validate_cost", cost::BLS12_381_G2.validate),
    ("bls12_381_one_pair_cost", cost::BLS12_381_PAIRING.first),
    ("bls12_381_additional_pair_cost", cost::BLS12_381_PAIRING.each),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    #[test]
    fn every_table_of_selkie_has_rows() {
        let ours = Ours::read(repository()).unwrap();
        let has = |kind, name: &str, number: &str| {
            ours.names.iter().any(|it| it.0 == kind && it.1 == name && it.2 == number)
        };
        assert!(has("syscall", "sol_log_", ""));
        assert!(has("method", "getBalance", "") && has("method", "slotUnsubscribe", ""));
        assert!(!has("method", "voteSubscribe", ""), "it is listed as not served");
        assert!(has("error", "SlotSkipped", "-32007"));
        assert!(has("variant", "InstructionError::Custom", "25"));
        assert!(has("variant", "TransactionError::BlockhashNotFound", "7"));
        assert!(has("variant", "SystemInstruction", "2"));
        assert!(has("variant", "VoteInstruction", "19"));
        assert!(has("variant", "UpgradeableLoaderInstruction", "7"));
        assert!(!has("variant", "UpgradeableLoaderInstruction", "8"));
        assert!(ours.constants.contains(&("SIGNATURE_COST".to_owned(), 720)));
        assert!(ours.gates.iter().any(|(name, _)| name == "GetSysvar"));
    }
}
