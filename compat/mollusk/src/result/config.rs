//! What failed checks do.

use core::fmt::Debug;

/// What failed checks do, and whether balances are checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether a failed check panics (default: `true`).
    pub panic: bool,
    /// Whether a failed check that does not panic is printed (default: `false`).
    pub verbose: bool,
    /// Whether accounts must keep their minimum balance (default: `true`).
    pub rent_exempt_checks: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { panic: true, verbose: false, rent_exempt_checks: true }
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
