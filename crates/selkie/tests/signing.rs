//! Transactions whose signatures are made when they are read are the same as those that are signed at
//! once: results, receipts, logs, history, duplicates, snapshots and recordings.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::Command,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering::Relaxed},
};

use selkie::{
    AccountMeta, AnySigner, AsSigner, FailedTransaction, Instruction, Keypair, Pubkey, Receipt,
    Signature, Signer, SignerError, Svm, TransactionError, VersionedTransaction, address, keypair,
    programs, system, token,
};

const SOL: u64 = 1_000_000_000;

type Sent = Result<Arc<Receipt>, FailedTransaction>;

/// How transactions are signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// When a signature is read.
    Later,
    /// Before they are sent, by signers of which nothing is known.
    AtOnce,
    /// Before they are sent, by the caller.
    ByCaller,
}

const ALL: [How; 3] = [How::Later, How::AtOnce, How::ByCaller];

impl How {
    fn send(self, svm: &mut Svm, instructions: &[Instruction], signers: &[&Keypair]) -> Sent {
        let unknown: Vec<&dyn Signer> = signers.iter().map(|it| *it as &dyn Signer).collect();
        match self {
            Self::Later => svm.send_instructions(instructions, signers),
            Self::AtOnce => svm.send_instructions(instructions, &unknown),
            Self::ByCaller => {
                let Ok(signed) = svm.sign(instructions, &unknown) else {
                    return svm.send_instructions(instructions, &unknown);
                };
                match svm.send(signed) {
                    Err(failed) if failed.error == TransactionError::AlreadyProcessed => {
                        svm.advance_blockhash();
                        svm.send(svm.sign(instructions, &unknown).unwrap())
                    }
                    sent => sent,
                }
            }
        }
    }
}

fn create(from: &Pubkey, new: &Pubkey, lamports: u64) -> Instruction {
    let data = [&[0; 4][..], &lamports.to_le_bytes(), &[0; 8], system::ID.as_ref()].concat();
    let accounts = vec![AccountMeta::new(*from, true), AccountMeta::new(*new, true)];
    Instruction { program_id: system::ID, accounts, data }
}

/// Sends transactions of all kinds, and calls `see` after each.
fn run(svm: &mut Svm, how: How, mut see: impl FnMut(&Svm, Sent)) {
    let [alice, bob, carol, poor] = ["alice", "bob", "carol", "poor"].map(keypair);
    let keys = [&alice, &bob, &carol, &poor].map(Signer::pubkey);
    let (mint, wallet) = (address("mint"), address("wallet"));
    svm.airdrop(&keys[0], 10 * SOL).unwrap();
    svm.airdrop(&keys[1], 10 * SOL).unwrap();
    svm.set_mint(mint, &programs::TOKEN.id, &keys[0], 6).unwrap();
    svm.set_token_account(wallet, &programs::TOKEN.id, &mint, &keys[0], 7).unwrap();
    let pay = |from: usize, lamports| system::transfer(&keys[from], &address("to"), lamports);
    let burn = token::transfer(&programs::TOKEN.id, &wallet, &wallet, &keys[0], 1);
    let too_many = token::transfer(&programs::TOKEN.id, &wallet, &wallet, &keys[0], 8);
    let cases: [(&[Instruction], &[&Keypair]); 19] = [
        (&[pay(0, SOL)], &[&alice]),
        (&[burn], &[&alice]),
        (&[too_many], &[&alice]),
        (&[pay(0, 100 * SOL)], &[&alice]),
        (&[create(&keys[0], &keys[2], SOL)], &[&alice, &carol]),
        (&[pay(1, SOL), pay(0, SOL)], &[&bob, &alice]),
        (&[pay(0, SOL), pay(1, SOL)], &[&bob, &alice]),
        // The same once more.
        (&[pay(0, SOL)], &[&alice]),
        (&[pay(0, SOL)], &[&alice]),
        // A signer is missing, foreign, there twice; there is none.
        (&[create(&keys[0], &keys[2], SOL)], &[&alice]),
        (&[pay(0, SOL)], &[&bob]),
        (&[pay(0, SOL)], &[&alice, &bob]),
        (&[create(&keys[0], &keys[2], SOL)], &[&alice, &bob]),
        (&[pay(0, SOL)], &[&alice, &alice]),
        (&[create(&keys[0], &keys[2], SOL)], &[&alice, &alice]),
        (&[pay(0, SOL)], &[]),
        // The payer does not exist; there is no instruction, there are too many.
        (&[pay(3, SOL)], &[&poor]),
        (&[], &[&alice]),
        (&vec![pay(0, 1); 65], &[&alice]),
    ];
    for (instructions, signers) in cases {
        let sent = how.send(svm, instructions, signers);
        see(svm, sent);
    }
}

