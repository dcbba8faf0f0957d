//! Conversations with the debug adapter: `testdata/dap/*.txt`.
//!
//! A line `> command {arguments}` is a request. The lines after it are what it causes: `< {body}` or
//! `< error "text"` for the response, `! event {body}` for events. The conversations are about
//! the program `squares.s`, and one about an invocation by another program. `UPDATE=1` rewrites the
//! lines.

mod support;

use selkie_isa::failure::Failure;
use std::{
    env,
    fmt::Write as _,
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use selkie::{Instruction, Svm, address};
use selkie_debug::{
    History, PathMap, Session,
    dap::{Ended, LaunchArguments, Surroundings, serve},
};
use selkie_isa::Version;
use selkie_replay::{DebugFiles, ReplayFile};
use serde_json::{Value, json};

const SOURCE: &str = "squares.s";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/dap")
}

fn session() -> Session {
    let source = fs::read_to_string(folder().join(SOURCE)).unwrap();
    let options = selkie_asm::Options {
        version: Version::V3,
        name: SOURCE.to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    let elf = selkie_asm::assemble(&source, &options).assembly.unwrap().to_elf();
    let mut svm = Svm::new();
    svm.add_program(address("squares"), elf).unwrap();
    let call = Instruction { program_id: address("squares"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("squares", &[call], &[]);
    let timeline = ReplayFile::from(replay).timeline(0).unwrap();
    Session::new(History::new(timeline, &DebugFiles::default()), PathMap::default())
}

struct Files;

impl Surroundings for Files {
    fn open(&mut self, arguments: &LaunchArguments) -> Result<Session, Failure> {
        match arguments.replay.as_str() {
            "squares" => Ok(session()),
            "invocation" => Ok(support::session()),
            other => Err(format!("cannot read {other}").into()),
        }
    }

    fn find_source(&self, path: &str) -> Option<String> {
        path.ends_with(SOURCE).then(|| format!("/sources/{SOURCE}"))
    }
}

fn framed(message: &Value) -> String {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

/// Splits what the server has written into messages.
fn messages(mut output: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some((header, rest)) = output.split_once("\r\n\r\n") {
        let len: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        all.push(serde_json::from_str(&rest[..len]).unwrap());
        output = &rest[len..];
    }
    assert_eq!(output, "", "a message is cut");
    all
}

fn shown(message: &Value) -> String {
    let body = message.get("body").map(|body| format!(" {body}")).unwrap_or_default();
    match (message["type"].as_str(), message["success"].as_bool()) {
        (Some("event"), _) => format!("! {}{body}", message["event"].as_str().unwrap()),
        (_, Some(true)) => format!("<{body}"),
        _ => format!("< error {}", message["message"]),
    }
}

/// Holds a conversation, and returns it with what the server answers.
fn converse(text: &str) -> String {
    let requests: Vec<&str> = text.lines().filter(|line| line.starts_with("> ")).collect();
    let framed = requests.iter().enumerate().map(|(index, line)| {
        let (command, arguments) = line[2..].split_once(' ').unwrap_or((&line[2..], ""));
        let mut message = json!({ "seq": index, "type": "request", "command": command });
        if !arguments.is_empty() {
            message["arguments"] = serde_json::from_str(arguments).unwrap();
        }
        framed(&message)
    });
    let mut input = Cursor::new(framed.collect::<String>());
    let mut output = Vec::new();
    serve(&mut input, &mut output, Box::new(Files)).unwrap();
    let answers = messages(&String::from_utf8(output).unwrap());
    let mut answers = answers.iter().peekable();
    let mut conversation = String::new();
    for line in text.lines().filter(|line| !line.starts_with(['<', '!'])) {
        writeln!(conversation, "{line}").unwrap();
        if line.starts_with("> ") {
            writeln!(conversation, "{}", shown(answers.next().unwrap())).unwrap();
            while let Some(event) = answers.next_if(|it| it["type"] == "event") {
                writeln!(conversation, "{}", shown(event)).unwrap();
            }
        }
    }
    conversation
}

#[test]
fn conversations_go_as_recorded() {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    paths.sort();
    assert!(paths.len() >= 4, "conversations are missing");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let held = converse(&text);
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, &held).unwrap();
        } else {
            assert_eq!(held, text, "{}", path.display());
        }
    }
}

#[test]
fn arguments_may_be_missing_or_null() {
    for arguments in ["", r#","arguments":null"#, r#","arguments":{"frameId":null}"#] {
        let text = format!(r#"{{"seq":1,"type":"request","command":"scopes"{arguments}}}"#);
        let mut input = Cursor::new(format!("Content-Length: {}\r\n\r\n{text}", text.len()));
        let mut output = Vec::new();
        let ended = serve(&mut input, &mut output, Box::new(Files)).unwrap();
        assert_eq!(ended, Ended::Abrupt);
        let answers = messages(&String::from_utf8(output).unwrap());
        assert_eq!(answers[0]["success"], true, "{answers:?}");
    }
}

#[test]
fn malformed_messages_end_a_session_or_are_answered() {
    let long = format!("{}\r\n\r\n", "x".repeat(10_000));
    for bad in ["Content-Length: 99\r\n\r\n{}", "\r\n\r\n", "Content-Length: -1\r\n\r\n", &long] {
        let result = serve(&mut Cursor::new(bad), &mut Vec::new(), Box::new(Files));
        assert!(result.is_err(), "{bad:?}");
    }
    // A page in a browser may send a message as the body of a request.
    for head in
        ["POST / HTTP/1.1", "POST /a:b HTTP/1.1", "GET http://a/ HTTP/1.1", "PRI * HTTP/2.0"]
    {
        let bad = format!("{head}\r\nContent-Length: 2\r\n\r\n{{}}");
        let error = serve(&mut Cursor::new(bad), &mut Vec::new(), Box::new(Files)).unwrap_err();
        assert!(error.to_string().contains("an HTTP request"), "{head}: {error}");
    }
    for odd in ["[]", "1", "{}", r#"{"seq":"x"}"#, r#"{"type":"response"}"#] {
        let mut input = Cursor::new(format!("Content-Length: {}\r\n\r\n{odd}", odd.len()));
        let ended = serve(&mut input, &mut Vec::new(), Box::new(Files)).unwrap();
        assert_eq!(ended, Ended::Abrupt, "{odd}");
    }
}
