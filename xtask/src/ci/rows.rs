//! The checks of `cargo xtask ci` and `cargo xtask nightly`, one row each.

use anyhow::Result;

use super::{rust_versions, setting::Setting, work};

/// When a check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// On every change: `cargo xtask ci`.
    Daily,
    /// Before a release, and before a larger piece of work is called done: `cargo xtask nightly`.
    Nightly,
}

/// A check.
pub(super) struct Row {
    /// The name by which it is asked for.
    pub(super) name: &'static str,
    /// What it protects: folders of crates and others, from the root of the repository. A change of one of
    /// them, or of a crate that one of them depends on, calls for the row.
    pub(super) protects: &'static [&'static str],
    /// What it does, in words or as a command.
    pub(super) command: &'static str,
    /// How long it takes on two cores after the rows before it, in a clone in which nothing is compiled.
    pub(super) minutes: f32,
    pub(super) when: When,
    pub(super) run: fn(&Setting) -> Result<()>,
}

/// Everything in the repository.
const ALL: &[&str] = &[""];

const fn daily(
    name: &'static str,
    protects: &'static [&'static str],
    command: &'static str,
    minutes: f32,
    run: fn(&Setting) -> Result<()>,
) -> Row {
    Row { name, protects, command, minutes, when: When::Daily, run }
}

const fn nightly(
    name: &'static str,
    protects: &'static [&'static str],
    command: &'static str,
    minutes: f32,
    run: fn(&Setting) -> Result<()>,
) -> Row {
    Row { name, protects, command, minutes, when: When::Nightly, run }
}

