//! What the custom errors of well-known programs mean: their numbers, with names.
//!
//! The tables have the names that the programs' own sources give, and say which sources these are. A
//! program without a table may still tell by its log: programs made with Anchor write the names of their
//! errors there.

mod table;

use core::fmt;
use std::borrow::Cow;

use solana_pubkey::Pubkey;
use solana_sdk_ids::{
    ed25519_program, secp256k1_program, secp256r1_program, stake, system_program, vote,
};

use crate::{associated_token, token};

/// How an Anchor program begins the line of its log that tells an error.
const ANCHOR_ERROR: &str = "AnchorError ";

/// What a custom error code of a program means. Its `Display` is `MintMismatch (token)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorName {
    /// The name, as in the program's source.
    pub name: Cow<'static, str>,
    /// What the program says about it, if it says more than the name.
    pub message: Option<String>,
    /// Where the name is from: the program or interface that defines it, or the file or log that has it.
    pub origin: Cow<'static, str>,
}

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(message) = &self.message {
            write!(f, ": {message}")?;
        }
        write!(f, " ({})", self.origin)
    }
}

/// The custom errors of a program or of an interface.
struct Table {
    name: &'static str,
    /// The package and the file that define the errors.
    source: &'static str,
    /// The first number of each range, and the names of the numbers from there on.
    ranges: &'static [(u32, &'static [&'static str])],
}

impl Table {
    fn find(&self, code: u32) -> Option<&'static str> {
        self.ranges.iter().find_map(|(first, names)| {
            let index = usize::try_from(code.checked_sub(*first)?).ok()?;
            names.get(index).copied()
        })
    }

    fn name_of(&self, code: u32) -> Option<ErrorName> {
        let name = self.find(code)?.into();
        Some(ErrorName { name, message: None, origin: self.name.into() })
    }
}

/// Returns the tables of a program: its own errors, and those of the interfaces that it implements.
fn tables(program: &Pubkey) -> &'static [Table] {
    const SYSTEM: &[Table] = &[table::SYSTEM];
    const VOTE: &[Table] = &[table::VOTE];
    const STAKE: &[Table] = &[table::STAKE];
    const PRECOMPILE: &[Table] = &[table::PRECOMPILE];
    const SPL_TOKEN: &[Table] = &[table::TOKEN];
    const ASSOCIATED: &[Table] = &[table::ASSOCIATED];
    const EXTENSIBLE: &[Table] = &[
        table::TOKEN_2022,
        table::TOKEN_METADATA,
        table::TOKEN_GROUP,
        table::TRANSFER_HOOK,
        table::ACCOUNT_RESOLUTION,
    ];
    match *program {
        system_program::ID => SYSTEM,
        vote::ID => VOTE,
        stake::ID => STAKE,
        ed25519_program::ID | secp256k1_program::ID | secp256r1_program::ID => PRECOMPILE,
        token::ID => SPL_TOKEN,
        token::ID_2022 => EXTENSIBLE,
        associated_token::ID => ASSOCIATED,
        _ => &[],
    }
}

/// Returns what a custom error of a well-known program means. Programs that are not listed in the
/// tables, as the loaders, the compute budget program and the address lookup table program, return no
/// custom errors, or are not well known.
///
/// ```
/// use selkie_layout::{errors, token};
///
/// let error = errors::find(&token::ID, 3).expect("the token program has such an error");
/// assert_eq!(error.to_string(), "MintMismatch (token)");
/// ```
#[must_use]
pub fn find(program: &Pubkey, code: u32) -> Option<ErrorName> {
    tables(program).iter().find_map(|table| table.name_of(code))
}

/// Returns what a number means as an error of Anchor's framework. Any program may use the number for
/// another error, so this holds of programs that are known to be made with Anchor.
#[must_use]
pub fn anchor(code: u32) -> Option<ErrorName> {
    table::ANCHOR.name_of(code)
}

/// Returns what a program that was made with Anchor wrote to the log about an error.
#[must_use]
pub fn in_log(program: &Pubkey, code: u32, logs: &[String]) -> Option<ErrorName> {
    let failed = format!("Program {program} failed: ");
    let end = logs.iter().rposition(|line| line.starts_with(&failed)).unwrap_or(logs.len());
    let before = logs.get(..end)?;
    let line = before.iter().rev().find_map(|line| line.split_once(ANCHOR_ERROR))?.1;
    let (_, rest) = line.split_once("Error Code: ")?;
    let (name, rest) = rest.split_once(". Error Number: ")?;
    let (number, rest) = rest.split_once(". Error Message: ")?;
    if number.parse() != Ok(code) {
        return None;
    }
    let known = anchor(code).filter(|known| known.name == name);
    let origin = known.map_or(Cow::Borrowed("its log"), |known| known.origin);
    let message = Some(rest.trim_end_matches('.').to_owned()).filter(|it| !it.is_empty());
    Some(ErrorName { name: name.to_owned().into(), message, origin })
}

