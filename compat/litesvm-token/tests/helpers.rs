//! The helpers, with whichever program the features choose. The peer's own tests are run by
//! `cargo xtask peers`.

use selkie_litesvm::LiteSVM;
use selkie_litesvm_token::{
    Approve, CreateAssociatedTokenAccount, CreateAssociatedTokenAccountIdempotent, CreateMint,
    CreateMultisig, FreezeAccount, MintTo, MintToChecked, TOKEN_ID, Transfer, TransferChecked,
    get_spl_account, spl_token::state::Account,
};
use solana_address::Address;
use solana_instruction_error::InstructionError;
use solana_keypair::{Keypair, Signer};
use solana_transaction_error::TransactionError;

/// A chain with a mint of the payer, and the payer's account for it.
fn with_mint() -> (LiteSVM, Keypair, Address, Address) {
    let mut svm = LiteSVM::new();
    let payer = Keypair::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).expect("an airdrop");
    let mint = CreateMint::new(&mut svm, &payer).freeze_authority(&payer.pubkey()).send();
    let mint = mint.expect("a mint");
    let account = CreateAssociatedTokenAccount::new(&mut svm, &payer, &mint).send();
    (svm, payer, mint, account.expect("an account"))
}

fn amount(svm: &LiteSVM, account: &Address) -> u64 {
    get_spl_account::<Account>(svm, account).expect("a token account").amount
}

#[test]
fn tokens_are_those_of_the_payer_by_default() {
    let (mut svm, payer, mint, account) = with_mint();
    assert_eq!(svm.get_account(&mint).expect("it exists").owner, TOKEN_ID);
    MintTo::new(&mut svm, &payer, &mint, &account, 10).send().expect("minted");
    let bob = Address::new_unique();
    let create = CreateAssociatedTokenAccountIdempotent::new(&mut svm, &payer, &mint).owner(&bob);
    let theirs = create.send().expect("created");
    TransferChecked::new(&mut svm, &payer, &mint, &theirs, 3).send().expect("transferred");
    assert_eq!((amount(&svm, &account), amount(&svm, &theirs)), (7, 3));
}

#[test]
fn a_delegate_signs_for_itself() {
    let (mut svm, payer, mint, account) = with_mint();
    MintToChecked::new(&mut svm, &payer, &mint, &account, 10).send().expect("minted");
    let delegate = Keypair::new();
    let key = delegate.pubkey();
    Approve::new(&mut svm, &payer, &key, &account, 4).send().expect("approved");
    let bob = Address::new_unique();
    let theirs = CreateAssociatedTokenAccount::new(&mut svm, &payer, &mint).owner(&bob).send();
    let theirs = theirs.expect("created");
    let transfer = Transfer::new(&mut svm, &payer, &mint, &theirs, 4).source(&account);
    transfer.owner(&delegate).send().expect("transferred");
    assert_eq!((amount(&svm, &account), amount(&svm, &theirs)), (6, 4));
}

#[test]
fn two_of_three_sign_for_a_multisignature_account() {
    let (mut svm, payer, _, _) = with_mint();
    let [one, two, three] = [Keypair::new(), Keypair::new(), Keypair::new()];
    let keys = [&one.pubkey(), &two.pubkey(), &three.pubkey()];
    let multisig = CreateMultisig::new(&mut svm, &payer, &keys, 2).send().expect("created");
    let mint = CreateMint::new(&mut svm, &payer).authority(&multisig).send().expect("a mint");
    let account = CreateAssociatedTokenAccount::new(&mut svm, &payer, &mint).send();
    let account = account.expect("an account");
    let mint_to = MintTo::new(&mut svm, &payer, &mint, &account, 10);
    mint_to.multisig(&multisig, &[&one, &three]).send().expect("minted");
    assert_eq!(amount(&svm, &account), 10);
    let mint_to = MintTo::new(&mut svm, &payer, &mint, &account, 11);
    let failed = mint_to.multisig(&multisig, &[&one]).send().expect_err("one of three");
    let missing = InstructionError::MissingRequiredSignature;
    assert_eq!(failed.err, TransactionError::InstructionError(0, missing));
}

#[test]
fn frozen_accounts_receive_nothing() {
    let (mut svm, payer, mint, account) = with_mint();
    FreezeAccount::new(&mut svm, &payer, &mint).send().expect("frozen");
    let failed = MintTo::new(&mut svm, &payer, &mint, &account, 1).send().expect_err("frozen");
    let frozen = InstructionError::Custom(17);
    assert_eq!(failed.err, TransactionError::InstructionError(0, frozen));
}
