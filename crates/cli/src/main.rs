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
mod effects;
#[cfg(feature = "node")]
mod explorer;
mod files;
mod folders;
#[cfg(feature = "node")]
mod interfaces;
mod keys;
mod names;
mod pages;
mod program;
mod recording;
mod render;
mod replays;
mod sent;
mod session;
mod stand_in;
mod ui;

use std::process::ExitCode;

use crate::{
    cli::{Cli, parse},
    ui::{Status, Ui},
};

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
    let parsed = stand_in::arguments().and_then(parse);
    let (Cli { json, color, command }, given) = match parsed {
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