/// All checks, in the order in which they run: what fails fast comes first.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    daily("format", ALL, "cargo fmt --check, in every workspace", 0.1, work::format),
    daily("tidy", ALL, "cargo xtask tidy", 0.1, work::tidy),
    daily("walkthroughs", ALL, "cargo xtask walkthroughs --check", 0.1, work::walkthroughs),
    daily("build", &["bindings/wasm", "crates", "xtask"],
        "compile and lint the workspace with its tests, in one pass", 6.0, work::build),
    daily("codegen", ALL, "cargo xtask codegen --check", 0.1, work::codegen),
    daily("tests", &["bindings/wasm", "crates", "xtask", "testdata", "docs", "examples", "README.md"],
        "every test of the workspace", 5.5, work::tests),
    daily("vectors", &["crates/conform", "testdata/vectors"],
        "selkie conform testdata/vectors", 0.5, work::conform),
    daily("examples", &["crates/cli", "examples"],
        "assemble, check and run the examples in assembly", 0.1, work::examples),
    daily("projects", &["crates/cli", "crates/selkie", "examples"],
        "selkie build and cargo test in one project in Rust and one for Anchor", 1.5, work::projects),
    daily("no-features", &["crates/cli"],
        "lint the command as README's first command builds it", 0.7, work::no_features),
    daily("unoptimized", &["crates/vm", "crates/elf", "crates/isa"],
        "the interpreter as a user's first cargo test builds it: programs, and the host's stack", 0.3, work::unoptimized),
    daily("compat", &["compat", "xtask/peers"],
        "LiteSVM's and Mollusk's interfaces, and a suite of a peer", 2.0, work::compat),
    daily("javascript", &["bindings/js", "compat"],
        "cargo xtask npm --quick", 1.0, work::javascript),
    daily("clients", &["crates/cli", "tests/clients"],
        "cargo xtask clients", 0.5, work::clients),
    daily("vscode", &["crates/lsp", "crates/debug", "editors"],
        "cargo xtask vscode --test", 0.2, work::vscode),
    daily("web", &["web", "crates/rpc"],
        "cargo xtask web --check and --test", 1.5, work::web),
    daily("readers", &["crates/report", "crates/debug", "tests/readers"],
        "cargo xtask readers --ci", 0.3, work::readers),
    daily("python", &["bindings/python", "crates/batch"],
        "cargo xtask scale --ci", 0.5, work::python),
    daily("instructions", &["bench-svm"],
        "cargo xtask instructions --check: instructions of transactions, as the tests are built", 0.7, work::instructions),
    daily("oracle", &["oracle", "crates/vm", "crates/elf", "crates/isa"],
        "random programs beside anza's engine, for a minute", 1.5, work::oracle),
    daily("oracle-svm", &["oracle-svm"],
        "random transactions and linked programs beside agave's processor, for a minute", 3.5, work::oracle_svm),

    nightly("documentation", &["crates"],
        "cargo doc, with warnings as errors", 2.0, work::documentation),
    nightly("deny", ALL, "cargo deny check licenses bans sources", 2.0, work::deny),
    nightly("rust-versions", &["crates", "compat", "bindings"],
        "cargo check of each package with the oldest Rust that it promises", 8.0, rust_versions::run),
    nightly("ports", &["crates/vm", "crates/svm", "crates/selkie", "crates/conform", "crates/node", "crates/ledger"],
        "cargo xtask ports --full", 15.0, work::ports),
    nightly("payout", &["examples/rust/payout"],
        "selkie build and cargo test in the other project in Rust", 0.5, work::payout),
    nightly("walk", &["crates/cli", "crates/debug", "testdata/walk"],
        "cargo xtask walk", 1.0, work::walk),
    nightly("gdb", &["crates/debug", "tests/gdb"],
        "cargo xtask gdb", 0.3, work::gdb),
    nightly("npm", &["bindings/js"],
        "cargo xtask npm", 6.0, work::npm),
    nightly("platforms", &["bindings/js", "bindings/python"],
        "cargo xtask npm --quick --platforms, and wheel", 40.0, work::platforms),
    nightly("playground", &["bindings/wasm", "web"],
        "cargo xtask playground", 6.0, work::playground),
    nightly("all-readers", &["crates/report", "tests/readers"],
        "cargo xtask readers", 1.0, work::all_readers),
    nightly("scale", &["bindings/python", "crates/batch", "crates/cli"],
        "cargo xtask scale", 25.0, work::scale),
    nightly("lint-tools", &["bench", "bench-node", "bench-svm", "fuzz", "tests/clients/rust"],
        "cargo clippy of benchmarks, fuzz targets and clients in Rust", 14.0, work::lint_tools),
    nightly("fuzz", &["fuzz", "crates"],
        "cargo xtask fuzz 20", 20.0, work::fuzz),
    nightly("node-torture", &["crates/node", "crates/ledger", "crates/rpc", "bench-node"],
        "cargo xtask node-torture", 15.0, work::node_torture),
    nightly("oracle-long", &["oracle"],
        "random programs beside anza's engine, for ten minutes", 10.0, work::oracle_long),
    nightly("oracle-svm-long", &["oracle-svm"],
        "random transactions beside agave's processor, for ten minutes", 10.0, work::oracle_svm_long),
    nightly("oracle-svm-next", &["oracle-svm"],
        "random transactions beside the processor of agave's next release, for ten minutes", 16.0, work::oracle_svm_next),
    nightly("oracle-bank", &["oracle-bank", "crates/bank"],
        "clusters over epochs beside agave's bank", 30.0, work::oracle_bank),
    nightly("oracle-bank-next", &["oracle-bank", "crates/bank"],
        "clusters over epochs beside the bank of agave's next release", 20.0, work::oracle_bank_next),
    nightly("upstream", &["crates/protocol", "xtask/upstream"],
        "cargo xtask upstream: Selkie's tables beside mainnet's release and the newest one", 1.0, work::upstream),
    nightly("all-instructions", &["bench", "bench-svm"],
        "cargo xtask instructions --check --all", 20.0, work::all_instructions),
    nightly("apply-walkthroughs", &["CONTRIBUTING.md", "crates"],
        "cargo xtask walkthroughs", 10.0, work::apply_walkthroughs),
];
