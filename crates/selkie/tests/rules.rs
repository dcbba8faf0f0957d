//! What differs between releases of agave without a feature, and features of 4.5: each under both rules.

use selkie::{
    Account, AccountMeta, Feature, FeatureSet, Instruction, InstructionError as E, Keypair, Loader,
    Pubkey, Release, Rules, Signer, Svm, TransactionError, system,
};

const LOADER: Pubkey = Pubkey::new_from_array([200; 32]);
const CALLER: Pubkey = Pubkey::new_from_array([201; 32]);
const ABSENT: Pubkey = Pubkey::new_from_array([202; 32]);

fn under(release: Release) -> Svm {
    Svm::new().with_rules(Rules { release, ..Rules::mainnet() })
}

/// Returns a cluster of a release with a rich account.
fn with_payer(release: Release) -> (Svm, Keypair) {
    let (mut svm, payer) = (under(release), selkie::keypair("payer"));
    svm.airdrop(&payer.pubkey(), 10_000_000_000).unwrap();
    (svm, payer)
}

#[test]
fn accounts_of_old_loaders_begin_as_elf_files() {
    for (release, data, line) in [
        (Release::V4_3, &b"text"[..], "Program is not deployed"),
        (Release::V4_4, b"text", "Program is not cached"),
        (Release::V4_4, b"\x7fELF", "Program is not deployed"),
        (Release::V4_4, b"", "Program is not cached"),
    ] {
        for loader in [Loader::V1, Loader::V2] {
            let (mut svm, payer) = with_payer(release);
            svm.set_account(
                LOADER,
                Account {
                    lamports: 1_000_000_000,
                    data: data.to_vec(),
                    owner: loader.address(),
                    executable: true,
                    rent_epoch: u64::MAX,
                },
            )
            .unwrap();
            let call = Instruction { program_id: LOADER, accounts: vec![], data: vec![] };
            let failed = svm.send_instructions(&[call], &[&payer]).unwrap_err();
            assert_eq!(failed.instruction_error(), Some(&E::UnsupportedProgramId));
            assert!(failed.receipt.logs.iter().any(|it| it == line), "{release}: {failed}");
        }
    }
}

#[test]
fn a_missing_payer_is_an_invalid_one_since_4_5() {
    for (release, expected) in [
        (Release::V4_4, TransactionError::AccountNotFound),
        (Release::V4_5, TransactionError::InvalidAccountForFee),
    ] {
        let mut svm = under(release);
        let stranger = selkie::keypair("stranger");
        let transfer = system::transfer(&stranger.pubkey(), &ABSENT, 1);
        let failed = svm.send_instructions(&[transfer], &[&stranger]).unwrap_err();
        assert_eq!(failed.error, expected, "{release}");
    }
}

/// Adds a builtin program that invokes another for an account that it may not write to.
fn add_caller(svm: &mut Svm, callee: Pubkey) {
    svm.add_builtin(CALLER, "caller", move |context| {
        context.consume(1)?;
        let escalated = AccountMeta::new(context.key(0)?, false);
        let call = Instruction { program_id: callee, accounts: vec![escalated], data: vec![] };
        context.native_invoke(&call, &[])
    });
}

#[test]
fn an_unknown_program_precedes_privileges_since_4_5() {
    let system = solana_sdk_ids::system_program::ID;
    for (release, callee, mentioned, expected, line) in [
        (Release::V4_4, ABSENT, false, E::PrivilegeEscalation, "writable privilege escalated"),
        (Release::V4_5, ABSENT, false, E::MissingAccount, "Unknown program"),
        // In the transaction, but not in the caller's instruction.
        (Release::V4_4, system, false, E::PrivilegeEscalation, "writable privilege escalated"),
        (Release::V4_5, system, false, E::PrivilegeEscalation, "writable privilege escalated"),
        (Release::V4_5, system, true, E::PrivilegeEscalation, "writable privilege escalated"),
    ] {
        let (mut svm, payer) = with_payer(release);
        add_caller(&mut svm, callee);
        let mut accounts = vec![AccountMeta::new_readonly(ABSENT, false)];
        if callee == ABSENT {
            accounts[0].pubkey = LOADER;
        }
        if mentioned {
            accounts.push(AccountMeta::new_readonly(system, false));
        }
        let call = Instruction { program_id: CALLER, accounts, data: vec![] };
        let transfer = system::transfer(&payer.pubkey(), &payer.pubkey(), 1);
        let failed = svm.send_instructions(&[transfer, call], &[&payer]).unwrap_err();
        assert_eq!(failed.instruction_error(), Some(&expected), "{release}");
        assert!(failed.receipt.logs.iter().any(|it| it.contains(line)), "{failed}");
    }
}

