//! What is recorded of a transaction: made of the runtime's result.

use selkie_bank::{Bank, rewards::Reward};
use selkie_ledger::{
    InnerInstruction, InnerInstructions, Landed, LoadedAddresses, Meta, ReturnData, RewardRecord,
    TokenBalance,
};
use selkie_programs::is_token_program;
use selkie_svm::{AccountChange, Feature, Processed};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    cost, diff, missing,
    token::{TokenAccount, decimals},
};

/// Looks up a mint that is not among a transaction's accounts.
pub(crate) type FindAccount<'a> = &'a dyn Fn(&Pubkey) -> Option<AccountSharedData>;

/// Records a transaction at an index of a block.
pub(crate) fn landed(
    (slot, index, block_time): (u64, u32, i64),
    transaction: VersionedTransaction,
    processed: Processed,
    find: FindAccount<'_>,
) -> Landed {
    let signature = transaction.signatures.first().copied().unwrap_or_default();
    let result = processed.result.clone();
    let meta = meta(&transaction.message, processed, find);
    Landed { slot, index, block_time, signature, transaction, result, meta }
}

/// Records the execution of a message.
pub(crate) fn meta(
    message: &VersionedMessage,
    processed: Processed,
    find: FindAccount<'_>,
) -> Meta {
    let accounts = &processed.accounts;
    let lamports = |account: Option<&AccountSharedData>| account.map_or(0, |it| it.lamports());
    let (pre_token_balances, post_token_balances) = token_balances(accounts, find);
    let missing = missing::notes(message, &processed.result, find);
    Meta {
        fee: processed.fee.total(),
        priority_fee: processed.fee.priority,
        pre_balances: accounts.iter().map(|it| lamports(it.before.as_ref())).collect(),
        post_balances: accounts.iter().map(|it| lamports(it.after())).collect(),
        loaded_addresses: loaded_addresses(message, accounts),
        cost_units: cost::of(message, &processed),
        account_diffs: diff::of(accounts),
        instruction_compute_units: processed.instruction_compute_units.to_vec(),
        compute_units: processed.compute_units,
        compute_unit_limit: processed.compute_unit_limit,
        loaded_bytes: processed.loaded_bytes,
        inner_instructions: inner_instructions(processed.inner_instructions),
        logs: processed.logs,
        pre_token_balances,
        post_token_balances,
        return_data: processed
            .return_data
            .map(|it| ReturnData { program: it.program_id, data: it.data }),
        notes: processed.notes.into_iter().chain(missing).collect(),
    }
}

fn inner_instructions(all: selkie_svm::InnerInstructions) -> Vec<InnerInstructions> {
    let record = |it: selkie_svm::InnerInstruction| InnerInstruction {
        program_index: it.program_index,
        accounts: it.accounts,
        data: it.data,
        stack_height: it.stack_height,
        compute_units: it.compute_units,
    };
    let all = (0_u8..).zip(all).filter(|(_, instructions)| !instructions.is_empty());
    all.map(|(index, instructions)| InnerInstructions {
        index,
        instructions: instructions.into_iter().map(record).collect(),
    })
    .collect()
}

/// Returns the addresses that follow those of the message.
fn loaded_addresses(message: &VersionedMessage, accounts: &[AccountChange]) -> LoadedAddresses {
    let Some(lookups) = message.address_table_lookups().filter(|lookups| !lookups.is_empty())
    else {
        return LoadedAddresses::default();
    };
    let writable: usize = lookups.iter().map(|lookup| lookup.writable_indexes.len()).sum();
    let loaded = accounts.get(message.static_account_keys().len()..).unwrap_or_default();
    let (writable, readonly) = loaded.split_at_checked(writable).unwrap_or((loaded, &[]));
    let keys = |accounts: &[AccountChange]| accounts.iter().map(|it| it.key).collect();
    LoadedAddresses { writable: keys(writable), readonly: keys(readonly) }
}

/// Returns the token balances before and afterwards. As on mainnet there are none unless a token
/// program is among the accounts.
fn token_balances(
    accounts: &[AccountChange],
    find: FindAccount<'_>,
) -> (Vec<TokenBalance>, Vec<TokenBalance>) {
    let (mut pre, mut post) = (Vec::new(), Vec::new());
    if !accounts.iter().any(|account| is_token_program(&account.key)) {
        return (pre, post);
    }
    for (index, change) in (0_u8..).zip(accounts) {
        pre.extend(token_balance(index, change.before.as_ref(), accounts, find));
        post.extend(token_balance(index, change.after(), accounts, find));
    }
    (pre, post)
}

fn token_balance(
    account_index: u8,
    account: Option<&AccountSharedData>,
    accounts: &[AccountChange],
    find: FindAccount<'_>,
) -> Option<TokenBalance> {
    let account = account?;
    let token = TokenAccount::read(account)?;
    let mint = accounts.iter().find(|it| it.key == token.mint);
    // A transaction may create the mint, or close it.
    let of_transaction = mint.and_then(|it| {
        decimals(&token.mint, it.after()).or_else(|| decimals(&token.mint, it.before.as_ref()))
    });
    let decimals = of_transaction.or_else(|| decimals(&token.mint, find(&token.mint).as_ref()))?;
    let TokenAccount { mint, owner, amount, .. } = token;
    Some(TokenBalance { account_index, mint, owner, program: *account.owner(), amount, decimals })
}

/// Returns what the runtime paid and took in the block of a frozen bank.
pub(crate) fn rewards(bank: &Bank) -> Vec<RewardRecord> {
    let in_basis_points = bank.features().has(Feature::CommissionRateInBasisPoints);
    let record = |it: Reward| {
        let percent = |bps: u16| u8::try_from(bps / 100).unwrap_or(u8::MAX);
        RewardRecord {
            address: it.address,
            kind: it.kind,
            lamports: it.lamports,
            post_balance: it.post_balance,
            commission: it.commission_bps.filter(|_| !in_basis_points).map(percent),
            commission_bps: it.commission_bps.filter(|_| in_basis_points),
        }
    };
    bank.rewards().into_iter().map(record).collect()
}
