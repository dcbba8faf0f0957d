//! Rules: which version of the protocol holds in a run.
//!
//! Most changes of the protocol are features, which a cluster activates ([`crate::features`]). Some come
//! with a release of agave instead: they hold once validators run it. Each is a row here, and code
//! asks for it by name ([`Rules::has`]).

use core::{fmt, str::FromStr};

use crate::features::FeatureSet;

/// A release of agave whose behaviour is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Release {
    /// 4.2, of summer 2026.
    V4_2,
    /// 4.3, under which mainnet moved to Alpenglow.
    V4_3,
    /// 4.4, which mainnet has run since November 2026.
    V4_4,
    /// 4.5, as far as 4.5.0-alpha.4 shows it.
    V4_5,
}

impl Release {
    /// Every release, oldest first.
    pub const ALL: [Self; 4] = [Self::V4_2, Self::V4_3, Self::V4_4, Self::V4_5];

    /// The release that mainnet runs.
    pub const MAINNET: Self = Self::V4_4;

    /// Returns the release that mainnet ran at a slot: the first slot of the epoch in which all
    /// validators had to run it. Those of 4.3 and before are estimated.
    #[must_use]
    const fn at_mainnet_slot(slot: u64) -> Self {
        match slot {
            ..450_000_000 => Self::V4_2,
            450_000_000..466_128_000 => Self::V4_3,
            466_128_000.. => Self::V4_4,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4_2 => "4.2",
            Self::V4_3 => "4.3",
            Self::V4_4 => "4.4",
            Self::V4_5 => "4.5",
        })
    }
}

impl FromStr for Release {
    type Err = UnknownRules;

    /// Parses the first two numbers of a version: `4.4`, but not `4.4.0`.
    fn from_str(text: &str) -> Result<Self, UnknownRules> {
        let found = Self::ALL.into_iter().find(|release| release.to_string() == text);
        found.ok_or_else(|| UnknownRules(format!("`{text}` is none of the releases 4.2 to 4.5")))
    }
}

/// The rules of a run: the features that are active, and the release of agave whose behaviour holds in
/// what no feature switches. The default is mainnet's.
///
/// ```
/// use selkie_protocol::rules::{Release, Rules, Ungated};
///
/// let next: Rules = "4.5".parse()?;
/// assert_eq!((next.release, next.features), (Release::V4_5, Rules::mainnet().features));
/// assert!(next.has(Ungated::PayerIsFiltered) && !Rules::mainnet().has(Ungated::PayerIsFiltered));
/// # Ok::<(), selkie_protocol::rules::UnknownRules>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// The active features.
    pub features: FeatureSet,
    /// The release of agave.
    pub release: Release,
}

impl Rules {
    /// Returns the rules of mainnet at the end of November 2026.
    #[must_use]
    pub fn mainnet() -> Self {
        Self { features: FeatureSet::mainnet(), release: Release::MAINNET }
    }

    /// Returns the rules of mainnet on a day, as `2026-09-01`, from June 2025 on. Which slot a day began
    /// with is estimated from the duration of slots, and may be a day off.
    ///
    /// # Errors
    /// If it is not a day, or too early.
    pub fn mainnet_on(day: &str) -> Result<Self, UnknownRules> {
        let slot = days(day).and_then(mainnet_slot).ok_or_else(|| {
            let form = "expected a day from 2025-06-10 on, as 2026-09-01";
            UnknownRules(format!("no rules of mainnet are known on `{day}`: {form}"))
        })?;
        let features = FeatureSet::mainnet_at(slot);
        Ok(Self { features, release: Release::at_mainnet_slot(slot) })
    }

    /// Whether a change that came with a release holds.
    #[must_use]
    pub fn has(self, change: Ungated) -> bool {
        self.release >= change.since()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::mainnet()
    }
}

impl FromStr for Rules {
    type Err = UnknownRules;

