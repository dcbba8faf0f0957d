//! Messages of editors, packets of gdb, lines of a terminal and damaged debug information, about a
//! program that is stopped at its failure.

#![no_main]

use std::{io::Cursor, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use selkie::{Instruction, Svm, address};
use selkie_debug::{
    DebugInfo, History, PathMap, Session,
    console::Console,
    dap::{self, LaunchArguments, Surroundings},
    gdb,
};
use selkie_isa::failure::Failure;
use selkie_replay::{DebugFiles, ReplayFile};

/// The lines of an input.
const LINES_MAX: usize = 32;

/// A program with debug information.
static PROGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let source = include_str!("../../testdata/dap/squares.s");
    let options = selkie_asm::Options {
        name: "squares.s".to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    selkie_asm::assemble(source, &options).assembly.expect("it is well-formed").to_elf()
});

fuzz_target!(|input: (u8, &str, Vec<(u16, u8)>)| {
    let (kind, text, changes) = input;
    match kind % 4 {
        0 => edit(text),
        1 => send(text),
        2 => execute(text),
        _ => look_up(&changes),
    }
});

fn session() -> Session {
    let mut svm = Svm::new();
    svm.add_program(address("squares"), PROGRAM.clone()).expect("it is well-formed");
    let call = Instruction { program_id: address("squares"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("squares", &[call], &[]);
    let timeline = ReplayFile::from(replay).timeline(0).expect("it was just recorded");
    let mut session =
        Session::new(History::new(timeline, &DebugFiles::default()), PathMap::default());
    session.begin(None);
    session
}

struct Nothing;

impl Surroundings for Nothing {
    fn open(&mut self, _: &LaunchArguments) -> Result<Session, Failure> {
        Ok(session())
    }

    fn find_source(&self, _: &str) -> Option<String> {
        None
    }
}

/// Sends each line as a request: the command, and its arguments as JSON.
fn edit(text: &str) {
    let mut input = Vec::new();
    for line in ["launch", "configurationDone"].into_iter().chain(text.lines().take(LINES_MAX)) {
        let (command, arguments) = line.split_once(' ').unwrap_or((line, "null"));
        let command = serde_json::Value::from(command);
        let body = format!(r#"{{"type":"request","command":{command},"arguments":{arguments}}}"#);
        input.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes());
    }
    let _ = dap::serve(&mut Cursor::new(input), &mut Vec::new(), Box::new(Nothing));
    let _ = dap::serve(&mut Cursor::new(text), &mut Vec::new(), Box::new(Nothing));
}

/// Sends each line as a packet.
fn send(text: &str) {
    let mut input = b"+".to_vec();
    for line in text.lines().take(LINES_MAX) {
        let sum = line.bytes().fold(0_u8, u8::wrapping_add);
        input.extend(format!("${line}#{sum:02x}+").bytes());
    }
    let console = Console::new(session(), Box::new(|_| None));
    let _ = gdb::serve(&mut Cursor::new(input), &mut Vec::new(), console);
}

/// Does each line as a command.
fn execute(text: &str) {
    let mut console = Console::new(session(), Box::new(|_| None));
    for line in text.lines().take(LINES_MAX) {
        let _ = console.execute(line);
    }
}

/// Asks all there is to ask of debug information with changed bytes.
fn look_up(changes: &[(u16, u8)]) {
    let mut elf = PROGRAM.clone();
    for (at, byte) in changes {
        if let Some(it) = elf.get_mut(usize::from(*at)) {
            *it = *byte;
        }
    }
    let info = DebugInfo::load(&elf.into());
    for pc in 0..24 {
        let scopes = info.scopes_at(pc);
        let variables: Vec<_> = scopes.iter().flat_map(|it| info.variables(it)).collect();
        variables.iter().for_each(|it| drop(info.type_of(&it.ty)));
        let _ = info.location(pc);
    }
    let _ = (info.line_places("squares.s", 5), info.function_places("square"));
}
