//! Options that have no effect beside others, and what a command then says.
//!
//! clap refuses combinations that make no sense. Those that a user may want to keep, since they come from
//! a script, a variable or the command line of another tool, are accepted with a warning: each is a row of
//! [`rules`]. `testdata/cli/options.txt` has a decision for every option of every command, which
//! `cli::options` and `tests/options.rs` compare with clap, with the rows and with the output.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

#[cfg(feature = "node")]
pub(crate) use self::rules::{EXISTING_LEDGER, LATER_LEDGER};
pub(crate) use self::rules::{IN_ASSEMBLY, SIGNED_TRANSACTION};

/// Options of some commands that have no effect under a condition.
pub(crate) struct Rule {
    /// The commands, as in `program deploy`.
    pub(crate) commands: &'static [&'static str],
    /// The options, as in `--url`; with `=VALUE` those that have this value.
    pub(crate) options: &'static [&'static str],
    pub(crate) when: When,
    /// The reason, or what to do instead.
    pub(crate) why: &'static str,
}

/// When an option has no effect.
#[derive(Clone, Copy)]
pub(crate) enum When {
    Always,
    /// Beside another option, written like those of a rule.
    With(&'static str),
    /// Without one of these.
    Without(&'static [&'static str]),
    /// If this holds of what was given, in these words.
    If(&'static str, fn(&Given) -> bool),
    /// If the command finds that out, in these words.
    Found(&'static str),
}

/// What was given to a command: options by their long names with two dashes, and arguments without a name
/// by clap's.
#[derive(Clone, Default)]
pub(crate) struct Given {
    command: String,
    /// What was given by the user for this run, and not by a variable of the environment.
    typed: BTreeSet<String>,
    /// What was given in any way but by default, with the values.
    values: BTreeMap<String, Vec<String>>,
}

impl Given {
    /// Takes what clap has found.
    pub(crate) fn new(root: &Command, matches: &ArgMatches) -> Self {
        let (mut command, mut matches, mut path) = (root, matches, Vec::new());
        while let Some((name, below)) = matches.subcommand()
            && let Some(found) = command.find_subcommand(name)
        {
            path.push(name);
            (command, matches) = (found, below);
        }
        let mut given = Self { command: path.join(" "), ..Self::default() };
        for argument in command.get_arguments() {
            given.add_argument(argument, matches);
        }
        given
    }

    fn add_argument(&mut self, argument: &Arg, matches: &ArgMatches) {
        let id = argument.get_id().as_str();
        let source = matches.try_contains_id(id).ok().and_then(|_| matches.value_source(id));
        if let Some(source @ (ValueSource::CommandLine | ValueSource::EnvVariable)) = source {
            let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
            let values = values.map(|it| it.to_string_lossy().into_owned()).collect();
            self.add(name_of(argument), values);
            if source == ValueSource::EnvVariable {
                self.typed.remove(&name_of(argument));
            }
        }
    }

    /// Adds an option that was given in another place than the command line.
    pub(crate) fn add(&mut self, name: String, values: Vec<String>) {
        self.typed.insert(name.clone());
        self.values.insert(name, values);
    }

    /// Returns the values of an option or argument.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.values.get(name).into_iter().flatten().map(String::as_str)
    }

    /// Whether an option is given, or with `=VALUE`, with this value.
    pub(crate) fn has(&self, option: &str) -> bool {
        match option.split_once('=') {
            Some((name, value)) => self.values(name).any(|it| it == value),
            None => self.values.contains_key(option),
        }
    }

    fn is_typed(&self, option: &str) -> bool {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        self.typed.contains(name) && self.has(option)
    }

    /// Returns the warnings about options that have no effect.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings_if(|when| match when {
            When::Always => true,
            When::With(other) => self.has(other),
            When::Without(others) => !others.iter().any(|it| self.has(it)),
            When::If(_, holds) => holds(self),
            When::Found(_) => false,
        })
    }

    /// Returns the warnings about options that have no effect under a condition that the command has
    /// found, by its words.
    pub(crate) fn warnings_of(&self, found: &str) -> Vec<String> {
        self.warnings_if(|when| matches!(when, When::Found(words) if *words == found))
    }

    fn warnings_if(&self, holds: impl Fn(&When) -> bool) -> Vec<String> {
        let mut warnings = Vec::new();
        for rule in rules::RULES.iter().filter(|it| it.commands.contains(&self.command.as_str())) {
            if holds(&rule.when) {
                let options = rule.options.iter().filter(|it| self.is_typed(it));
                warnings.extend(options.map(|option| rule.warning(option)));
            }
        }
        warnings
    }
}

impl Rule {
    /// Returns what is said of an option of this rule.
    pub(crate) fn warning(&self, option: &str) -> String {
        let shown = |option: &str| option.replace('=', " ");
        let when = match self.when {
            When::Always => String::new(),
            When::With(other) => format!(" with {}", shown(other)),
            When::Without(others) => {
                let others: Vec<String> = others.iter().map(|it| shown(it)).collect();
                format!(" without {}", others.join(" or "))
            }
            When::If(words, _) | When::Found(words) => format!(" {words}"),
        };
        format!("{} has no effect{when}: {}", shown(option), self.why)
    }
}

/// Returns the name of an argument: `--long`, else `-s`, else clap's.
pub(crate) fn name_of(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => argument.get_id().to_string(),
    }
}

#[cfg(test)]
pub(crate) use self::rules::RULES;
