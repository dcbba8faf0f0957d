//! The syscall table: one row per syscall.
//!
//! A program calls a syscall by name until it is linked or loaded, and by the Murmur3 hash of the
//! name after that. The assembler resolves and suggests names by this table. The runtime adds a
//! handler to each row, and charges what the row says.

mod table;

use core::{
    cmp::Ordering,
    fmt::{self, Display, Formatter},
};

pub use self::table::SYSCALLS;
use crate::{
    cost::Cost,
    features::{Feature, FeatureSet},
};

/// A syscall: a row of [`SYSCALLS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Syscall {
    index: usize,
    /// The name that programs call it by.
    pub name: &'static str,
    /// The Murmur3 hash of the name, which is the immediate of a call of the syscall.
    pub hash: u32,
    /// The names of the arguments, r1 first; at most 5.
    pub arguments: &'static [&'static str],
    /// Which programs can call it.
    pub gate: Gate,
    /// What a call costs.
    pub cost: Cost,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// Which programs can call a syscall. It displays as a phrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// All programs.
    Always,
    /// All programs where the feature is active.
    Feature(Feature),
    /// All programs where the feature is not active.
    Without(Feature),
    /// Programs that are deployed already. Where the feature is not active, programs that call the
    /// syscall can still be deployed.
    ExecutionOnlyWith(Feature),
}

impl Syscall {
    /// Returns the index of the row in [`SYSCALLS`].
    #[inline]
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Whether programs that are executed can call it.
    #[must_use]
    pub const fn is_executable(&self, features: FeatureSet) -> bool {
        match self.gate {
            Gate::Always | Gate::ExecutionOnlyWith(_) => true,
            Gate::Feature(feature) => features.has(feature),
            Gate::Without(feature) => !features.has(feature),
        }
    }

    /// Whether programs that call it can be deployed.
    #[must_use]
    pub const fn is_deployable(&self, features: FeatureSet) -> bool {
        match self.gate {
            Gate::ExecutionOnlyWith(feature) => !features.has(feature),
            Gate::Always | Gate::Feature(_) | Gate::Without(_) => self.is_executable(features),
        }
    }

    /// Returns the index of the argument on which the charge on entry depends, if it depends on one.
    #[must_use]
    pub const fn entry_argument(&self) -> Option<usize> {
        let Some(rate) = self.cost.entry.rate else { return None };
        let mut index = 0;
        while index < self.arguments.len() {
            if matches!(compare(self.arguments[index], rate.of), Ordering::Equal) {
                return Some(index);
            }
            index = index.saturating_add(1);
        }
        None
    }
}

/// Writes the call of the syscall: `sol_log_(addr, len)`.
impl Display for Syscall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments.join(", "))
    }
}

impl Display for Gate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (preposition, feature) = match self {
            Self::Always => return f.write_str("always"),
            Self::ExecutionOnlyWith(_) => {
                return f.write_str("for programs that are already deployed");
            }
            Self::Feature(feature) => ("with", feature),
            Self::Without(feature) => ("without", feature),
        };
        let state = if feature.on_mainnet() { "on" } else { "off" };
        write!(f, "{preposition} feature `{}` (mainnet: {state})", feature.address())
    }
}

const _: () = {
    let mut index = 0;
    while index < SYSCALLS.len() {
        let row = &SYSCALLS[index];
        assert!(row.index == index, "rows know their index");
        assert!(row.arguments.len() <= 5, "syscalls take at most five arguments");
        assert!(row.cost.entry.series.is_none(), "on entry only arguments are known");
        assert!(
            row.cost.entry.rate.is_none() || row.entry_argument().is_some(),
            "a charge on entry depends on an argument"
        );
        if index > 0 {
            let order = compare(SYSCALLS[index - 1].name, row.name);
            assert!(matches!(order, Ordering::Less), "the rows must be sorted by name");
        }
        let mut other = 0;
        while other < index {
            assert!(SYSCALLS[other].hash != row.hash, "two syscalls have the same hash");
            other += 1;
        }
        index = index.saturating_add(1);
    }
};

