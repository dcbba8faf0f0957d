//! Names of accounts, which are shown beside their addresses.
//!
//! An account has the name that [`Svm::set_name`](crate::Svm::set_name) gave it; or that of the well-known program or sysvar;
//! or that of the file that its program was added from; or the name that [`keypair`](crate::keypair) or
//! [`address`](crate::address) made its address of. Names change no result: they are for people.

use core::fmt::Write as _;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::Path,
    sync::{PoisonError, RwLock},
};

use selkie_builtins::PROGRAMS;
use selkie_isa::plain;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{incinerator, native_loader, sysvar};

use crate::{origin::Origins, programs};

/// The names that are remembered in the process, and those that a replay gives.
pub(crate) const NAMES_MAX: usize = 1 << 14;
/// The characters of a name. Longer ones are not shown.
const NAME_CHARS_MAX: usize = 64;

/// The lengths of addresses in base58.
const ADDRESS_CHARS_MIN: usize = 32;
const ADDRESS_CHARS_MAX: usize = 44;

/// The names that were given to accounts.
pub(crate) type Given = BTreeMap<Pubkey, String>;

/// The names that addresses were made of in this process. A name is a fact about its address, so the
/// table only decides which names are shown.
static DERIVED: RwLock<Given> = RwLock::new(Given::new());

/// Remembers that an address was made of a name.
pub(crate) fn remember(key: Pubkey, name: &str) {
    if !is_name(name) {
        return;
    }
    let is_known = |names: &Given| names.len() >= NAMES_MAX || names.contains_key(&key);
    if !is_known(&DERIVED.read().unwrap_or_else(PoisonError::into_inner)) {
        let mut names = DERIVED.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(key, name.to_owned());
    }
}

/// Returns whether a text can be shown as a name: it is short, and has no control characters.
pub(crate) fn is_name(text: &str) -> bool {
    let is_short = text.chars().nth(NAME_CHARS_MAX).is_none();
    is_short && !text.trim().is_empty() && matches!(plain::line(text), Cow::Borrowed(_))
}

/// Sysvars, their owner, and other addresses that are neither a builtin program nor one of
/// [`programs::ALL`].
#[allow(deprecated, reason = "old programs still take these sysvars")]
const OTHERS: &[(&str, Pubkey)] = &[
    ("ata", programs::ASSOCIATED_TOKEN.id),
    ("native-mint", Pubkey::from_str_const("So11111111111111111111111111111111111111112")),
    ("native-loader", native_loader::ID),
    ("incinerator", incinerator::ID),
    ("sysvar", sysvar::ID),
    ("clock", sysvar::clock::ID),
    ("rent", sysvar::rent::ID),
    ("epoch-schedule", sysvar::epoch_schedule::ID),
    ("epoch-rewards", sysvar::epoch_rewards::ID),
    ("instructions", sysvar::instructions::ID),
    ("last-restart-slot", sysvar::last_restart_slot::ID),
    ("recent-blockhashes", sysvar::recent_blockhashes::ID),
    ("slot-hashes", sysvar::slot_hashes::ID),
    ("slot-history", sysvar::slot_history::ID),
    ("stake-history", sysvar::stake_history::ID),
];

/// Returns the names of builtin programs, well-known programs and sysvars, with their addresses. An
/// address may have several names: the first one is shown.
pub fn well_known() -> impl Iterator<Item = (Cow<'static, str>, Pubkey)> {
    let builtins = PROGRAMS.iter().map(|row| (short(row.name).into(), row.address));
    let programs = programs::ALL.iter().map(|program| (program.name.into(), program.id));
    let others = OTHERS.iter().map(|(name, id)| ((*name).into(), *id));
    builtins.chain(programs).chain(others)
}

/// Returns the name of a builtin program as one word: `compute-budget` for "compute budget program".
fn short(name: &str) -> String {
    let name = name.trim_end_matches(" program").trim_end_matches(" precompile");
    name.to_lowercase().replace(' ', "-")
}

/// Returns the name of an account that every cluster has, or of an address that was made of a name in
/// this process.
///
/// ```
/// use selkie::{address, names};
///
/// let vault = address("vault");
/// assert_eq!(names::name_of(&vault).as_deref(), Some("vault"));
/// assert_eq!(names::name_of(&selkie::system::ID).as_deref(), Some("system"));
/// ```
#[must_use]
pub fn name_of(key: &Pubkey) -> Option<String> {
    find(key, None, None)
}

/// Returns the addresses that were made of a name in this process.
pub(crate) fn of_name(name: &str) -> Vec<Pubkey> {
    let names = DERIVED.read().unwrap_or_else(PoisonError::into_inner);
    names.iter().filter(|(_, it)| *it == name).map(|(key, _)| *key).collect()
}

/// Returns the name of an account among those that were given, those of programs' files, and the others.
pub(crate) fn find(
    key: &Pubkey,
    given: Option<&Given>,
    origins: Option<&Origins>,
) -> Option<String> {
    let given = given.and_then(|given| given.get(key)).cloned();
    let known = || well_known().find(|(_, id)| id == key).map(|(name, _)| name.into_owned());
    let file = || origins.and_then(|origins| file_name(origins.get(key)?));
    let derived = || DERIVED.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
    given.or_else(known).or_else(file).or_else(derived)
}

/// Returns the name of a program by its file.
fn file_name(path: &Path) -> Option<String> {
    path.file_stem()?.to_str().filter(|name| is_name(name)).map(str::to_owned)
}

/// Renders an address with its name, if it has one: `vault (7V1F…)`.
#[must_use]
pub fn show(key: &Pubkey, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} ({key})"),
        None => key.to_string(),
    }
}

/// Adds names to the addresses in a text, in parentheses behind each.
///
/// ```
/// use selkie::names::{annotate, name_of};
///
/// let line = "Program 11111111111111111111111111111111 invoke [1]";
/// assert_eq!(annotate(line, name_of), "Program 11111111111111111111111111111111 (system) invoke [1]");
/// ```
pub fn annotate(text: &str, name_of: impl Fn(&Pubkey) -> Option<String>) -> Cow<'_, str> {
    let mut annotated = String::new();
    let (mut copied, mut read) = (0, 0_usize);
    let is_separator = |it: char| !it.is_ascii_alphanumeric();
    for part in text.split_inclusive(is_separator) {
        let word = part.trim_end_matches(is_separator);
        let end = read.saturating_add(word.len());
        read = read.saturating_add(part.len());
        if !(ADDRESS_CHARS_MIN..=ADDRESS_CHARS_MAX).contains(&word.len()) {
            continue;
        }
        let Some(name) = word.parse().ok().and_then(|key| name_of(&key)) else { continue };
        let before = text.get(..read.saturating_sub(part.len())).unwrap_or_default();
        let rest = text.get(end..).unwrap_or_default();
        // What is annotated, or follows its name, stays as it is.
        if before.ends_with(&format!("{name} (")) || rest.starts_with(&format!(" ({name})")) {
            continue;
        }
        let _ = write!(annotated, "{} ({name})", text.get(copied..end).unwrap_or_default());
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    annotated.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(annotated)
}
