//! Features: changes of the protocol that a cluster activates.
//!
//! A feature is one row: its name here, the address of its account, whether mainnet has activated
//! it, and a summary. Only features that the runtime or a builtin program checks have a row.

use core::str::FromStr;

use solana_pubkey::Pubkey;

macro_rules! for_each_feature {
    ($mac:ident) => {
        $mac! {
            LastRestartSlot = "HooKD5NC9QNxk25QuzCssB8ecrEzGt6eXEPBUxWp1LaR", mainnet: 282_096_004,
                "the last-restart-slot sysvar (SIMD-0047)";
            GetSysvar = "CLCoTADvV64PSrnR6QXty6Fwrt9Xc6EdxSJE4wLRePjq", mainnet: 321_840_000,
                "sol_get_sysvar (SIMD-0127)";
            GetEpochStake = "FKe75t4LXxGaQnVHdUKM6DSFifVVraGZ8LyNo7oPwy1Z", mainnet: 330_912_000,
                "sol_get_epoch_stake (SIMD-0133)";
            SyscallParameterAddressRestrictions = "EDGMC5kxFxGk4ixsNkGt8bW7QL5hDMXnbwaZvYMwNfzF", mainnet: 429_840_000,
                "sysvars are written below the input region only (SIMD-0459)";
            Blake3 = "HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3", mainnet: never,
                "sol_blake3";
            Sha512 = "s512oDwgx8hjMnaQjXfqqrZroVj4HvC6TkN3iSSWXCh", mainnet: never,
                "sol_sha512 (SIMD-0512)";
            RemainingComputeUnits = "5TuppMutoyzhUSfuYdhgzD47F92GL1g89KpCZQKqedxP", mainnet: never,
                "sol_remaining_compute_units";
            DisableFeesSysvar = "JAN1trEUEtZjgXYzNBYHU9DYd7GnThhXfFP7SzPXkPsG", mainnet: 208_656_004,
                "removes sol_get_fees_sysvar";
            Curve25519 = "7rcw5UtqgDTBBv2EcynNfYckgdAaH1MAsCjKgXMkN7Ri", mainnet: 275_184_000,
                "sol_curve_validate_point, sol_curve_group_op, sol_curve_multiscalar_mul";
            AbortOnInvalidCurve = "FuS3FPfJDKSNot99ECLXtp3rueq36hMNStJkPJwWodLh", mainnet: 311_904_000,
                "an unknown curve or operation ends the program (SIMD-0137)";
            Bls12381 = "b1sgUiJ3qu7hYm3tNDyyqZNQd6gLGJmJppnLNa93PCQ", mainnet: 425_952_004,
                "BLS12-381 in the curve syscalls (SIMD-0388)";
            AltBn128 = "A16q37opZdQMCbe5qJ6xpBB9usykfv8jZaMkxvZQi4GJ", mainnet: 275_616_000,
                "sol_alt_bn128_group_op";
            AltBn128Compression = "EJJewYSddEEtSZHiqugnvhQHiWyZKjkFDQASd7oKSagn", mainnet: 276_912_000,
                "sol_alt_bn128_compression";
            AltBn128LittleEndian = "bn2oPgpkzQPT3tohMaAsMVGjhDmmDa4jCaVPqCFmtxM", mainnet: 425_088_000,
                "little-endian points of alt_bn128 (SIMD-0284)";
            AltBn128G2 = "bn1hKNURMGQaQoEVxahcEAcqiX3NwRs6hgKKNSLeKxH", mainnet: 425_520_000,
                "addition and multiplication in G2 of alt_bn128 (SIMD-0302)";
            Poseidon = "FL9RsQA6TVUoh5xJQ9d936RHSebA1NLQqe3Zv9sXZRpr", mainnet: 278_208_000,
                "sol_poseidon";
            BigModExp = "expH2ppKPW2ANEdEmAjfhSEcnBQJfmoX4FjuNpe9ttg", mainnet: never,
                "sol_big_mod_exp (SIMD-0529)";
            VirtualAddressSpaceAdjustments = "7VgiehxNxu53KdxgLspGQY8myE6f7UokaWa4jsGcaSz", mainnet: never,
                "each account has its own memory region (SIMD-0460)";
            AccountDataDirectMapping = "CR3dVN2Yoo95Y96kLSTaziWDAQT2MNEpiWh5cqVq2pNE", mainnet: never,
                "programs access account data in place";
            DirectAccountPointers = "ptr9umikaeAS7ZBBp2fsfRhie16F1V2jCKA2y6gXNAK", mainnet: never,
                "the input ends with pointers to its accounts (SIMD-0449)";
            TransactionV1 = "txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL", mainnet: 447_120_000,
                "transactions of version 1 (SIMD-0385)";
            StaticInstructionLimit = "64ixypL1HPu8WtJhNSMb9mSgfFaJvsANuRkTbHyuLfnx", mainnet: 404_352_000,
                "a transaction has at most 64 top-level instructions (SIMD-0160)";
            LimitInstructionAccounts = "6aHuNsUmwSzCEMjrBzBCYaxHAyAcQBjVES92JigHBDuC", mainnet: 432_000_000,
                "an instruction of a transaction has at most 255 accounts (SIMD-0406)";
            RelaxMinBalanceCheck = "BY4JhHLahVzS9ynfDz4exzGPbVXhFmJvEyMWsXbDBqME", mainnet: 443_664_000,
                "accounts below the minimum balance may stay below it (SIMD-0392)";
            FeesOnlyLoadedSize = "LTDSzjZKFJMKHYpNycG1FrWwGGTaFFwqEFjB5GGLNVD", mainnet: 435_456_000,
                "transactions that only pay fees count with the size they loaded (SIMD-0186)";
            DepleteMeterOnFailure = "B7H2caeia4ZFcpE3QcgMqbiWiBtWrdBRBSJ1DY6Ktxbq", mainnet: 327_888_000,
                "a program that traps consumes all compute units (SIMD-0182)";
            InstructionDataPointer = "5xXZc66h4UdB6Yq7FzdBxBiRAFMMScMLwHxk2QZDaNZL", mainnet: 410_400_000,
                "r2 points to the instruction data when a program starts (SIMD-0321)";
            InputMetadataRegisters = "r3r5hXFhEZLB2VCDXmUysuDZj4oMbtW8JRVUqvQSgqE", mainnet: never,
                "r3 to r5 hold the length of the instruction data, the address of the account pointers and the number of accounts when a program starts (SIMD-0683)";
            EarlyTraceOverflowDetection = "HeqqMQXVqavmiJsGTEXgCMydzMEWiiQTAgbs9KVKJVww", mainnet: never,
                "an invocation fails as soon as it and all instructions of the transaction are more than 64 (SIMD-0582)";
            DisableSbpfV0 = "TestFeature11111111111111111111111111111111", mainnet: never,
                "programs of sBPF V0 are not executed (SIMD-0161)";
            ReenableSbpfV0 = "TestFeature21111111111111111111111111111111", mainnet: never,
                "programs of sBPF V0 are executed again";
            IncreaseAccountLocks = "9LZdXeKGeBV6hRLdxS1rHbHoEUsKqesCC2ZAPTPKJAbK", mainnet: never,
                "raises the limit of accounts of a transaction from 64 to 128";
            RaiseCpiNestingLimit = "6TkHkRmP7JZy1fdM6fg5uXn76wChQBWGokHBJzrLB3mj", mainnet: never,
                "raises the limit of the stack height from 5 to 9 (SIMD-0268)";
            SetAuthorityChecked = "5x3825XS7M2A3Ekbn5VGGkvFoAg5qrRWkTrY4bARP1GL", mainnet: 251_424_000,
                "the loader's SetAuthorityChecked";
            LoaderV3MinimumExtendProgramSize = "YbbRLkvenrocjGPGyoQE4wjnvYzTgfsk38NFmcYK7a5", mainnet: 432_864_000,
                "programs are extended by at least 10 KiB (SIMD-0431)";
            LoaderV3SetProgramDataToElfLength = "EhisBfVtGvEA8bVCVN5VMaYEaX6iTfoUrmcDi8LY7Kxy", mainnet: never,
                "an upgrade resizes the programdata account to the file (SIMD-0433)";
            UnboundLoaderV3InstructionData = "UPbPFtaUVoKZuMEJsDxLfvCNuKavoVapghnzepr1e26", mainnet: never,
                "instructions of loader v3 may be longer than 1,232 bytes (SIMD-0648)";
            DisableSbpfV0V1V2Deployment = "B8JJXCy5amZyWG9r7EnUYLwzXSXTxG7GZ1qZ1qggo83g", mainnet: never,
                "programs of sBPF V0 to V2 cannot be deployed (SIMD-0500)";
            DisableDeprecatedLoader = "GTUMCZ8LTNxVfxdrw7ZsDFTxXb7TutYkzJnFwinpE6dg", mainnet: 167_184_008,
                "loader v1 executes no instructions";
            DisableBpfLoaderInstructions = "7WeS1vfPRgeeoXArLh7879YcB9mgE9ktjPDtajXeWfXn", mainnet: 259_632_004,
                "loader v2 executes no instructions";
            DisableDeployOfAllocFree = "79HWsX9rpnnJBPcdNURVqygpMAfxdrAirzAGAVmf92im", mainnet: 209_088_008,
                "programs that call sol_alloc_free_ cannot be deployed";
            IgnoreExecutableFlag = "FXs1zh47QbNnhXcnB6YiAQoJ4sGB91tKF3UFHLcKT7PM", mainnet: 350_352_004,
                "ignores the executable flag of program accounts (SIMD-0162)";
            LoaderV4 = "LoaderV4WasAbandoned11111111111111111111111", mainnet: never,
                "loader v4 (SIMD-0167), abandoned before a cluster activated it: for runs under earlier rules";
            CreateAccountAllowPrefund = "6sPDzwyARRExKH52LECxcGoqziH8G7SZofwuxi8Ja331", mainnet: 422_928_004,
                "the system program's CreateAccountAllowPrefund (SIMD-0312)";
            Secp256r1Precompile = "srremy31J5Y25FrAApwVb9kZcfXbusYMMsvTK9aWv5q", mainnet: 345_600_000,
                "the secp256r1 precompile (SIMD-0075)";
            ZkElgamalProofProgram = "zkhiy5oLowR7HY4zogXjCjeMXyruLqBwSWH21qcFtnv", mainnet: 315_792_000,
                "the ZK ElGamal proof program (SIMD-0153)";
            DisableZkElgamalProofProgram = "zkdoVwnSFnSLtGJG7irJPEYUpmb4i7sGMGcnN6T9rnC", mainnet: 347_760_000,
                "disables the ZK ElGamal proof program";
            ReenableZkElgamalProofProgram = "zkexuyPRdyTVbZqEAREueqL2xvvoBhRgth9xGSc1tMN", mainnet: 424_224_000,
                "enables the ZK ElGamal proof program again";
            DelayCommissionUpdates = "76dHtohc2s5dR3ahJyBxs7eJJVipFkaPdih9CLgTTb4B", mainnet: 428_112_000,
                "commissions of vote accounts may change at any time, with effect an epoch later (SIMD-0249)";
            BlsPubkeyManagementInVoteAccount = "AnAP9zPV4KL7czAPQbFhpDKV2tx7g4UGNbK9wvXwjaRo", mainnet: 431_568_000,
                "vote accounts have BLS keys, and vote instructions no longer have a builtin's compute unit limit (SIMD-0387)";
            ValidatorAdmissionTicket = "VAT9huvhPjRN9cyrPytq9rwvEJ3J4ADtjdncgZRyANJ", mainnet: 434_592_000,
                "only the 2000 vote accounts with the most stake, of those with a BLS key, count and earn (SIMD-0357)";
            CommissionRateInBasisPoints = "Eg7tXEwMZzS98xaZ1YHUbdRHsaYZiCsSaR6sKgxreoaj", mainnet: 433_296_000,
                "commissions of vote accounts in basis points (SIMD-0291)";
            CustomCommissionCollector = "3HcSrCTGXTUnrTueHi4DAwNuMxZSsm5xui2Ax3mgxHqf", mainnet: 445_392_000,
                "vote accounts have a commission collector (SIMD-0232)";
            BlockRevenueSharing = "Crbnc267wkJvFhYakqwWWX57sx5bkrftJLekzy6yWKLT", mainnet: never,
                "block revenue is shared with delegators (SIMD-0123)";
            VoteAccountInitializeV2 = "VoteAccount1nitia1izeV211111111111111111111", mainnet: never,
                "the vote program's InitializeAccountV2 (SIMD-0464)";
            DeprecateLegacyVoteInstructions = "depVvnQ2UysGrhwdiwU42tCadZL8GcBb1i2GYhMopQv", mainnet: never,
                "the vote program accepts only TowerSync as a vote";
            UpgradeBpfStakeProgramToV5_1 = "s51VGwCAgebo2745DSUris72RavoLkXGUmVJosESCXr", mainnet: 443_232_000,
                "stake warms up and cools down in fixed-point arithmetic (SIMD-0391)";
        }
    };
}

