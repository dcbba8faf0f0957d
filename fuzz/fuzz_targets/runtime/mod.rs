//! What the targets of the runtime share: a cluster with builtin programs, and features by number.

#![allow(dead_code, reason = "no target needs all of it")]

use selkie_builtins::{builtins, precompiles};
use selkie_elf::{Executable, Functions};
use selkie_isa::Version;
use selkie_svm::{Account, Environment, Feature, FeatureSet, Loader, Program, Pubkey};
use selkie_vm::Config;

/// An address that a fuzzer finds easily.
pub(crate) const fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

/// Mainnet's features, with those switched that change the layout of memory.
pub(crate) fn features(number: u8) -> FeatureSet {
    const SWITCHED: [Feature; 5] = [
        Feature::VirtualAddressSpaceAdjustments,
        Feature::AccountDataDirectMapping,
        Feature::DirectAccountPointers,
        Feature::SyscallParameterAddressRestrictions,
        Feature::RaiseCpiNestingLimit,
    ];
    let mut features = FeatureSet::mainnet();
    for (bit, feature) in SWITCHED.into_iter().enumerate() {
        let is_on = number >> bit & 1 == 1;
        features = if is_on { features.with(feature) } else { features.without(feature) };
    }
    features
}

pub(crate) fn environment(features: FeatureSet) -> Environment {
    Environment {
        features,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..Environment::default()
    }
}

/// Loader v1 or v3, which have different layouts of the input.
pub(crate) fn loader(is_old: bool) -> Loader {
    if is_old { Loader::V1 } else { Loader::V3 }
}

/// An account of `owner` with so many bytes.
pub(crate) fn account(owner: Pubkey, bytes: u8) -> Account {
    let data = (0..bytes).collect();
    Account { lamports: 1 << 40, data, owner, ..Account::default() }
}

/// A program whose content does not matter, since the fuzzer plays its part.
pub(crate) fn stand_in(features: FeatureSet, is_old: bool) -> Program {
    let exit = [0x95, 0, 0, 0, 0, 0, 0, 0];
    let functions = Functions::default();
    let executable = Executable::from_text(Version::V0, exit, 0, functions, Default::default());
    let program = Program::new(executable.expect("an exit is a program"), loader(is_old));
    program.expect("an exit is a program").for_features(features)
}

/// The configuration of machines with these features.
pub(crate) fn config(features: FeatureSet) -> Config {
    let has_regions = features.has(Feature::VirtualAddressSpaceAdjustments);
    Config { aligned_memory: !has_regions, stack_frame_gaps: !has_regions, ..Config::default() }
}
