//! Arguments for the environment of `selkie run`: other programs, a saved cluster, features.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use selkie_asm::suggest::nearest;
use selkie_svm::Feature;

/// The environment that the program runs in.
#[derive(Args, Clone, Debug)]
pub(crate) struct SurroundingsArgs {
    /// Another program that it can invoke by CPI
    #[arg(long = "program", value_name = "KEY=FILE", value_hint = ValueHint::FilePath)]
    pub(crate) programs: Vec<String>,

    /// Take accounts, programs, sysvars and features from a saved cluster
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) state: Option<PathBuf>,

    /// Take them from a running cluster: a URL, or a name such as localhost or devnet
    #[arg(short, long, value_name = "URL", conflicts_with = "state")]
    pub(crate) url: Option<String>,

    /// Enable or disable a feature; docs/features.md lists them
    #[arg(long, value_name = "NAME=on|off", value_parser = parse_feature)]
    pub(crate) feature: Vec<(Feature, bool)>,
}

fn parse_feature(text: &str) -> Result<(Feature, bool), String> {
    let (name, switch) = text.split_once('=').ok_or("expected NAME=on or NAME=off")?;
    let is_on = match switch {
        "on" => true,
        "off" => false,
        other => return Err(format!("`{other}` is neither `on` nor `off`")),
    };
    let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
    let is_it = |feature: &&Feature| {
        plain(&format!("{feature:?}")) == plain(name) || feature.address().to_string() == name
    };
    let found = Feature::ALL.iter().find(is_it).copied();
    found.map(|feature| (feature, is_on)).ok_or_else(|| {
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
        for text in ["Blake3", "Blake3=1", "Blake4=on", "=on"] {
            assert!(parse_feature(text).is_err(), "{text}");
        }
    }
}
