//! Transfers tokens: `cargo run -p selkie --example token_transfer`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use selkie::{Account, Signer, Svm, address, keypair, programs, token};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (alice, bob, mint) = (keypair("alice"), keypair("bob"), address("mint"));
    let mut svm = Svm::new();
    svm.airdrop(&alice.pubkey(), 1_000_000_000)?;

    // Sets up the mint directly instead of by instructions.
    let id = programs::TOKEN.id;
    let data = token::mint_data(&alice.pubkey(), 0, 6);
    let lamports = svm.minimum_balance_for_rent_exemption(data.len());
    svm.set_account(mint, Account { lamports, data, owner: id, ..Account::default() })?;

    let from = token::associated_address(&id, &alice.pubkey(), &mint);
    let to = token::associated_address(&id, &bob.pubkey(), &mint);
    let receipt = svm.send_instructions(
        &[
            token::create_associated(&id, &alice.pubkey(), &alice.pubkey(), &mint),
            token::create_associated(&id, &alice.pubkey(), &bob.pubkey(), &mint),
            token::mint_to(&id, &mint, &from, &alice.pubkey(), 100),
            token::transfer(&id, &from, &to, &alice.pubkey(), 30),
        ],
        &[&alice],
    )?;
    println!("{receipt}\n\n{}\n{}", receipt.call_tree(), receipt.diff());
    Ok(())
}
