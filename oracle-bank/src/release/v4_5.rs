//! Agave 4.5, which comes next.

use agave_feature_set::FeatureSet;
use agave_votor_messages::consensus_message::BlockId;
use solana_cluster_type::ClusterType;
use solana_hash::Hash;
use solana_runtime::genesis_utils::{
    GenesisConfigInfo, ValidatorVoteKeypairs,
    create_genesis_config_with_vote_accounts_and_cluster_type,
};

/// Returns the genesis of a cluster that agrees by votes, with a vote and a stake account of each validator.
pub(crate) fn genesis(
    lamports: u64,
    validators: &[ValidatorVoteKeypairs],
    stakes: Vec<u64>,
    features: FeatureSet,
) -> GenesisConfigInfo {
    let cluster = ClusterType::Development;
    create_genesis_config_with_vote_accounts_and_cluster_type(
        lamports, validators, stakes, cluster, features,
    )
}

/// Returns the id of a block.
pub(crate) fn block_id(hash: Hash) -> BlockId {
    hash.into()
}
