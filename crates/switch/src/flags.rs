//! Command lines by a table: each flag of a tool is a row.

use std::fmt::Write as _;

use selkie_isa::{
    failure::{Failure, Result},
    suggest::nearest,
};

/// How many values follow a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// None.
    Nothing,
    /// One.
    One,
    /// One or more, up to the next flag.
    Many,
}

/// A flag of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The name after `--`.
    pub long: &'static str,
    /// The letter after `-`; a space if there is none.
    pub short: char,
    /// What follows.
    pub takes: Takes,
    /// What it means here, in a few words; for `--help`.
    pub help: &'static str,
}

/// A flag without a letter.
#[must_use]
pub const fn flag(long: &'static str, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short: ' ', takes, help }
}

/// A flag that has a letter, too.
#[must_use]
pub const fn short(long: &'static str, short: char, takes: Takes, help: &'static str) -> Flag {
    Flag { long, short, takes, help }
}

/// What was given.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Given {
    /// Flags by their long names, with their values, in the order of the command line.
    pub flags: Vec<(&'static str, Vec<String>)>,
    /// Arguments without a flag.
    pub positional: Vec<String>,
    /// What stands after `--`.
    pub rest: Vec<String>,
}

impl Given {
    /// Whether a flag was given.
    #[must_use]
    pub fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    /// Returns the last value of a flag.
    #[must_use]
    pub fn value(&self, long: &str) -> Option<&str> {
        self.flags.iter().rev().find(|it| it.0 == long)?.1.last().map(String::as_str)
    }

    /// Returns all values of a flag.
    pub fn values<'a>(&'a self, long: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |it: &&(&str, Vec<String>)| it.0 == long;
        self.flags.iter().filter(is_it).flat_map(|it| &it.1).map(String::as_str)
    }
}

/// Reads a command line.
///
/// # Errors
///
/// If a flag is unknown or lacks its value; the help names the nearest one.
pub fn parse(tool: &str, table: &'static [Flag], arguments: &[String]) -> Result<Given> {
    let mut given = Given::default();
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            given.rest = arguments.cloned().collect();
            break;
        }
        let (flag, mut value) = match named(tool, table, argument)? {
            Some(found) => found,
            None => {
                given.positional.push(argument.clone());
                continue;
            }
        };
        let mut values = Vec::new();
        if flag.takes != Takes::Nothing {
            let is_value = |it: &&String| !it.starts_with('-') || flag.takes == Takes::One;
            value = value.or_else(|| arguments.next_if(|it| is_value(it)).cloned());
            let Some(first) = value else {
                return Err(Failure::new(format!("{tool}: --{} lacks its value", flag.long)));
            };
            values.push(first);
            while flag.takes == Takes::Many
                && let Some(next) = arguments.next_if(|it| !it.starts_with('-'))
            {
                values.push(next.clone());
            }
        } else if value.is_some() {
            return Err(Failure::new(format!("{tool}: --{} takes no value", flag.long)));
        }
        given.flags.push((flag.long, values));
    }
    Ok(given)
}

/// Finds the flag of an argument, and the value in the same argument; `None` for an argument that is none.
fn named(
    tool: &str,
    table: &'static [Flag],
    argument: &str,
) -> Result<Option<(&'static Flag, Option<String>)>> {
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let found = table.iter().find(|it| it.long == name);
        return found.map(|it| Some((it, value))).ok_or_else(|| {
            let near = nearest(name, table.iter().map(|it| it.long));
            let help = near.map_or_else(|| "see --help".to_owned(), |it| format!("use --{it}"));
            Failure::new(format!("{tool} has no flag --{name}")).with_help(help)
        });
    }
    let mut letters = argument.strip_prefix('-').unwrap_or_default().chars();
    let Some(letter) = letters.next() else { return Ok(None) };
    let Some(found) = table.iter().find(|it| it.short == letter) else {
        return Err(Failure::new(format!("{tool} has no flag -{letter}")).with_help("see --help"));
    };
    let value = letters.as_str();
    let value = value.strip_prefix('=').unwrap_or(value);
    Ok(Some((found, (!value.is_empty()).then(|| value.to_owned()))))
}

/// Returns the page of `--help`.
#[must_use]
pub fn help(tool: &str, about: &str, table: &[Flag]) -> String {
    let mut text = format!("{about}\n\nUsage: {tool} [OPTIONS]\n\nOptions:\n");
    for Flag { long, short, takes, help } in table {
        let short = if *short == ' ' { "    ".to_owned() } else { format!("-{short}, ") };
        let value = match takes {
            Takes::Nothing => "",
            Takes::One => " <VALUE>",
            Takes::Many => " <VALUE>...",
        };
        let name = format!("{short}--{long}{value}");
        writeln!(text, "  {name:<44} {help}").expect("strings take all that is written");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag] = &[
        flag("arch", Takes::One, ""),
        short("jobs", 'j', Takes::One, ""),
        flag("features", Takes::Many, ""),
        short("quiet", 'q', Takes::Nothing, ""),
    ];

    fn read(line: &str) -> Result<Given> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse("tool", TABLE, &words)
    }

    #[test]
    fn flags_have_values_in_each_form() {
        let given =
            read("--arch=v0 -j4 -j 5 --features a b --features c x -q -- --arch y").unwrap();
        assert_eq!(given.value("arch"), Some("v0"));
        assert_eq!(given.values("jobs").collect::<Vec<_>>(), ["4", "5"]);
        assert_eq!(given.values("features").collect::<Vec<_>>(), ["a", "b", "c", "x"]);
        assert!(given.has("quiet") && given.positional.is_empty());
        assert_eq!(given.rest, ["--arch", "y"]);
        assert_eq!(read("build -q").unwrap().positional, ["build"]);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |line: &str, text: &str, help: Option<&str>| {
            let failure = read(line).unwrap_err();
            assert_eq!((failure.to_string().as_str(), failure.help()), (text, help));
        };
        check("--arhc v0", "tool has no flag --arhc", Some("use --arch"));
        check("-z", "tool has no flag -z", Some("see --help"));
        check("--arch", "tool: --arch lacks its value", None);
        check("--quiet=1", "tool: --quiet takes no value", None);
    }
}