/// Everything that is observable of a result.
fn shown(sent: &Sent) -> String {
    let (receipt, text) = match sent {
        Ok(receipt) => (receipt, receipt.to_string()),
        Err(failed) => (&failed.receipt, format!("{:?} {failed}", failed.error)),
    };
    let replay = receipt.replay().map(|it| it.to_string());
    let VersionedTransaction { signatures, message } = receipt.transaction.to_versioned();
    assert_eq!(receipt.signature(), signatures.first().copied().unwrap_or_default());
    format!("{text}\n{receipt:?}\n{replay:?}\n{signatures:?}\n{message:?}\n")
}

/// Everything that is observable of a chain.
fn view(svm: &Svm) -> String {
    let history: Vec<_> = svm.transactions().map(|receipt| receipt.signature()).collect();
    let accounts: Vec<_> = svm.written_accounts().collect();
    format!("{history:?} {:?} {accounts:?}", svm.latest_blockhash())
}

#[test]
fn results_receipts_and_history_are_the_same() {
    for make in [
        || Svm::new().with_replays(true),
        || Svm::new().with_history(3),
        || Svm::new().with_signature_checks(false),
        || Svm::new().with_duplicate_checks(false),
    ] {
        let runs = ALL.map(|how| {
            let (mut svm, mut seen, mut kept) = (make(), Vec::new(), Vec::new());
            run(&mut svm, how, |svm, sent| {
                seen.push(view(svm));
                kept.push(sent);
            });
            seen.extend(kept.iter().map(shown));
            seen.push(view(&svm));
            seen
        });
        let [later, at_once, by_caller] = runs;
        assert_eq!(later, at_once);
        assert_eq!(later, by_caller);
        assert!(later.iter().any(|it| it.contains("keypair-pubkey mismatch")), "{later:?}");
    }
}

#[test]
fn transactions_are_found_by_signatures_that_were_not_read_before() {
    let runs = ALL.map(|how| {
        let (mut svm, mut other) = (Svm::new(), Svm::new());
        run(&mut svm, how, |_, _| {});
        let mut signatures = vec![Signature::default()];
        run(&mut other, How::ByCaller, |_, sent| {
            let receipt = sent.unwrap_or_else(|failed| failed.receipt);
            signatures.push(receipt.signature());
        });
        let found = signatures.iter().map(|it| {
            let receipt = svm.transaction(it)?;
            assert_eq!(receipt.signature(), *it);
            Some((receipt.result.clone(), receipt.fee, receipt.slot, receipt.logs.clone()))
        });
        found.collect::<Vec<_>>()
    });
    let [later, at_once, by_caller] = runs;
    assert_eq!(later, at_once);
    assert_eq!(later, by_caller);
    assert_eq!(later.iter().flatten().count(), 10, "{later:?}");
}

#[test]
fn duplicates_are_found_whichever_way_they_were_signed() {
    let alice = keypair("alice");
    let transfer = [system::transfer(&alice.pubkey(), &address("bob"), SOL)];
    let mut svm = Svm::new();
    svm.airdrop(&alice.pubkey(), 10 * SOL).unwrap();
    let before = svm.snapshot();
    let signed = svm.sign(&transfer, &[&alice]).unwrap();
    let receipt = svm.send_instructions(&transfer, &[&alice]).unwrap();
    for again in [signed.clone(), receipt.transaction.to_versioned()] {
        assert_eq!(svm.send(again).unwrap_err().error, TransactionError::AlreadyProcessed);
    }
    let again = svm.send(&receipt.transaction).unwrap_err();
    assert_eq!(again.error, TransactionError::AlreadyProcessed);
    assert_eq!(again.receipt.signature(), signed.signatures[0]);
    assert_eq!(svm.balance(&address("bob")), SOL);
    svm.restore(&before).unwrap();
    assert!(svm.transaction(&signed.signatures[0]).is_none());
    svm.send(&signed).unwrap();
    let blockhash = svm.latest_blockhash();
    let next = svm.send_instructions(&transfer, &[&alice]).unwrap();
    assert_ne!((next.signature(), *next.blockhash()), (signed.signatures[0], blockhash));
    assert_eq!(svm.balance(&address("bob")), 2 * SOL);
}

