//! Programs of mainnet, whose files other packages carry.
//!
//! Where they are not on the machine, tests say so; with `SELKIE_REQUIRE_FIXTURES` they fail.

#![allow(clippy::print_stdout, reason = "what is skipped is said")]

use selkie::{
    Account, AccountMeta, Instruction, InstructionError, Pubkey, Signer, Svm, TransactionError,
    address, keypair,
    programs::{self, Bundled},
    system, token,
};

const SOL: u64 = 1_000_000_000;

/// A cluster with these programs, if their files are there.
fn cluster(programs: &[Bundled]) -> Option<Svm> {
    let mut svm = Svm::new();
    for program in programs {
        match svm.add_bundled(program) {
            Ok(()) => {}
            Err(error) if std::env::var_os("SELKIE_REQUIRE_FIXTURES").is_some() => {
                panic!("{error}")
            }
            Err(error) => {
                println!("SKIPPED: {error}");
                return None;
            }
        }
    }
    svm.airdrop(&keypair("payer").pubkey(), 10 * SOL).unwrap();
    Some(svm)
}

fn put(svm: &mut Svm, key: Pubkey, owner: Pubkey, data: Vec<u8>) {
    let lamports = svm.minimum_balance_for_rent_exemption(data.len());
    let account = Account { lamports, data, owner, ..Account::default() };
    svm.set_account(key, account).unwrap();
}

fn tokens(svm: &Svm, account: &Pubkey) -> u64 {
    token::amount(&svm.account(account).unwrap().data).unwrap()
}

#[test]
fn every_program_is_accepted() {
    if let Some(svm) = cluster(programs::ALL) {
        for program in programs::ALL {
            assert!(svm.has_program(&program.id), "{}", program.name);
        }
    }
}

/// Mints with everything by instructions, and moves tokens.
fn check_token(program: &Bundled, units: u64) {
    let Some(mut svm) = cluster(&[*program]) else { return };
    let payer = keypair("payer");
    let (mint, from, to) = (keypair("mint"), keypair("from"), keypair("to"));
    let id = &program.id;
    let create = |svm: &Svm, key: &Pubkey, space: usize| {
        let lamports = svm.minimum_balance_for_rent_exemption(space);
        system::create_account(&payer.pubkey(), key, lamports, space as u64, id)
    };
    let instructions = [
        create(&svm, &mint.pubkey(), token::MINT_BYTES),
        token::initialize_mint(id, &mint.pubkey(), &payer.pubkey(), 6),
        create(&svm, &from.pubkey(), token::ACCOUNT_BYTES),
        token::initialize_account(id, &from.pubkey(), &mint.pubkey(), &payer.pubkey()),
        create(&svm, &to.pubkey(), token::ACCOUNT_BYTES),
        token::initialize_account(id, &to.pubkey(), &mint.pubkey(), &payer.pubkey()),
        token::mint_to(id, &mint.pubkey(), &from.pubkey(), &payer.pubkey(), 100),
    ];
    svm.send_instructions(&instructions, &[&payer, &mint, &from, &to]).unwrap();
    let transfer =
        |amount| token::transfer(id, &from.pubkey(), &to.pubkey(), &payer.pubkey(), amount);
    let receipt = svm.send_instructions(&[transfer(30)], &[&payer]).unwrap();
    assert_eq!(receipt.units, units, "{receipt}");
    assert_eq!((tokens(&svm, &from.pubkey()), tokens(&svm, &to.pubkey())), (70, 30));
    assert_eq!(receipt.changes().count(), 3);
    assert!(receipt.diff().contains("data 64..65: 64 -> 46"), "{}", receipt.diff());
    let failed = svm.send_instructions(&[transfer(71)], &[&payer]).unwrap_err();
    assert_eq!(failed.custom(), Some(1), "{failed}");
    assert_eq!(tokens(&svm, &from.pubkey()), 70);
}

#[test]
fn p_token_moves_tokens() {
    check_token(&programs::TOKEN, 76);
}

#[test]
fn spl_token_moves_tokens() {
    check_token(&programs::SPL_TOKEN, 4644);
}

#[test]
fn token_2022_moves_tokens() {
    check_token(&programs::TOKEN_2022, 1456);
}

#[test]
fn associated_accounts_are_made_by_calls() {
    let Some(mut svm) = cluster(&[programs::TOKEN, programs::ASSOCIATED_TOKEN]) else { return };
    let (payer, mint) = (keypair("payer"), address("mint"));
    let id = programs::TOKEN.id;
    put(&mut svm, mint, id, token::mint_data(&payer.pubkey(), 0, 6));
    let create = token::create_associated(&id, &payer.pubkey(), &payer.pubkey(), &mint);
    let receipt = svm.send_instructions(std::slice::from_ref(&create), &[&payer]).unwrap();
    let account = token::associated_address(&id, &payer.pubkey(), &mint);
    assert_eq!((tokens(&svm, &account), receipt.inner[0].len()), (0, 4));
    let frames = receipt.frames();
    let depths: Vec<_> = frames.iter().map(|frame| (frame.depth, frame.program_id)).collect();
    assert_eq!(depths[0], (1, programs::ASSOCIATED_TOKEN.id));
    assert_eq!(depths[1], (2, id));
    assert_eq!(receipt.call_tree().lines().count(), 5);
    // The same again: the account is there.
    let failed = svm.send_instructions(&[create], &[&payer]).unwrap_err();
    let culprit = failed.receipt.culprit.as_ref().unwrap();
    assert_eq!((culprit.depth, culprit.program_id), (1, programs::ASSOCIATED_TOKEN.id), "{failed}");
}

#[test]
fn memos_are_logged_and_what_is_no_text_is_refused() {
    let refusals = [
        (programs::MEMO, InstructionError::ProgramFailedToComplete),
        (programs::MEMO_V1, InstructionError::InvalidInstructionData),
    ];
    for (program, refusal) in refusals {
        let Some(mut svm) = cluster(&[program]) else { return };
        let payer = keypair("payer");
        let memo = |data: &[u8]| Instruction {
            program_id: program.id,
            accounts: vec![],
            data: data.to_vec(),
        };
        svm.send_instructions(&[memo("letters and lühr".as_bytes())], &[&payer]).unwrap();
        let failed = svm.send_instructions(&[memo(&[0xff])], &[&payer]).unwrap_err();
        assert_eq!(failed.error, TransactionError::InstructionError(0, refusal), "{failed}");
        let culprit = failed.receipt.culprit.as_ref().unwrap();
        assert_eq!((culprit.depth, culprit.program_id), (1, program.id));
    }
}

#[test]
fn programs_that_are_missing_are_named() {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), SOL).unwrap();
    let accounts = vec![AccountMeta::new(payer.pubkey(), true)];
    let instruction = Instruction { program_id: address("nothing"), accounts, data: vec![] };
    let failed = svm.send_instructions(&[instruction], &[&payer]).unwrap_err();
    assert_eq!(failed.error, TransactionError::ProgramAccountNotFound);
    assert!(failed.to_string().contains("help: put the program there"), "{failed}");
    let error = svm.add_program(address("nothing"), b"no ELF file").unwrap_err();
    assert!(error.to_string().starts_with("the file is no program: "), "{error}");
    assert!(svm.add_program(address("nothing"), "no/such/file.so").is_err());
    assert!(svm.account(&address("nothing")).is_none());
}
