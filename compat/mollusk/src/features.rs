//! Agave's feature set, as that of the runtime.

use selkie::{Feature, FeatureSet};
use solana_svm_feature_set::SVMFeatureSet;

/// One field of agave's feature set per row, with the feature of the runtime.
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
            define_ltds_fee_only_semantics => FeesOnlyLoadedSize,
            delay_commission_updates => DelayCommissionUpdates,
            deplete_cu_meter_on_vm_failure => DepleteMeterOnFailure,
            deprecate_legacy_vote_ixs => DeprecateLegacyVoteInstructions,
            direct_account_pointers_in_program_input => DirectAccountPointers,
            disable_fees_sysvar => DisableFeesSysvar,
            disable_sbpf_v0_execution => DisableSbpfV0,
            disable_sbpf_v0_v1_v2_deployment => DisableSbpfV0V1V2Deployment,
            disable_zk_elgamal_proof_program => DisableZkElgamalProofProgram,
            enable_alt_bn128_compression_syscall => AltBn128Compression,
            enable_alt_bn128_g2_syscalls => AltBn128G2,
            enable_alt_bn128_syscall => AltBn128,
            enable_big_mod_exp_syscall => BigModExp,
            enable_bls12_381_syscall => Bls12381,
            enable_bpf_loader_set_authority_checked_ix => SetAuthorityChecked,
            enable_get_epoch_stake_syscall => GetEpochStake,
            enable_poseidon_syscall => Poseidon,
            enable_sha512_syscall => Sha512,
            get_sysvar_syscall_enabled => GetSysvar,
            increase_tx_account_lock_limit => IncreaseAccountLocks,
            last_restart_slot_sysvar => LastRestartSlot,
            loader_v3_minimum_extend_program_size => LoaderV3MinimumExtendProgramSize,
            raise_cpi_nesting_limit_to_8 => RaiseCpiNestingLimit,
            reenable_sbpf_v0_execution => ReenableSbpfV0,
            reenable_zk_elgamal_proof_program => ReenableZkElgamalProofProgram,
            relax_post_exec_min_balance_check => RelaxMinBalanceCheck,
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
pub(crate) fn runtime(set: &SVMFeatureSet) -> FeatureSet {
    let mut features = FeatureSet::mainnet();
    for_each_field!(set, features);
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_switch_features() {
        let mut set = SVMFeatureSet::all_enabled();
        assert!(runtime(&set).has(Feature::Blake3));
        set.blake3_syscall_enabled = false;
        assert!(!runtime(&set).has(Feature::Blake3));
        assert!(runtime(&set).has(Feature::InstructionDataPointer));
    }
}
