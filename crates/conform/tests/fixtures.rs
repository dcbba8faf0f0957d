//! Fixtures as files, in archives, and named by vectors, and checks that each recorded effect is
//! compared.

use std::{fs, path::Path, sync::Arc};

use prost::Message;
use selkie_conform::{BadVector, Context, KINDS, Options, Verdict, fixture, run, vector::hex};
use selkie_fixture::{
    Account, Instruction, InstructionAccount, InstructionEffects, InstructionFixture, Schema,
    firedancer,
};
use selkie_svm::Pubkey;
use serde_json::{Value, json};

const SYSTEM: Pubkey = Pubkey::new_from_array([0; 32]);
const NATIVE_LOADER: Pubkey = Pubkey::from_str_const("NativeLoader1111111111111111111111111111111");
const COMPUTE_UNITS: u64 = 1000;

fn account(byte: u8, lamports: u64) -> Account {
    Account { address: Pubkey::new_from_array([byte; 32]), lamports, ..Account::default() }
}

fn program() -> Account {
    let data = b"system_program".to_vec();
    let owner = NATIVE_LOADER;
    Account { address: SYSTEM, lamports: 1, data, owner, executable: true, ..Account::default() }
}

/// Returns the data of a system program transfer.
fn transfer(lamports: u64) -> Vec<u8> {
    [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat()
}

/// Returns a transfer of 3 lamports between accounts 1 and 2, which have 10 each.
fn instruction() -> InstructionFixture {
    let accounts = |from, to| vec![account(1, from), account(2, to), program()];
    let instruction_accounts = [(0, true), (1, false)]
        .map(|(index, is_signer)| InstructionAccount { index, is_signer, is_writable: true });
    let input = Instruction {
        schema: Schema::SinceProtosol13,
        program_id: SYSTEM,
        accounts: accounts(10, 10),
        instruction_accounts: instruction_accounts.to_vec(),
        data: transfer(3),
        compute_unit_limit: COMPUTE_UNITS,
        features: vec![],
    };
    let effects = InstructionEffects {
        accounts: accounts(7, 13).into_iter().map(Into::into).collect(),
        compute_units_left: Some(COMPUTE_UNITS - 150),
        ..InstructionEffects::default()
    };
    InstructionFixture { input, output: effects }
}

fn judge(bytes: &[u8]) -> Result<Verdict, BadVector> {
    fixture::judge(bytes, &Context::new("vectors.jsonl".as_ref(), Arc::default()).unwrap())
}

fn fails(verdict: Result<Verdict, BadVector>) -> bool {
    matches!(verdict, Ok(Verdict::Failed(_)))
}

#[test]
fn every_effect_of_an_instruction_is_compared() {
    assert_eq!(judge(&instruction().to_firedancer()), Ok(Verdict::Passed));
    let wrong: [fn(&mut InstructionEffects); 5] = [
        |effects| effects.result = 26,
        |effects| effects.custom_error = 1,
        |effects| effects.compute_units_left = Some(COMPUTE_UNITS),
        |effects| effects.accounts[1].lamports = 10,
        |effects| effects.return_data = vec![0].into(),
    ];
    for change in wrong {
        let mut fixture = instruction();
        change(&mut fixture.output);
        assert!(fails(judge(&fixture.to_firedancer())), "{fixture:?}");
    }
}

#[test]
fn accounts_of_a_failed_instruction_are_not_compared() {
    let mut fixture = instruction();
    fixture.input.data = transfer(11);
    fixture.output.result = 26;
    fixture.output.custom_error = 1;
    fixture.output.accounts[0].lamports = 1;
    assert_eq!(judge(&fixture.to_firedancer()), Ok(Verdict::Passed));
}

#[test]
fn mollusk_fixtures_of_unknown_programs_are_skipped() {
    let mollusk = instruction().to_mollusk(selkie_fixture::mollusk::SysvarContext::default());
    let reason = format!("the file of program {SYSTEM} is not known");
    assert_eq!(judge(&mollusk), Ok(Verdict::Skipped(reason)));
    assert!(judge(b"\xff").is_err());
}

/// Returns the same transfer as a transaction, with account 1 as the fee payer.
fn transaction(status: u32) -> firedancer::TxnFixture {
    let account = |byte, lamports| firedancer::AcctState::from(account(byte, lamports));
    let instruction = firedancer::CompiledInstruction {
        program_id_index: 2,
        accounts: vec![0, 1],
        data: transfer(3),
    };
    let message = firedancer::TransactionMessage {
        is_legacy: true,
        header: Some(firedancer::MessageHeader {
            num_required_signatures: 1,
            num_readonly_unsigned_accounts: 1,
            ..Default::default()
        }),
        account_keys: [1, 2, 0].map(|byte| vec![byte; 32]).to_vec(),
        instructions: vec![instruction],
        account_shared_data: vec![account(1, 2_000_005_003), account(2, 1_000_000_000)],
        ..Default::default()
    };
    let transaction =
        firedancer::SanitizedTransaction { message: Some(message), ..Default::default() };
    let state = firedancer::ResultingState {
        acct_states: vec![account(1, 2_000_000_000), account(2, 1_000_000_003)],
        ..Default::default()
    };
    firedancer::TxnFixture {
        metadata: Some(firedancer::Metadata {
            fn_entrypoint: "sol_compat_txn_execute_v1".to_owned(),
        }),
        input: Some(firedancer::TxnContext { tx: Some(transaction), ..Default::default() }),
        output: Some(firedancer::TxnResult {
            executed: true,
            is_ok: status == 0,
            status,
            executed_units: 150,
            fee_details: Some(firedancer::FeeDetails {
                transaction_fee: 5000,
                prioritization_fee: 0,
            }),
            resulting_state: Some(state),
            ..Default::default()
        }),
    }
}

#[test]
fn every_effect_of_a_transaction_is_compared() {
    assert_eq!(judge(&transaction(0).encode_to_vec()), Ok(Verdict::Passed));
    assert!(fails(judge(&transaction(5).encode_to_vec())));
    let mut wrong = transaction(0);
    let state = wrong.output.as_mut().unwrap().resulting_state.as_mut().unwrap();
    state.acct_states[1].lamports -= 1;
    assert!(fails(judge(&wrong.encode_to_vec())));
}

#[test]
fn a_difference_explained_by_a_later_rule_is_skipped() {
    let mut fixture = transaction(0);
    let message = fixture.input.as_mut().unwrap().tx.as_mut().unwrap().message.as_mut().unwrap();
    let config = Pubkey::from_str_const("Config1111111111111111111111111111111111111");
    message.account_keys[2] = config.to_bytes().to_vec();
    let Ok(Verdict::Skipped(why)) = judge(&fixture.encode_to_vec()) else { panic!("must skip") };
    assert!(why.starts_with("recorded before this rule: the config, stake"), "{why}");
}

/// Returns a vector that states the current result of the fixture in the archive.
fn line(lamports: u64) -> Value {
    let state =
        |byte: u8, lamports: u64| json!([hex(&[byte; 32]), lamports, hex(&[0; 32]), false, 0, "0"]);
    json!({
        "fixture": "instr/fixtures/a.fix", "features": "mainnet",
        "exp": {
            "result": 0, "custom": 0, "cu_left": COMPUTE_UNITS - 150, "ret": "",
            "accounts": [state(1, lamports), state(2, 13)],
        },
    })
}

#[test]
fn results_in_vectors_take_precedence_over_recorded_ones() {
    let folder = std::env::temp_dir().join(format!("selkie-named-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // The recorded results are outdated; a vector names only the first fixture.
    let mut wrong = instruction();
    wrong.output.result = 1;
    let mut archive = tar::Builder::new(fs::File::create(folder.join("old-instr.tar")).unwrap());
    for (name, fixture) in [("a", &wrong), ("b", &instruction())] {
        let bytes = fixture.to_firedancer();
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        let path = format!("instr/fixtures/{name}.fix");
        archive.append_data(&mut header, path, bytes.as_slice()).unwrap();
    }
    archive.into_inner().unwrap();
    fs::write(folder.join("fd_instr.jsonl"), line(7).to_string()).unwrap();
    let report = run(std::slice::from_ref(&folder), &Options::default(), &|_| ());
    let alone = run(&[folder.join("old-instr.tar")], &Options::default(), &|_| ());
    let judged = |line: &Value| {
        let context = Context::new(&folder.join("lines.jsonl"), Arc::default()).unwrap();
        let kind = KINDS.iter().find(|kind| (kind.matches)(line)).unwrap();
        (kind.name, (kind.judge)(line, &context))
    };
    let (right, wrong) = (judged(&line(7)), judged(&line(8)));
    fs::remove_dir_all(Path::new(&folder)).unwrap();
    let total = report.total();
    assert_eq!((total.passed, total.failed, total.skipped), (2, 0, 0));
    let archive = report.files.iter().find(|it| it.path.ends_with("old-instr.tar")).unwrap();
    assert_eq!((archive.tally.passed, archive.judged_by_vectors), (1, 1));
    // Without the vectors in the run, the fixture that they name is skipped.
    let total = alone.total();
    assert_eq!((total.passed, total.failed, total.skipped), (1, 0, 1));
    let why = alone.files[0].skips.keys().next().unwrap();
    assert_eq!(why, "fd_instr.jsonl beside it states its current result: run both together");
    assert_eq!(right, ("fd_instr", Ok(Verdict::Passed)));
    assert!(fails(wrong.1));
}

/// Returns a fixture of loader v4's prototype, recorded in slot 7, with this discriminant.
fn prototype_of_v4(number: u8) -> InstructionFixture {
    const PROTOTYPE: Pubkey = Pubkey::from_str_const("CoreBPFLoaderV41111111111111111111111111111");
    let program = |file: &[u8]| {
        let data = [&[0; 8][..], &[2; 32], &[0; 8], file].concat();
        Account { data, owner: PROTOTYPE, ..account(1, 10) }
    };
    let loader = Account { address: PROTOTYPE, ..account(0, 1) };
    let instruction_accounts = [(0, false), (1, true)]
        .map(|(index, is_signer)| InstructionAccount { index, is_signer, is_writable: index == 0 });
    let input = Instruction {
        schema: Schema::SinceProtosol13,
        program_id: PROTOTYPE,
        accounts: vec![program(b"..."), account(2, 1), loader],
        instruction_accounts: instruction_accounts.to_vec(),
        data: [&[number, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0][..], b"ab"].concat(),
        compute_unit_limit: 10_000,
        features: vec![],
    };
    // The prototype consumes other numbers of compute units than the loader.
    let accounts = vec![program(b".ab").into()];
    let output = InstructionEffects {
        accounts,
        compute_units_left: Some(1),
        ..InstructionEffects::default()
    };
    InstructionFixture { input, output }
}

#[test]
fn fixtures_of_prototypes_are_judged_with_the_loader() {
    assert_eq!(judge(&prototype_of_v4(0).to_firedancer()), Ok(Verdict::Passed));
    let mut wrong = prototype_of_v4(0);
    wrong.output.accounts[0].data = vec![].into();
    assert!(fails(judge(&wrong.to_firedancer())));
    // Truncate once required a new program to sign: only that difference is excused.
    let mut unsigned = prototype_of_v4(1);
    unsigned.input.accounts[0].data.clear();
    unsigned.output = InstructionEffects {
        result: 8,
        compute_units_left: Some(1),
        ..InstructionEffects::default()
    };
    assert!(matches!(judge(&unsigned.to_firedancer()), Ok(Verdict::Skipped(_))));
    unsigned.input.instruction_accounts[0].is_signer = true;
    assert!(fails(judge(&unsigned.to_firedancer())));
}
