//! Blocks, landed transactions, and what is recorded of their execution.

use std::sync::Arc;

use selkie_svm::RewardKind;
use serde::{Deserialize, Serialize};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::records::{base58, base64_bytes, wire};

/// A block: the transactions of a slot, and the accounts that changed in it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its slot.
    pub slot: u64,
    /// The slot of the block before it.
    pub parent_slot: u64,
    /// The blockhash that it added.
    pub blockhash: Hash,
    /// The blockhash of the block before it.
    pub previous_blockhash: Hash,
    /// The Unix timestamp of its clock.
    pub block_time: i64,
    /// The block height.
    pub block_height: u64,
    /// The number of transactions up to and including this block.
    pub transaction_count: u64,
    /// Its transactions, in the order of execution.
    pub transactions: Vec<Arc<Landed>>,
    /// What the runtime paid and took: admissions, commissions, rewards of stakes, and the fees last.
    pub rewards: Vec<RewardRecord>,
    /// In how many blocks after this one stakes are rewarded, if an epoch began with it.
    pub reward_partitions: Option<u64>,
    /// The accounts that changed, by address, as they are at the end of the block; one with 0
    /// lamports was deleted. Empty in a block that was read from disk.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
}

/// A block as stores and dumps keep it: without its slot, its transactions and the accounts.
#[derive(Serialize, Deserialize)]
pub(crate) struct BlockRecord {
    parent_slot: u64,
    #[serde(with = "base58")]
    blockhash: Hash,
    #[serde(with = "base58")]
    previous_blockhash: Hash,
    block_time: i64,
    block_height: u64,
    transaction_count: u64,
    /// The rewards that are fees.
    rewards: Vec<FeeRecord>,
    /// The others. Schema 2 lacks this field and the next.
    #[serde(default)]
    epoch_rewards: Vec<RewardRecord>,
    #[serde(default)]
    reward_partitions: Option<u64>,
}

/// A reward that is a fee.
#[derive(Serialize, Deserialize)]
struct FeeRecord {
    #[serde(with = "base58")]
    address: Pubkey,
    lamports: i64,
    post_balance: u64,
}

impl FeeRecord {
    fn new(reward: &RewardRecord) -> Self {
        let RewardRecord { address, lamports, post_balance, .. } = *reward;
        Self { address, lamports, post_balance }
    }

    fn into_reward(self) -> RewardRecord {
        let Self { address, lamports, post_balance } = self;
        let kind = RewardKind::Fee;
        RewardRecord {
            address,
            kind,
            lamports,
            post_balance,
            commission: None,
            commission_bps: None,
        }
    }
}

impl BlockRecord {
    pub(crate) fn new(block: &Block) -> Self {
        let (fees, others): (Vec<&RewardRecord>, Vec<&RewardRecord>) =
            block.rewards.iter().partition(|it| it.kind == RewardKind::Fee);
        Self {
            parent_slot: block.parent_slot,
            blockhash: block.blockhash,
            previous_blockhash: block.previous_blockhash,
            block_time: block.block_time,
            block_height: block.block_height,
            transaction_count: block.transaction_count,
            rewards: fees.into_iter().map(FeeRecord::new).collect(),
            epoch_rewards: others.into_iter().cloned().collect(),
            reward_partitions: block.reward_partitions,
        }
    }

    /// Returns the block, without transactions and accounts.
    pub(crate) fn into_block(self, slot: u64) -> Block {
        let fees = self.rewards.into_iter().map(FeeRecord::into_reward);
        Block {
            slot,
            parent_slot: self.parent_slot,
            blockhash: self.blockhash,
            previous_blockhash: self.previous_blockhash,
            block_time: self.block_time,
            block_height: self.block_height,
            transaction_count: self.transaction_count,
            transactions: Vec::new(),
            rewards: self.epoch_rewards.into_iter().chain(fees).collect(),
            reward_partitions: self.reward_partitions,
            accounts: Vec::new(),
        }
    }
}

/// How a [`RewardKind`] is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "RewardKind")]
enum RewardKindForm {
    Fee,
    Staking,
    Voting,
    DeactivatedStake,
    AdmissionDebit,
}

/// Lamports that the runtime paid or took in a block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RewardRecord {
    /// The account.
    #[serde(with = "base58")]
    pub address: Pubkey,
    /// What for.
    #[serde(with = "RewardKindForm")]
    pub kind: RewardKind,
    /// The lamports; negative if they were taken.
    pub lamports: i64,
    /// The account's balance afterwards, in lamports.
    pub post_balance: u64,
    /// The commission of the vote account in percent, where commissions are whole percents.
    pub commission: Option<u8>,
    /// The same in basis points, where they are those (SIMD-0291).
    pub commission_bps: Option<u16>,
}

/// A transaction in a block.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Landed {
    /// The slot of its block.
    pub slot: u64,
    /// Its index in the block.
    pub index: u32,
    /// The Unix timestamp of its block.
    pub block_time: i64,
    /// Its first signature.
    #[serde(with = "base58")]
    pub signature: Signature,
    /// The transaction.
    #[serde(with = "wire")]
    pub transaction: VersionedTransaction,
    /// Its result.
    pub result: Result<(), TransactionError>,
    /// What is recorded of its execution.
    pub meta: Meta,
}

