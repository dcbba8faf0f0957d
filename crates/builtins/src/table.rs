//! The table of programs that every cluster has without a deployment: one row each.

use selkie_crypto::precompile::{PrecompileError, ed25519, secp256k1, secp256r1};
use selkie_svm::{
    Builtin, Builtins, Environment, Feature, FeatureSet, InstructionError, InvokeContext,
    Precompile, Precompiles, Pubkey, builtin::Verify,
};
use solana_sdk_ids::{
    address_lookup_table, bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable,
    compute_budget, config, ed25519_program, feature, loader_v4, secp256k1_program,
    secp256r1_program, stake, system_program, vote as vote_program, zk_elgamal_proof_program,
};

use crate::{loader, system, vote, zk};

/// The function of a builtin program: executes the current instruction of `InvokeContext`.
pub type Process = fn(&mut InvokeContext<'_>) -> Result<(), InstructionError>;

/// A program that every cluster has without a deployment.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeProgram {
    /// The program id.
    pub address: Pubkey,
    /// The name shown to users, in lower case.
    pub name: &'static str,
    /// The data of the program's account on mainnet: a name, or empty.
    pub account_data: &'static str,
    /// The feature that activates the program; `None` if it has been active since genesis.
    pub feature: Option<Feature>,
    /// How the program is executed.
    pub kind: ProgramKind,
    /// What the program is for: a phrase for the generated documentation.
    pub purpose: &'static str,
}

/// How a program of the table is executed.
#[derive(Clone, Copy, Debug)]
pub enum ProgramKind {
    /// By native code in the runtime.
    Builtin {
        /// The compute units that every instruction of the program costs; `None` if the cost
        /// depends on the instruction, which `process` then charges.
        compute_units: Option<u64>,
        /// The function that executes an instruction.
        process: Process,
    },
    /// By verifying its instructions before the transaction is executed; they cost no compute
    /// units.
    Precompile {
        /// The function that verifies an instruction.
        verify: Verify,
    },
    /// As an sBPF program of loader v3, to which mainnet has migrated it. Nothing is registered
    /// for it: its program account must be among the accounts.
    Migrated,
}

const fn row(
    address: Pubkey,
    name: &'static str,
    kind: ProgramKind,
    purpose: &'static str,
) -> RuntimeProgram {
    RuntimeProgram { address, name, account_data: "", feature: None, kind, purpose }
}

const fn builtin(compute_units: u64, process: Process) -> ProgramKind {
    ProgramKind::Builtin { compute_units: Some(compute_units), process }
}

const fn precompile(verify: Verify) -> ProgramKind {
    ProgramKind::Precompile { verify }
}

impl RuntimeProgram {
    const fn account_data(self, account_data: &'static str) -> Self {
        Self { account_data, ..self }
    }

    const fn with(self, feature: Feature) -> Self {
        Self { feature: Some(feature), ..self }
    }
}