macro_rules! slot {
    (never) => {
        None
    };
    ($slot:literal) => {
        Some($slot)
    };
}

macro_rules! define {
    ($($name:ident = $address:literal, mainnet: $mainnet:tt, $summary:literal;)*) => {
        /// A change of the protocol that a cluster activates at the start of an epoch.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Feature {
            $(#[doc = $summary] $name,)*
        }

        impl Feature {
            /// Every feature that has a row.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the address of the account that activates the feature.
            #[must_use]
            pub const fn address(self) -> Pubkey {
                match self { $(Self::$name => const { Pubkey::from_str_const($address) },)* }
            }

            /// Returns the feature that the account at `address` activates, or activated under an
            /// address that agave has replaced since.
            #[must_use]
            pub fn from_address(address: &Pubkey) -> Option<Self> {
                let mut all = Self::ALL.iter().copied();
                all.find(|feature| feature.address() == *address).or_else(|| {
                    let mut former = FORMER_ADDRESSES.iter();
                    former.find(|(_, key)| key == address).map(|(feature, _)| *feature)
                })
            }

            /// Returns the slot in which mainnet activated it, if it had by November 2026.
            #[must_use]
            pub const fn mainnet_slot(self) -> Option<u64> {
                match self { $(Self::$name => slot!($mainnet),)* }
            }

            /// Whether mainnet had activated it by November 2026.
            #[must_use]
            pub const fn on_mainnet(self) -> bool {
                self.mainnet_slot().is_some()
            }

            /// Returns what it changes, in a phrase.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$name => $summary,)* }
            }
        }
    };
}