/// What is recorded of a transaction's execution.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Meta {
    /// The whole fee, in lamports.
    pub fee: u64,
    /// The part of the fee that is the priority fee, in lamports.
    pub priority_fee: u64,
    /// The balances of the accounts before, in lamports.
    pub pre_balances: Vec<u64>,
    /// The balances of the accounts afterwards, in lamports.
    pub post_balances: Vec<u64>,
    /// The inner instructions, by top-level instruction; those without any are left out.
    pub inner_instructions: Vec<InnerInstructions>,
    /// The log lines.
    pub logs: Vec<String>,
    /// The balances of the token accounts before.
    pub pre_token_balances: Vec<TokenBalance>,
    /// The balances of the token accounts afterwards.
    pub post_token_balances: Vec<TokenBalance>,
    /// The addresses from lookup tables.
    pub loaded_addresses: LoadedAddresses,
    /// The data that was returned last.
    pub return_data: Option<ReturnData>,
    /// The compute units used.
    pub compute_units: u64,
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// The cost in a block's limits, in compute units.
    pub cost_units: u64,
    /// The loaded accounts data size, in bytes.
    pub loaded_bytes: u32,
    /// Explanations for people of a failure, beside the log.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The compute units of each top-level instruction that was started.
    #[serde(default)]
    pub instruction_compute_units: Vec<u64>,
    /// How the data and owners of accounts changed. Changes of lamports are in the balances.
    #[serde(default)]
    pub account_diffs: Vec<AccountDiff>,
}

/// How a transaction changed an account's data or owner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccountDiff {
    /// The index of the account among the transaction's accounts.
    pub account_index: u8,
    /// The owner before.
    #[serde(with = "base58")]
    pub owner_before: Pubkey,
    /// The owner afterwards.
    #[serde(with = "base58")]
    pub owner_after: Pubkey,
    /// The length of the data before, in bytes.
    pub bytes_before: u64,
    /// The length of the data afterwards, in bytes.
    pub bytes_after: u64,
    /// The ranges of the data that changed, in ascending order.
    pub ranges: Vec<DataDiff>,
    /// Whether more ranges changed, which are left out.
    pub is_truncated: bool,
}

/// A range of data that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DataDiff {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The bytes before; fewer than afterwards if the data became longer.
    #[serde(with = "base64_bytes")]
    pub before: Vec<u8>,
    /// The bytes afterwards.
    #[serde(with = "base64_bytes")]
    pub after: Vec<u8>,
}

/// The inner instructions of a top-level instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InnerInstructions {
    /// The index of the top-level instruction.
    pub index: u8,
    /// The instructions, in the order of execution.
    pub instructions: Vec<InnerInstruction>,
}

/// An instruction that a program invoked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InnerInstruction {
    /// The index of the program among the transaction's accounts.
    pub program_index: u8,
    /// The indexes of the accounts among the transaction's accounts.
    pub accounts: Vec<u8>,
    /// The instruction data.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
    /// The stack height: 2 for instructions that top-level instructions invoke.
    pub stack_height: u8,
    /// The compute units used, those of the instructions that it invoked included.
    pub compute_units: u64,
}

/// The balance of a token account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TokenBalance {
    /// The index of the token account among the transaction's accounts.
    pub account_index: u8,
    /// The mint.
    #[serde(with = "base58")]
    pub mint: Pubkey,
    /// The owner of the tokens.
    #[serde(with = "base58")]
    pub owner: Pubkey,
    /// The token program.
    #[serde(with = "base58")]
    pub program: Pubkey,
    /// The amount, in the smallest unit.
    pub amount: u64,
    /// The mint's decimals.
    pub decimals: u8,
}

/// The addresses that a message's lookup tables resolve to.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct LoadedAddresses {
    /// The writable ones.
    #[serde(with = "crate::records::addresses")]
    pub writable: Vec<Pubkey>,
    /// The read-only ones.
    #[serde(with = "crate::records::addresses")]
    pub readonly: Vec<Pubkey>,
}

/// The data that a program returned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReturnData {
    /// The program.
    #[serde(with = "base58")]
    pub program: Pubkey,
    /// The bytes.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
}

impl Landed {
    /// Returns the addresses of the transaction: those of the message, then those from lookup tables,
    /// the writable ones first.
    #[must_use]
    pub fn account_keys(&self) -> Vec<Pubkey> {
        let LoadedAddresses { writable, readonly } = &self.meta.loaded_addresses;
        [self.transaction.message.static_account_keys(), writable, readonly].concat()
    }

    /// Returns the price of compute units that the transaction paid, in millionths of a lamport.
    #[must_use]
    pub fn compute_unit_price(&self) -> u64 {
        let micro = u128::from(self.meta.priority_fee).saturating_mul(1_000_000);
        let price = micro.checked_div(self.meta.compute_unit_limit.into()).unwrap_or(0);
        u64::try_from(price).unwrap_or(u64::MAX)
    }
}
