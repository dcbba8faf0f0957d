//! `docs/cli.md`: the help of every command, compared with the commands themselves. With `UPDATE=1`
//! the test writes it; `cargo xtask codegen` does not see this crate's commands.

use std::{env, fmt::Write as _, fs, path::Path};

use clap::{Command, CommandFactory as _};

use super::{Cli, EXIT_CODES, groups::GROUPS};

const START: &str = "\
# The command line

The help of every command, made from the commands themselves; `UPDATE=1 cargo test -p selkie-cli --bin selkie page`
rewrites this page.

The options `--json` (one object on one line, for scripts), `--color`, `--help` and `--version` belong to every command
and are not repeated below.
";

/// Returns the page.
fn page() -> String {
    let hidden = |arg: clap::Arg| arg.hide(true);
    let mut cli = plain(Cli::command().mut_arg("json", hidden).mut_arg("color", hidden));
    cli.build();
    let mut text = format!("{START}\n```text\n{EXIT_CODES}\n```\n");
    for (title, names) in GROUPS {
        write!(text, "\n## {title}\n").expect("strings take all that is written");
        for command in names.iter().filter_map(|name| cli.find_subcommand(name)) {
            add(&mut text, command, "selkie", 3);
        }
    }
    text
}

/// Returns a command whose help does not depend on the terminal and the environment, and shows no
/// options that all commands have.
fn plain(command: Command) -> Command {
    let command = command.term_width(100).disable_help_flag(true).disable_version_flag(true);
    let command = command.disable_help_subcommand(true).mut_args(|arg| arg.hide_env_values(true));
    command.mut_subcommands(plain)
}

/// Adds a command and those below it.
fn add(text: &mut String, command: &Command, parent: &str, level: usize) {
    if command.is_hide_set() {
        return;
    }
    let (name, marks) = (format!("{parent} {}", command.get_name()), "#".repeat(level));
    let help = command.clone().render_long_help().to_string();
    let lines = help.lines().map(|line| format!("{}\n", line.trim_end()));
    let help: String = lines.collect();
    write!(text, "\n{marks} {name}\n\n```text\n{}\n```\n", help.trim_end())
        .expect("strings take all that is written");
    for below in command.get_subcommands() {
        add(text, below, &name, level + 1);
    }
}

#[test]
fn the_page_of_the_command_line_is_current() {
    let page = page();
    if env::var_os("UPDATE").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
        return fs::write(path, page).expect("the page is writable");
    }
    let written = include_str!("../../../../docs/cli.md");
    let mut lines = written.lines().zip(page.lines());
    let differs = lines.find(|(written, made)| written != made);
    assert!(
        written == page,
        "docs/cli.md is not what the commands say; UPDATE=1 rewrites it: {differs:?}"
    );
}
