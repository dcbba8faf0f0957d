//! The interface that both sides of the benchmark implement.
//!
//! The two sides do not fit into one workspace: LiteSVM needs older versions of Solana's types than
//! Selkie, under the same major numbers. LiteSVM is therefore a library of its own that is loaded at
//! run time, and this crate is all that both sides share. It contains no types of Solana:
//! transactions are passed as bytes, and each side deserializes them before the clock starts.
//!
//! Timed code is written the same way on both sides: a loop around the call that a user would write,
//! which inspects and drops the result.

use core::time::Duration;

/// An address.
pub type Key = [u8; 32];

/// An error message.
pub type Failure = String;

/// An account.
#[derive(Clone, Debug)]
pub struct Account {
    /// The balance.
    pub lamports: u64,
    /// The data.
    pub data: Vec<u8>,
    /// The program that owns it.
    pub owner: Key,
}

/// An instruction whose only signer is the payer.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The program.
    pub program: Key,
    /// The accounts: address, whether it signs, whether it is written.
    pub accounts: Vec<(Key, bool, bool)>,
    /// The data.
    pub data: Vec<u8>,
}

/// What a test sends and reads.
#[derive(Clone, Debug)]
pub struct Test {
    /// The secret seed of the payer, who signs.
    pub payer: Key,
    /// An instruction for each transaction.
    pub instructions: Vec<Instruction>,
    /// The account that is read after each transaction.
    pub read: Key,
}

/// The initial contents of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Builtin programs and sysvars.
    Bare,
    /// The default of the library, with well-known programs.
    Default,
}

/// The time and the cost of a few calls of the same kind.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// The time that all of them took.
    pub time: Duration,
    /// Compute units of the last call.
    pub compute_units: u64,
}

/// The result of one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// `Ok(())`, or the error, as `Debug` formats it.
    pub result: String,
    /// The fee in lamports.
    pub fee: u64,
    /// Compute units consumed.
    pub compute_units: u64,
    /// The log lines.
    pub logs: Vec<String>,
    /// The return data.
    pub returned: Vec<u8>,
}

/// One of the two libraries that are compared.
pub trait Side {
    /// Makes a new world.
    ///
    /// # Errors
    /// If the library cannot make one.
    fn open(&self, start: Start, verifies_signatures: bool) -> Result<Box<dyn World>, Failure>;

    /// Returns the time that it takes to make a new world, without dropping it.
    ///
    /// # Errors
    /// As [`Side::open`].
    fn time_open(&self, start: Start) -> Result<Duration, Failure>;
}

/// Accounts, programs and a queue of transactions.
pub trait World {
    /// Returns the latest blockhash.
    fn blockhash(&self) -> Key;

    /// Sets the account at an address.
    ///
    /// # Errors
    /// If the library refuses it.
    fn set_account(&mut self, key: Key, account: Account) -> Result<(), Failure>;

    /// Returns the balance and the data of an account.
    fn account(&self, key: &Key) -> Option<(u64, Vec<u8>)>;

    /// Adds a program that `loader` owns, and returns the time that it took.
    ///
    /// # Errors
    /// If the file is not a valid program.
    fn add_program(&mut self, id: Key, elf: &[u8], loader: Key) -> Result<Duration, Failure>;

    /// Deserializes transactions, and replaces the queue with them.
    ///
    /// # Errors
    /// If one cannot be deserialized.
    fn queue(&mut self, wire: &[Vec<u8>]) -> Result<(), Failure>;

    /// Takes what [`World::sign_send_read`] works on.
    fn prepare(&mut self, test: &Test);

    /// Sends the next `count` transactions of the queue.
    ///
    /// # Errors
    /// If one fails, or if too few are queued.
    fn send(&mut self, count: usize) -> Result<Calls, Failure>;

    /// Does what a test does, for each of the next `count` instructions that [`World::prepare`] got: makes
    /// a transaction, signs it, sends it, and reads the account.
    ///
    /// # Errors
    /// As [`World::send`].
    fn sign_send_read(&mut self, count: usize) -> Result<Calls, Failure>;

    /// Sends the next transaction of the queue, and returns its result even if it fails.
    ///
    /// # Errors
    /// If none is queued.
    fn send_next(&mut self) -> Result<Outcome, Failure>;

    /// Simulates the next `count` transactions of the queue.
    ///
    /// # Errors
    /// As [`World::send`].
    fn simulate(&mut self, count: usize) -> Result<Calls, Failure>;

    /// Takes a snapshot, sends a transaction and restores the snapshot, for each of the next `count`
    /// transactions of the queue.
    ///
    /// # Errors
    /// As [`World::send`].
    fn send_and_restore(&mut self, count: usize) -> Result<Calls, Failure>;
}
