//! Programs of mainnet, from published packages: exact compute units, logs and accounts.
//!

use std::fs;

use selkie_svm::{
    Account, AccountMeta, Environment, FeatureSet, Instruction, InstructionError,
    InstructionResult, Loader, Options, Program, Pubkey, Purpose, elf_environment,
    process_instruction,
};

/// A program of mainnet.
#[derive(Clone, Copy)]
struct File {
    base: &'static str,
    loader: Loader,
    id: Pubkey,
}

const TOKEN: Pubkey = Pubkey::from_str_const("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
const SPL_TOKEN: File = File { base: "7b44674b9704", loader: Loader::V2, id: TOKEN };
const P_TOKEN: File = File { base: "53e587eee80c", loader: Loader::V3, id: TOKEN };
const TOKEN_2022: File = File {
    base: "495e9d7680dd",
    loader: Loader::V3,
    id: Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"),
};
const MEMO_V1: File = File {
    base: "67053ed6b0c4",
    loader: Loader::V1,
    id: Pubkey::from_str_const("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"),
};
const MEMO_V4: File = File {
    base: "0c92063c6838",
    loader: Loader::V3,
    id: Pubkey::from_str_const("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"),
};
const ASSOCIATED_TOKEN: File = File {
    base: "6804554e69fd",
    loader: Loader::V2,
    id: Pubkey::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
};

/// A program that is ready to run.
struct Fixture {
    id: Pubkey,
    environment: Environment,
}

#[test]
fn spl_token_transfers() {
    transfer(&Fixture::new(&SPL_TOKEN), 4645);
}

#[test]
fn p_token_transfers() {
    transfer(&Fixture::new(&P_TOKEN), 76);
}

#[test]
fn token_2022_transfers() {
    transfer(&Fixture::new(&TOKEN_2022), 1457);
}

#[test]
fn spl_token_refuses_to_overdraw() {
    overdraw(&Fixture::new(&SPL_TOKEN));
}

#[test]
fn memo_v1_rejects_invalid_utf8() {
    memo_v1(&Fixture::new(&MEMO_V1));
}

#[test]
fn memo_v4_logs_its_text() {
    memo_v4(&Fixture::new(&MEMO_V4));
}

#[test]
fn associated_token_without_accounts_fails_before_cpi() {
    associated(&Fixture::new(&ASSOCIATED_TOKEN));
}

fn key(byte: u8) -> Pubkey {
    Pubkey::new_from_array([byte; 32])
}

impl Fixture {
    fn new(file: &File) -> Self {
        let elf = fs::read(selkie_testdata::elf(file.base)).expect("the file was fetched");
        let against = elf_environment(FeatureSet::mainnet(), Purpose::Execution);
        let program = Program::load(&elf, file.loader, &against).expect("mainnet runs this file");
        let mut environment = Environment::default();
        environment.programs.insert(file.id, program);
        Self { id: file.id, environment }
    }

    fn run(
        &self,
        metas: Vec<AccountMeta>,
        data: &[u8],
        accounts: &[(Pubkey, Account)],
    ) -> InstructionResult {
        let instruction = Instruction { program_id: self.id, accounts: metas, data: data.to_vec() };
        process_instruction(&instruction, accounts, &self.environment, &Options::default(), None)
            .expect("there is an engine")
    }
}

/// A token account as all token programs lay it out.
fn token_account(program: Pubkey, owner: u8, amount: u64) -> Account {
    let mut data = vec![0; 165];
    data[..32].fill(9);
    data[32..64].fill(owner);
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[108] = 1;
    Account { lamports: 2_039_280, data, owner: program, ..Account::default() }
}

fn transfer_accounts(program: Pubkey) -> (Vec<AccountMeta>, Vec<(Pubkey, Account)>) {
    let metas = vec![
        AccountMeta::new(key(1), false),
        AccountMeta::new(key(2), false),
        AccountMeta::new_readonly(key(3), true),
    ];
    let accounts = vec![
        (key(1), token_account(program, 3, 1000)),
        (key(2), token_account(program, 4, 5)),
        (key(3), Account { lamports: 1_000_000, ..Account::default() }),
    ];
    (metas, accounts)
}

fn transfer_data(amount: u64) -> Vec<u8> {
    let mut data = vec![3];
    data.extend(amount.to_le_bytes());
    data
}

fn transfer(fixture: &Fixture, units: u64) {
    let (id, (metas, accounts)) = (fixture.id, transfer_accounts(fixture.id));
    let receipt = fixture.run(metas, &transfer_data(42), &accounts);
    assert_eq!(receipt.result, Ok(()), "{:#?}", receipt.logs);
    assert_eq!(receipt.compute_units, units, "{:#?}", receipt.logs);
    let expected = [(key(1), token_account(id, 3, 958)), (key(2), token_account(id, 4, 47))];
    assert_eq!(receipt.accounts[..2], expected);
    assert_eq!(receipt.accounts[2..], accounts[2..]);
    assert_eq!(receipt.logs.first(), Some(&format!("Program {id} invoke [1]")));
    let last = [
        format!("Program {id} consumed {units} of 200000 compute units"),
        format!("Program {id} success"),
    ];
    assert_eq!(receipt.logs[receipt.logs.len() - 2..], last);
}

fn overdraw(fixture: &Fixture) {
    let (metas, accounts) = transfer_accounts(fixture.id);
    let receipt = fixture.run(metas, &transfer_data(1001), &accounts);
    assert_eq!(receipt.accounts, accounts);
    let text = receipt.logs.join("\n");
    assert!(text.contains("Program log: Error: insufficient funds"), "{text}");
    let last = format!("Program {} failed: custom program error: 0x1", fixture.id);
    assert!(text.ends_with(&last), "{text}");
}

fn memo_v1(fixture: &Fixture) {
    let receipt = fixture.run(vec![], b"", &[]);
    assert_eq!((receipt.result, receipt.compute_units), (Ok(()), 232));
    let receipt = fixture.run(vec![], b"\xf0\x9f", &[]);
    assert_eq!(receipt.result, Err(InstructionError::InvalidInstructionData));
    assert_eq!(receipt.compute_units, 326);
}

fn memo_v4(fixture: &Fixture) {
    let log = |line: &str| format!("Program log: {line}");
    let lines = [log("Memo (len 4)"), log("\u{1f406}")];
    let receipt = fixture.run(vec![], "\u{1f406}".as_bytes(), &[]);
    assert_eq!((receipt.compute_units, &receipt.logs[1..3]), (274, &lines[..]));
}

/// Creates an associated account that exists, and checks the errors that precede the creation.
fn associated(fixture: &Fixture) {
    let wallet = Pubkey::from_str_const("G4rE24Tzh89qJJxLsSnScRNUF54gJ3NK6ce1e5RFVCEp");
    let mint = Pubkey::from_str_const("4HnqjBnHjGAptyFqQYZk8xZ1kbcSEpXf6P8rDngTcLWJ");
    let account = Pubkey::from_str_const("B59joXqk31MKCers4KDj5W1udaiSLhpAJeePz845Nafo");
    let mut state = token_account(TOKEN, 0, 0);
    state.data[..32].copy_from_slice(mint.as_ref());
    state.data[32..64].copy_from_slice(wallet.as_ref());
    // Lengths and flags are mainnet's, since they change the cost of reading the input.
    let with_data = |len| Account { lamports: 1, data: vec![0; len], ..Account::default() };
    let accounts = [
        (account, state),
        (mint, with_data(82)),
        (Pubkey::default(), Account { executable: true, ..with_data(21) }),
        (TOKEN, Account { executable: true, ..with_data(36) }),
    ];
    let metas = |account| {
        vec![
            AccountMeta::new(
                Pubkey::from_str_const("BYdmEMdAxdnwJRNcrQiDKtgw76mMaJWhqeTAhQU4Gcqp"),
                true,
            ),
            AccountMeta::new(account, false),
            AccountMeta::new_readonly(wallet, false),
            AccountMeta::new_readonly(mint, false),
            AccountMeta::new_readonly(Pubkey::default(), false),
            AccountMeta::new_readonly(TOKEN, false),
        ]
    };
    let end = |receipt: &InstructionResult| {
        (receipt.compute_units, receipt.logs.last().cloned().unwrap_or_default())
    };
    let line = |what: &str| format!("Program {} {what}", fixture.id);
    let receipt = fixture.run(metas(account), &[1], &accounts);
    assert_eq!(end(&receipt), (11937, line("success")));
    let receipt = fixture.run(metas(account), &[9], &accounts);
    assert_eq!(end(&receipt), (1842, line("failed: invalid instruction data")));
    let wrong = Pubkey::from_str_const("7WkZgz5ATSexesfbKmpvqwrchFsoVbCUwNsd2LTi3tTu");
    let receipt = fixture.run(metas(wrong), &[0], &accounts);
    let why = "failed: Provided seeds do not result in a valid address";
    assert_eq!(receipt.logs.last(), Some(&line(why)));
}
