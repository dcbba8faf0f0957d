//! Suggestions for unknown commands.

use std::{ffi::OsString, path::Path};

use clap::{
    Command, CommandFactory as _, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::Cli;

/// Commands of other tools, with the equivalent command line of Selkie.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("asm", "selkie build"),
    ("assemble", "selkie build"),
    ("build-sbf", "selkie build"),
    ("compile", "selkie build"),
    ("make", "selkie build"),
    ("create", "selkie new"),
    ("init", "selkie new"),
    ("dis", "selkie disasm"),
    ("disassemble", "selkie disasm"),
    ("objdump", "selkie disasm"),
    ("exec", "selkie run"),
    ("execute", "selkie run"),
    ("simulate", "selkie send --simulate"),
    ("format", "selkie fmt"),
    ("graph", "selkie cfg"),
    ("info", "selkie check"),
    ("lint", "selkie check"),
    ("validate", "selkie check"),
    ("verify", "selkie check"),
    ("language-server", "selkie lsp"),
    ("ld", "selkie link"),
    ("list", "selkie program list"),
    ("ls", "selkie program list"),
    ("set-upgrade-authority", "selkie program set-authority"),
    ("set-buffer-authority", "selkie program set-authority"),
    ("write-buffer", "selkie program deploy"),
    ("address", "selkie keygen pubkey payer"),
    ("balance", "selkie account show"),
    ("call", "selkie send --program"),
    ("invoke", "selkie send --program"),
    ("create-token", "selkie token create-mint"),
    (
        "transfer",
        "selkie send --program system --accounts payer:ws RECIPIENT:w --data u32:2,u64:LAMPORTS",
    ),
];

/// Returns a suggestion for an unknown command: the equivalent of another tool's command, the
/// right parent for a command in the wrong one (`selkie program run`), or a command for a file
/// given without one.
///
/// clap has suggestions for misspelled names.
pub(super) fn suggestion(error: &Error, arguments: &[OsString]) -> Option<String> {
    let name = unknown_command(error)?;
    let at = arguments.iter().position(|it| *it == *name)?;
    let rest: Vec<_> = arguments.get(at + 1..)?.iter().map(|it| it.to_string_lossy()).collect();
    let Some(instead) =
        equivalent(name).or_else(|| under_other_parent(name)).or_else(|| for_file(name))
    else {
        let is_alone = error.get(ContextKind::SuggestedSubcommand).is_none();
        return is_alone.then(|| "`selkie --help` lists the commands".to_owned());
    };
    // Arguments cannot be appended to two commands, or to a line with placeholders.
    let is_whole = instead.contains("&&") || instead.contains(char::is_uppercase);
    let rest = if is_whole { String::new() } else { rest.join(" ") };
    Some(format!("did you mean `{}`?", format!("{instead} {rest}").trim_end()))
}

/// Returns the name of the unknown command.
fn unknown_command(error: &Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) => Some(name),
        _ => None,
    }
}

/// Returns the command line of a command of this name under another parent.
fn under_other_parent(name: &str) -> Option<String> {
    let root = Cli::command();
    let named = |parent: &Command| parent.find_subcommand(name).is_some();
    if named(&root) {
        return Some(format!("selkie {name}"));
    }
    let parent = root.get_subcommands().find(|it| named(it))?;
    Some(format!("selkie {} {name}", parent.get_name()))
}

fn equivalent(name: &str) -> Option<String> {
    let row = EQUIVALENTS.iter().find(|(other, _)| *other == name);
    row.map(|(_, instead)| (*instead).to_owned())
}

/// Suggests `selkie run` for a program or source given without a command.
fn for_file(name: &str) -> Option<String> {
    let extension = Path::new(name).extension()?.to_str()?;
    ["so", "s"].contains(&extension).then(|| format!("selkie run {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&str>) {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Cli::command().try_get_matches_from(&arguments).expect_err("no such command");
        assert_eq!(suggestion(&error, &arguments).as_deref(), expected, "{line}");
    }

    #[test]
    fn commands_of_other_tools_have_an_equivalent() {
        check(
            "selkie program run a.so --limit 5",
            Some("did you mean `selkie run a.so --limit 5`?"),
        );
        check("selkie upgrade ID a.so", Some("did you mean `selkie program upgrade ID a.so`?"));
        check("selkie objdump a.so", Some("did you mean `selkie disasm a.so`?"));
        check("selkie balance alice", Some("did you mean `selkie account show alice`?"));
        check("selkie dump ID a.so", Some("did you mean `selkie program dump ID a.so`?"));
        check(
            "selkie transfer ID 1",
            Some(
                "did you mean `selkie send --program system --accounts payer:ws RECIPIENT:w \
                 --data u32:2,u64:LAMPORTS`?",
            ),
        );
        check("selkie program ls", Some("did you mean `selkie program list`?"));
        check("selkie a.so", Some("did you mean `selkie run a.so`?"));
        check("selkie frobnicate", Some("`selkie --help` lists the commands"));
        // clap has a suggestion.
        check("selkie biuld", None);
        check("selkie program depoly a.so", None);
    }

    #[test]
    fn equivalents_exist() {
        for (name, instead) in EQUIVALENTS {
            let words: Vec<&str> = instead.split(' ').skip(1).collect();
            let (mut command, mut found) = (Cli::command(), 0);
            while let Some(next) = words.get(found).and_then(|it| command.find_subcommand(it)) {
                command = next.clone();
                found += 1;
            }
            assert!(found > 0, "{name}: {instead}");
            assert!(Cli::command().find_subcommand(name).is_none(), "{name} is a command");
        }
    }
}