#[test]
fn snapshots_and_clones_keep_what_is_not_signed_yet() {
    let runs = ALL.map(|how| {
        let mut svm = Svm::new().with_history(4);
        run(&mut svm, how, |_, _| {});
        let (clone, snapshot) = (svm.clone(), svm.snapshot());
        run(&mut svm, how, |_, _| {});
        let after = svm.clone();
        svm.restore(&snapshot).unwrap();
        assert_eq!(view(&svm), view(&clone));
        [view(&clone), view(&after), view(&svm)]
    });
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

/// A signer of a type of its own, which counts how often it signs, and may sign other bytes.
struct Counting<'a> {
    key: &'a Keypair,
    signed: AtomicUsize,
    is_honest: bool,
}

impl Signer for Counting<'_> {
    fn try_pubkey(&self) -> Result<Pubkey, SignerError> {
        Ok(self.key.pubkey())
    }

    fn try_sign_message(&self, message: &[u8]) -> Result<Signature, SignerError> {
        self.signed.fetch_add(1, Relaxed);
        Ok(self.key.sign_message(if self.is_honest { message } else { b"another message" }))
    }

    fn is_interactive(&self) -> bool {
        false
    }
}

#[test]
fn other_signers_sign_at_once_and_are_verified() {
    let (alice, bob) = (keypair("alice"), keypair("bob"));
    let mut svm = Svm::new();
    svm.airdrop(&alice.pubkey(), 10 * SOL).unwrap();
    svm.airdrop(&bob.pubkey(), 10 * SOL).unwrap();
    let pay = |from: &Keypair| system::transfer(&from.pubkey(), &address("to"), SOL);
    let both = [pay(&alice), pay(&bob)];
    for is_honest in [true, false] {
        let other = Counting { key: &bob, signed: AtomicUsize::new(0), is_honest };
        let result = svm.send_instructions(&both, &[&alice as &dyn Signer, &other]);
        assert_eq!(other.signed.load(Relaxed), if is_honest { 1 } else { 2 });
        let (receipt, error) = match result {
            Ok(receipt) => (receipt, None),
            Err(failed) => (failed.receipt, Some(failed.error)),
        };
        assert_eq!(error, (!is_honest).then_some(TransactionError::SignatureFailure));
        let message = receipt.message().serialize();
        assert_eq!(receipt.transaction.signatures()[0], alice.sign_message(&message));
        assert_eq!(receipt.transaction.given().map(<[_]>::len), Some(2));
    }
    // Pointers to keypairs are keypairs.
    let (boxed, shared) = (Box::new(keypair("alice")), Arc::new(keypair("alice")));
    let reference: &Keypair = &alice;
    let signers: [AnySigner<'_>; 3] =
        [boxed.as_signer(), shared.as_signer(), (&reference).as_signer()];
    for (signer, lamports) in signers.into_iter().zip(SOL..) {
        let pay = system::transfer(&alice.pubkey(), &address("to"), lamports);
        let receipt = svm.send_instructions(&[pay], &[&signer]).unwrap();
        assert!(receipt.transaction.given().is_none());
        let message = receipt.message().serialize();
        assert!(receipt.signature().verify(alice.pubkey().as_ref(), &message));
    }
}

/// How [`what_is_recorded`] signs.
const HOW: &str = "SELKIE_TEST_SIGNS";

/// Sends transactions of all kinds.
#[test]
fn what_is_recorded() {
    let how = env::var(HOW).ok();
    let how = ALL.into_iter().find(|it| Some(format!("{it:?}")) == how);
    run(&mut Svm::new(), how.unwrap_or(How::Later), |_, _| {});
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|it| it.path().is_file());
    files.map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap())).collect()
}

#[test]
fn recordings_are_the_same_bytes() {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("signing");
    let recorded = ALL.map(|how| {
        let folder = parent.join(format!("{how:?}"));
        let _ = fs::remove_dir_all(&folder);
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", "what_is_recorded"]).env(HOW, format!("{how:?}"));
        assert!(again.env("SELKIE_RECORD", &folder).output().unwrap().status.success());
        (files(&folder), files(&folder.join("blobs")))
    });
    assert_eq!(recorded[0].0.len(), 10);
    assert!(recorded[0] == recorded[1] && recorded[0] == recorded[2]);
}
