//! A debugger's command line: commands in the manner of gdb's, over a session.
//!
//! A command is a row of `COMMANDS`: its names, its arguments, what it does, and its function. Help
//! and completion are derived from the rows. Commands give text; where it is shown is not known here.

mod data;
mod places;
mod run;

use core::fmt;

use crate::{
    expr::ExprError,
    session::{Reply, Session, Word},
};

/// What a command gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A text, which may be empty.
    Text(String),
    /// The end of the conversation.
    Quit,
}

/// Why a command did nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandError(String);

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for CommandError {}

impl From<&str> for CommandError {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self(text)
    }
}

type Answer = Result<Outcome, CommandError>;

/// Returns the text of a source file by its path, if it is here.
pub type ReadSource = Box<dyn Fn(&str) -> Option<String>>;

/// A session with what the command line remembers.
pub struct Console {
    session: Session,
    /// The frame that commands are about.
    frame: usize,
    /// The last command that an empty line repeats.
    last: String,
    /// The line around which `list` goes on.
    listed: Option<(String, u32)>,
    read_source: ReadSource,
}

/// A command.
struct Command {
    /// Its names, the shortest one last.
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    /// Whether an empty line repeats it.
    is_repeated: bool,
    run: fn(&mut Console, &str) -> Answer,
}

/// Writes rows of commands: `names "arguments" "help" repeated => function`.
macro_rules! commands {
    ($([$($name:literal)*] $arguments:literal $help:literal $repeated:literal $run:expr;)*) => {
        &[$(Command {
            names: &[$($name),*],
            arguments: $arguments,
            help: $help,
            is_repeated: $repeated,
            run: $run,
        }),*]
    };
}

const COMMANDS: &[Command] = commands! {
    ["continue" "c"] "" "run to the next stop" true Console::resume;
    ["next" "n"] "" "step to the next line, over calls" true Console::next;
    ["step" "s"] "" "step to the next line, into calls" true Console::step;
    ["finish" "fin"] "" "run until the function has returned, and show its value" true Console::finish;
    ["nexti" "ni"] "" "step one instruction, over calls" true Console::next_instruction;
    ["stepi" "si"] "" "step one instruction" true Console::step_instruction;
    ["reverse-continue" "rc"] "" "go back to the last stop" true Console::reverse_continue;
    ["reverse-next" "rn"] "" "go back a line, over calls" true Console::reverse_next;
    ["reverse-step" "rs"] "" "go back a line, into calls" true Console::reverse_step;
    ["reverse-finish" "rf"] "" "go back to the call of the function" true Console::reverse_finish;
    ["reverse-nexti" "rni"] "" "go back an instruction, over calls" true Console::reverse_next_instruction;
    ["reverse-stepi" "rsi"] "" "go back an instruction" true Console::reverse_step_instruction;
    ["goto"] "N|start|end|failure" "go to a step of the run" false Console::go_to;
    ["who"] "EXPR" "go to the last write to a value" false Console::who;
    ["break" "b"] "PLACE [if CONDITION]" "stop at FILE:LINE, LINE, FUNCTION or *SLOT" false Console::add_break;
    ["log"] "PLACE TEXT" "log a text at a place, with expressions in braces" false Console::add_log;
    ["watch" "w"] "EXPR" "stop when a value in memory changes" false Console::add_watch;
    ["catch"] "trap|error|log [TEXT]|account [ADDRESS]|units N" "stop at what happens" false Console::catch;
    ["delete" "d"] "[NUMBER]" "delete a breakpoint or watch, or all" false Console::delete;
    ["print" "p"] "EXPR[, x|d|t|o|c]" "print a value" false Console::print;
    ["x"] "[COUNT] ADDRESS" "print bytes of memory" false Console::memory;
    ["set"] "$REGISTER|VALUE = EXPR" "change a register or memory: the run goes on with it" false Console::set;
    ["backtrace" "bt"] "" "list the frames" false Console::backtrace;
    ["frame" "f"] "N" "choose a frame" false Console::choose_frame;
    ["up"] "" "choose the caller's frame" true Console::up;
    ["down"] "" "choose the frame that was called" true Console::down;
    ["list" "l"] "[FILE:LINE]" "list source lines, with + at those that were executed" true Console::list;
    ["disassemble" "disas"] "[COUNT]" "list instructions around the present one" false Console::disassemble;
    ["info" "i"] "breakpoints|locals|registers|accounts|programs|events|run" "list things" false Console::info;
    ["cu"] "" "print the compute units left, and the step" false Console::units;
    ["help" "h"] "[COMMAND]" "list the commands" false Console::help;
    ["quit" "q"] "" "end the session" false |_, _| Ok(Outcome::Quit);
};

