//! Documentation that is made from the tables.

use core::fmt::Write;

use crate::{
    features::Feature,
    syscalls::{SYSCALLS, Syscall},
};

/// Returns the text of `docs/syscalls.md`.
#[must_use]
pub fn syscalls() -> String {
    let mut text = String::from(
        "# Syscalls\n\n\
         Made from the rows of `crates/protocol/src/syscalls/table.rs`; do not edit.\n\n\
         Arguments are passed in r1 to r5, the result in r0. Costs are in compute units, on top of \
         the compute unit of the call instruction; quotients are rounded down.\n\n\
         | syscall | cost | available | what it does |\n|---|---|---|---|\n",
    );
    for syscall in SYSCALLS {
        let Syscall { cost, gate, summary, .. } = syscall;
        writeln!(text, "| `{syscall}` | {cost} | {gate} | {summary} |")
            .expect("writing to a string cannot fail");
    }
    text
}

/// Returns the text of `docs/features.md`.
#[must_use]
pub fn features() -> String {
    let mut text = String::from(
        "# Features\n\n\
         Made from the rows of `crates/protocol/src/features.rs`; do not edit.\n\n\
         Only features that the runtime checks have a row; what has been active on all clusters for \
         long is always on. Mainnet is that of 29 October 2026.\n\n\
         | feature | mainnet | what it does | account |\n|---|---|---|---|\n",
    );
    for feature in Feature::ALL {
        let mainnet = if feature.on_mainnet() { "on" } else { "off" };
        let (summary, address) = (feature.summary(), feature.address());
        writeln!(text, "| `{feature:?}` | {mainnet} | {summary} | `{address}` |")
            .expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_files_in_docs_are_made_from_the_tables() {
        let syscalls = include_str!("../../../docs/syscalls.md");
        assert!(syscalls == super::syscalls(), "docs/syscalls.md is not made from the table");
        let features = include_str!("../../../docs/features.md");
        assert!(features == super::features(), "docs/features.md is not made from the table");
    }
}
