//! The place that a failed check names.

use std::{panic, sync::mpsc};

use selkie_mollusk::{
    Mollusk,
    result::{Check, Compare, InstructionResult},
};
use solana_account::Account;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;

/// Runs a call that panics, and returns the file that the panic names.
fn place(call: impl FnOnce()) -> String {
    let (sender, receiver) = mpsc::channel();
    panic::set_hook(Box::new(move |info| {
        let file = info.location().map(|it| it.file().to_owned());
        let _ = sender.send(file.unwrap_or_default());
    }));
    assert!(panic::catch_unwind(panic::AssertUnwindSafe(call)).is_err());
    let _ = panic::take_hook();
    receiver.recv().unwrap()
}

/// A closure has no caller's place, so one test covers each way to a check.
#[test]
fn a_failed_check_names_the_line_of_the_test() {
    let mollusk = Mollusk::default();
    let (alice, bob) = (Pubkey::new_unique(), Pubkey::new_unique());
    let metas = vec![AccountMeta::new(alice, true), AccountMeta::new(bob, false)];
    let data = [&2_u32.to_le_bytes()[..], &1_000_000_u64.to_le_bytes()].concat();
    let transfer = Instruction { program_id: Pubkey::default(), accounts: metas, data };
    let account = |lamports| Account { lamports, ..Account::default() };
    let accounts = [(alice, account(10_000_000)), (bob, account(0))];
    let checks = |check| [check];
    let fails: [&dyn Fn(); 7] = [
        &|| drop(Mollusk::new(&alice, "there_is_none")),
        &|| drop(mollusk.process_instruction(&transfer, &accounts[..1])),
        &|| {
            let checks = checks(Check::compute_units(1));
            mollusk.process_and_validate_instruction(&transfer, &accounts, &checks);
        },
        &|| {
            let check = Check::account(&bob).lamports(8).build();
            mollusk.process_and_validate_instruction(&transfer, &accounts, &checks(check));
        },
        &|| {
            let check = Check::account(&bob).data_slice(3, &[1]).build();
            mollusk
                .process_and_validate_instruction_chain(&[(&transfer, &checks(check))], &accounts);
        },
        &|| {
            let (a, b) = (
                InstructionResult::default(),
                InstructionResult { compute_units_consumed: 1, ..InstructionResult::default() },
            );
            a.compare_with_config(&b, &[Compare::ComputeUnits], &mollusk.config);
        },
        &|| {
            let of = |lamports| InstructionResult {
                resulting_accounts: vec![(alice, account(lamports))],
                ..InstructionResult::default()
            };
            of(1).compare(&of(2));
        },
    ];
    for fails in fails {
        let place = place(fails);
        assert!(place.ends_with("place.rs"), "{place}");
    }
}
