//! `selkie`: assembles, checks, disassembles, runs and tests Solana programs.
//!
//! This crate only parses arguments and renders results: each file of [`command`] calls a library
//! and shows its answer.

mod amount;
mod args;
mod changes;
mod cluster;
mod command;
mod data;
mod files;
mod folders;
mod keys;
mod names;
mod numbers;
mod program;
mod render;
mod scenario;
mod sent;
mod session;
mod ui;

use std::{ffi::OsString, path::Path, process::ExitCode};

use crate::{
    args::{Cli, Command, parse},
    ui::{Status, Ui},
};

/// Returns the arguments. Under the name `selkie-link`, by which compilers start the linker, inserts
/// the command `link`.
fn arguments() -> impl Iterator<Item = OsString> {
    let mut arguments = std::env::args_os();
    let name = arguments.next();
    let stem = name.as_ref().and_then(|it| Path::new(it).file_stem());
    let command = (stem == Some("selkie-link".as_ref())).then(|| "link".into());
    name.into_iter().chain(command).chain(arguments)
}

/// Runs as the linker that `selkie build` gives rustc, if the arguments ask for that.
fn run_as_collector() -> Option<ExitCode> {
    let is_collector = std::env::args_os().any(|it| it == selkie_build::collect::ARGUMENT);
    is_collector.then_some(())?;
    Some(match selkie_build::collect::run(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Ui::new(false, clap::ColorChoice::Never).error(&error.into());
            ExitCode::FAILURE
        }
    })
}

fn main() -> ExitCode {
    if let Some(code) = run_as_collector() {
        return code;
    }
    let Cli { json, color, command } = match parse::parse(arguments().collect()) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let mut ui = Ui::new(json, color);
    let outcome = match command {
        Command::New(args) => command::new::run(&mut ui, &args),
        Command::Build(args) => command::build::run(&mut ui, &args),
        Command::Link(args) => command::link::run(&mut ui, &args),
        Command::Fmt(args) => command::fmt::run(&mut ui, &args),
        #[cfg(feature = "lsp")]
        Command::Lsp(args) => command::lsp::run(&args),
        #[cfg(not(feature = "lsp"))]
        Command::Lsp(_) => command::absent::run("lsp"),
        Command::Check(args) => command::check::run(&mut ui, &args),
        Command::Disasm(args) => command::disasm::run(&mut ui, &args),
        Command::Cfg(args) => command::cfg::run(&mut ui, &args),
        Command::Run(args) => command::run::run(&mut ui, &args),
        Command::Input(args) => command::input::run(&mut ui, &args),
        Command::Program(args) => command::program::run(&mut ui, &args),
        Command::Deploy(args) => command::program::deploy(&mut ui, &args),
        Command::Send(args) => command::send::run(&mut ui, &args),
        Command::Airdrop(args) => command::send::airdrop(&mut ui, &args),
        Command::Account(args) => command::account::run(&mut ui, &args),
        Command::Token(args) => command::token::run(&mut ui, &args),
        Command::Keygen(args) => command::keygen::run(&mut ui, &args),
        Command::Cache(args) => command::cache::run(&mut ui, &args),
        #[cfg(feature = "conform")]
        Command::Conform(args) => command::conform::run(&mut ui, &args),
        #[cfg(not(feature = "conform"))]
        Command::Conform(_) => command::absent::run("conform"),
        Command::Completions(args) => command::completions::run(&mut ui, &args),
    };
    let outcome = outcome.and_then(|status| {
        ui.finish(status)?;
        Ok(status)
    });
    match outcome {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::Failure) => ExitCode::from(1),
        // The reader closed the pipe, for example `head`.
        Err(error) if ui::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            ui.error(&error);
            ExitCode::from(2)
        }
    }
}
