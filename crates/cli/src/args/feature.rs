//! Rules that are chosen on the command line, and features that are switched.

use clap::Args;
use selkie_isa::suggest::nearest;
use selkie_svm::{Feature, FeatureSet, Rules, agave_feature};

/// The rules of a run, and features to switch of those that are active otherwise.
#[derive(Args, Clone, Debug)]
pub(crate) struct FeatureArgs {
    /// The rules: `mainnet`, those of a day (`mainnet@2026-09-01`), or a release of agave (`4.5`);
    /// docs/protocol.md lists what differs. A recording takes the release from them, and keeps its
    /// features [default: mainnet, or what was recorded]
    #[arg(long, value_name = "NAME")]
    pub(crate) rules: Option<Rules>,

    /// Enable or disable a feature; docs/features.md lists them
    #[arg(long, value_name = "NAME=on|off", value_parser = parse_feature)]
    pub(crate) feature: Vec<(Feature, bool)>,
}

impl FeatureArgs {
    /// Returns the rules that are chosen, or else `base`, with these switches.
    pub(crate) fn of(&self, base: Rules) -> Rules {
        let rules = self.rules.unwrap_or(base);
        let features = self.feature.iter().fold(rules.features, switch);
        Rules { features, ..rules }
    }
}

fn switch(features: FeatureSet, &(feature, is_on): &(Feature, bool)) -> FeatureSet {
    match is_on {
        true => features.with(feature),
        false => features.without(feature),
    }
}

fn parse_feature(text: &str) -> Result<(Feature, bool), String> {
    let (name, switch) = text.split_once('=').ok_or("expected NAME=on or NAME=off")?;
    let is_on = match switch {
        "on" => true,
        "off" => false,
        other => return Err(format!("`{other}` is neither `on` nor `off`")),
    };
    match parse_name(name)? {
        Some(feature) => Ok((feature, is_on)),
        None => Err(format!("`{name}` is active for good: no rules are without it")),
    }
}

/// Finds a feature by its name here or in agave, in any spelling, or by its address. `None` if nothing asks
/// for it, since it is active on mainnet for good.
pub(crate) fn parse_name(name: &str) -> Result<Option<Feature>, String> {
    if let Some(address) = agave_feature(name) {
        return Ok(Feature::from_address(&address));
    }
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let is_it = |feature: &&Feature| {
        plain(&format!("{feature:?}")) == plain(name) || feature.address().to_string() == name
    };
    let found = Feature::ALL.iter().find(is_it).copied();
    found.map(Some).ok_or_else(|| {
        let names: Vec<String> = Feature::ALL.iter().map(|it| format!("{it:?}")).collect();
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("unknown feature `{name}`: did you mean `{near}`?"),
            None => format!("unknown feature `{name}`"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_by_name_and_address() {
        let blake3 = Feature::Blake3;
        for name in ["Blake3", "blake3", "HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3"] {
            assert_eq!(parse_feature(&format!("{name}=on")), Ok((blake3, true)), "{name}");
        }
        let lower = parse_feature("direct-account-pointers=off");
        assert_eq!(lower, Ok((Feature::DirectAccountPointers, false)));
        // Names of agave's are taken, those that nothing asks for included.
        assert_eq!(parse_name("blake3_syscall_enabled"), Ok(Some(blake3)));
        for name in ["deprecate_rent_exemption_threshold", "deprecate-rent-exemption-threshold"] {
            assert_eq!(parse_name(name), Ok(None), "{name}");
        }
        for text in ["Blake3", "Blake3=1", "Blake4=on", "=on"] {
            assert!(parse_feature(text).is_err(), "{text}");
        }
    }

    /// The file of names has those with a row, and those that a node's genesis has as active.
    #[test]
    fn agaves_names_are_of_features_that_are_checked_or_active() {
        let names = include_str!("../../../protocol/src/feature_names.tsv");
        let settled = include_str!("../../../node/src/settled_features.txt");
        for (name, address) in names.lines().filter_map(|line| line.split_once('\t')) {
            let key = agave_feature(name).unwrap();
            let is_known = Feature::from_address(&key).is_some();
            assert!(is_known || settled.lines().any(|it| it == address), "{name}");
        }
    }
}
