//! The command line as a whole: global options, the commands, and the function that runs each.

mod groups;
#[cfg(all(test, feature = "batch", feature = "conform", feature = "lsp", feature = "node"))]
mod options;
#[cfg(all(test, feature = "batch", feature = "conform", feature = "lsp", feature = "node"))]
mod page;
mod parse;
mod suggestions;

use anyhow::Result;
use clap::{
    ColorChoice, CommandFactory as _, Parser, Subcommand,
    builder::styling::{AnsiColor, Styles},
};

pub(crate) use self::parse::parse;
use crate::{
    args, command,
    ui::{Status, Ui},
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "\
Exit codes:
  0  success: the program succeeded, the file is valid, every vector passed
  1  failure: the source has errors, the program failed or was rejected, a vector failed
  2  usage or I/O error: wrong arguments, a file that cannot be read or parsed

With --json, a failure is one object on one line with at least these fields:
  success  false
  error    the error in one sentence
  help     what to do about it, or null";

/// Assemble, check, disassemble, run and trace Solana programs with mainnet's exact results and
/// compute units
#[derive(Parser, Debug)]
#[command(name = "selkie", version, styles = STYLES, after_help = EXIT_CODES)]
#[command(propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print one JSON object on one line instead of text
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value_t)]
    #[arg(help_heading = "Global options")]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    New(command::new::NewArgs),
    Build(command::build::BuildArgs),
    Link(command::link::LinkArgs),
    Fmt(command::fmt::FmtArgs),
    Lsp(command::lsp::LspArgs),
    Test(command::test::TestArgs),
    Run(args::RunArgs),
    Trace(args::replay::TraceArgs),
    DiffTrace(args::replay::DiffTraceArgs),
    Inspect(args::replay::InspectArgs),
    Profile(args::replay::ProfileArgs),
    Coverage(args::replay::CoverageArgs),
    Fuzz(Box<args::fuzz::FuzzArgs>),
    Debug(args::debug::DebugArgs),
    Dap(args::debug::DapArgs),
    GdbServer(args::debug::GdbServerArgs),
    Check(args::CheckArgs),
    Disasm(args::DisasmArgs),
    Cfg(args::CfgArgs),
    Input(args::InputArgs),
    Program(args::program::ProgramArgs),
    Deploy(args::program::DeployArgs),
    Send(Box<args::send::SendArgs>),
    Airdrop(args::send::AirdropArgs),
    Account(args::account::AccountArgs),
    Token(args::token::TokenArgs),
    Keygen(args::keygen::KeygenArgs),
    Switch(args::switch::SwitchArgs),
    LinkNames(args::switch::LinkNamesArgs),
    Cache(args::cache::CacheArgs),
    Node(Box<command::node::NodeArgs>),
    Batch(command::batch::BatchArgs),
    Conform(command::conform::ConformArgs),
    Completions(args::CompletionsArgs),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, ui: &mut Ui) -> Result<Status> {
        // The node has options in a file too, and warns when it has read them.
        if !matches!(self, Self::Node(_)) {
            ui.warn_of_effects()?;
        }
        match self {
            Self::New(args) => command::new::run(ui, &args),
            Self::Build(args) => command::build::run(ui, &args),
            Self::Link(args) => command::link::run(ui, &args),
            Self::Fmt(args) => command::fmt::run(ui, &args),
            Self::Lsp(args) => command::lsp::run(ui, &args),
            Self::Test(args) => command::test::run(ui, &args),
            Self::Check(args) => command::check::run(ui, &args),
            Self::Disasm(args) => command::disasm::run(ui, &args),
            Self::Cfg(args) => command::cfg::run(ui, &args),
            Self::Run(args) => command::run::run(ui, &args),
            Self::Trace(args) => command::trace::run(ui, &args),
            Self::DiffTrace(args) => command::trace::diff(ui, &args),
            Self::Inspect(args) => command::inspect::run(ui, &args),
            Self::Profile(args) => command::profile::run(ui, &args),
            Self::Coverage(args) => command::coverage::run(ui, &args),
            Self::Fuzz(args) => command::fuzz::run(ui, &args),
            Self::Debug(args) => command::debug::run(ui, &args),
            Self::Dap(args) => command::dap::run(ui, &args),
            Self::GdbServer(args) => command::gdb_server::run(ui, &args),
            Self::Input(args) => command::input::run(ui, &args),
            Self::Program(args) => command::program::run(ui, &args),
            Self::Deploy(args) => command::program::deploy(ui, &args),
            Self::Send(args) => command::send::run(ui, &args),
            Self::Airdrop(args) => command::send::airdrop(ui, &args),
            Self::Account(args) => command::account::run(ui, &args),
            Self::Token(args) => command::token::run(ui, &args),
            Self::Switch(args) => command::switch::run(ui, &args),
            Self::LinkNames(args) => command::switch::link_names(ui, &args),
            Self::Keygen(args) => command::keygen::run(ui, &args),
            Self::Cache(args) => command::cache::run(ui, &args),
            Self::Node(args) => command::node::run(ui, &args),
            Self::Batch(args) => command::batch::run(ui, &args),
            Self::Conform(args) => command::conform::run(ui, &args),
            Self::Completions(args) => command::completions::run(ui, &args, &mut Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_accepts_the_command_definitions() {
        Cli::command().debug_assert();
    }
}
