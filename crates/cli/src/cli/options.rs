//! `testdata/cli/options.txt` compared with clap: every option of every command has a decision there.
//!
//! A line `[COMMAND]` begins the options of a command. A line `always: OPTION …` lists those that have an
//! effect whatever else is given. `OPTION: silent: REASON` has none and nothing is said, which hidden
//! options alone may. `OPTION:` alone has examples below it: `$ ARGUMENTS`, and what the command then
//! prints. `tests/options.rs` runs them.

use std::collections::BTreeMap;

use clap::{Arg, Command, CommandFactory as _};

use super::{Cli, parse::try_parse};
use crate::effects::{RULES, When, name_of};

const FILE: &str = include_str!("../../../../testdata/cli/options.txt");

/// An example and what it prints.
struct Example<'a> {
    arguments: &'a str,
    printed: &'a str,
}

/// What is said of an option.
#[derive(Default)]
struct Decision<'a> {
    text: &'a str,
    examples: Vec<Example<'a>>,
}

/// The decisions, by command and option.
#[derive(Default)]
struct Decisions<'a> {
    all: BTreeMap<(String, String), Decision<'a>>,
}

fn decisions() -> Decisions<'static> {
    let mut decisions = Decisions::default();
    let (mut command, mut option) = ("", "");
    let lines = FILE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        if let Some(heading) = line.strip_prefix('[') {
            command = heading.strip_suffix(']').expect("a heading ends with `]`");
        } else if let Some(line) = line.strip_prefix("    ") {
            let decision =
                decisions.all.entry((command.to_owned(), option.to_owned())).or_default();
            match line.strip_prefix("$ ") {
                Some(arguments) => decision.examples.push(Example { arguments, printed: "" }),
                None => decision.examples.last_mut().expect("a `$` before").printed = line,
            }
        } else if let Some(names) = line.strip_prefix("always: ") {
            for name in names.split(' ') {
                decide(&mut decisions, command, name, "always");
            }
        } else {
            let (name, text) = line.split_once(':').expect("an option, `:` and a decision");
            option = name;
            decide(&mut decisions, command, name, text.trim());
        }
    }
    decisions
}

fn decide(decisions: &mut Decisions<'static>, command: &str, name: &str, text: &'static str) {
    let decision = Decision { text, examples: Vec::new() };
    let before = decisions.all.insert((command.to_owned(), name.to_owned()), decision);
    assert!(before.is_none(), "[{command}] {name} is there twice");
}

/// Calls a function with each command and its arguments, but for those that clap adds.
fn each_command(command: &Command, path: &str, call: &mut dyn FnMut(&str, &Command, &[&Arg])) {
    let own = |it: &&Arg| {
        let is_inherited = it.is_global_set() && path.contains(' ') || is_of_root(path, it);
        !is_inherited && !["help", "version"].contains(&it.get_id().as_str())
    };
    call(path, command, &command.get_arguments().filter(own).collect::<Vec<_>>());
    for below in command.get_subcommands().filter(|it| it.get_name() != "help") {
        each_command(below, format!("{path} {}", below.get_name()).trim_start(), call);
    }
}

/// Whether an argument of a command is one of `selkie` itself.
fn is_of_root(path: &str, argument: &Arg) -> bool {
    !path.is_empty() && ["json", "color"].contains(&argument.get_id().as_str())
}

fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[test]
fn every_option_has_a_decision() {
    let mut decisions = decisions();
    let mut missing = String::new();
    each_command(&command(), "", &mut |path, _, arguments| {
        for argument in arguments {
            let name = name_of(argument);
            match decisions.all.remove(&(path.to_owned(), name.clone())) {
                None => missing += &format!("[{path}] {name}\n"),
                Some(decision) => check(path, argument, &decision),
            }
        }
    });
    let help = "write into testdata/cli/options.txt under which other options each has no effect, \
                with a rule of crates/cli/src/effects/rules.rs or a conflict of clap, or `always`";
    assert!(missing.is_empty(), "{help}:\n{missing}");
    // An option of `selkie` itself may have none for a command.
    let of_root = ["--json", "--color"];
    decisions.all.retain(|(_, option), _| !of_root.contains(&option.as_str()));
    let rest: Vec<_> = decisions.all.keys().collect();
    assert!(rest.is_empty(), "there are no such options: {rest:?}");
}