    /// Parses the name of rules: a release (`4.5`) with mainnet's features, `mainnet`, or `mainnet@DAY`.
    /// `testnet` and `devnet` are refused: which features they have activated is in their accounts alone.
    fn from_str(text: &str) -> Result<Self, UnknownRules> {
        let of = |release| Ok(Self { release, ..Self::mainnet() });
        match text.split_once('@') {
            Some(("mainnet", day)) => Self::mainnet_on(day),
            Some(_) => Err(UnknownRules("only `mainnet` can have a day".to_owned())),
            None if text == "mainnet" => Ok(Self::mainnet()),
            None if text == "testnet" => Err(unlisted(text, Release::V4_5)),
            None if text == "devnet" => Err(unlisted(text, Release::V4_4)),
            None => of(text.parse().map_err(|_| {
                let names = "a release (4.2 to 4.5), mainnet, mainnet@DAY";
                UnknownRules(format!("`{text}` names no rules: expected one of {names}"))
            })?),
        }
    }
}

/// Returns why a cluster that runs a release is no name of rules.
fn unlisted(cluster: &str, release: Release) -> UnknownRules {
    UnknownRules(format!(
        "which features {cluster} has activated is in no release of agave, only in the cluster's accounts: \
         use {release}, which it runs, and switch the features that differ from mainnet's; or let \
         `selkie node --url {cluster} --clone-feature-set` read them"
    ))
}

/// A text that names no rules, and what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownRules(String);

impl fmt::Display for UnknownRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for UnknownRules {}

/// Returns the number of a day since 1970-01-01.
fn days(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    // Until 2099, whose calendar has no exception.
    let is_leap = |year: u64| year.is_multiple_of(4);
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month).ok()?.checked_sub(1)?;
    let is_day = (1970..2100).contains(&year) && day >= 1 && day <= *months.get(index)?;
    let before: u64 = (1970..year).map(|year| if is_leap(year) { 366 } else { 365 }).sum();
    let passed: u64 = months.iter().take(index).sum();
    is_day.then(|| before.saturating_add(passed).saturating_add(day).saturating_sub(1))
}

/// Slots of mainnet at days since 1970: starts of epochs at which the duration of slots changed, and
/// others whose day is known.
const MAINNET_SLOTS: [(u64, u64); 7] = [
    (20_249, 345_600_000), // 2025-06-10
    (20_689, 440_640_000), // 2026-08-24: 350 ms
    (20_696, 442_368_000), // 2026-08-31: 300 ms
    (20_716, 447_984_000), // 2026-09-20: 250 ms
    (20_736, 454_896_000), // 2026-10-10: 200 ms
    (20_747, 459_648_000), // 2026-10-21: Alpenglow
    (20_763, 466_128_000), // 2026-11-06
];

/// Returns the slot at which a day ended on mainnet.
fn mainnet_slot(day: u64) -> Option<u64> {
    let day = day.checked_add(1)?;
    let after = MAINNET_SLOTS.iter().position(|(known, _)| *known >= day);
    let last = MAINNET_SLOTS.len().checked_sub(1)?;
    let after = after.unwrap_or(last);
    let (start, end) = (MAINNET_SLOTS.get(after.checked_sub(1)?)?, MAINNET_SLOTS.get(after)?);
    let slots = end.1.checked_sub(start.1)?;
    let passed =
        day.checked_sub(start.0)?.checked_mul(slots)?.checked_div(end.0.checked_sub(start.0)?)?;
    start.1.checked_add(passed)
}

