//! A cluster in a file, and out of it.

use selkie::{
    Account, Feature, FeatureSet, Pubkey, ReadableAccount, Signer, StateFileError, Svm,
    TransactionError, keypair, system,
};

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
fn a_cluster_goes_on_from_its_file() {
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
        // Blockhashes are others.
        assert!(account == other || *account.owner() == sysvars, "{key}");
    }
    // What was sent cannot be sent again; new things can.
    assert_eq!(after.send(&signed).unwrap_err().error, TransactionError::BlockhashNotFound);
    after.send_instructions(&[to_bob], &[&alice]).unwrap();
    assert_eq!(after.balance(&keypair("bob").pubkey()), 2 * SOL);
}

#[test]
fn clusters_without_features_stay_so() {
    let mut svm = Svm::new();
    for feature in FeatureSet::mainnet().iter() {
        svm.deactivate_feature(feature);
    }
    assert_eq!(Svm::from_bytes(&svm.to_bytes()).unwrap().features(), FeatureSet::none());
}

#[test]
fn damage_is_found() {
    let bytes = cluster().to_bytes();
    let refused = |bytes: &[u8]| {
        let Err(StateFileError::Format(why)) = Svm::from_bytes(bytes) else {
            panic!("damage was not found")
        };
        why
    };
    assert_eq!(refused(b"{}"), "it does not begin like one");
    for len in (15..bytes.len()).step_by(997) {
        assert_eq!(refused(&bytes[..len]), "it is cut off, or has been changed");
    }
    let mut changed = bytes.clone();
    changed[700] ^= 1;
    assert_eq!(refused(&changed), "it is cut off, or has been changed");
    assert!(Svm::from_bytes(&bytes).is_ok());
}
