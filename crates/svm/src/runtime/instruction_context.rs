//! An instruction whose accounts are resolved to indexes into the transaction's accounts.

use std::borrow::Cow;

use smallvec::SmallVec;
use solana_pubkey::Pubkey;

/// An account of an instruction, with the instruction's privileges for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionAccount {
    /// The account's index in the transaction.
    pub index: u16,
    /// The position at which the instruction names this account first: its own position, unless it
    /// is a duplicate.
    pub first: u16,
    /// Whether the account is a signer of this instruction.
    pub is_signer: bool,
    /// Whether this instruction may write to the account.
    pub is_writable: bool,
}

/// The accounts of an instruction, in the order that the program sees.
// Most instructions have a few accounts.
pub type InstructionAccounts = SmallVec<[InstructionAccount; 8]>;

/// Appends an account. If the instruction has named it before, the first mention gets the privileges
/// of both; [`share_privileges`] then gives them to all mentions.
#[inline]
pub(crate) fn push_account(
    accounts: &mut InstructionAccounts,
    index: u16,
    is_signer: bool,
    is_writable: bool,
) {
    let position = u16::try_from(accounts.len()).unwrap_or(u16::MAX);
    let added = match accounts.iter_mut().find(|account| account.index == index) {
        Some(first) => {
            first.is_signer |= is_signer;
            first.is_writable |= is_writable;
            *first
        }
        None => InstructionAccount { index, first: position, is_signer, is_writable },
    };
    accounts.push(added);
}

/// Gives every duplicate the privileges of the first mention.
pub(crate) fn share_privileges(accounts: &mut InstructionAccounts) {
    for position in 0..accounts.len() {
        let first = accounts.get(position).map_or(position, |it| usize::from(it.first));
        if first != position
            && let Some(shared) = accounts.get(first).copied()
            && let Some(duplicate) = accounts.get_mut(position)
        {
            *duplicate = shared;
        }
    }
}

/// An instruction of a transaction: pending, in progress, or done.
#[derive(Clone, Debug)]
pub struct InstructionContext<'e> {
    /// The program.
    pub program_id: Pubkey,
    /// The index of the program's account in the transaction, if it is among the accounts.
    pub program_index: Option<u16>,
    /// The accounts, in the order that the program sees.
    pub accounts: InstructionAccounts,
    /// The instruction data.
    pub data: Cow<'e, [u8]>,
    /// The stack height: 1 for top-level instructions.
    pub stack_height: usize,
    /// The index of the invoking instruction in the trace; `None` for top-level instructions.
    pub caller: Option<usize>,
    /// Compute units used, those of inner instructions included; 0 until the instruction ends.
    pub compute_units: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_share_the_privileges_of_all_mentions() {
        let mut accounts = InstructionAccounts::new();
        push_account(&mut accounts, 5, false, false);
        push_account(&mut accounts, 6, true, false);
        push_account(&mut accounts, 5, true, false);
        push_account(&mut accounts, 5, false, true);
        share_privileges(&mut accounts);
        let five = InstructionAccount { index: 5, first: 0, is_signer: true, is_writable: true };
        let six = InstructionAccount { index: 6, first: 1, is_signer: true, is_writable: false };
        assert_eq!(accounts[..], [five, six, five, five]);
    }
}
