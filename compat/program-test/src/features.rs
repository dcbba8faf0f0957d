//! The features that the version of `solana-program-test` knows, which are active.

use selkie::{Feature, FeatureSet};
use solana_address::Address;

/// Features that are newer than `agave-feature-set` 4.2.
const SINCE_4_3: [Feature; 6] = [
    Feature::BigModExp,
    Feature::BlockRevenueSharing,
    Feature::EarlyTraceOverflowDetection,
    Feature::InputMetadataRegisters,
    Feature::LoaderV3SetProgramDataToElfLength,
    Feature::UnboundLoaderV3InstructionData,
];

/// Features that are newer than `agave-feature-set` 3.1, of those that 4.2 knows.
const SINCE_4_0: [Feature; 24] = [
    Feature::AccountDataDirectMapping,
    Feature::AltBn128G2,
    Feature::AltBn128LittleEndian,
    Feature::BlsPubkeyManagementInVoteAccount,
    Feature::Bls12381,
    Feature::CommissionRateInBasisPoints,
    Feature::CreateAccountAllowPrefund,
    Feature::CustomCommissionCollector,
    Feature::DelayCommissionUpdates,
    Feature::DirectAccountPointers,
    Feature::DisableSbpfV0V1V2Deployment,
    Feature::FeesOnlyLoadedSize,
    Feature::LimitInstructionAccounts,
    Feature::LoaderV3MinimumExtendProgramSize,
    Feature::LoaderV4,
    Feature::ReenableZkElgamalProofProgram,
    Feature::RelaxMinBalanceCheck,
    Feature::Sha512,
    Feature::SyscallParameterAddressRestrictions,
    Feature::TransactionV1,
    Feature::UpgradeBpfStakeProgramToV5_1,
    Feature::ValidatorAdmissionTicket,
    Feature::VirtualAddressSpaceAdjustments,
    Feature::VoteAccountInitializeV2,
];

/// Returns the features of a new chain, without those that the test deactivates. Addresses without a row in
/// Selkie's table change nothing that a transaction meets.
pub(crate) fn active(deactivated: &[Address]) -> FeatureSet {
    let older: &[Feature] = if cfg!(feature = "sdk-3") { &SINCE_4_0 } else { &[] };
    let unknown = SINCE_4_3.iter().chain(older);
    let all = unknown.fold(FeatureSet::all(), |all, feature| all.without(*feature));
    let switched_off = deactivated.iter().filter_map(Feature::from_address);
    switched_off.fold(all, FeatureSet::without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_switched_off_by_their_addresses() {
        let one = Feature::Secp256r1Precompile;
        assert!(active(&[]).has(one));
        assert!(!active(&[one.address()]).has(one));
        assert!(!active(&[]).has(Feature::BigModExp));
        assert_eq!(active(&[]).has(Feature::Sha512), cfg!(not(feature = "sdk-3")));
    }
}
