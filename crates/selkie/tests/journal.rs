//! Restored snapshots equal clones taken at the same time, under random changes.

#![allow(clippy::cast_possible_truncation, reason = "the numbers are small")]

use selkie::{Account, Feature, Signer, Snapshot, Svm, address, keypair, system};

/// A deterministic pseudo-random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Renders everything observable of a state.
fn view(svm: &Svm) -> String {
    let accounts: Vec<_> =
        svm.accounts().map(|(key, account)| (key, Account::from(account.clone()))).collect();
    let history: Vec<_> = svm.transactions().map(|receipt| receipt.signature()).collect();
    let environment = svm.environment();
    let (features, sysvars) = (environment.features, &environment.sysvars);
    let blockhash = (svm.latest_blockhash(), environment.blockhash);
    let stake = &environment.epoch_stake;
    format!("{accounts:?}{history:?}{features:?}{sysvars:?}{blockhash:?}{stake:?}")
}

fn change(svm: &mut Svm, numbers: &mut Numbers) {
    let names = ["a", "b", "c", "d"];
    let (one, other) = (names[numbers.below(4) as usize], names[numbers.below(4) as usize]);
    match numbers.below(13) {
        0 => svm.airdrop(&keypair(one).pubkey(), 1_000_000 * numbers.below(1000)).unwrap(),
        1 => {
            let data = vec![7; numbers.below(64) as usize];
            let account = Account { lamports: numbers.below(3), data, ..Account::default() };
            svm.set_account(address(one), account).unwrap();
        }
        2 => svm.warp_by_slots(numbers.below(200)),
        3 => {
            svm.advance_blockhash();
        }
        4 => {
            svm.expire_blockhash();
        }
        5 => svm.activate_feature(Feature::Blake3),
        6 => svm.deactivate_feature(Feature::TransactionV1),
        7 => svm.warp_to_epoch(svm.epoch() + 1 + numbers.below(3)).unwrap(),
        _ => {
            let to = keypair(other).pubkey();
            let transfer = system::transfer(&keypair(one).pubkey(), &to, numbers.below(1 << 31));
            // Some transfers fail for lack of funds or other reasons.
            let _ = svm.send_instructions(&[transfer], &[&keypair(one)]);
        }
    }
}

#[test]
fn restored_snapshots_equal_clones() {
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        let mut svm = Svm::new().with_signature_checks(false).with_history(5);
        for name in ["a", "b", "c", "d"] {
            svm.airdrop(&keypair(name).pubkey(), 10_000_000_000).unwrap();
        }
        let mut kept: Vec<(Snapshot, Svm)> = Vec::new();
        for _ in 0..60 {
            match numbers.below(8) {
                0 => {
                    let clone = svm.clone();
                    kept.push((svm.snapshot(), clone));
                }
                1 if !kept.is_empty() => {
                    let index = numbers.below(kept.len() as u64) as usize;
                    kept.truncate(index + 1);
                    svm.restore(&kept[index].0).unwrap();
                    assert_eq!(view(&svm), view(&kept[index].1), "seed {seed}");
                    // From here on both change identically.
                    let mut clone = kept[index].1.clone();
                    let mut same = Numbers(numbers.0);
                    change(&mut svm, &mut numbers);
                    change(&mut clone, &mut same);
                    assert_eq!(view(&svm), view(&clone), "seed {seed}");
                }
                2 if !kept.is_empty() => {
                    // Snapshots may be dropped in any order.
                    kept.remove(numbers.below(kept.len() as u64) as usize);
                }
                _ => change(&mut svm, &mut numbers),
            }
        }
    }
}
