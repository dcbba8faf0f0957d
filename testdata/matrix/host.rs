//! Calls the program that the variable `MATRIX_PROGRAM` names, which fails in the way of the test.

use selkie::{
    Account, AccountMeta, Check, Instruction, Pubkey, Receipt, Svm, address, ids::system_program,
};

fn call(way: u8) -> Receipt {
    let program: Pubkey = "8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff".parse().unwrap();
    let mut svm = Svm::new();
    svm.add_program(program, std::env::var("MATRIX_PROGRAM").unwrap()).unwrap();
    let account = Account { lamports: 1_000_000, data: vec![0; 8], owner: program, ..Account::default() };
    let other = Account { lamports: 1_000_000_000, ..Account::default() };
    let accounts = vec![
        AccountMeta::new(address("account"), false),
        AccountMeta::new(address("other"), false),
        AccountMeta::new_readonly(system_program::ID, false),
    ];
    let instruction = Instruction { program_id: program, accounts, data: vec![way] };
    let accounts = [(address("account"), account), (address("other"), other)];
    svm.process_instruction(&instruction, &accounts)
}

#[test]
fn trap() {
    call(1).assert(Check::success());
}

#[test]
fn cpi() {
    call(2).assert(Check::success());
}

#[test]
fn error() {
    call(3).assert(Check::success());
}

#[test]
fn panic() {
    call(4).assert(Check::success());
}

#[test]
fn constraint() {
    call(5).assert(Check::success());
}

#[test]
fn ok() {
    call(0).assert(Check::success().account(&address("account")).data(&[1]));
}
