//! Banks on forks: programs, transactions, roots, errors.

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use common::*;
use selkie_bank::BankError;
use selkie_svm::{
    Account, Pubkey, ReadableAccount,
    nonce::{Nonce, durable_nonce},
    program_cache::{BlockRelation, ForkGraph},
};
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_sdk_ids::{incinerator, system_program, sysvar};
use solana_transaction_error::TransactionError;

const LEFT: u64 = 10;
const RIGHT: u64 = 11;

#[test]
fn an_upgrade_affects_its_own_fork_only() {
    let (mut state, addresses) = (genesis(), addresses(1));
    put_program(&mut state, &addresses, 0, &program(1));
    let forks = forks(state);
    let left = forks.new_bank(0, LEFT).unwrap();
    let right = forks.new_bank(0, RIGHT).unwrap();
    assert_eq!(result_of_call(&left, addresses.id, 0), version(1));
    assert_eq!(send(&left, &[upgrade(&left, &addresses, &program(2))]).unwrap().result, Ok(()));
    assert_eq!(
        result_of_call(&left, addresses.id, 1),
        unsupported_program(),
        "it is visible in the next slot"
    );
    let left = {
        left.freeze().unwrap();
        forks.new_bank(LEFT, 20).unwrap()
    };
    assert_eq!(result_of_call(&left, addresses.id, 2), version(2));
    assert_eq!(result_of_call(&right, addresses.id, 2), version(1));
    let right = {
        right.freeze().unwrap();
        forks.new_bank(RIGHT, 21).unwrap()
    };
    assert_eq!(send(&right, &[upgrade(&right, &addresses, &program(3))]).unwrap().result, Ok(()));
    let right = next(&forks, &right);
    for salt in 3..6 {
        assert_eq!(result_of_call(&left, addresses.id, salt), version(2));
        assert_eq!(result_of_call(&right, addresses.id, salt), version(3));
    }
    // A program on an abandoned fork disappears with it.
    left.freeze().unwrap();
    assert_eq!(forks.set_root(20), Ok(vec![RIGHT, 21, 22]));
    assert!(right.is_dead() && forks.is_dead(22) && !left.is_dead());
    let call = transaction(&right, &[call(addresses.id, 7)]);
    assert_eq!(right.process(&call, &OPTIONS), Err(BankError::Dead(22)));
    assert_eq!(right.get_account(&addresses.id), Err(BankError::Dead(22)));
    let left = next(&forks, &left);
    assert_eq!(result_of_call(&left, addresses.id, 8), version(2));
    let programs = forks.programs().programs();
    assert!(programs.iter().all(|it| it.deployed == LEFT), "{programs:?}");
}

#[test]
fn a_deployment_is_visible_in_the_next_slot() {
    let forks = forks(genesis());
    let addresses = addresses(1);
    let bank = forks.new_bank(0, 1).unwrap();
    let other = forks.new_bank(0, 2).unwrap();
    assert_eq!(send(&bank, &[deploy(&bank, &addresses, &program(1))]).unwrap().result, Ok(()));
    assert_eq!(result_of_call(&bank, addresses.id, 0), unsupported_program());
    assert_eq!(
        result_of_call(&other, addresses.id, 0),
        Err(TransactionError::ProgramAccountNotFound),
        "another fork has nothing of it"
    );
    let bank = {
        bank.freeze().unwrap();
        forks.new_bank(1, 5).unwrap()
    };
    assert_eq!(result_of_call(&bank, addresses.id, 0), version(1));
    assert_eq!(send(&bank, &[close(&addresses)]).unwrap().result, Ok(()));
    assert_eq!(result_of_call(&bank, addresses.id, 1), unsupported_program());
    let bank = next(&forks, &bank);
    assert_eq!(result_of_call(&bank, addresses.id, 2), unsupported_program());
}

