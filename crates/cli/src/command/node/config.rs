//! The configuration file: the options of the command line under the same names.

use core::fmt::Write as _;
use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, Args as _, Command};
use selkie_isa::input;

use crate::{args::node::NodeArgs, effects::Given, ui::Advise as _};

/// Options that a configuration file cannot have.
const UNSTORED: &[&str] = &["config", "print-config"];

/// Returns the options of the configuration file, overridden by those of the command line. Adds those of
/// the file to what was given.
pub(super) fn merge(args: &NodeArgs, given: &mut Given) -> Result<NodeArgs> {
    let path = args.config.as_ref().filter(|path| !is_of_solana_cli(path));
    let Some(path) = path else { return Ok(args.clone()) };
    let shown = path.display();
    let text =
        input::text(path, input::TEXT_BYTES_MAX).with_context(|| format!("cannot read {shown}"))?;
    // A file with a mistake is refused as such, before it is merged.
    let _: NodeArgs = toml::from_str(&text)
        .with_context(|| format!("{shown} is not a configuration of the node"))
        .advise("`selkie node --print-config` prints one")?;
    let mut file: toml::Table = toml::from_str(&text)?;
    for (name, value) in &file {
        if *value != toml::Value::Boolean(false) && !given.has(&format!("--{name}")) {
            given.add(format!("--{name}"), values(value));
        }
    }
    file.extend(toml::Table::try_from(args)?);
    let merged: NodeArgs = file.try_into()?;
    Ok(NodeArgs { print_config: args.print_config, ..merged })
}

/// Returns the values of an option as they would be typed.
fn values(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Array(all) => all.iter().flat_map(values).collect(),
        toml::Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

/// Returns whether a file is named as configurations of the Solana CLI are, which solana-test-validator
/// takes under the same option.
fn is_of_solana_cli(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "yml" || it == "yaml")
}

/// Returns the key file that a configuration of the Solana CLI names, by default its own one; if it
/// names none, that which the CLI uses then.
pub(super) fn solana_cli_key(config: Option<&Path>) -> Result<Option<PathBuf>> {
    let own = || env::home_dir().map(|home| home.join(".config/solana/cli/config.yml"));
    let text = match config {
        Some(path) => Some(
            input::text(path, input::TEXT_BYTES_MAX)
                .with_context(|| format!("cannot read {}", path.display()))?,
        ),
        None => own().and_then(|path| input::text(&path, input::TEXT_BYTES_MAX).ok()),
    };
    let named = text.as_deref().and_then(keypair_path).map(PathBuf::from);
    Ok(named.or_else(selkie_client::keys::solana_cli))
}

/// Returns a value of the YAML that the Solana CLI writes: one on each line.
fn keypair_path(config: &str) -> Option<&str> {
    let value = config.lines().find_map(|line| line.strip_prefix("keypair_path:"))?;
    Some(value.trim().trim_matches(['"', '\'']))
}

/// Returns the options as a configuration file: all of them with their help, and those that are not
/// set as comments.
pub(super) fn print(args: &NodeArgs) -> Result<String> {
    let set = toml::Table::try_from(args)?;
    let command = NodeArgs::augment_args(Command::new("node"));
    let mut text = String::new();
    for option in command.get_arguments().filter(|it| !it.is_hide_set()) {
        let Some(name) = option.get_long().filter(|it| !UNSTORED.contains(it)) else { continue };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        help.lines().try_for_each(|line| writeln!(text, "# {line}"))?;
        match set.get(name) {
            Some(value) => writeln!(text, "{name} = {value}\n")?,
            None => writeln!(text, "# {name} = {}\n", placeholder(option))?,
        }
    }
    Ok(text)
}

/// Returns what stands for the value of an option that is not set.
fn placeholder(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return "true".to_owned();
    }
    let names = option.get_value_names().unwrap_or_default();
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let is_list = matches!(option.get_action(), ArgAction::Append);
    if is_list { format!("[{}]", names.join(", ")) } else { names.join(" ") }
}
