//! The message of a transaction with one instruction: its accounts and their privileges.
//!
//! A transaction grants privileges per account, not per mention of an account in an instruction. An
//! invoked program is never writable, unless the upgradeable loader is among the accounts.

use std::collections::BTreeMap;

use selkie_svm::{AccountMeta, Instruction, Loader, Pubkey};

/// Sets the privileges of each account to those in a transaction of this one instruction.
pub(crate) fn compile(instruction: &mut Instruction) {
    let program = instruction.program_id;
    let mut rights: BTreeMap<Pubkey, (bool, bool)> = BTreeMap::new();
    rights.insert(program, (false, false));
    for meta in &instruction.accounts {
        let (is_signer, is_writable) = rights.entry(meta.pubkey).or_default();
        *is_signer |= meta.is_signer;
        *is_writable |= meta.is_writable;
    }
    if !rights.contains_key(&Loader::V3.address()) {
        rights.entry(program).or_default().1 = false;
    }
    for AccountMeta { pubkey, is_signer, is_writable } in &mut instruction.accounts {
        (*is_signer, *is_writable) = rights.get(pubkey).copied().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    fn meta(byte: u8, is_signer: bool, is_writable: bool) -> AccountMeta {
        AccountMeta { pubkey: key(byte), is_signer, is_writable }
    }

    fn compiled(accounts: Vec<AccountMeta>) -> Vec<AccountMeta> {
        let mut instruction = Instruction { program_id: key(9), accounts, data: vec![] };
        compile(&mut instruction);
        instruction.accounts
    }

    #[test]
    fn every_mention_of_an_account_has_its_combined_privileges() {
        let metas = compiled(vec![
            meta(3, false, false),
            meta(2, true, false),
            meta(1, false, true),
            meta(2, false, true),
        ]);
        assert_eq!(
            metas,
            [meta(3, false, false), meta(2, true, true), meta(1, false, true), meta(2, true, true)]
        );
    }

    #[test]
    fn an_invoked_program_is_writable_only_beside_the_upgradeable_loader() {
        let program = meta(9, false, true);
        assert!(!compiled(vec![program.clone()])[0].is_writable);
        let loader = AccountMeta::new_readonly(Loader::V3.address(), false);
        assert!(compiled(vec![program, loader])[0].is_writable);
    }
}
