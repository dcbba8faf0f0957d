//! State files: saved, loaded, damaged.

use selkie::{
    Account, Feature, FeatureSet, Pubkey, ReadableAccount, Signer, StateFileError, Svm,
    TransactionError, keypair, system,
};
use sha2::{Digest, Sha256};

const SOL: u64 = 1_000_000_000;

fn cluster() -> Svm {
    let mut svm = Svm::new();
    svm.activate_feature(Feature::VirtualAddressSpaceAdjustments);
    svm.airdrop(&keypair("alice").pubkey(), 10 * SOL).unwrap();
    let account = Account { lamports: 5, data: vec![1, 2, 3], ..Account::default() };
    svm.set_account(Pubkey::new_from_array([7; 32]), account).unwrap();
    svm.warp_to_slot(1_000_000).unwrap();
    svm
}

#[test]
fn a_loaded_state_continues_in_the_next_slot() {
    let mut before = cluster();
    let alice = keypair("alice");
    let to_bob = system::transfer(&alice.pubkey(), &keypair("bob").pubkey(), SOL);
    let signed = before.sign(std::slice::from_ref(&to_bob), &[&alice]).unwrap();
    before.send(&signed).unwrap();

    let file = std::env::temp_dir().join(format!("selkie-state-{}", std::process::id()));
    before.save(&file).unwrap();
    let mut after = Svm::load(&file).unwrap();
    std::fs::remove_file(&file).unwrap();

    assert_eq!(after.slot(), before.slot() + 1);
    assert_eq!(after.features(), before.features());
    before.warp_by_slots(1);
    assert_eq!(after.clock(), before.clock());
    assert_eq!(after.accounts_len(), before.accounts_len());
    let sysvars = selkie::ids::sysvar::ID;
    for ((key, account), (_, other)) in before.accounts().zip(after.accounts()) {
        // Only blockhashes differ.
        assert!(account == other || *account.owner() == sysvars, "{key}");
    }
    // An old transaction cannot be sent again, but new ones can.
    assert_eq!(after.send(&signed).unwrap_err().error, TransactionError::BlockhashNotFound);
    after.send_instructions(&[to_bob], &[&alice]).unwrap();
    assert_eq!(after.balance(&keypair("bob").pubkey()), 2 * SOL);
}

#[test]
fn state_files_keep_the_feature_set() {
    let mut svm = Svm::new();
    for feature in FeatureSet::mainnet().iter() {
        svm.deactivate_feature(feature);
    }
    assert_eq!(Svm::from_bytes(&svm.to_bytes()).unwrap().features(), FeatureSet::none());
}

#[test]
fn damaged_state_files_are_rejected() {
    let bytes = cluster().to_bytes();
    let refused = |bytes: &[u8]| {
        let Err(StateFileError::Format(why)) = Svm::from_bytes(bytes) else {
            panic!("damage was not found")
        };
        why
    };
    assert_eq!(refused(b"{}"), "its magic number is wrong");
    for len in (15..bytes.len()).step_by(997) {
        assert_eq!(refused(&bytes[..len]), "it is truncated or modified");
    }
    let mut changed = bytes.clone();
    changed[700] ^= 1;
    assert_eq!(refused(&changed), "it is truncated or modified");
    assert!(Svm::from_bytes(&bytes).is_ok());
}

#[test]
fn random_state_files_with_valid_hashes_do_not_panic() {
    let mut svm = Svm::new();
    svm.airdrop(&keypair("alice").pubkey(), 10 * SOL).unwrap();
    let bytes = svm.to_bytes();
    let body = &bytes[..bytes.len() - 32];
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 1).unwrap()
    };
    let mut accepted = 0;
    for _ in 0..80 {
        let mut changed = body.to_vec();
        for _ in 0..=next() % 3 {
            let index = 15 + next() % (changed.len() - 15);
            // Boundary values find more than random bytes.
            let byte = [0, 1, 0x7f, 0x80, 0xff, b'9', next().to_le_bytes()[0]][next() % 7];
            changed[index..].iter_mut().take([1, 1, 8][next() % 3]).for_each(|it| *it = byte);
        }
        changed.extend(Sha256::digest(&changed));
        if let Ok(mut svm) = Svm::from_bytes(&changed) {
            accepted += 1;
            svm.warp_by_slots(1);
            let transfer =
                system::transfer(&keypair("alice").pubkey(), &keypair("bob").pubkey(), 1);
            let _ = svm.send_instructions(&[transfer], &[&keypair("alice")]);
        }
    }
    assert!(accepted > 10, "most changes are to data: {accepted}");
}

/// Returns the file with a changed header.
fn with_header(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let begin = b"selkie state 1\n".len();
    let end = begin + bytes[begin..].iter().position(|byte| *byte == b'\n').unwrap();
    let mut header = serde_json::from_slice(&bytes[begin..end]).unwrap();
    change(&mut header);
    let header = header.to_string();
    let mut changed = [&bytes[..begin], header.as_bytes(), &bytes[end..bytes.len() - 32]].concat();
    changed.extend(Sha256::digest(&changed));
    changed
}

#[test]
fn state_files_without_stakes_are_read() {
    let bytes = cluster().to_bytes();
    let old = with_header(&bytes, |header| {
        assert!(header.as_object_mut().unwrap().remove("stakes").is_some());
    });
    let mut svm = Svm::from_bytes(&old).unwrap();
    assert_eq!(svm.environment().epoch_stake.total, 0);
    svm.warp_to_epoch(5).unwrap();
    assert_eq!(svm.stake_history().get(4).unwrap().effective, 0);
    // Stakes that are present must be valid.
    let odd = with_header(&bytes, |header| header["stakes"]["besides"]["total"] = (-1).into());
    let Err(StateFileError::Format(why)) = Svm::from_bytes(&odd) else { panic!("it is odd") };
    assert_eq!(why, "its header is invalid");
}
