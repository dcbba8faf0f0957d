//! What is asked of either side, and how it answers.
//!
//! The two sides do not fit into one workspace: LiteSVM needs older versions of Solana's types than
//! Selkie does, under the same major numbers. So LiteSVM is a library of its own, which is loaded
//! at run time, and this is all that both know. There is nothing of Solana in here: transactions
//! come as they would by wire, and each side makes its own type of them before it takes the time.
//!
//! Whatever takes the time is written the same way on both sides: a loop around the call that a
//! user would write, with what the call gives looked at and dropped.

use core::time::Duration;

/// An address.
pub type Key = [u8; 32];

/// Why something did not work.
pub type Failure = String;

/// An account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its balance.
    pub lamports: u64,
    /// Its data.
    pub data: Vec<u8>,
    /// The program that owns it.
    pub owner: Key,
}

/// What a world begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// Builtin programs and sysvars.
    Bare,
    /// What the library gives by default: well-known programs besides.
    Default,
}

/// Some calls of the same kind.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// The time that all of them took.
    pub time: Duration,
    /// Compute units that the last one used.
    pub units: u64,
}

/// What became of one transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// `Ok(())`, or the error as Rust's `Debug` writes it.
    pub result: String,
    /// What it paid, in lamports.
    pub fee: u64,
    /// Compute units that it used.
    pub units: u64,
    /// Its log.
    pub logs: Vec<String>,
    /// What a program returned last.
    pub returned: Vec<u8>,
}

/// One of those that are compared.
pub trait Side {
    /// A new world.
    ///
    /// # Errors
    /// If there is none.
    fn open(&self, start: Start, verifies_signatures: bool) -> Result<Box<dyn World>, Failure>;

    /// The time that it takes to make a new world; to drop it is not counted.
    ///
    /// # Errors
    /// If there is none.
    fn time_open(&self, start: Start) -> Result<Duration, Failure>;
}

/// Accounts and programs, and transactions that change them.
pub trait World {
    /// The blockhash to sign with.
    fn blockhash(&self) -> Key;

    /// Puts an account at an address.
    ///
    /// # Errors
    /// If it must not be there.
    fn set_account(&mut self, key: Key, account: Account) -> Result<(), Failure>;

    /// The balance and the data of an account.
    fn account(&self, key: &Key) -> Option<(u64, Vec<u8>)>;

    /// Puts a program at an address, in the care of this loader, and tells how long that took.
    ///
    /// # Errors
    /// If it is no program.
    fn add_program(&mut self, id: Key, elf: &[u8], loader: Key) -> Result<Duration, Failure>;

    /// Reads transactions, which wait to be sent in this order.
    ///
    /// # Errors
    /// If they cannot be read.
    fn queue(&mut self, wire: &[Vec<u8>]) -> Result<(), Failure>;

    /// Sends so many of those that wait.
    ///
    /// # Errors
    /// If one does not succeed, or if there are too few.
    fn send(&mut self, count: usize) -> Result<Calls, Failure>;

    /// Sends the next of those that wait, and tells what became of it, be that success or failure.
    ///
    /// # Errors
    /// If none waits.
    fn send_next(&mut self) -> Result<Outcome, Failure>;

    /// Simulates so many of those that wait.
    ///
    /// # Errors
    /// As [`World::send`].
    fn simulate(&mut self, count: usize) -> Result<Calls, Failure>;

    /// For so many of those that wait: keeps the state, sends the transaction, and goes back.
    ///
    /// # Errors
    /// As [`World::send`].
    fn send_and_restore(&mut self, count: usize) -> Result<Calls, Failure>;
}