/// The table of all builtin programs, precompiles and migrated builtins.
pub const PROGRAMS: &[RuntimeProgram] = &[
    row(
        system_program::ID,
        "system program",
        builtin(system::COMPUTE_UNITS, system::process),
        "creates accounts, assigns them to programs, transfers lamports; nonce accounts",
    )
    .account_data("solana_system_program"),
    row(
        bpf_loader_deprecated::ID,
        "loader v1",
        builtin(loader::V1_COMPUTE_UNITS, loader::process_v1),
        "owns the oldest programs; deployment is disabled",
    )
    .account_data("solana_bpf_loader_program"),
    row(
        bpf_loader::ID,
        "loader v2",
        builtin(loader::V2_COMPUTE_UNITS, loader::process_v2),
        "owns programs that cannot be upgraded; deployment is disabled",
    )
    .account_data("solana_bpf_loader_program"),
    row(
        bpf_loader_upgradeable::ID,
        "loader v3",
        builtin(loader::V3_COMPUTE_UNITS, loader::process_v3),
        "deploys, upgrades, extends and closes programs",
    )
    .account_data("solana_bpf_loader_upgradeable_program"),
    row(
        loader_v4::ID,
        "loader v4",
        builtin(loader::V4_COMPUTE_UNITS, loader::process_v4),
        "deploys, retracts and redeploys programs stored in one account (SIMD-0167)",
    )
    .account_data("solana_loader_v4")
    .with(Feature::LoaderV4),
    row(
        vote_program::ID,
        "vote program",
        builtin(vote::COMPUTE_UNITS, vote::process),
        "keeps validators' vote accounts, takes their votes",
    )
    .account_data("solana_vote_program"),
    row(
        compute_budget::ID,
        "compute budget program",
        builtin(150, |_| Ok(())),
        "does nothing: the runtime reads its instructions before it executes the transaction",
    )
    .account_data("compute_budget_program"),
    row(
        zk_elgamal_proof_program::ID,
        "ZK ElGamal proof program",
        ProgramKind::Builtin { compute_units: None, process: zk::process },
        "verifies proofs about encrypted amounts, stores proven statements in accounts (SIMD-0153)",
    )
    .account_data("zk_elgamal_proof_program")
    .with(Feature::ZkElgamalProofProgram),
    row(
        ed25519_program::ID,
        "ed25519 precompile",
        precompile(|data, all| ed25519::verify(data, all).map_err(PrecompileError::number)),
        "verifies Ed25519 signatures",
    ),
    row(
        secp256k1_program::ID,
        "secp256k1 precompile",
        precompile(|data, all| secp256k1::verify(data, all).map_err(PrecompileError::number)),
        "verifies Ethereum signatures (ECDSA over secp256k1 with Keccak-256)",
    ),
    row(
        secp256r1_program::ID,
        "secp256r1 precompile",
        precompile(|data, all| secp256r1::verify(data, all).map_err(PrecompileError::number)),
        "verifies secp256r1 signatures, the ones of passkeys (SIMD-0075)",
    )
    .with(Feature::Secp256r1Precompile),
    row(
        address_lookup_table::ID,
        "address lookup table program",
        ProgramKind::Migrated,
        "owns tables of addresses that transactions refer to",
    ),
    row(
        config::ID,
        "config program",
        ProgramKind::Migrated,
        "stores data that listed keys must sign",
    ),
    row(
        feature::ID,
        "feature gate program",
        ProgramKind::Migrated,
        "owns the accounts of features",
    ),
    row(stake::ID, "stake program", ProgramKind::Migrated, "delegates lamports to vote accounts"),
];

/// Returns the builtin programs of a cluster with these features. Each charges its compute units
/// before it decodes the instruction.
#[must_use]
pub fn builtins(features: FeatureSet) -> Builtins {
    let mut builtins = Builtins::default();
    for row in PROGRAMS.iter().filter(|row| row.feature.is_none_or(|it| features.has(it))) {
        if let ProgramKind::Builtin { compute_units, process } = row.kind {
            let compute_units = compute_units.unwrap_or(0);
            let charge_and_process = move |context: &mut InvokeContext<'_>| {
                context.consume(compute_units)?;
                process(context)
            };
            builtins.insert(row.address, Builtin::new(row.name, charge_and_process));
        }
    }
    builtins
}

/// Returns all precompiles. The runtime checks the feature of each when an instruction uses it.
#[must_use]
pub fn precompiles() -> Precompiles {
    let mut precompiles = Precompiles::default();
    for RuntimeProgram { address, name, feature, kind, .. } in PROGRAMS.iter().copied() {
        if let ProgramKind::Precompile { verify } = kind {
            precompiles.insert(address, Precompile { name, feature, verify });
        }
    }
    precompiles
}

/// Returns the environment of a cluster with these features: mainnet's sysvars and fees at slot 0, and the
/// builtin programs and precompiles.
#[must_use]
pub fn environment(features: FeatureSet) -> Environment {
    let (builtins, precompiles) = (builtins(features), precompiles());
    Environment { features, builtins, precompiles, ..Environment::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_unique() {
        for (index, row) in PROGRAMS.iter().enumerate() {
            let is_same =
                |other: &RuntimeProgram| other.address == row.address || other.name == row.name;
            assert_eq!(PROGRAMS.iter().position(is_same), Some(index), "{}", row.name);
        }
    }
}
