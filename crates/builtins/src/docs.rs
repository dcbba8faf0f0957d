//! Documentation that is made from the table.

use core::fmt::Write;

use crate::table::{Kind, PROGRAMS};

/// `docs/builtins.md`.
#[must_use]
pub fn builtins() -> String {
    let mut text = String::from(
        "# Builtin programs\n\n\
         Made from the rows of `crates/builtins/src/table.rs`; do not edit.\n\n\
         | program | address | compute units | there | what it is for |\n|---|---|---|---|---|\n",
    );
    for row in PROGRAMS {
        let units = match row.kind {
            Kind::Builtin { units: Some(units), .. } => units.to_string(),
            Kind::Builtin { units: None, .. } => "by instruction".to_owned(),
            Kind::Precompile { .. } => "0".to_owned(),
            Kind::Migrated => "as its program uses".to_owned(),
        };
        let gate = match (row.kind, row.feature) {
            (Kind::Migrated, _) => "as a program of loader v3".to_owned(),
            (_, None) => "always".to_owned(),
            (_, Some(feature)) => format!(
                "with feature `{}` (mainnet: {})",
                feature.address(),
                if feature.on_mainnet() { "on" } else { "off" }
            ),
        };
        let (name, address, what) = (row.name, row.address, row.what);
        writeln!(text, "| {name} | `{address}` | {units} | {gate} | {what} |")
            .expect("strings take all that is written");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_is_what_the_table_says() {
        let file = include_str!("../../../docs/builtins.md");
        assert!(file == super::builtins(), "docs/builtins.md is not what the table says");
    }
}