/// Returns the row of the syscall `name`.
///
/// ```
/// use selkie_protocol::syscalls;
/// // A row that is known to exist is found at compile time.
/// const LOG: &syscalls::Syscall = syscalls::find("sol_log_").expect("the table has this row");
/// assert_eq!(LOG.hash, 0x2075_59bd);
/// assert_eq!(LOG.to_string(), "sol_log_(addr, len)");
/// assert_eq!(LOG.cost.to_string(), "max(100, len)");
/// assert_eq!(syscalls::find("sol_log"), None);
/// ```
#[must_use]
pub const fn find(name: &str) -> Option<&'static Syscall> {
    let (mut start, mut end) = (0, SYSCALLS.len());
    while start < end {
        let middle = usize::midpoint(start, end);
        match compare(SYSCALLS[middle].name, name) {
            Ordering::Less => start = middle.saturating_add(1),
            Ordering::Equal => return Some(&SYSCALLS[middle]),
            Ordering::Greater => end = middle,
        }
    }
    None
}

/// Returns the row of the syscall whose name hashes to `hash`.
///
/// ```
/// use selkie_protocol::syscalls;
/// assert_eq!(syscalls::find_hash(0x2075_59bd), syscalls::find("sol_log_"));
/// ```
#[must_use]
pub fn find_hash(hash: u32) -> Option<&'static Syscall> {
    SYSCALLS.iter().find(|syscall| syscall.hash == hash)
}

/// Returns the names of all syscalls, sorted.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    SYSCALLS.iter().map(|syscall| syscall.name)
}

/// Compares as `Ord::cmp` does, which cannot be called at compile time.
const fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut index = 0;
    while index < left.len() && index < right.len() {
        if left[index] != right[index] {
            return if left[index] < right[index] { Ordering::Less } else { Ordering::Greater };
        }
        index = index.saturating_add(1);
    }
    if left.len() == right.len() {
        Ordering::Equal
    } else if left.len() < right.len() {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

#[cfg(test)]
mod tests {
    use selkie_isa::symbol::murmur3;

    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_by_its_hash() {
        for syscall in SYSCALLS {
            assert!(core::ptr::eq(find(syscall.name).unwrap(), syscall));
            assert!(core::ptr::eq(find_hash(murmur3(syscall.name.as_bytes())).unwrap(), syscall));
        }
    }

    #[test]
    fn names_that_differ_by_one_character_are_not_found() {
        for Syscall { name, .. } in SYSCALLS {
            assert_eq!(find(&format!("{name}x")), None);
            assert_eq!(find(&name[..name.len() - 1]), None);
        }
        assert_eq!(find(""), None);
    }

    #[test]
    fn summaries_are_sentences() {
        for Syscall { name, summary, .. } in SYSCALLS {
            assert!(summary.ends_with('.') && summary.starts_with(char::is_uppercase), "{name}");
        }
    }

    #[test]
    fn gates_follow_the_features() {
        let (none, mainnet, all) = (FeatureSet::none(), FeatureSet::mainnet(), FeatureSet::all());
        for (name, features, is_executable, is_deployable) in [
            ("sol_log_", none, true, true),
            ("sol_get_sysvar", mainnet, true, true),
            ("sol_blake3", mainnet, false, false),
            ("sol_blake3", all, true, true),
            ("sol_get_fees_sysvar", none, true, true),
            ("sol_get_fees_sysvar", mainnet, false, false),
            ("sol_alloc_free_", mainnet, true, false),
            ("sol_alloc_free_", none, true, true),
        ] {
            let syscall = find(name).unwrap();
            assert_eq!(syscall.is_executable(features), is_executable, "{name}");
            assert_eq!(syscall.is_deployable(features), is_deployable, "{name}");
        }
    }

    #[test]
    fn a_charge_on_entry_knows_its_argument() {
        let argument = |name| find(name).unwrap().entry_argument();
        assert_eq!(argument("sol_memcpy_"), Some(2));
        assert_eq!(argument("sol_log_"), Some(1));
        assert_eq!(argument("sol_log_64_"), None);
    }
}
