//! What failed checks do.

use core::fmt::Debug;

#[cfg(feature = "until-0-15")]
use solana_pubkey::Pubkey;
#[cfg(feature = "until-0-15")]
use solana_rent::Rent;

/// What failed checks do, and whether balances are checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether a failed check panics (default: `true`).
    pub panic: bool,
    /// Whether a failed check that does not panic is printed (default: `false`).
    pub verbose: bool,
    /// Whether accounts must keep their minimum balance (default: `true`). New in Mollusk 0.16.
    #[cfg(not(feature = "until-0-15"))]
    pub rent_exempt_checks: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            panic: true,
            verbose: false,
            #[cfg(not(feature = "until-0-15"))]
            rent_exempt_checks: true,
        }
    }
}

/// What checks ask about rent. Up to Mollusk 0.15.
#[cfg(feature = "until-0-15")]
pub trait CheckContext {
    /// Returns whether an account with this balance and length needs no rent.
    fn is_rent_exempt(&self, lamports: u64, space: usize, owner: Pubkey) -> bool {
        let is_absent = lamports == 0 && owner == Pubkey::default();
        is_absent || Rent::default().is_exempt(lamports, space)
    }
}

/// Reports a failed check. Returns `false`.
///
/// # Panics
/// If the configuration says so.
#[track_caller]
#[allow(clippy::print_stdout, reason = "cargo shows it for tests that fail")]
pub(crate) fn fail(config: &Config, message: &str) -> bool {
    assert!(!config.panic, "CHECK FAILED: {message}");
    if config.verbose {
        println!("CHECK FAILED: {message}");
    }
    false
}

/// Returns whether two values are equal, and reports if they are not.
#[track_caller]
pub(crate) fn equal<T: PartialEq<U> + Debug, U: Debug>(
    config: &Config,
    what: &str,
    expected: T,
    actual: U,
) -> bool {
    expected == actual
        || fail(config, &format!("{what}\n  Expected: `{expected:?}`,\n Got: `{actual:?}`"))
}

/// Returns whether a value is the one that is expected, if one is, and reports if it is not.
#[track_caller]
pub(crate) fn given<T: PartialEq<U> + Debug, U: Debug>(
    config: &Config,
    what: &str,
    expected: Option<T>,
    actual: U,
) -> bool {
    // A closure would hide the place of the test.
    match expected {
        Some(expected) => equal(config, what, expected, actual),
        None => true,
    }
}
