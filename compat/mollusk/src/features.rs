//! Agave's feature set, as that of the runtime. Up to Mollusk 0.12 it is a set of features by their addresses,
//! since then a structure with a field for each.

#[cfg(feature = "since-0-13")]
pub(crate) use agave_4_svm_feature_set::SVMFeatureSet as FeatureSet;
#[cfg(all(feature = "sdk-3", not(feature = "since-0-13")))]
pub(crate) use agave_feature_set::FeatureSet;
#[cfg(not(feature = "sdk-3"))]
pub(crate) use solana_svm_feature_set::SVMFeatureSet as FeatureSet;

use selkie::Feature;

/// The fields of agave's feature set in all versions, a row each, with the feature of the runtime.
#[cfg(any(not(feature = "sdk-3"), feature = "since-0-13"))]
macro_rules! for_each_field {
    ($set:expr, $result:expr) => {
        for_each_field! { $set, $result;
            abort_on_invalid_curve => AbortOnInvalidCurve,
            account_data_direct_mapping => AccountDataDirectMapping,
            alt_bn128_little_endian => AltBn128LittleEndian,
            blake3_syscall_enabled => Blake3,
            block_revenue_sharing => BlockRevenueSharing,
            bls_pubkey_management_in_vote_account => BlsPubkeyManagementInVoteAccount,
            commission_rate_in_basis_points => CommissionRateInBasisPoints,
            create_account_allow_prefund => CreateAccountAllowPrefund,
            curve25519_syscall_enabled => Curve25519,
            custom_commission_collector => CustomCommissionCollector,
            delay_commission_updates => DelayCommissionUpdates,
            deplete_cu_meter_on_vm_failure => DepleteMeterOnFailure,
            deprecate_legacy_vote_ixs => DeprecateLegacyVoteInstructions,
            direct_account_pointers_in_program_input => DirectAccountPointers,
            disable_fees_sysvar => DisableFeesSysvar,
            disable_sbpf_v0_execution => DisableSbpfV0,
            disable_zk_elgamal_proof_program => DisableZkElgamalProofProgram,
            enable_alt_bn128_compression_syscall => AltBn128Compression,
            enable_alt_bn128_g2_syscalls => AltBn128G2,
            enable_alt_bn128_syscall => AltBn128,
            enable_big_mod_exp_syscall => BigModExp,
            enable_bls12_381_syscall => Bls12381,
            enable_bpf_loader_set_authority_checked_ix => SetAuthorityChecked,
            enable_get_epoch_stake_syscall => GetEpochStake,
            enable_poseidon_syscall => Poseidon,
            get_sysvar_syscall_enabled => GetSysvar,
            increase_tx_account_lock_limit => IncreaseAccountLocks,
            last_restart_slot_sysvar => LastRestartSlot,
            raise_cpi_nesting_limit_to_8 => RaiseCpiNestingLimit,
            reenable_sbpf_v0_execution => ReenableSbpfV0,
            reenable_zk_elgamal_proof_program => ReenableZkElgamalProofProgram,
            remaining_compute_units_syscall_enabled => RemainingComputeUnits,
            syscall_parameter_address_restrictions => SyscallParameterAddressRestrictions,
            virtual_address_space_adjustments => VirtualAddressSpaceAdjustments,
            vote_account_initialize_v2 => VoteAccountInitializeV2,
        }
    };
    ($set:expr, $result:expr; $($field:ident => $feature:ident,)*) => {
        $($result = if $set.$field {
            $result.with(Feature::$feature)
        } else {
            $result.without(Feature::$feature)
        };)*
    };
}

/// Returns the runtime's features. Those that agave's set does not know are as on mainnet.
#[cfg(any(not(feature = "sdk-3"), feature = "since-0-13"))]
pub(crate) fn runtime(set: &FeatureSet) -> selkie::FeatureSet {
    let mut features = selkie::FeatureSet::mainnet();
    for_each_field!(set, features);
    // Those that agave 4.0 does not have.
    #[cfg(not(feature = "sdk-3"))]
    for_each_field! { set, features;
        define_ltds_fee_only_semantics => FeesOnlyLoadedSize,
        disable_sbpf_v0_v1_v2_deployment => DisableSbpfV0V1V2Deployment,
        enable_sha512_syscall => Sha512,
        loader_v3_minimum_extend_program_size => LoaderV3MinimumExtendProgramSize,
        relax_post_exec_min_balance_check => RelaxMinBalanceCheck,
    }
    features
}

/// Returns the runtime's features. Those that agave's set does not know are as on mainnet.
#[cfg(all(feature = "sdk-3", not(feature = "since-0-13")))]
pub(crate) fn runtime(set: &FeatureSet) -> selkie::FeatureSet {
    // In any order: each one is set once.
    let mut inactive: Vec<_> = set.inactive().iter().filter_map(Feature::from_address).collect();
    let mut active: Vec<_> = set.active().keys().filter_map(Feature::from_address).collect();
    inactive.sort();
    active.sort();
    let features = selkie::FeatureSet::mainnet();
    let features = inactive.into_iter().fold(features, selkie::FeatureSet::without);
    active.into_iter().fold(features, selkie::FeatureSet::with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(not(feature = "sdk-3"), feature = "since-0-13"))]
    fn without_blake3(set: &mut FeatureSet) {
        set.blake3_syscall_enabled = false;
    }

    #[cfg(all(feature = "sdk-3", not(feature = "since-0-13")))]
    fn without_blake3(set: &mut FeatureSet) {
        set.deactivate(&agave_feature_set::blake3_syscall_enabled::id());
    }

    #[test]
    fn agaves_set_switches_features() {
        let mut set = FeatureSet::all_enabled();
        assert!(runtime(&set).has(Feature::Blake3));
        without_blake3(&mut set);
        assert!(!runtime(&set).has(Feature::Blake3));
        assert!(runtime(&set).has(Feature::InstructionDataPointer));
    }
}
