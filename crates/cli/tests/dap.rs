//! `selkie dap --port` as other processes of the machine see it.

mod common;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
};

use common::{folder, selkie};
use serde_json::{Value, json};

/// An adapter, which ends with the test.
struct Adapter {
    process: Child,
    address: String,
    token: String,
    errors: BufReader<ChildStderr>,
    folder: PathBuf,
}

impl Adapter {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let folder = folder(&format!("dap-{name}"));
        fs::write(folder.join("program.s"), "mov64 r0, 7\nexit\n").unwrap();
        let save = ["run", "program.s", "--save-replay", "call.replay"];
        selkie(&folder, &save);
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        command.args(["dap", "--port", "0"]).args(arguments).current_dir(&folder);
        command.stderr(Stdio::piped()).stdin(Stdio::null()).env("NO_COLOR", "1");
        let mut process = command.spawn().unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        let mut adapter =
            Self { process, address: String::new(), token: String::new(), errors, folder };
        adapter.address = adapter.said("listening on ");
        if !arguments.contains(&"--token") {
            adapter.token = adapter.said("token for the configuration of a session: ");
        }
        adapter
    }

    /// Reads the log up to a line that begins like this, and returns the rest of that.
    fn said(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.errors.read_line(&mut line).unwrap() > 0, "it does not say {start}");
            if let Some(rest) = line.strip_prefix(start) {
                return rest.trim_end().to_owned();
            }
        }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        Client(BufReader::new(stream))
    }

    /// What `launch` answers, with arguments besides the token.
    fn launch(&self, mut arguments: Value) -> Value {
        let given = json!({ "token": self.token, "cwd": self.folder });
        for (name, value) in given.as_object().unwrap() {
            arguments.as_object_mut().unwrap().entry(name).or_insert_with(|| value.clone());
        }
        self.connect().ask("launch", arguments)
    }

    #[track_caller]
    fn refuses(&self, arguments: Value, why: &str) {
        let answer = self.launch(arguments);
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(answer["success"] == false && message.contains(why), "{why}: {answer}");
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn send(&mut self, bytes: &str) {
        self.0.get_mut().write_all(bytes.as_bytes()).unwrap();
    }

    /// Sends a request and returns its response; events before it are left out.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let request =
            json!({ "seq": 1, "type": "request", "command": command, "arguments": arguments });
        let text = request.to_string();
        self.send(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(self.0.read_line(&mut head).unwrap() > 0, "the connection was closed");
            }
            let length = head.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            if message["type"] == "response" {
                return message;
            }
        }
    }

    /// Reads what comes until the connection is closed, in whatever way.
    fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }
}

#[test]
fn sessions_begin_with_the_token() {
    let adapter = Adapter::start("token", &[]);
    let launched = adapter.launch(json!({ "replay": "call.replay" }));
    assert_eq!(launched["success"], true, "{launched}");
    let wrong = [json!("x"), json!(""), Value::Null, json!(format!("{}x", adapter.token))];
    for token in wrong {
        let arguments = json!({ "replay": "call.replay", "token": token });
        adapter.refuses(arguments, "no `token`, or a wrong one");
    }
    let mut client = adapter.connect();
    assert_eq!(client.ask("initialize", json!({}))["success"], true);
    for command in ["evaluate", "readMemory", "stackTrace", "disassemble", "restart"] {
        let answer = client.ask(command, json!({ "expression": "1", "memoryReference": "0" }));
        assert_eq!(answer["success"], false, "{command}: {answer}");
    }
    let attached = client.ask("attach", json!({ "replay": adapter.folder.join("call.replay") }));
    assert_eq!(attached["success"], false, "{attached}");
}

#[test]
fn a_token_can_be_chosen_and_is_not_printed() {
    let chosen = "the token of this test";
    let mut adapter = Adapter::start("chosen", &["--token", chosen]);
    adapter.token = chosen.to_owned();
    let launched = adapter.launch(json!({ "replay": "call.replay" }));
    assert_eq!(launched["success"], true, "{launched}");
    let refused = selkie(&adapter.folder, &["dap", "--port", "0", "--token", "short"]);
    assert!(refused.stderr.contains("less than 16 characters"), "{}", refused.stderr);
}