for_each_feature!(define);

/// Addresses that features had in earlier releases of agave. Files of that time name them.
const FORMER_ADDRESSES: [(Feature, Pubkey); 2] = [
    // Until 4.2.1.
    (Feature::LoaderV4, Pubkey::from_str_const("2aQJYqER2aKyb3cZw22v4SL2xMX7vwXBRWfvS4pTrtED")),
    // Until 4.3.
    (
        Feature::BlockRevenueSharing,
        Pubkey::from_str_const("B1ockRevenueSharing111111111111111111111111"),
    ),
];

/// The features that a cluster has activated.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeatureSet(u128);

const _: () = assert!(Feature::ALL.len() <= 128);

impl FeatureSet {
    /// Returns the set of no features.
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// Returns the set of all features that a cluster may still activate: all that have a row but
    /// [`Feature::LoaderV4`], which was abandoned.
    #[must_use]
    pub fn all() -> Self {
        Feature::ALL.iter().copied().collect::<Self>().without(Feature::LoaderV4)
    }

    /// Returns the features that mainnet had activated by November 2026.
    #[must_use]
    pub fn mainnet() -> Self {
        Feature::ALL.iter().copied().filter(|feature| feature.on_mainnet()).collect()
    }

    /// Returns the features that mainnet had activated up to a slot.
    #[must_use]
    pub fn mainnet_at(slot: u64) -> Self {
        let is_active = |feature: &Feature| feature.mainnet_slot().is_some_and(|it| it <= slot);
        Feature::ALL.iter().copied().filter(is_active).collect()
    }

