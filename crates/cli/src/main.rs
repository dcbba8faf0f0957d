//! `selkie`: assembles, checks, disassembles, runs and tests Solana programs.
//!
//! This crate only parses arguments and renders results: each file of [`command`] calls a library
//! and shows its answer. [`cli`] lists the commands.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;
mod call;
mod changes;
mod cli;
mod command;
mod debuggee;
mod effects;
#[cfg(feature = "node")]
mod explorer;
mod files;
mod folders;
mod keys;
mod names;
mod program;
mod recording;
mod render;
mod replays;
mod scenario;
mod sent;
mod session;
mod ui;

use std::{ffi::OsString, path::Path, process::ExitCode};

use crate::{
    cli::{Cli, parse},
    ui::{Status, Ui},
};

/// Names that stand for a command: compilers start the linker as `selkie-link`, and scripts that
/// were written for the other tool start the node as `solana-test-validator`.
const ALIASES: &[(&str, &str)] = &[("selkie-link", "link"), ("solana-test-validator", "node")];

/// Returns the arguments, with the command that the program's name stands for.
fn arguments() -> impl Iterator<Item = OsString> {
    let mut arguments = std::env::args_os();
    let name = arguments.next();
    let stem = name.as_ref().and_then(|it| Path::new(it).file_stem());
    let alias = ALIASES.iter().find(|(name, _)| stem == Some(name.as_ref()));
    let command = alias.map(|(_, command)| command.into());
    name.into_iter().chain(command).chain(arguments)
}

/// Runs as the linker or the compiler that `selkie build` gives cargo, if the arguments ask for that.
fn run_for_cargo() -> Option<ExitCode> {
    Some(match selkie_build::run_for_cargo(std::env::args_os().skip(1).collect())? {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            Ui::new(false, clap::ColorChoice::Never).error(&error.into());
            ExitCode::FAILURE
        }
    })
}

fn main() -> ExitCode {
    if let Some(code) = run_for_cargo() {
        return code;
    }
    let (Cli { json, color, command }, given) = match parse(arguments().collect()) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let mut ui = Ui::new(json, color);
    ui.given = given;
    let outcome = command.run(&mut ui).and_then(|status| Ok(ui.finish(status).map(|()| status)?));
    match outcome {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::Failure) => ExitCode::from(1),
        #[cfg(feature = "batch")]
        Ok(Status::Shown(code)) => ExitCode::from(code),
        // The reader closed the pipe, for example `head`.
        Err(error) if ui::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            ui.error(&error);
            ExitCode::from(2)
        }
    }
}