impl Console {
    /// Begins a conversation. `read_source` returns the text of a source file, if it is here.
    #[must_use]
    pub fn new(session: Session, read_source: ReadSource) -> Self {
        let frame = session.selected_frame();
        Self { session, frame, last: String::new(), listed: None, read_source }
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Does what a line says. An empty line repeats the last step.
    ///
    /// # Errors
    /// If there is no such command, or it cannot be done.
    pub fn execute(&mut self, line: &str) -> Answer {
        let repeated = self.last.clone();
        let line = if line.trim().is_empty() { repeated.as_str() } else { line.trim() };
        if line.is_empty() {
            return Ok(Outcome::Text(String::new()));
        }
        // `print/x value` is `print value, x`.
        if let Some((name, rest)) = line.split_once('/')
            && let Some((format, expr)) = rest.split_once(' ')
            && matches!(name, "p" | "print")
        {
            return self.print(&format!("{expr}, {format}"));
        }
        if let Some(word) = Word::parse(line).filter(|it| matches!(it, Word::Go(..))) {
            return self.say(&word);
        }
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let command = find(name)?;
        self.last = if command.is_repeated { line.to_owned() } else { String::new() };
        (command.run)(self, arguments.trim())
    }

    /// Returns what the last word of a line may be: the whole words, and where they begin.
    #[must_use]
    pub fn complete(&mut self, line: &str) -> (usize, Vec<String>) {
        let start = line
            .rfind(|it: char| !is_name(it))
            .map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8));
        let word = &line[start..];
        let mut all: Vec<String> = match line[..start].trim() {
            "" => COMMANDS.iter().map(|it| it.names[0].to_owned()).collect(),
            "b" | "break" | "log" => self.function_names(),
            _ => return (start, self.session.completions(self.frame, line)),
        };
        all.retain(|it| it.starts_with(word));
        all.sort();
        all.dedup();
        (start, all)
    }

    fn function_names(&self) -> Vec<String> {
        let names = self.session.programs().iter().flat_map(|it| it.info.function_names());
        names.map(|it| it.rsplit("::").next().unwrap_or(&it).to_owned()).collect()
    }

    fn say(&mut self, word: &Word) -> Answer {
        match self.session.say(self.frame, word).map_err(|error| CommandError(error.message))? {
            Reply::Text(text) => Ok(Outcome::Text(text)),
            Reply::Moved(text) => Ok(self.moved(&text)),
        }
    }

    fn units(&mut self, _: &str) -> Answer {
        self.say(&Word::Units)
    }

    fn help(&mut self, name: &str) -> Answer {
        let rows = match name {
            "" => COMMANDS.iter().collect(),
            name => vec![find(name)?],
        };
        let row = |it: &&Command| {
            let usage = format!("{} {}", it.names.join(", "), it.arguments);
            format!("  {:<46} {}", usage.trim(), it.help)
        };
        let mut lines: Vec<String> = rows.iter().map(row).collect();
        if name.is_empty() {
            lines.push("An empty line repeats the last step.".to_owned());
        }
        Ok(Outcome::Text(lines.join("\n")))
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console").field("session", &self.session).finish_non_exhaustive()
    }
}

fn is_name(it: char) -> bool {
    it == '_' || it == '-' || it == '$' || it.is_alphanumeric()
}

/// Finds a command by one of its names, or by the start of one.
fn find(name: &str) -> Result<&'static Command, CommandError> {
    let exact = COMMANDS.iter().find(|it| it.names.contains(&name));
    let is_start = |it: &&Command| it.names.iter().any(|long| long.starts_with(name));
    let found = exact.or_else(|| COMMANDS.iter().find(is_start));
    found.ok_or_else(|| CommandError(format!("no command `{name}`: `help` lists them")))
}

/// Shows the part of an expression that an error is about.
fn explained(source: &str) -> impl Fn(ExprError) -> CommandError + '_ {
    move |error| CommandError(error.explain(source))
}