    /// Returns the features with these accounts. Addresses without a row are ignored.
    #[must_use]
    pub fn from_addresses<'a>(addresses: impl IntoIterator<Item = &'a Pubkey>) -> Self {
        addresses.into_iter().filter_map(Feature::from_address).collect()
    }

    /// Returns the features whose addresses a text lists, one per line. `#` starts a comment, and
    /// addresses without a row are ignored.
    ///
    /// # Errors
    /// The number of the first line that is not an address, counted from 1.
    pub fn from_list(text: &str) -> Result<Self, usize> {
        let mut features = Self::none();
        for (number, line) in (1_usize..).zip(text.lines()) {
            let address = line.split('#').next().unwrap_or_default().trim();
            if address.is_empty() {
                continue;
            }
            let address = Pubkey::from_str(address).map_err(|_| number)?;
            features = Feature::from_address(&address).map_or(features, |it| features.with(it));
        }
        Ok(features)
    }

    /// Whether a feature is in the set.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 == 1
    }

    /// Returns the set with a feature added.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u32)
    }

    /// Returns the set with a feature removed.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !(1 << feature as u32))
    }

    /// Returns the features of the set, in the order of their rows.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |feature| self.has(*feature))
    }
}

impl Default for FeatureSet {
    fn default() -> Self {
        Self::mainnet()
    }
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Self {
        features.into_iter().fold(Self::none(), Self::with)
    }
}

impl core::fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_found_by_its_address() {
        for feature in Feature::ALL {
            assert_eq!(Feature::from_address(&feature.address()), Some(*feature));
        }
        let former = Pubkey::from_str_const("2aQJYqER2aKyb3cZw22v4SL2xMX7vwXBRWfvS4pTrtED");
        assert_eq!(Feature::from_address(&former), Some(Feature::LoaderV4));
    }

    #[test]
    fn a_list_names_features_by_address() {
        let (known, unknown) = (Feature::Blake3, Pubkey::new_from_array([7; 32]));
        let text = format!("# two lines\n{}\n{unknown} # unknown\n", known.address());
        assert_eq!(FeatureSet::from_list(&text), Ok(FeatureSet::none().with(known)));
        assert_eq!(FeatureSet::from_list("\nno address"), Err(2));
    }

    #[test]
    fn features_are_added_and_removed_one_by_one() {
        let features = FeatureSet::mainnet().with(Feature::Blake3).without(Feature::GetSysvar);
        assert!(features.has(Feature::Blake3) && !features.has(Feature::GetSysvar));
        assert!(features.has(Feature::GetEpochStake) && !features.has(Feature::Sha512));
        assert_eq!(FeatureSet::all().iter().count(), Feature::ALL.len() - 1);
    }
}