#[test]
fn a_transaction_is_processed_once_per_fork() {
    let forks = forks(genesis());
    let left = forks.new_bank(0, LEFT).unwrap();
    let right = forks.new_bank(0, RIGHT).unwrap();
    let once = transaction(&left, &[transfer(PAYER, key(1), SOL)]);
    let already = Err(TransactionError::AlreadyProcessed);
    assert!(left.process(&once, &OPTIONS).unwrap().is_ok());
    assert_eq!(left.process(&once, &OPTIONS).unwrap(), already);
    assert!(left.has_processed(&once) && !right.has_processed(&once));
    left.freeze().unwrap();
    let child = forks.new_bank(LEFT, 12).unwrap();
    assert_eq!(child.process(&once, &OPTIONS).unwrap(), already);
    assert_eq!(child.simulate(&once, &OPTIONS).unwrap(), already);
    let batch = child.process_batch(&[once.clone(), once.clone()], &OPTIONS, 2).unwrap();
    assert_eq!(batch, [already.clone(), already.clone()]);
    assert!(right.simulate(&once, &OPTIONS).unwrap().is_ok());
    let batch = right.process_batch(&[once.clone(), once.clone()], &OPTIONS, 2).unwrap();
    assert!(batch[0].is_ok() && batch[1] == already);
    assert_eq!(balance(&right, &key(1)), SOL);
    // A dead fork's statuses are removed.
    assert_eq!(forks.status_cache_len(), 1);
    forks.mark_dead(LEFT).unwrap();
    assert_eq!(forks.status_cache_len(), 1);
    right.freeze().unwrap();
    forks.set_root(RIGHT).unwrap();
    let child = forks.new_bank(RIGHT, 13).unwrap();
    assert_eq!(child.process(&once, &OPTIONS).unwrap(), already);
    // Statuses outlive the blockhashes and nonces that they refer to.
    let mut bank = child;
    for age in 1..=320 {
        bank = next(&forks, &bank);
        forks.set_root(bank.slot() - 1).unwrap();
        // The blockhash is in the queue of the first bank after it, where it is the newest.
        let expected = if age < 150 {
            TransactionError::AlreadyProcessed
        } else {
            TransactionError::BlockhashNotFound
        };
        assert_eq!(bank.process(&once, &OPTIONS).unwrap(), Err(expected), "{age}");
    }
    assert_eq!(forks.status_cache_len(), 0);
}

#[test]
fn the_hash_is_independent_of_threads_and_of_the_order_of_independent_transactions() {
    let histories = [(1, 1, false), (2, 4, false), (1, 2, true), (4, 1, true)];
    let hashes = histories.map(|(threads, hashers, is_reversed)| {
        let options = selkie_bank::Options { hashing_threads: hashers, ..Default::default() };
        let forks = selkie_bank::Forks::new(genesis(), Arc::default(), options);
        let mut bank = forks.new_bank(0, 1).unwrap();
        let mut hashes = Vec::new();
        for round in 0..3_u8 {
            let mut batch: Vec<_> = (0..150_u8)
                .map(|number| {
                    // With 20 payers, some transactions depend on each other.
                    let payer = key(100 + number % 20);
                    let to = Pubkey::new_from_array([number; 32]);
                    let lamports = SOL + u64::from(round);
                    let blockhash = bank.latest_blockhash();
                    transaction_by(payer, blockhash, &[transfer(payer, to, lamports)])
                })
                .collect();
            if is_reversed {
                batch.reverse();
            }
            let outcomes = bank.process_batch(&batch, &OPTIONS, threads).unwrap();
            assert!(outcomes.iter().flatten().filter(|it| it.result.is_ok()).count() > 100);
            hashes.push(bank.freeze().unwrap());
            bank = next(&forks, &bank);
        }
        hashes
    });
    assert!(hashes.iter().all(|of_history| *of_history == hashes[0]), "{hashes:?}");
    assert_ne!(hashes[0][0], hashes[0][1]);
}

