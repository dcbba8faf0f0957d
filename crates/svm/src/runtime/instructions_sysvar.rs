//! The instructions sysvar, which shows a transaction's instructions to its programs.

use solana_account::{Account, AccountSharedData};
use solana_instruction::AccountMeta;
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;

/// The account that shows programs with their accounts and data (SDK: `solana-instructions-sysvar`):
/// how many, where each starts, each with its accounts, program and data, and at the end the place
/// of the one that runs. `None` if they are too long for it.
pub(crate) fn show_instructions<'a>(
    instructions: impl ExactSizeIterator<Item = (Pubkey, Vec<AccountMeta>, &'a [u8])>,
) -> Option<AccountSharedData> {
    let short = |len: usize| u16::try_from(len).ok().map(u16::to_le_bytes);
    let mut data = Vec::new();
    data.extend(short(instructions.len())?);
    let offsets = data.len();
    data.resize(offsets.saturating_add(instructions.len().saturating_mul(2)), 0);
    for (place, (program, accounts, instruction)) in instructions.enumerate() {
        let start = short(data.len())?;
        let offset = offsets.saturating_add(place.saturating_mul(2));
        if let Some(slot) = data.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = start;
        }
        data.extend(short(accounts.len())?);
        for account in accounts {
            data.push(u8::from(account.is_signer) | u8::from(account.is_writable) << 1);
            data.extend_from_slice(account.pubkey.as_ref());
        }
        data.extend_from_slice(program.as_ref());
        data.extend(short(instruction.len())?);
        data.extend_from_slice(instruction);
    }
    data.extend([0; 2]);
    let account = Account { data, owner: sysvar::ID, ..Account::default() };
    Some(account.into())
}