#[test]
fn requests_over_http_are_refused() {
    let mut adapter = Adapter::start("http", &[]);
    let launch = json!({ "type": "request", "command": "launch", "arguments": {
        "token": adapter.token, "replay": adapter.folder.join("call.replay") } });
    let launch = launch.to_string();
    let length = format!("Content-Length: {}", launch.len());
    for first in
        ["POST / HTTP/1.1", "POST /a:b HTTP/1.1", "GET http://x:1/ HTTP/1.0", "OPTIONS *: x"]
    {
        let mut client = adapter.connect();
        client.send(&format!("{first}\r\n{length}\r\n\r\n{launch}"));
        assert_eq!(client.rest(), "", "{first}");
        let log = adapter.said("warning: a session ended: ");
        assert!(log.contains("an HTTP request"), "{first}: {log}");
    }
}

#[test]
fn clients_that_say_nothing_keep_no_other_out_until_there_are_too_many() {
    let mut adapter = Adapter::start("idle", &[]);
    let idle: Vec<Client> = (0..7).map(|_| adapter.connect()).collect();
    let launched = adapter.launch(json!({ "replay": "call.replay" }));
    assert_eq!(launched["success"], true, "{launched}");
    // That session has ended, or is about to.
    let more: Vec<Client> = (0..2).map(|_| adapter.connect()).collect();
    let log = adapter.said("warning: a client was sent away: ");
    assert!(log.contains("there are 8 already"), "{log}");
    drop((idle, more));
}

#[test]
fn a_session_without_a_replay_opens_the_failure_of_a_test() {
    let adapter = Adapter::start("tests", &[]);
    adapter.refuses(json!({ "test": "pays" }), "no transaction of a test named like `pays`");
    let failures = adapter.folder.join("target/selkie-replays");
    fs::create_dir_all(&failures).unwrap();
    let call = fs::read_to_string(adapter.folder.join("call.replay")).unwrap();
    for name in ["tests::pays_twice", "tests::pays", "more::tests::pays"] {
        let replay = call.replacen("\"id\":\"program.s\"", &format!("\"id\":\"{name}\""), 1);
        fs::write(failures.join(format!("{}.replay", name.replace(':', "-"))), replay).unwrap();
    }
    assert_eq!(adapter.launch(json!({}))["success"], true);
    assert_eq!(adapter.launch(json!({ "test": "pays_twice" }))["success"], true);
    adapter.refuses(json!({ "test": "absent" }), "no transaction of a test named like `absent`");

    let list = |test: &str| {
        let listed = selkie(&adapter.folder, &["debug", "--list", "--json", "--test", test]);
        assert_eq!(listed.stderr, "", "{test}");
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let names = listed["transactions"].as_array().unwrap().iter();
        names.map(|it| it["test"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list("tests::pays"), ["tests::pays"]);
    // The last parts of a name are parts: `pays` is not the end of `overpays`.
    assert_eq!(list("pays"), ["more::tests::pays", "tests::pays"]);
    assert_eq!(list("s::pays").len(), 3);
}

#[test]
fn a_session_connects_to_no_other_server() {
    let adapter = Adapter::start("url", &["--url", "http://127.0.0.1:9"]);
    let signature = "1".repeat(64);
    for url in ["http://127.0.0.1:10", "localhost", "http://127.0.0.1:9/"] {
        let arguments = json!({ "replay": signature, "url": url, "cwd": null });
        adapter.refuses(arguments, "takes no transactions from");
    }
    let arguments = json!({ "replay": signature, "url": "http://127.0.0.1:9", "cwd": null });
    adapter.refuses(arguments, "127.0.0.1:9");
}

#[cfg(unix)]
#[test]
fn a_session_opens_regular_files_alone() {
    let adapter = Adapter::start("files", &[]);
    let pipe = adapter.folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/dev/stdin")] {
        adapter.refuses(json!({ "replay": path }), "not a regular file");
        // As one of several files of a folder, and as debug information, it is left out.
        let arguments = json!({ "replay": "call.replay", "symbols": [path] });
        assert_eq!(adapter.launch(arguments)["success"], true);
    }
    let recordings = adapter.folder.join("recordings");
    fs::create_dir(&recordings).unwrap();
    std::os::unix::fs::symlink(&pipe, recordings.join("a.replay")).unwrap();
    adapter.refuses(json!({ "replay": "recordings" }), "not a regular file");
}
