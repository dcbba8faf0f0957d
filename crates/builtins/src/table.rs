//! One row for each program that a cluster has without anybody having deployed it.

use selkie_crypto::precompile::{PrecompileError, ed25519, secp256k1, secp256r1};
use selkie_svm::{
    Builtin, Builtins, Feature, FeatureSet, InstructionError, InvokeContext, Precompile,
    Precompiles, Pubkey, builtin::Verify,
};
use solana_sdk_ids::{
    address_lookup_table, bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable,
    compute_budget, config, ed25519_program, feature, loader_v4, secp256k1_program,
    secp256r1_program, stake, system_program, vote as vote_program, zk_elgamal_proof_program,
};

use crate::{loader, system, vote, zk};

/// What a builtin program does with the current instruction.
pub type Process = fn(&mut InvokeContext<'_>) -> Result<(), InstructionError>;

/// A program that a cluster has without anybody having deployed it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its address.
    pub address: Pubkey,
    /// Its name, for people.
    pub name: &'static str,
    /// What switches it on, if it was not always there.
    pub feature: Option<Feature>,
    /// What runs it.
    pub kind: Kind,
    /// What it is for.
    pub what: &'static str,
}

/// What runs a program of the table.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The runtime does.
    Builtin {
        /// Compute units of any of its instructions; `None` if each has its own.
        units: Option<u64>,
        /// What it does.
        process: Process,
    },
    /// Nothing does: its instructions are verified before the others are run, and cost no compute
    /// units.
    Precompile {
        /// How an instruction is verified.
        verify: Verify,
    },
    /// It was part of the runtime, and mainnet has it as a program of loader v3 since: there is
    /// nothing to register, its file must be among the accounts.
    Migrated,
}

const fn row(address: Pubkey, name: &'static str, kind: Kind, what: &'static str) -> Row {
    Row { address, name, feature: None, kind, what }
}

const fn builtin(units: u64, process: Process) -> Kind {
    Kind::Builtin { units: Some(units), process }
}

const fn precompile(verify: Verify) -> Kind {
    Kind::Precompile { verify }
}

impl Row {
    const fn with(self, feature: Feature) -> Self {
        Self { feature: Some(feature), ..self }
    }
}

/// Every program of the table.
pub const PROGRAMS: &[Row] = &[
    row(
        system_program::ID,
        "system program",
        builtin(system::UNITS, system::process),
        "makes accounts, gives them to programs, moves lamports; nonce accounts",
    ),
    row(
        bpf_loader_deprecated::ID,
        "loader v1",
        builtin(loader::V1_UNITS, loader::process_v1),
        "owns old programs; deploys none any more",
    ),
    row(
        bpf_loader::ID,
        "loader v2",
        builtin(loader::V2_UNITS, loader::process_v2),
        "owns programs that nobody can change; deploys none any more",
    ),
    row(
        bpf_loader_upgradeable::ID,
        "loader v3",
        builtin(loader::V3_UNITS, loader::process_v3),
        "deploys, upgrades, extends and closes programs",
    ),
    row(
        loader_v4::ID,
        "loader v4",
        builtin(loader::V4_UNITS, loader::process_v4),
        "deploys programs that are one account, takes them down and up again (SIMD-0167)",
    )
    .with(Feature::LoaderV4),
    row(
        vote_program::ID,
        "vote program",
        builtin(vote::UNITS, vote::process),
        "validators' accounts and votes",
    ),
    row(
        compute_budget::ID,
        "compute budget program",
        builtin(150, |_| Ok(())),
        "does nothing: the runtime reads its instructions before it executes any",
    ),
    row(
        zk_elgamal_proof_program::ID,
        "ZK ElGamal proof program",
        Kind::Builtin { units: None, process: zk::process },
        "verifies proofs about encrypted amounts, keeps what they proved in accounts (SIMD-0153)",
    )
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
        "verifies signatures as Ethereum makes them",
    ),
    row(
        secp256r1_program::ID,
        "secp256r1 precompile",
        precompile(|data, all| secp256r1::verify(data, all).map_err(PrecompileError::number)),
        "verifies signatures of passkeys (SIMD-0075)",
    )
    .with(Feature::Secp256r1Precompile),
    row(
        address_lookup_table::ID,
        "address lookup table program",
        Kind::Migrated,
        "owns tables of addresses that transactions refer to",
    ),
    row(config::ID, "config program", Kind::Migrated, "keeps data that their keepers sign"),
    row(feature::ID, "feature gate program", Kind::Migrated, "owns the accounts of features"),
    row(stake::ID, "stake program", Kind::Migrated, "delegates lamports to vote accounts"),
];

/// The builtin programs of a cluster with these features.
#[must_use]
pub fn builtins(features: FeatureSet) -> Builtins {
    let mut builtins = Builtins::default();
    for row in PROGRAMS.iter().filter(|row| row.feature.is_none_or(|it| features.has(it))) {
        if let Kind::Builtin { units, process } = row.kind {
            let units = units.unwrap_or(0);
            let charge_and_process = move |context: &mut InvokeContext<'_>| {
                context.consume(units)?;
                process(context)
            };
            builtins.insert(row.address, Builtin::new(row.name, charge_and_process));
        }
    }
    builtins
}

/// The precompiles. Which of them a cluster has, their features decide when they are asked.
#[must_use]
pub fn precompiles() -> Precompiles {
    let mut precompiles = Precompiles::default();
    for Row { address, name, feature, kind, .. } in PROGRAMS.iter().copied() {
        if let Kind::Precompile { verify } = kind {
            precompiles.insert(address, Precompile { name, feature, verify });
        }
    }
    precompiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        for (place, row) in PROGRAMS.iter().enumerate() {
            let is_it = |other: &Row| other.address == row.address || other.name == row.name;
            assert_eq!(PROGRAMS.iter().position(is_it), Some(place), "{}", row.name);
        }
    }
}