/// Returns the program that failed first with a custom error, as the log has it; `None` if the log was
/// cut, or tells of no such failure.
///
/// ```
/// use selkie_layout::{errors, token};
///
/// let line = "Program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA failed: custom program error: 0x3";
/// assert_eq!(errors::failed_program(&[line.to_owned()], 3), Some(token::ID));
/// ```
#[must_use]
pub fn failed_program(logs: &[String], code: u32) -> Option<Pubkey> {
    let end = format!(" failed: custom program error: {code:#x}");
    let first = logs.iter().find_map(|line| line.strip_suffix(&end)?.strip_prefix("Program "));
    first?.parse().ok()
}

/// Returns what a custom error means, as far as tables and the log tell.
#[must_use]
pub fn decode(program: &Pubkey, code: u32, logs: &[String]) -> Option<ErrorName> {
    find(program, code).or_else(|| in_log(program, code, logs))
}

/// Returns the packages and files that define the errors of the tables.
#[must_use]
pub fn sources() -> Vec<&'static str> {
    let programs = [system_program::ID, vote::ID, stake::ID, ed25519_program::ID];
    let tokens = [token::ID, token::ID_2022, associated_token::ID];
    let all = programs.iter().chain(&tokens).flat_map(tables).map(|table| table.source);
    all.chain([table::ANCHOR.source]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_programs() {
        let check = |program: Pubkey, code, expected: Option<&str>| {
            let found = find(&program, code).map(|it| it.to_string());
            assert_eq!(found.as_deref(), expected, "{program} {code}");
        };
        check(system_program::ID, 0, Some("AccountAlreadyInUse (system)"));
        check(system_program::ID, 1, Some("ResultWithNegativeLamports (system)"));
        check(system_program::ID, 8, Some("NonceUnexpectedBlockhashValue (system)"));
        check(system_program::ID, 9, None);
        check(token::ID, 1, Some("InsufficientFunds (token)"));
        check(token::ID, 17, Some("AccountFrozen (token)"));
        check(token::ID, 20, None);
        check(token::ID_2022, 3, Some("MintMismatch (token-2022)"));
        check(token::ID_2022, 37, Some("NonTransferable (token-2022)"));
        check(token::ID_2022, 67, Some("MintPaused (token-2022)"));
        check(token::ID_2022, 901_952_957, Some("IncorrectAccount (token metadata interface)"));
        check(associated_token::ID, 0, Some("InvalidOwner (associated-token)"));
        check(stake::ID, 1, Some("LockupInForce (stake)"));
        check(stake::ID, 16, Some("EpochRewardsActive (stake)"));
        check(vote::ID, 19, Some("CommissionUpdateTooLate (vote)"));
        check(secp256k1_program::ID, 2, Some("InvalidSignature (precompile)"));
        check(Pubkey::new_from_array([7; 32]), 3, None);
        for (code, expected) in [
            (100, "InstructionMissing (anchor)"),
            (2001, "ConstraintHasOne (anchor)"),
            (2502, "RequireKeysEqViolated (anchor)"),
            (3007, "AccountOwnedByWrongProgram (anchor)"),
            (3012, "AccountNotInitialized (anchor)"),
            (4100, "DeclaredProgramIdMismatch (anchor)"),
            (5000, "Deprecated (anchor)"),
        ] {
            assert_eq!(anchor(code).expect("Anchor has it").to_string(), expected);
        }
        assert_eq!(anchor(6000), None);
    }

    #[test]
    fn anchor_programs_tell_their_errors_in_the_log() {
        let program = Pubkey::new_from_array([7; 32]);
        let check = |line: &str, code: u32, expected: Option<&str>| {
            let failed = format!("Program {program} failed: custom program error: {code:#x}");
            let logs = [format!("Program log: {line}"), failed];
            let found = decode(&program, code, &logs).map(|it| it.to_string());
            assert_eq!(found.as_deref(), expected, "{line}");
        };
        let own = "AnchorError thrown in programs/vault/src/lib.rs:30. Error Code: Full. \
                   Error Number: 6000. Error Message: The vault is full.";
        check(own, 6000, Some("Full: The vault is full (its log)"));
        check(own, 6001, None);
        let framework = "AnchorError caused by account: vault. Error Code: ConstraintHasOne. \
                         Error Number: 2001. Error Message: A has one constraint was violated.";
        let expected = "ConstraintHasOne: A has one constraint was violated (anchor)";
        check(framework, 2001, Some(expected));
        check("AnchorError", 6000, None);
        check("AnchorError occurred. Error Code: Full. Error Number: 6000", 6000, None);
    }

    #[test]
    fn every_table_names_its_source_and_no_number_twice() {
        assert!(sources().iter().all(|source| source.contains(": src/")));
        for table in [table::ANCHOR].iter().chain(tables(&token::ID_2022)) {
            let mut end = 0;
            for (first, names) in table.ranges {
                assert!(*first >= end && !names.is_empty(), "{} {first}", table.name);
                end = first + u32::try_from(names.len()).expect("a table is short");
            }
        }
    }
}
