//! Deposits tokens into the vault. `selkie test` builds it and runs this test.

use selkie::{
    AccountMeta, Check, Instruction, Pubkey, Signer, Svm, address, built, keypair, programs,
};

const TOKEN: Pubkey = programs::TOKEN.id;

#[test]
fn a_deposit_moves_tokens() {
    let (program, vault, alice) = (address("program"), address("vault"), keypair("alice"));
    let (mint, wallet) = (address("mint"), address("wallet"));
    let mut svm = Svm::new();
    svm.add_program(program, built("vault")).unwrap();
    svm.airdrop(&alice.pubkey(), 1_000_000_000).unwrap();
    svm.set_mint(mint, &TOKEN, &alice.pubkey(), 6).unwrap();
    svm.set_token_account(wallet, &TOKEN, &mint, &alice.pubkey(), 100).unwrap();
    svm.set_token_account(vault, &TOKEN, &mint, &program, 0).unwrap();

    let accounts = vec![
        AccountMeta::new(wallet, false),
        AccountMeta::new(vault, false),
        AccountMeta::new_readonly(alice.pubkey(), true),
        AccountMeta::new_readonly(TOKEN, false),
    ];
    let deposit = |amount: u64| {
        Instruction::new_with_bytes(program, &amount.to_le_bytes(), accounts.clone())
    };
    let receipt = svm.send_instructions(&[deposit(30)], &[&alice]).unwrap();
    assert_eq!(svm.token_balance(&vault), Some(30), "{receipt}");

    // Direct processing as in Mollusk, on the accounts that the transaction left.
    svm.process_instruction(&deposit(5), &[]).assert(Check::custom(1));
}
