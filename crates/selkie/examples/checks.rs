//! Direct processing of instructions with checks: `cargo run -p selkie --example checks`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use selkie::{
    Account, Check, InstructionError, Svm, address, compute_units::ComputeUnitsReport, programs,
    token,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [owner, mint, from, to] = ["owner", "mint", "from", "to"].map(address);
    let svm = Svm::new();
    let id = programs::TOKEN.id;
    let account = |amount| Account {
        lamports: 10_000_000,
        data: token::account_data(&mint, &owner, amount),
        owner: id,
        ..Account::default()
    };
    let accounts = [(from, account(100)), (to, account(0))];

    let receipt = svm.process_instruction(&token::transfer(&id, &from, &to, &owner, 30), &accounts);
    receipt.assert(
        Check::success()
            .compute_units(76)
            .account(&from)
            .data_slice(64, &70_u64.to_le_bytes())
            .account(&to)
            .data_slice(64, &30_u64.to_le_bytes())
            .owner(&id)
            .rent_exempt(),
    );

    let too_much = token::transfer(&id, &from, &to, &owner, 101);
    let failed = svm.process_instruction(&too_much, &accounts);
    failed.assert(Check::err(InstructionError::Custom(1)).account(&from).unchanged());

    println!("{}", ComputeUnitsReport::new().add("transfer", &receipt));
    Ok(())
}