/// Returns a transfer in a message of version 1, with the payer's address a second time.
fn doubled_v1(payer: &Keypair, svm: &Svm) -> selkie::VersionedTransaction {
    use selkie::message::v1;

    let payer = payer.pubkey();
    let pay = system::transfer(&payer, &Pubkey::new_from_array([9; 32]), 1);
    let blockhash = svm.latest_blockhash();
    let config = v1::TransactionConfig::default();
    let mut message =
        v1::Message::try_compile_with_config(&payer, &[pay], blockhash, config).unwrap();
    message.account_keys.push(payer);
    message.header.num_readonly_unsigned_accounts += 1;
    selkie::VersionedTransaction {
        signatures: vec![Default::default()],
        message: selkie::VersionedMessage::V1(message),
    }
}

#[test]
fn duplicate_accounts_of_version_1_are_named_since_4_5() {
    for (release, expected) in [
        (Release::V4_4, TransactionError::SanitizeFailure),
        (Release::V4_5, TransactionError::AccountLoadedTwice),
    ] {
        let (svm, payer) = with_payer(release);
        let transaction = doubled_v1(&payer, &svm);
        let failed = svm.with_signature_checks(false).send(transaction).unwrap_err();
        assert_eq!(failed.error, expected, "{release}");
    }
}

#[test]
fn duplicate_accounts_precede_too_many_since_4_5() {
    use selkie::{Message, VersionedMessage};
    for (release, expected) in [
        (Release::V4_4, TransactionError::TooManyAccountLocks),
        (Release::V4_5, TransactionError::AccountLoadedTwice),
    ] {
        let (svm, payer) = with_payer(release);
        let others = (0..64).map(|index| Pubkey::new_from_array([100 + index % 60; 32]));
        let keys = [payer.pubkey()].into_iter().chain(others).collect();
        let header =
            selkie::message::MessageHeader { num_required_signatures: 1, ..Default::default() };
        let message = Message {
            header,
            account_keys: keys,
            recent_blockhash: svm.latest_blockhash(),
            instructions: vec![],
        };
        let transaction = solana_transaction::versioned::VersionedTransaction {
            signatures: vec![payer.sign_message(&message.serialize())],
            message: VersionedMessage::Legacy(message),
        };
        let mut svm = svm.with_signature_checks(false);
        let failed = svm.send(transaction).unwrap_err();
        assert_eq!(failed.error, expected, "{release}");
    }
}

#[test]
fn invocations_count_with_all_instructions_of_the_transaction() {
    let feature = Feature::EarlyTraceOverflowDetection;
    for (is_early, top_level, index) in [(false, 63, 62), (true, 63, 0), (true, 32, 31)] {
        let (mut svm, payer) = with_payer(Release::V4_5);
        if is_early {
            svm.activate_feature(feature);
        }
        // Each instruction invokes the system program once (the last one of 32 twice).
        svm.add_builtin(CALLER, "caller", |context| {
            context.consume(1)?;
            let system = solana_sdk_ids::system_program::ID;
            let data = [2_u32.to_le_bytes().to_vec(), 0_u64.to_le_bytes().to_vec()].concat();
            let payer = AccountMeta::new(context.key(0)?, true);
            let call =
                Instruction { program_id: system, accounts: vec![payer.clone(), payer], data };
            for _ in 0..context.instruction().data[0] {
                context.native_invoke(&call, &[])?;
            }
            Ok(())
        });
        let call = |count: u8| Instruction {
            program_id: CALLER,
            accounts: vec![
                AccountMeta::new(payer.pubkey(), true),
                AccountMeta::new_readonly(solana_sdk_ids::system_program::ID, false),
            ],
            data: vec![count],
        };
        let mut calls: Vec<_> = (0..top_level).map(|_| call(u8::from(top_level == 32))).collect();
        match top_level {
            32 => calls[31] = call(2),
            _ if is_early => calls[0] = call(2),
            // The first 61 invoke nothing; one invocation too much is the last instruction's own start.
            _ => calls[62] = call(2),
        }
        let failed = svm.send_instructions(&calls, &[&payer]).unwrap_err();
        let expected =
            TransactionError::InstructionError(index, E::MaxInstructionTraceLengthExceeded);
        assert_eq!(failed.error, expected, "{is_early} {top_level}");
    }
}

