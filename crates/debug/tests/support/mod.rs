//! A session with an invocation by another program, for several tests.

use selkie::{Signer as _, Svm, address, keypair, programs, token};
use selkie_debug::{History, PathMap, Session};
use selkie_replay::{DebugFiles, ReplayFile};

/// Creates an associated token account: the program invokes the token program.
pub(crate) fn session() -> Session {
    let payer = keypair("payer");
    let (mint, owner) = (address("mint"), address("owner"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let token = programs::TOKEN.id;
    svm.set_mint(mint, &token, &payer.pubkey(), 6).unwrap();
    let create = token::create_associated(&token, &payer.pubkey(), &owner, &mint);
    let transaction = svm.sign(&[create], &[&payer]).unwrap();
    let replay = svm.record("create", &transaction);
    let timeline = ReplayFile::from(replay).timeline(0).unwrap();
    Session::new(History::new(timeline, &DebugFiles::default()), PathMap::default())
}
