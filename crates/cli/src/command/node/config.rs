//! The configuration file: the options of the command line under the same names.

use core::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, Args as _, Command};

use crate::{args::node::NodeArgs, ui::Advise as _};

/// Options that a configuration file cannot have.
const UNSTORED: &[&str] = &["config", "print-config"];

/// Returns the options of the configuration file, overridden by those of the command line.
pub(super) fn merge(args: &NodeArgs) -> Result<NodeArgs> {
    let Some(path) = &args.config else { return Ok(args.clone()) };
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    // A file with a mistake is refused as such, before it is merged.
    let _: NodeArgs = toml::from_str(&text)
        .with_context(|| format!("{shown} is not a configuration of the node"))
        .advise("`selkie node --print-config` prints one")?;
    let mut file: toml::Table = toml::from_str(&text)?;
    file.extend(toml::Table::try_from(args)?);
    let merged: NodeArgs = file.try_into()?;
    Ok(NodeArgs { print_config: args.print_config, ..merged })
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
