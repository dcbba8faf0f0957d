//! The configuration file: the options of the command line under the same names.

use std::fs;

use anyhow::{Context as _, Result};

use crate::{args::node::NodeArgs, ui::Advise as _};

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

/// Returns the options as a configuration file.
pub(super) fn print(args: &NodeArgs) -> Result<String> {
    Ok(toml::to_string(args)?)
}
