//! The API of `solana-program-test` on [Selkie](selkie): tests written for version 4 run unchanged, and
//! transactions are processed as mainnet processes them.
//!
//! ```toml
//! [dev-dependencies]
//! solana-program-test = { package = "selkie-program-test", path = "../selkie/compat/program-test" }
//! ```
//!
//! ```
//! use selkie_program_test::{ProgramTest, tokio};
//! use solana_keypair::Signer;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let mut context = ProgramTest::default().start_with_context().await;
//! context.warp_to_epoch(15).unwrap();
//! let lamports = context.banks_client.get_balance(context.payer.pubkey()).await.unwrap();
//! assert_eq!(lamports, 1_000_000_000_000_000);
//! # });
//! ```
//!
//! A test has what the original gives it: the features that its version knows, 6960 lamports of rent per
//! byte, a validator with a million SOL, epochs that begin with 32 slots and double, slot 1, a payer with a
//! million SOL, and warps over slots without blocks. Nothing waits: all methods are ready at once, and the
//! same test sees the same blockhashes.
//!
//! Programs run from their `.so` files; [`ProgramTest::add_program`] says where they are looked for. A
//! function that `processor!` names does not run in the test's process.

mod chain;
mod client;
mod context;
mod error;
mod features;
mod files;
mod genesis;
mod program_test;
mod results;

pub use solana_program_entrypoint::ProcessInstruction;
// Tests write `#[tokio::test]` with the name that this package exports.
pub use tokio;

pub use crate::{
    client::{BanksClient, ProgramTestBanksClientExt},
    context::ProgramTestContext,
    error::{BanksClientError, ProgramTestError},
    files::{find_file, read_file},
    genesis::GenesisConfig,
    program_test::ProgramTest,
    results::{
        BanksTransactionResultWithMetadata, BanksTransactionResultWithSimulation,
        TransactionConfirmationStatus, TransactionMetadata, TransactionReturnData,
        TransactionSimulationDetails, TransactionStatus,
    },
};

/// Names the function of a program for [`ProgramTest::add_program`], as the original's macro does.
///
/// ```
/// use selkie_program_test::{ProcessInstruction, processor};
/// use solana_account_info::AccountInfo;
/// use solana_address::Address;
/// use solana_program_error::ProgramResult;
///
/// fn process(_: &Address, _: &[AccountInfo], _: &[u8]) -> ProgramResult {
///     Ok(())
/// }
///
/// let processor: Option<ProcessInstruction> = processor!(process);
/// assert!(processor.is_some());
/// ```
#[macro_export]
macro_rules! processor {
    ($function:expr) => {
        Some($function as $crate::ProcessInstruction)
    };
}
