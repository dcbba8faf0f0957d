//! What the custom error of a program means: the name, and where that is from.
//!
//! | source | programs |
//! |---|---|
//! | the tables of [`errors`] | system, vote, stake, precompiles, tokens |
//! | the log | those made with Anchor |
//! | `target/idl` | those that have a description of their interface |
//! | debug information | those whose own code has an enumeration of errors with that number |

use std::path::Path;

use selkie_inspect::{ErrorEnum, code as code_of, debug_file, error_enums};
use selkie_isa::input;
use selkie_programs::errors::{self, ErrorName};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{interface::Interface, receipt::Receipt};

/// What programs made with Anchor contain, since they log it.
const ANCHOR_MARK: &[u8] = b"AnchorError";
/// The first number of the errors that an Anchor program defines.
const ANCHOR_OFFSET: u32 = 6000;
/// The numbers of Anchor's own errors end below this one.
const ANCHOR_END: u32 = 5001;
/// The variants that are named if several enumerations have the number.
const ALTERNATIVES_MAX: usize = 3;

/// Where the name of a program's error is looked up, besides the tables of well-known programs.
#[derive(Clone, Copy, Default, Debug)]
pub struct ErrorSources<'a> {
    /// The log of the transaction.
    pub logs: &'a [String],
    /// The path of the program's file. Its description is looked for beside it, as is its debug
    /// information.
    pub path: Option<&'a Path>,
    /// The program's ELF file.
    pub elf: Option<&'a [u8]>,
}

/// Returns what a custom error code of a program means; `None` if no source tells.
///
/// ```
/// use selkie::{ErrorSources, custom_error, programs};
///
/// let error = custom_error(&programs::TOKEN.id, 3, &ErrorSources::default());
/// assert_eq!(error.map(|it| it.to_string()).as_deref(), Some("MintMismatch (token)"));
/// ```
#[must_use]
pub fn custom_error(program: &Pubkey, code: u32, sources: &ErrorSources<'_>) -> Option<ErrorName> {
    errors::decode(program, code, sources.logs).or_else(|| {
        let interface = Interface::find(program, sources.path);
        let described = interface.as_ref().and_then(|it| {
            let (name, message) = it.error(code)?;
            let origin = it.path.display().to_string().into();
            Some(ErrorName { name: name.into(), message, origin })
        });
        let is_anchor = interface.is_some() || sources.elf.is_some_and(mentions_anchor);
        let framework = || errors::anchor(code).filter(|_| is_anchor && code < ANCHOR_END);
        described.or_else(framework).or_else(|| in_debug_information(code, sources, is_anchor))
    })
}

/// Returns whether a file is of a program that was made with Anchor.
fn mentions_anchor(elf: &[u8]) -> bool {
    elf.windows(ANCHOR_MARK.len()).any(|it| it == ANCHOR_MARK)
}

/// Looks for an enumeration of errors with the number in a program's own code.
fn in_debug_information(
    code: u32,
    sources: &ErrorSources<'_>,
    is_anchor: bool,
) -> Option<ErrorName> {
    let elf = sources.elf?;
    let debug = sources.path.and_then(|path| {
        // The file itself may have more than what was deployed of it.
        let whole = || {
            let file = input::read(path, input::FILE_BYTES_MAX).ok()?;
            (code_of(&file)? == code_of(elf)?).then_some(file)
        };
        debug_file(path, elf).map(|it| it.bytes).or_else(whole)
    });
    let enums = error_enums(debug.as_deref().unwrap_or(elf));
    variant(&enums, code, is_anchor)
}

/// Returns the variant with the number of an error, or the variants if several enumerations have it.
fn variant(enums: &[ErrorEnum], code: u32, is_anchor: bool) -> Option<ErrorName> {
    let number = if is_anchor { code.checked_sub(ANCHOR_OFFSET)? } else { code };
    let found = enums.iter().filter_map(|it| Some((it, it.variant(number.into())?)));
    let mut names: Vec<String> = found
        .map(|(of, variant)| {
            let name = of.name.rsplit("::").next().unwrap_or(&of.name);
            format!("{name}::{variant}")
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let is_clear = (1..=ALTERNATIVES_MAX).contains(&names.len());
    is_clear.then(|| ErrorName {
        name: names.join(" or ").into(),
        message: None,
        origin: "debug information".into(),
    })
}

impl Receipt {
    /// Returns what the custom error means that made the transaction fail; `None` if it failed otherwise,
    /// or if no source tells. Reads files when called.
    #[must_use]
    pub fn error_name(&self) -> Option<ErrorName> {
        let (program, code) = self.failed_with()?;
        let elf = self.program_elf(&program);
        let path = self.origin(&program);
        custom_error(&program, code, &ErrorSources { logs: &self.logs, path, elf: elf.as_deref() })
    }

    /// Returns the code of the custom error, and the program that returned it first.
    fn failed_with(&self) -> Option<(Pubkey, u32)> {
        let Err(TransactionError::InstructionError(index, InstructionError::Custom(code))) =
            self.result
        else {
            return None;
        };
        let failed = self.failed_instruction.as_ref();
        if let Some(failed) = failed.filter(|it| it.error == InstructionError::Custom(code)) {
            return Some((failed.program_id, code));
        }
        let instruction = self.message().instructions().get(usize::from(index))?;
        let program = self.accounts.get(usize::from(instruction.program_id_index))?;
        Some((program.key, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enumeration(name: &str, variants: &[(&str, u64)]) -> ErrorEnum {
        let variants = variants.iter().map(|(name, number)| ((*name).to_owned(), *number));
        ErrorEnum { name: name.to_owned(), variants: variants.collect() }
    }

    #[test]
    fn numbers_of_enumerations_count_from_anchors_offset() {
        let enums = [enumeration("vault::VaultError", &[("Empty", 0), ("Full", 1)])];
        let name = |code, is_anchor| variant(&enums, code, is_anchor).map(|it| it.to_string());
        let full = Some("VaultError::Full (debug information)".to_owned());
        assert_eq!((name(1, false), name(6001, true)), (full.clone(), full));
        assert_eq!((name(2, false), name(1, true), name(6001, false)), (None, None, None));
    }

    #[test]
    fn all_variants_with_the_number_are_named() {
        let first = enumeration("vault::VaultError", &[("Full", 1)]);
        let second = enumeration("vault::PoolError", &[("Closed", 1)]);
        // Debug information may have the same enumeration in several units.
        let name = variant(&[first.clone(), second, first], 1, false).expect("two have it");
        assert_eq!(name.name, "PoolError::Closed or VaultError::Full");
    }

    #[test]
    fn anchors_errors_are_those_of_programs_made_with_it() {
        let program = Pubkey::new_from_array([7; 32]);
        let name = |elf: &[u8]| {
            let sources = ErrorSources { elf: Some(elf), ..ErrorSources::default() };
            custom_error(&program, 2006, &sources).map(|it| it.to_string())
        };
        assert_eq!(name(b"..AnchorError caused.."), Some("ConstraintSeeds (anchor)".to_owned()));
        assert_eq!(name(b"another program"), None);
    }
}
