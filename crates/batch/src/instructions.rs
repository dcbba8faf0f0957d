//! The instructions of a transaction, with the addresses that it takes from lookup tables.

use std::collections::BTreeSet;

use selkie::Svm;
use selkie_svm::{
    AccountMeta, AccountSharedData, AccountStore, Instruction, Pubkey, ReadableAccount as _,
    Transaction, check::resolve_lookups,
};

/// The accounts of a chain.
struct Chain<'a>(&'a Svm);

impl AccountStore for Chain<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.0.shared_account(key).filter(|it| it.lamports() > 0)
    }
}

/// Returns the instructions of a transaction.
///
/// # Errors
/// If a lookup table is missing or too short.
pub(crate) fn instructions(
    transaction: &Transaction,
    svm: &Svm,
) -> Result<Vec<Instruction>, String> {
    let accounts = accounts(transaction, svm)?;
    let instruction = |it: &solana_message::compiled_instruction::CompiledInstruction| {
        let meta = |index: &u8| accounts.get(usize::from(*index)).cloned();
        Some(Instruction {
            program_id: transaction.program(it),
            accounts: it.accounts.iter().map(meta).collect::<Option<_>>()?,
            data: it.data.clone(),
        })
    };
    let all: Option<Vec<_>> = transaction.instructions().iter().map(instruction).collect();
    all.ok_or_else(|| "an instruction names an account that is not there".to_owned())
}

/// Returns the accounts of a transaction in its order.
fn accounts(transaction: &Transaction, svm: &Svm) -> Result<Vec<AccountMeta>, String> {
    let message = transaction.message();
    let own = message.static_account_keys().iter().enumerate().map(|(index, key)| AccountMeta {
        pubkey: *key,
        is_signer: message.is_signer(index),
        is_writable: {
            let reserved: Option<&BTreeSet<Pubkey>> = None;
            message.is_maybe_writable_with_reserved_addresses(index, reserved)
        },
    });
    let lookups = message.address_table_lookups().unwrap_or_default();
    let found = resolve_lookups(lookups, &Chain(svm), svm.environment());
    let (writable, readonly) = found.map_err(|error| error.to_string())?;
    let writable = writable.into_iter().map(|key| AccountMeta::new(key, false));
    let readonly = readonly.into_iter().map(|key| AccountMeta::new_readonly(key, false));
    Ok(own.chain(writable).chain(readonly).collect())
}