#[test]
fn the_hash_covers_accounts_signatures_and_blockhash() {
    let hash = |lamports: u64, payer: u8| {
        let forks = forks(genesis());
        let bank = forks.new_bank(0, 1).unwrap();
        let instruction = transfer(key(payer), key(1), lamports);
        let sent = transaction_by(key(payer), bank.latest_blockhash(), &[instruction]);
        assert!(bank.process(&sent, &OPTIONS).unwrap().is_ok());
        bank.freeze().unwrap()
    };
    assert_eq!(hash(SOL, 100), hash(SOL, 100));
    assert_ne!(hash(SOL, 100), hash(SOL + 1, 100));
    assert_ne!(hash(SOL, 100), hash(SOL, 101));
    // It is also the hash of all accounts, computed from scratch.
    let forks = forks(genesis());
    let bank = next(&forks, &forks.new_bank(0, 1).unwrap());
    send(&bank, &[transfer(PAYER, key(1), SOL)]).unwrap();
    bank.freeze().unwrap();
    let accounts = bank.accounts().unwrap();
    let all = accounts.iter().map(|(key, account)| (key, account));
    assert_eq!(bank.lattice_hash(), Some(&selkie_bank::LatticeHash::of(all)));
}

#[test]
fn an_imported_state_continues_like_the_original() {
    let (mut state, addresses) = (genesis(), addresses(1));
    put_program(&mut state, &addresses, 0, &program(1));
    let first = forks(state);
    let bank = next(&first, &first.new_bank(0, 1).unwrap());
    let known = transaction(&bank, &[call(addresses.id, 1)]);
    assert!(bank.process(&known, &OPTIONS).unwrap().is_ok());
    assert_eq!(bank.export().map(|_| ()), Err(BankError::NotFrozen(2)));
    bank.freeze().unwrap();
    first.set_root(2).unwrap();
    let state = first.root().export().unwrap();
    assert!(state.accounts.is_sorted_by_key(|(key, _)| *key));
    let second = forks(state.clone());
    assert_eq!(second.root().export().unwrap(), state);
    let hashes = [&first, &second].map(|forks| {
        let bank = forks.new_bank(2, 40).unwrap();
        let already = Err(TransactionError::AlreadyProcessed);
        assert_eq!(bank.process(&known, &OPTIONS).unwrap(), already);
        assert_eq!(result_of_call(&bank, addresses.id, 2), version(1));
        assert_eq!((bank.block_height(), bank.epoch()), (3, 1));
        bank.freeze().unwrap()
    });
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn half_of_the_signature_fees_is_burned_and_the_collector_gets_the_rest() {
    let forks = forks(genesis());
    let collector = key(50);
    let bank = forks.new_bank_for(0, 1, Some(collector)).unwrap();
    for lamports in 1..=300 {
        send(&bank, &[transfer(PAYER, key(101), lamports)]).unwrap();
    }
    assert_eq!((bank.fees().signatures, bank.signature_count()), (1_500_000, 300));
    bank.freeze().unwrap();
    assert_eq!(balance(&bank, &collector), 750_000);
    // Fees below the rent-exempt minimum are burned, too, and so are fees without a collector.
    let bank = forks.new_bank_for(1, 2, Some(key(51))).unwrap();
    send(&bank, &[transfer(PAYER, key(101), 1)]).unwrap();
    bank.freeze().unwrap();
    assert_eq!(balance(&bank, &key(51)), 0);
    let bank = forks.new_bank(2, 3).unwrap();
    send(&bank, &[transfer(PAYER, key(101), 2)]).unwrap();
    send(&bank, &[transfer(PAYER, incinerator::ID, SOL)]).unwrap();
    assert_eq!(balance(&bank, &incinerator::ID), SOL);
    let before: u64 = bank.accounts().unwrap().iter().map(|(_, it)| it.lamports()).sum();
    bank.freeze().unwrap();
    let after: u64 = bank.accounts().unwrap().iter().map(|(_, it)| it.lamports()).sum();
    assert_eq!(balance(&bank, &incinerator::ID), 0);
    assert_eq!(before - after, SOL);
}

#[test]
fn invalid_operations_on_banks_return_errors() {
    use BankError::{Dead, Frozen, IsRoot, NotAfterParent, NotFound, NotFrozen, Rooted, SlotTaken};
    let forks = forks(genesis());
    let bank = forks.new_bank(0, 3).unwrap();
    let new_bank = |parent, slot| forks.new_bank(parent, slot).map(|bank| bank.slot());
    assert_eq!(new_bank(3, 4), Err(NotFrozen(3)));
    assert_eq!(new_bank(0, 3), Err(SlotTaken(3)));
    assert_eq!(new_bank(0, 0), Err(NotAfterParent { slot: 0, parent: 0 }));
    assert_eq!(new_bank(7, 8), Err(NotFound(7)));
    assert_eq!(forks.set_root(3), Err(NotFrozen(3)));
    assert_eq!(forks.set_root(9), Err(NotFound(9)));
    assert_eq!(forks.mark_dead(0), Err(IsRoot(0)));
    let hash = bank.freeze();
    assert_eq!(bank.freeze(), hash);
    let sent = transaction(&bank, &[transfer(PAYER, key(1), SOL)]);
    assert_eq!(bank.process(&sent, &OPTIONS), Err(Frozen(3)));
    assert_eq!(bank.process_batch(&[sent], &OPTIONS, 1), Err(Frozen(3)));
    assert_eq!(bank.set_account(key(1), lamports(1)), Err(Frozen(3)));
    assert_eq!(new_bank(3, 5), Ok(5));
    assert_eq!(forks.mark_dead(3), Ok(vec![3, 5]));
    assert_eq!((bank.freeze(), new_bank(3, 6)), (Err(Dead(3)), Err(Dead(3))));
    assert_eq!(forks.set_root(5), Err(Dead(5)));
    assert_eq!(forks.mark_dead(5), Err(Dead(5)));
    // The slot of the dead bank is free.
    assert_eq!(new_bank(0, 3), Ok(3));
    forks.bank(3).unwrap().freeze().unwrap();
    let root = forks.root();
    assert_eq!(forks.set_root(3), Ok(vec![]));
    assert_eq!(forks.set_root(3), Ok(vec![]));
    assert_eq!(root.get_account(&PAYER), Err(Rooted(0)));
    assert_eq!(forks.bank(0).map(|_| ()), Err(NotFound(0)));
    assert_eq!(forks.slots(), [3]);
}

#[test]
fn rooted_and_dead_banks_leave_no_versions_or_statuses() {
    let forks = forks(genesis());
    let accounts = |slot| forks.bank(slot).unwrap().accounts().unwrap().len();
    assert_eq!(forks.account_versions(), accounts(0));
    let mut root = 0;
    for round in 0..20_u64 {
        let slot = round * 20 + 1;
        for fork in 0..4 {
            let mut bank = forks.new_bank(root, slot + fork).unwrap();
            for deeper in 0..3 {
                let byte = u8::try_from(fork * 3 + deeper).unwrap();
                send(&bank, &[transfer(PAYER, key(byte), SOL)]).unwrap();
                let is_gone = round % 2 == 1;
                if is_gone {
                    bank.set_account(key(byte), lamports(0)).unwrap();
                }
                bank.freeze().unwrap();
                if deeper < 2 {
                    bank = forks.new_bank(bank.slot(), bank.slot() + 4).unwrap();
                }
            }
        }
        assert!(forks.account_versions() > accounts(root));
        assert_eq!(forks.mark_dead(slot), Ok(vec![slot, slot + 4, slot + 8]));
        root = forks.highest_frozen().slot();
        forks.set_root(root).unwrap();
        assert_eq!(forks.slots(), [root]);
        assert_eq!(forks.account_versions(), accounts(root), "round {round}");
    }
}

#[test]
fn forks_report_slot_relationships_to_the_program_cache() {
    let forks = forks(genesis());
    for (parent, slot) in [(0, 2), (0, 3), (2, 5)] {
        forks.new_bank(parent, slot).unwrap().freeze().unwrap();
    }
    assert_eq!(forks.relationship(0, 5), BlockRelation::Ancestor);
    assert_eq!(forks.relationship(5, 2), BlockRelation::Descendant);
    assert_eq!(forks.relationship(3, 5), BlockRelation::Unrelated);
    assert_eq!(forks.relationship(4, 5), BlockRelation::Unknown);
    forks.set_root(5).unwrap();
    assert_eq!(forks.relationship(2, 5), BlockRelation::Ancestor);
    assert_eq!(forks.relationship(3, 5), BlockRelation::Unrelated);
}

#[test]
fn a_durable_nonce_is_used_once_per_fork_at_any_age() {
    let (nonce_key, old) = (key(60), Hash::new_from_array([8; 32]));
    let nonce = Nonce {
        is_current: true,
        authority: PAYER,
        durable_nonce: durable_nonce(&old),
        lamports_per_signature: 5000,
    };
    let mut state = genesis();
    state.set_account(nonce_key, Account { data: nonce.write().to_vec(), ..lamports(SOL) });
    let forks = forks(state);
    let advance = Instruction {
        program_id: system_program::ID,
        accounts: vec![
            AccountMeta::new(nonce_key, false),
            AccountMeta::new_readonly(sysvar::recent_blockhashes::ID, false),
            AccountMeta::new_readonly(PAYER, true),
        ],
        data: 4_u32.to_le_bytes().to_vec(),
    };
    let instructions = [advance, transfer(PAYER, key(1), SOL)];
    let once = transaction_by(PAYER, nonce.durable_nonce, &instructions);
    let mut bank = forks.new_bank(0, 1).unwrap();
    for _ in 0..200 {
        bank = next(&forks, &bank);
    }
    bank.freeze().unwrap();
    let parent = bank.slot();
    for fork in 1..=2 {
        let bank = forks.new_bank(parent, parent + fork * 10).unwrap();
        let processed = bank.process(&once, &OPTIONS).unwrap().unwrap();
        assert_eq!(processed.result, Ok(()));
        let child = next(&forks, &bank);
        let again = child.process(&once, &OPTIONS).unwrap();
        assert_eq!(again, Err(TransactionError::BlockhashNotFound));
        let stored = child.get_account(&nonce_key).unwrap().unwrap();
        let expected = durable_nonce(&forks.bank(parent).unwrap().latest_blockhash());
        assert_eq!(Nonce::read(stored.data()).unwrap().durable_nonce, expected);
    }
}

#[test]
fn concurrent_reads_are_consistent_while_roots_advance() {
    const SLOTS: u64 = 600;
    let mut state = genesis();
    (1..=3).for_each(|byte| state.set_account(key(byte), lamports(SOL)));
    let forks = forks(state);
    let is_done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (forks, is_done, reads) = (&forks, &is_done, &reads);
            scope.spawn(move || {
                let mut index = reader;
                while !is_done.load(Ordering::Relaxed) {
                    let slots = forks.slots();
                    index += 7;
                    let Ok(bank) = forks.bank(slots[index % slots.len()]) else { continue };
                    if bank.slot() == 0 || !bank.is_frozen() {
                        continue;
                    }
                    // Each bank writes its slot to one account and deletes the other, in turn.
                    match (bank.get_account(&key(1)), bank.get_account(&key(2))) {
                        (Ok(first), Ok(second)) => {
                            assert_eq!(first.unwrap().lamports(), bank.slot() + SOL);
                            assert_eq!(second.is_some(), bank.slot().is_multiple_of(2));
                            reads.fetch_add(1, Ordering::Relaxed);
                        }
                        (Err(error), _) | (_, Err(error)) => {
                            assert!(matches!(error, BankError::Dead(_) | BankError::Rooted(_)));
                        }
                    }
                }
            });
        }
        let write = |bank: &selkie_bank::Bank| {
            bank.set_account(key(1), lamports(bank.slot() + SOL)).unwrap();
            let second = if bank.slot().is_multiple_of(2) { SOL } else { 0 };
            bank.set_account(key(2), lamports(second)).unwrap();
            bank.freeze().unwrap();
        };
        let mut parent = 0;
        for slot in (1..=SLOTS).step_by(2) {
            for slot in [slot, slot + 1] {
                write(&forks.new_bank(parent, slot).unwrap());
            }
            // The two forks grow alternately.
            parent = if slot % 3 == 0 { slot } else { slot + 1 };
            if slot % 5 == 0 {
                forks.set_root(parent).unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(reads.into_inner() > SLOTS);
}