#[test]
fn registers_hold_metadata_of_the_input() {
    // Logs r1 to r5 as the program found them.
    let source = ".globl entrypoint\nentrypoint:\n  call sol_log_64_\n  mov64 r0, 0\n  exit\n";
    let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
    let elf = output.assembly.unwrap().to_elf();
    let logged = |features: FeatureSet| {
        let (svm, payer) = with_payer(Release::V4_5);
        let mut svm = svm.with_features(features);
        svm.add_program(CALLER, elf.as_slice()).unwrap();
        let payer_meta = AccountMeta::new(payer.pubkey(), true);
        let call = Instruction {
            program_id: CALLER,
            accounts: vec![payer_meta.clone(), payer_meta],
            data: vec![1, 2, 3],
        };
        let receipt = svm.process_instruction(&call, &[]);
        receipt
            .logs
            .iter()
            .find(|it| it.contains("0x"))
            .cloned()
            .unwrap_or_else(|| receipt.logs.join("\n"))
    };
    let pointers = FeatureSet::mainnet().with(Feature::DirectAccountPointers);
    let registers = FeatureSet::mainnet().with(Feature::InputMetadataRegisters);
    assert!(logged(pointers).ends_with(", 0x0, 0x0, 0x0"), "{}", logged(pointers));
    let both = logged(pointers.with(Feature::InputMetadataRegisters));
    let words: Vec<_> = both.rsplit(", ").take(3).collect();
    assert_eq!((words[0], words[2]), ("0x2", "0x3"), "{both}");
    assert!(words[1].starts_with("0x4000"), "{both}");
    let line = "Failed to create SBF VM: cannot determine account pointers offset";
    assert!(logged(registers).contains(line), "{}", logged(registers));
}

#[test]
fn rules_are_kept_in_state_files_and_replays() {
    let (svm, payer) = with_payer(Release::V4_5);
    let restored = Svm::from_bytes(&svm.to_bytes()).unwrap();
    assert_eq!(restored.rules(), svm.rules());
    let mut svm = svm.with_replays(true);
    let transfer = system::transfer(&payer.pubkey(), &payer.pubkey(), 1);
    let receipt = svm.send_instructions(&[transfer], &[&payer]).unwrap();
    let line = receipt.replay().unwrap().to_string();
    assert!(line.contains("\"release\":\"4.5\""), "{line}");
    let release = |line: &str| {
        let case = selkie::Replay::parse(line).unwrap().case(&|_| None).unwrap();
        case.environment.release
    };
    assert_eq!(release(&line), Release::V4_5);
    // Lines of earlier versions do not name a release.
    assert_eq!(release(&line.replace("\"release\":\"4.5\",", "")), Release::V4_3);
}

#[test]
fn replays_know_that_accounts_without_data_may_be_below_their_rent() {
    let (svm, payer) = with_payer(Release::V4_3);
    let mut svm = svm.with_empty_accounts_below_rent(true).with_replays(true);
    let transfer = system::transfer(&payer.pubkey(), &ABSENT, 64);
    let receipt = svm.send_instructions(&[transfer], &[&payer]).unwrap();
    let line = receipt.replay().unwrap().to_string();
    let result = |line: &str| {
        let case = selkie::Replay::parse(line).unwrap().case(&|_| None).unwrap();
        case.run_once().map(|it| it.result.clone())
    };
    assert_eq!(result(&line), Ok(Ok(())));
    let mainnet = line.replace("\"empty_below_rent\":true,", "");
    let index = TransactionError::InsufficientFundsForRent { account_index: 1 };
    assert_eq!(result(&mainnet), Ok(Err(index)));
}
