//! Documentation that is made from the tables.

use core::fmt::Write;

use crate::{
    chain::features::Feature,
    runtime::syscalls::{Gate, SYSCALLS, UNSUPPORTED},
};

/// `docs/syscalls.md`.
#[must_use]
pub fn syscalls() -> String {
    let mut text = String::from(
        "# Syscalls\n\n\
         Made from the rows of `crates/svm/src/runtime/syscalls/table.rs`; do not edit.\n\n\
         Arguments are passed in r1 to r5, the result in r0. Prices are in compute units and come \
         on top of the one unit of the call; quotients are rounded down.\n\n\
         | syscall | price | there | what it does |\n|---|---|---|---|\n",
    );
    for syscall in SYSCALLS {
        let gate = match syscall.gate {
            Gate::Always => "always".to_owned(),
            Gate::ExecutionOnly => "for programs deployed long ago".to_owned(),
            Gate::Without(feature) => format!(
                "without feature `{}` (mainnet: {})",
                feature.address(),
                if feature.on_mainnet() { "on" } else { "off" }
            ),
            Gate::Feature(feature) => format!(
                "with feature `{}` (mainnet: {})",
                feature.address(),
                if feature.on_mainnet() { "on" } else { "off" }
            ),
        };
        let (name, price, what) = (syscall.name, syscall.price, syscall.what);
        let arguments = syscall.arguments.join(", ");
        writeln!(text, "| `{name}({arguments})` | {price} | {gate} | {what} |")
            .expect("strings take all that is written");
    }
    if !UNSUPPORTED.is_empty() {
        let title = "\n## Not supported yet\n\nPrograms that call these load, and stop there:\n\n";
        text.push_str(title);
    }
    for name in UNSUPPORTED {
        writeln!(text, "- `{name}`").expect("strings take all that is written");
    }
    text
}

/// `docs/features.md`.
#[must_use]
pub fn features() -> String {
    let mut text = String::from(
        "# Features\n\n\
         Made from the rows of `crates/svm/src/chain/features.rs`; do not edit.\n\n\
         Only features that the runtime asks for have a row: what all clusters have had for long is \
         simply so. Mainnet is that of October 2026.\n\n\
         | feature | mainnet | what it does | account |\n|---|---|---|---|\n",
    );
    for feature in Feature::ALL {
        let mainnet = if feature.on_mainnet() { "on" } else { "off" };
        let (what, address) = (feature.what(), feature.address());
        writeln!(text, "| `{feature:?}` | {mainnet} | {what} | `{address}` |")
            .expect("strings take all that is written");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_is_what_the_table_says() {
        let file = include_str!("../../../docs/syscalls.md");
        assert!(file == super::syscalls(), "docs/syscalls.md is not what the table says");
    }
}