/// How errors show an argument: by its name, or in brackets by that of its value.
fn shown(name: &str) -> &str {
    match name.starts_with('-') || name == "everything after --" {
        true => name,
        false => "[",
    }
}

fn check(path: &str, argument: &Arg, decision: &Decision<'_>) {
    let name = name_of(argument);
    match decision.text {
        "always" => assert!(decision.examples.is_empty(), "[{path}] {name} has examples"),
        "" => assert!(!decision.examples.is_empty(), "[{path}] {name} has no examples"),
        text => {
            let reason = text.strip_prefix("silent: ").unwrap_or_default();
            let is_good = argument.is_hide_set() && !reason.is_empty();
            assert!(is_good, "[{path}] {name}: only hidden options may be silent, with a reason");
        }
    }
    for Example { printed, arguments } in &decision.examples {
        assert!(printed.contains(shown(&name)), "[{path}] `{arguments}` says nothing of {name}");
    }
}

#[test]
fn every_rule_has_an_example() {
    let decisions = decisions();
    for rule in RULES {
        for path in rule.commands {
            for option in rule.options {
                let name = option.split_once('=').map_or(*option, |(name, _)| name);
                let decision = decisions.all.get(&((*path).to_owned(), name.to_owned()));
                let decision = decision.unwrap_or_else(|| panic!("{path} has no option {name}"));
                let warning = format!("warning: {}", rule.warning(option));
                let has_it = decision.examples.iter().any(|it| it.printed == warning);
                assert!(has_it, "[{path}] {name} needs an example that prints\n{warning}");
            }
        }
    }
}

#[test]
fn every_conflict_has_an_example() {
    let decisions = decisions();
    each_command(&command(), "", &mut |path, command, arguments| {
        for argument in arguments {
            for other in command.get_arg_conflicts_with(argument) {
                let names = [name_of(argument), name_of(other)];
                let mut examples = names.iter().filter_map(|name| {
                    let decision = decisions.all.get(&(path.to_owned(), name.clone()))?;
                    Some(decision.examples.iter())
                });
                let has_it = examples.any(|mut it| {
                    it.any(|it| {
                        it.printed.starts_with("error: ")
                            && it.printed.contains("cannot be used with")
                            && names.iter().all(|name| it.printed.contains(shown(name)))
                    })
                });
                assert!(has_it, "[{path}] {names:?} conflict, and need an example of that");
            }
        }
    });
}

/// Rules that need no file are applied to the command line alone; `tests/options.rs` runs all examples.
#[test]
fn examples_of_rules_print_their_warnings() {
    let decisions = decisions();
    for ((path, name), decision) in &decisions.all {
        for Example { arguments, printed } in &decision.examples {
            let line = format!("selkie {path} {arguments}");
            let line: Vec<_> = line.split_whitespace().map(Into::into).collect();
            let is_found = RULES.iter().any(|rule| {
                matches!(rule.when, When::Found(_)) && rule.options.contains(&name.as_str())
            });
            match (try_parse(&line), printed.split_once(": ")) {
                (Ok((_, given)), Some(("warning", text))) => {
                    let warnings = given.warnings();
                    let says_it = warnings.iter().any(|it| it == text);
                    assert!(says_it || is_found, "`{path} {arguments}` warns of {warnings:?}");
                }
                (Err(error), Some(("error", text))) => {
                    let shown = error.to_string();
                    assert!(shown.contains(text), "`{path} {arguments}`: {shown}");
                }
                (_, told) => assert!(told.is_some(), "`{path} {arguments}` prints {printed}"),
            }
        }
    }
}
