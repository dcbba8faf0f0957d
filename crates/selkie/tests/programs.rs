//! Mainnet's programs, which are present from the start.

use selkie::{
    Account, AccountMeta, Instruction, InstructionError, Loader, Pubkey, Signer, Svm,
    TransactionError, address, keypair, program_data_key,
    programs::{self, WellKnownProgram},
    system, token,
};

const SOL: u64 = 1_000_000_000;

/// Returns a chain with a funded payer.
fn cluster() -> Svm {
    let mut svm = Svm::new();
    svm.airdrop(&keypair("payer").pubkey(), 10 * SOL).unwrap();
    svm
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
fn mainnets_programs_are_present_from_the_start() {
    let svm = Svm::new();
    for program in programs::MAINNET {
        assert!(svm.has_program(&program.id), "{}", program.name);
        let account = svm.account(&program.id).unwrap();
        assert_eq!((account.owner, account.executable), (program.loader.address(), true));
        assert!(svm.rent().is_exempt(account.lamports, account.data.len()), "{}", program.name);
    }
    let data = svm.account(&program_data_key(&programs::TOKEN.id)).unwrap();
    assert_eq!(data.data[45..], *programs::TOKEN.elf());
}

#[test]
fn every_well_known_program_can_be_added() {
    let mut svm = Svm::new().with_well_known_programs(false);
    for program in programs::ALL {
        svm.add_well_known_program(program).unwrap();
        assert!(svm.has_program(&program.id), "{}", program.name);
    }
    // SPL Token replaced p-token, which has a programdata account as well, and there is no native mint.
    assert_eq!(svm.accounts_len() + 2, Svm::new().accounts_len());
}

#[test]
fn listed_accounts_include_those_of_programs() {
    let (with, without) = (Svm::new(), Svm::new().with_well_known_programs(false));
    let data_accounts = programs::MAINNET.iter().filter(|it| it.loader == Loader::V3).count();
    let native_mint = 1;
    let added = programs::MAINNET.len() + data_accounts + native_mint;
    assert_eq!(with.accounts_len(), without.accounts_len() + added);
    for svm in [&with, &without] {
        let listed: Vec<Pubkey> = svm.accounts().map(|(key, _)| key).collect();
        assert_eq!(listed.len(), svm.accounts_len());
        assert!(listed.is_sorted());
        assert_eq!(svm.written_accounts().count(), without.accounts_len());
        assert!(
            svm.accounts().all(|(key, account)| svm.shared_account(&key).as_ref() == Some(account))
        );
    }
    let owned = |svm: &Svm, owner| svm.program_accounts(owner, &[]).len();
    assert_eq!(owned(&with, &selkie::ids::bpf_loader_upgradeable::ID), 2 * data_accounts);
    assert_eq!(owned(&with, &selkie::ids::bpf_loader::ID), 2);
    assert_eq!(owned(&without, &selkie::ids::bpf_loader_upgradeable::ID), 0);
    assert!(without.account(&programs::TOKEN.id).is_none());
    assert!(!without.has_program(&programs::TOKEN.id));
}

#[test]
fn accounts_written_at_a_programs_address_replace_it() {
    let id = programs::TOKEN.id;
    let data_key = program_data_key(&id);
    let mut svm = Svm::new();
    let (start, count) = (svm.snapshot(), svm.accounts_len());
    let accounts = |svm: &Svm| (svm.account(&id), svm.account(&data_key));
    let before = accounts(&svm);

    svm.add_program(id, programs::MEMO.elf()).unwrap();
    assert_eq!(svm.account(&data_key).unwrap().data[45..], *programs::MEMO.elf());
    assert_eq!(svm.accounts_len(), count);
    let again = svm.clone().with_well_known_programs(true);
    assert_eq!(accounts(&again), accounts(&svm));

    // Replacing a program by one of another loader removes the former's accounts.
    svm.add_well_known_program(&programs::SPL_TOKEN).unwrap();
    assert_eq!(svm.account(&id).unwrap().data, programs::SPL_TOKEN.elf());
    assert_eq!((svm.account(&data_key), svm.accounts_len()), (None, count - 1));

    svm.set_account(id, Account::default()).unwrap();
    assert_eq!((svm.account(&id), svm.balance(&id)), (None, 0));
    assert!(!svm.has_program(&id));
    svm.airdrop(&id, 5).unwrap();
    assert_eq!(svm.balance(&id), 5);

    svm.restore(&start).unwrap();
    assert_eq!((accounts(&svm), svm.accounts_len()), (before, count));
    assert!(svm.has_program(&id));
}

#[test]
fn state_files_refer_to_unchanged_programs_by_address() {
    let mut svm = cluster();
    assert!(svm.to_bytes().len() < 64 * 1024);
    let same = |svm: &Svm| {
        let again = Svm::from_bytes(&svm.to_bytes()).unwrap();
        assert_eq!(again.accounts_len(), svm.accounts_len());
        for program in programs::MAINNET {
            let key = program_data_key(&program.id);
            assert_eq!(again.account(&program.id), svm.account(&program.id), "{}", program.name);
            assert_eq!(again.account(&key), svm.account(&key), "{}", program.name);
        }
    };
    same(&svm);
    svm.add_well_known_program(&programs::SPL_TOKEN).unwrap();
    svm.set_account(programs::CONFIG.id, Account::default()).unwrap();
    same(&svm);
    same(&Svm::new().with_well_known_programs(false));
}

/// Sets up a mint and accounts by instructions, and transfers tokens.
fn check_token(program: &WellKnownProgram, units: u64) {
    let mut svm = cluster();
    if !programs::MAINNET.contains(program) {
        svm.add_well_known_program(program).unwrap();
    }
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
    assert_eq!(receipt.compute_units, units, "{receipt}");
    assert_eq!((tokens(&svm, &from.pubkey()), tokens(&svm, &to.pubkey())), (70, 30));
    assert_eq!(receipt.changes().count(), 3);
    assert!(receipt.diff().contains("data 64..65: 64 -> 46"), "{}", receipt.diff());
    assert!(receipt.diff().contains("\n  amount: 100 -> 70\n"), "{}", receipt.diff());
    let failed = svm.send_instructions(&[transfer(71)], &[&payer]).unwrap_err();
    assert_eq!(failed.custom(), Some(1), "{failed}");
    assert_eq!(tokens(&svm, &from.pubkey()), 70);
}

#[test]
fn p_token_transfers_tokens() {
    check_token(&programs::TOKEN, 76);
}

#[test]
fn spl_token_transfers_tokens() {
    check_token(&programs::SPL_TOKEN, 4644);
}

#[test]
fn token_2022_transfers_tokens() {
    check_token(&programs::TOKEN_2022, 1415);
}

#[test]
fn associated_accounts_are_created_by_cpi() {
    let mut svm = cluster();
    let (payer, mint) = (keypair("payer"), address("mint"));
    let id = programs::TOKEN.id;
    put(&mut svm, mint, id, token::mint_data(&payer.pubkey(), 0, 6));
    let create = token::create_associated(&id, &payer.pubkey(), &payer.pubkey(), &mint);
    let receipt = svm.send_instructions(std::slice::from_ref(&create), &[&payer]).unwrap();
    let account = token::associated_address(&id, &payer.pubkey(), &mint);
    assert_eq!((tokens(&svm, &account), receipt.inner_instructions[0].len()), (0, 4));
    let invocations = receipt.invocations();
    let calls: Vec<_> = invocations.iter().map(|it| (it.stack_height, it.program_id)).collect();
    assert_eq!(calls[0], (1, programs::ASSOCIATED_TOKEN.id));
    assert_eq!(calls[1], (2, id));
    assert_eq!(receipt.call_tree().lines().count(), 5);
    // Creating the account again fails.
    let failed = svm.send_instructions(&[create], &[&payer]).unwrap_err();
    let failed_instruction = failed.receipt.failed_instruction.as_ref().unwrap();
    assert_eq!(
        (failed_instruction.stack_height, failed_instruction.program_id),
        (1, programs::ASSOCIATED_TOKEN.id),
        "{failed}"
    );
}

#[test]
fn memos_are_logged_and_invalid_utf8_is_rejected() {
    let refusals = [
        (programs::MEMO, InstructionError::InvalidInstructionData),
        (programs::MEMO_V1, InstructionError::InvalidInstructionData),
        (programs::MEMO_V4, InstructionError::ProgramFailedToComplete),
    ];
    for (program, refusal) in refusals {
        let mut svm = cluster();
        let payer = keypair("payer");
        let memo = |data: &[u8]| Instruction {
            program_id: program.id,
            accounts: vec![],
            data: data.to_vec(),
        };
        svm.send_instructions(&[memo("letters and lühr".as_bytes())], &[&payer]).unwrap();
        let failed = svm.send_instructions(&[memo(&[0xff])], &[&payer]).unwrap_err();
        assert_eq!(failed.error, TransactionError::InstructionError(0, refusal), "{failed}");
        let failed_instruction = failed.receipt.failed_instruction.as_ref().unwrap();
        assert_eq!(
            (failed_instruction.stack_height, failed_instruction.program_id),
            (1, program.id)
        );
    }
}

#[test]
fn missing_and_invalid_programs_are_reported() {
    let payer = keypair("payer");
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), SOL).unwrap();
    let accounts = vec![AccountMeta::new(payer.pubkey(), true)];
    let instruction = Instruction { program_id: address("nothing"), accounts, data: vec![] };
    let failed = svm.send_instructions(&[instruction], &[&payer]).unwrap_err();
    assert_eq!(failed.error, TransactionError::ProgramAccountNotFound);
    assert!(failed.to_string().contains("help: add the program"), "{failed}");
    let error = svm.add_program(address("nothing"), b"no ELF file").unwrap_err();
    assert!(error.to_string().starts_with("the file is not a valid program: "), "{error}");
    assert!(svm.add_program(address("nothing"), "no/such/file.so").is_err());
    assert!(svm.account(&address("nothing")).is_none());
}
