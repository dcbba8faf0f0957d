//! The commands in groups: the order in which `selkie --help` and README's table show them.

use std::fmt::Write as _;

use clap::Command;

use super::STYLES;

/// Each group's title and its commands. A build may lack some of them; they are left out of its help.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("Project", &["new", "build", "test", "check", "fmt", "switch", "link-names"]),
    (
        "Run and debug",
        &["run", "trace", "diff-trace", "inspect", "profile", "coverage", "debug", "fuzz"],
    ),
    ("Cluster", &["node", "deploy", "program", "send", "airdrop", "account", "token", "keygen"]),
    ("Scale", &["batch"]),
    (
        "More",
        &[
            "disasm",
            "cfg",
            "input",
            "lsp",
            "dap",
            "gdb-server",
            "link",
            "cache",
            "conform",
            "completions",
        ],
    ),
];

/// Lets the help of `selkie` show its commands by group, and then the global options.
pub(super) fn with_groups(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let (header, literal) = (STYLES.get_header(), STYLES.get_literal());
    let heading = |title: &str| format!("{header}{title}:{header:#}\n");
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|it| it.len()).max().unwrap_or(0);
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, names) in GROUPS {
        let mut rows = String::new();
        for name in *names {
            let Some(found) = command.find_subcommand(name).filter(|it| !it.is_hide_set()) else {
                continue;
            };
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(rows, "  {literal}{name:width$}{literal:#}  {about}");
        }
        if !rows.is_empty() {
            text += &format!("{}{rows}\n", heading(title));
        }
    }
    text + &heading("Global options") + "{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    const README: &str = include_str!("../../../../README.md");

    #[test]
    fn every_command_is_in_one_group() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let count = GROUPS.iter().flat_map(|(_, names)| *names).filter(|it| **it == name);
            assert_eq!(count.count(), 1, "write `{name}` into one group of GROUPS");
        }
    }

    #[test]
    fn help_shows_commands_by_group() {
        let help = with_groups(Cli::command()).render_help().to_string();
        let titles = GROUPS.iter().map(|(title, _)| format!("\n{title}:\n"));
        let titles = titles.filter(|it| cfg!(feature = "batch") || it != "\nScale:\n");
        let mut rest = help.as_str();
        for title in titles.chain(["\nGlobal options:\n".to_owned()]) {
            rest = rest.split_once(&title).unwrap_or_else(|| panic!("no {title} in {help}")).1;
        }
        assert!(rest.contains("--json") && rest.contains("Exit codes:"), "{help}");
    }

    /// README's table has a row with each group's title, and below it the group's commands.
    #[test]
    fn the_table_of_readme_has_the_groups() {
        let root = Cli::command();
        let table = README.split("| command | what it does |\n|---|---|\n").nth(1);
        let rows = table.into_iter().flat_map(str::lines).take_while(|it| it.starts_with('|'));
        let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
        for row in rows {
            let cell = row.split('|').nth(1).unwrap_or_default().trim();
            match cell.strip_prefix("**").and_then(|it| it.strip_suffix("**")) {
                Some(title) => found.push((title, Vec::new())),
                None => {
                    let names = cell.split('`').skip(1).step_by(2);
                    let names = names.map(|it| it.trim_start_matches("selkie "));
                    found.last_mut().expect("a title before").1.extend(names);
                }
            }
        }
        let expected: Vec<(&str, Vec<&str>)> = GROUPS
            .iter()
            .map(|(title, names)| {
                let there = names.iter().filter(|it| root.find_subcommand(it).is_some());
                (*title, there.copied().collect())
            })
            .collect();
        assert_eq!(found, expected);
    }
}
