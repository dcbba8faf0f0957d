//! Documentation generated from the table of programs.

use core::fmt::Write;

use crate::table::{PROGRAMS, ProgramKind};

/// Returns the text of `docs/builtins.md`.
#[must_use]
pub fn builtins() -> String {
    let mut text = String::from(
        "# Builtin programs\n\n\
         Generated from the rows of `crates/builtins/src/table.rs`; do not edit.\n\n\
         | program | address | compute units | available | purpose |\n|---|---|---|---|---|\n",
    );
    for row in PROGRAMS {
        let compute_units = match row.kind {
            ProgramKind::Builtin { compute_units: Some(compute_units), .. } => {
                compute_units.to_string()
            }
            ProgramKind::Builtin { compute_units: None, .. } => "by instruction".to_owned(),
            ProgramKind::Precompile { .. } => "0".to_owned(),
            ProgramKind::Migrated => "as metered".to_owned(),
        };
        let available = match (row.kind, row.feature) {
            (ProgramKind::Migrated, _) => "as a program of loader v3".to_owned(),
            (_, None) => "always".to_owned(),
            (_, Some(feature)) => format!(
                "with feature `{}` (mainnet: {})",
                feature.address(),
                if feature.on_mainnet() { "on" } else { "off" }
            ),
        };
        let (name, address, purpose) = (row.name, row.address, row.purpose);
        writeln!(text, "| {name} | `{address}` | {compute_units} | {available} | {purpose} |")
            .expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn docs_builtins_md_matches_the_table() {
        let file = include_str!("../../../docs/builtins.md");
        assert!(
            file == super::builtins(),
            "docs/builtins.md is out of date: run `cargo xtask codegen`"
        );
    }
}
