//! Banks on forks: programs, transactions, roots, and what is refused.

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
fn a_program_is_upgraded_on_one_fork_and_not_on_the_other() {
    let (mut state, place) = (genesis(), place(1));
    put_program(&mut state, &place, 0, &program(1));
    let forks = forks(state);
    let left = forks.new_bank(0, LEFT).unwrap();
    let right = forks.new_bank(0, RIGHT).unwrap();
    assert_eq!(result_of_call(&left, place.id, 0), version(1));
    assert_eq!(send(&left, &[upgrade(&left, &place, &program(2))]).unwrap().result, Ok(()));
    assert_eq!(result_of_call(&left, place.id, 1), not_there(), "it is visible in the next slot");
    let left = {
        left.freeze().unwrap();
        forks.new_bank(LEFT, 20).unwrap()
    };
    assert_eq!(result_of_call(&left, place.id, 2), version(2));
    assert_eq!(result_of_call(&right, place.id, 2), version(1));
    let right = {
        right.freeze().unwrap();
        forks.new_bank(RIGHT, 21).unwrap()
    };
    assert_eq!(send(&right, &[upgrade(&right, &place, &program(3))]).unwrap().result, Ok(()));
    let right = next(&forks, &right);
    for salt in 3..6 {
        assert_eq!(result_of_call(&left, place.id, salt), version(2));
        assert_eq!(result_of_call(&right, place.id, salt), version(3));
    }
    // The program that the root's fork does not have is gone with its fork.
    left.freeze().unwrap();
    assert_eq!(forks.set_root(20), Ok(vec![RIGHT, 21, 22]));
    assert!(right.is_dead() && forks.is_dead(22) && !left.is_dead());
    let call = transaction(&right, &[call(place.id, 7)]);
    assert_eq!(right.process(&call, &OPTIONS), Err(BankError::Dead(22)));
    assert_eq!(right.get_account(&place.id), Err(BankError::Dead(22)));
    let left = next(&forks, &left);
    assert_eq!(result_of_call(&left, place.id, 8), version(2));
    let programs = forks.programs().programs();
    assert!(programs.iter().all(|it| it.deployed == LEFT), "{programs:?}");
}

#[test]
fn a_deployment_is_visible_in_the_next_slot() {
    let forks = forks(genesis());
    let place = place(1);
    let bank = forks.new_bank(0, 1).unwrap();
    let other = forks.new_bank(0, 2).unwrap();
    assert_eq!(send(&bank, &[deploy(&bank, &place, &program(1))]).unwrap().result, Ok(()));
    assert_eq!(result_of_call(&bank, place.id, 0), not_there());
    assert_eq!(
        result_of_call(&other, place.id, 0),
        Err(TransactionError::ProgramAccountNotFound),
        "another fork has nothing of it"
    );
    let bank = {
        bank.freeze().unwrap();
        forks.new_bank(1, 5).unwrap()
    };
    assert_eq!(result_of_call(&bank, place.id, 0), version(1));
    assert_eq!(send(&bank, &[close(&place)]).unwrap().result, Ok(()));
    assert_eq!(result_of_call(&bank, place.id, 1), not_there());
    let bank = next(&forks, &bank);
    assert_eq!(result_of_call(&bank, place.id, 2), not_there());
}

#[test]
fn a_transaction_is_processed_once_on_each_fork() {
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
    // A dead fork takes what it has processed with it.
    assert_eq!(forks.status_cache_len(), 1);
    forks.mark_dead(LEFT).unwrap();
    assert_eq!(forks.status_cache_len(), 1);
    right.freeze().unwrap();
    forks.set_root(RIGHT).unwrap();
    let child = forks.new_bank(RIGHT, 13).unwrap();
    assert_eq!(child.process(&once, &OPTIONS).unwrap(), already);
    // What a nonce or a blockhash once let in is remembered for longer than it is let in.
    let mut bank = child;
    for age in 1..=320 {
        bank = next(&forks, &bank);
        forks.set_root(bank.slot() - 1).unwrap();
        // It is in the list of the bank that it was first in, where it was the newest.
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
fn the_hash_does_not_depend_on_threads_or_the_order_of_the_independent() {
    let histories = [(1, 1, false), (2, 4, false), (1, 2, true), (4, 1, true)];
    let hashes = histories.map(|(threads, hashers, is_reversed)| {
        let options = selkie_bank::Options { hashing_threads: hashers, ..Default::default() };
        let forks = selkie_bank::Forks::new(genesis(), Arc::default(), options);
        let mut bank = forks.new_bank(0, 1).unwrap();
        let mut hashes = Vec::new();
        for round in 0..3_u8 {
            let mut batch: Vec<_> = (0..150_u8)
                .map(|place| {
                    // 20 payers: some of these depend on each other.
                    let payer = key(100 + place % 20);
                    let to = Pubkey::new_from_array([place; 32]);
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
fn the_hash_tells_all_that_a_bank_came_to() {
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
    // And it is the hash of all accounts, however it came to be.
    let forks = forks(genesis());
    let bank = next(&forks, &forks.new_bank(0, 1).unwrap());
    send(&bank, &[transfer(PAYER, key(1), SOL)]).unwrap();
    bank.freeze().unwrap();
    let accounts = bank.accounts().unwrap();
    let all = accounts.iter().map(|(key, account)| (key, account));
    assert_eq!(bank.lattice_hash(), Some(&selkie_bank::LatticeHash::of(all)));
}

#[test]
fn what_is_exported_goes_on_as_if_nothing_had_happened() {
    let (mut state, place) = (genesis(), place(1));
    put_program(&mut state, &place, 0, &program(1));
    let first = forks(state);
    let bank = next(&first, &first.new_bank(0, 1).unwrap());
    let known = transaction(&bank, &[call(place.id, 1)]);
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
        assert_eq!(result_of_call(&bank, place.id, 2), version(1));
        assert_eq!((bank.block_height(), bank.epoch()), (3, 1));
        bank.freeze().unwrap()
    });
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn half_of_the_fees_is_burned_and_the_collector_gets_the_rest() {
    let forks = forks(genesis());
    let collector = key(50);
    let bank = forks.new_bank_for(0, 1, Some(collector)).unwrap();
    for lamports in 1..=300 {
        send(&bank, &[transfer(PAYER, key(101), lamports)]).unwrap();
    }
    assert_eq!((bank.fees().signatures, bank.signature_count()), (1_500_000, 300));
    bank.freeze().unwrap();
    assert_eq!(balance(&bank, &collector), 750_000);
    // Too little to hold an account is burned, too, and so is what nobody collects.
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
fn what_cannot_be_done_is_refused() {
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
    // The slot is free for another block.
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
fn nothing_is_left_of_what_was_rooted_or_has_died() {
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
fn forks_tell_the_program_cache_how_slots_descend() {
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
fn a_durable_nonce_is_used_once_on_each_fork_however_late() {
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
fn reads_are_right_while_roots_move() {
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
                let mut place = reader;
                while !is_done.load(Ordering::Relaxed) {
                    let slots = forks.slots();
                    place += 7;
                    let Ok(bank) = forks.bank(slots[place % slots.len()]) else { continue };
                    if bank.slot() == 0 || !bank.is_frozen() {
                        continue;
                    }
                    // Each bank writes its slot to one account, and deletes another one in turn.
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
            // Now the one, now the other goes on.
            parent = if slot % 3 == 0 { slot } else { slot + 1 };
            if slot % 5 == 0 {
                forks.set_root(parent).unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(reads.into_inner() > SLOTS);
}