macro_rules! for_each_ungated {
    ($mac:ident) => {
        $mac! {
            OldLoaderProgramsAreElf since V4_4,
                "an account of loader v1 or v2 is a program only if it begins as an ELF file; invoking \
                 another logs `Program is not cached` instead of `Program is not deployed`",
                source: "solana-svm 4.4 `program_loader.rs` (`get_program_deployment_slot`)",
                test: "crates/selkie/tests/rules.rs" => "accounts_of_old_loaders_begin_as_elf_files";
            CloseResizesLast since V4_4,
                "the loader's `Close` checks authorities and moves lamports before it resizes the account, \
                 and so reports their errors first",
                source: "solana-bpf-loader-program 4.4 `lib.rs` (`Close`, `common_close_account`)",
                test: "crates/builtins/tests/loader.rs" => "close_resizes_the_account_at_last";
            PayerIsFiltered since V4_5,
                "a payer that does not exist is refused with `InvalidAccountForFee` instead of \
                 `AccountNotFound`",
                source: "solana-svm 4.5 `transaction_processor.rs` (`validate_transaction_fee_payer`)",
                test: "crates/selkie/tests/rules.rs" => "a_missing_payer_is_an_invalid_one_since_4_5";
            UnknownProgramFirst since V4_5,
                "invoking a program outside of the transaction fails with `MissingAccount` before \
                 privileges are checked",
                source: "solana-program-runtime 4.5 `invoke_context.rs` (`build_instruction_frame`)",
                test: "crates/selkie/tests/rules.rs" => "an_unknown_program_precedes_privileges_since_4_5";
            DuplicatesBeforeLocks since V4_5,
                "an account that is named twice is reported before too many accounts, and of version 1 as \
                 `AccountLoadedTwice` instead of `SanitizeFailure`",
                source: "solana-runtime-transaction 4.5 `transaction_limits.rs` (`validate_unique_account_keys`)",
                test: "crates/selkie/tests/rules.rs" => "duplicate_accounts_precede_too_many_since_4_5";
            FinalizingNamesVersion since V4_5,
                "finalizing a program whose sBPF version can no longer be deployed logs which version is \
                 needed",
                source: "solana-bpf-loader-program 4.5 `lib.rs` (`SetAuthority`)",
                test: "crates/builtins/tests/loader.rs" => "finalizing_an_old_version_is_explained_since_4_5";
        }
    };
}

macro_rules! define {
    ($($name:ident since $since:ident, $what:literal, source: $source:literal,
       test: $file:literal => $test:literal;)*) => {
        /// A change of behaviour that came with a release of agave, and that no feature switches.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Ungated {
            $(#[doc = $what] $name,)*
        }

        impl Ungated {
            /// Every change that has a row.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the first release that behaves so.
            #[must_use]
            pub const fn since(self) -> Release {
                match self { $(Self::$name => Release::$since,)* }
            }

            /// Returns what changed, in a phrase.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }

            /// Returns where the release has it: crate, version, file and function.
            #[must_use]
            pub const fn source(self) -> &'static str {
                match self { $(Self::$name => $source,)* }
            }

            /// Returns the file and the name of the test that shows both behaviours.
            #[must_use]
            pub const fn test(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($file, $test),)* }
            }
        }
    };
}

for_each_ungated!(define);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Feature;

    fn rules(text: &str) -> Rules {
        text.parse().unwrap()
    }

    #[test]
    fn rules_are_chosen_by_release_cluster_and_day() {
        assert_eq!(rules("mainnet"), Rules::default());
        assert_eq!(rules("4.5").features, FeatureSet::mainnet());
        for (cluster, release) in [("testnet", "4.5"), ("devnet", "4.4")] {
            let refused = cluster.parse::<Rules>().unwrap_err().to_string();
            assert!(refused.contains(&format!("use {release}")), "{refused}");
        }
        assert_eq!(rules("mainnet@2026-11-28"), Rules::mainnet());
        for wrong in ["", "4.4.0", "4.6", "main", "testnet@2026-01-01", "mainnet@2026-13-01"] {
            assert!(wrong.parse::<Rules>().is_err(), "{wrong}");
        }
        assert!(Rules::mainnet_on("2025-06-09").is_err());
    }

    #[test]
    fn a_day_has_the_features_that_mainnet_had_activated() {
        let has = |day: &str, feature| Rules::mainnet_on(day).unwrap().features.has(feature);
        // Transactions of version 1 came at slot 447,120,000, in September 2026.
        assert!(!has("2026-09-10", Feature::TransactionV1));
        assert!(has("2026-09-20", Feature::TransactionV1));
        assert_eq!(Rules::mainnet_on("2026-09-10").unwrap().release, Release::V4_2);
        assert_eq!(Rules::mainnet_on("2026-10-21").unwrap().release, Release::V4_3);
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(days("2026-11-06"), Some(20_763));
        assert_eq!((days("2024-02-29"), days("2023-02-29")), (Some(19_782), None));
        assert!(MAINNET_SLOTS.is_sorted());
    }

    #[test]
    fn every_change_has_the_test_that_its_row_names() {
        for change in Ungated::ALL {
            let (file, test) = change.test();
            let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(text.contains(&format!("fn {test}(")), "{file} has no test `{test}`");
        }
    }
}
