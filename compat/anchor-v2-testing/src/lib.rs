//! The API of `anchor-v2-testing` on Selkie: `svm()` is a [`litesvm::LiteSVM`], which with the feature `profile` writes
//! the registers of each test for `anchor test --profile`.
//!
//! Those of the test `a::b` go to `a__b` in the folder `ANCHOR_PROFILE_DIR`, and without that variable in
//! `target/anchor-v2-profile`. With `ANCHOR_GDB_SOCKET`, which `anchor debugger --gdb` sets, every invocation also waits
//! for a debugger on a port of its test, which is written to that Unix socket: `41235\ta::b`.
//! (`anchor-v2-testing` 0.1, `src/profile.rs`, at af7f7aad and dbdc31fa.)

use std::path::PathBuf;
#[cfg(unix)]
use std::{
    io::{self, Write as _},
    net::{Ipv4Addr, TcpListener},
    os::unix::net::UnixStream,
};

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
        svm.svm_mut().number_registers(trace_dir, announced_port());
    }
    svm
}

/// Chooses a port for the debugger of this thread's test, and tells Anchor's command, if it asks for one.
#[cfg(unix)]
fn announced_port() -> Option<u16> {
    let socket = std::env::var_os("ANCHOR_GDB_SOCKET")?;
    let announce = || -> io::Result<u16> {
        // Free until a program waits there, but for another process that takes it meanwhile.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        writeln!(UnixStream::connect(&socket)?, "{port}\t{}", test())?;
        Ok(port)
    };
    match announce() {
        Ok(port) => Some(port),
        Err(error) => panic!("ANCHOR_GDB_SOCKET: cannot use {}: {error}", socket.display()),
    }
}

#[cfg(not(unix))]
fn announced_port() -> Option<u16> {
    None
}

/// The name of the test of this thread.
fn test() -> String {
    std::thread::current().name().unwrap_or("unknown").to_owned()
}

/// The folder of the test that runs in this thread.
fn folder() -> PathBuf {
    let root = std::env::var_os("ANCHOR_PROFILE_DIR").map(PathBuf::from);
    root.unwrap_or_else(|| "target/anchor-v2-profile".into()).join(test().replace("::", "__"))
}
