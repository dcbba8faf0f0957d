//! The API of `anchor-v2-testing` on Selkie: `svm()` is a [`litesvm::LiteSVM`], which with the feature `profile` writes
//! the registers of each test for `anchor test --profile`.
//!
//! Those of the test `a::b` go to `a__b` in the folder `ANCHOR_PROFILE_DIR`, and without that variable in
//! `target/anchor-v2-profile`. (`anchor-v2-testing` 0.1, `src/profile.rs`, at af7f7aad.)

use std::path::PathBuf;

pub use selkie_litesvm_3 as litesvm;
pub use solana_keypair::Keypair;
pub use solana_message::{Message, VersionedMessage};
pub use solana_signer::Signer;
pub use solana_transaction::versioned::VersionedTransaction;

/// Creates a chain for the test of this thread, which with the feature `profile` writes its registers.
#[must_use]
pub fn svm() -> litesvm::LiteSVM {
    svm_with_trace_dir(folder())
}

/// Creates a chain, which with the feature `profile` writes its registers to a folder.
#[must_use]
pub fn svm_with_trace_dir(trace_dir: impl Into<PathBuf>) -> litesvm::LiteSVM {
    let mut svm = litesvm::LiteSVM::new();
    if cfg!(feature = "profile") {
        svm.svm_mut().number_registers(trace_dir);
    }
    svm
}

/// The folder of the test that runs in this thread.
fn folder() -> PathBuf {
    let root = std::env::var_os("ANCHOR_PROFILE_DIR").map(PathBuf::from);
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unknown").replace("::", "__");
    root.unwrap_or_else(|| "target/anchor-v2-profile".into()).join(test)
}
