//! Runs the command under a memory limit and a time limit.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::Output;

/// Bytes that a command may use besides three times its input.
const FREE_BYTES: usize = 64 << 20;
/// A command that takes longer than this hangs. It is no measurement: tests run unoptimized, many
/// at a time.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Runs the command in a folder, under the bound for `input_len` bytes of input. It must end by
/// itself, with one of its exit codes.
pub(crate) fn run(folder: &Path, input_len: usize, arguments: &[&str]) -> Output {
    run_with(folder, input_len, arguments, b"")
}

/// Like `run`, with standard input.
pub(crate) fn run_with(
    folder: &Path,
    input_len: usize,
    arguments: &[&str],
    stdin: &[u8],
) -> Output {
    // A shell sets the limit on private memory: the system refuses more, and the command aborts.
    let limit = if cfg!(target_os = "linux") { "ulimit -d \"$0\" && " } else { "" };
    let kibibytes = (3 * input_len + FREE_BYTES) / 1024;
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| folder.join(name));
    let create = |path| File::create(path).expect("the folder is writable");
    let mut child = Command::new("sh")
        .args(["-c", &format!("{limit}exec \"$@\""), &kibibytes.to_string()])
        .arg(env!("CARGO_BIN_EXE_selkie"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(create(&stdout))
        .stderr(create(&stderr))
        .spawn()
        .expect("there is a shell");
    let mut input = child.stdin.take().expect("it is a pipe");
    // A command that has seen enough closes the pipe.
    let _ = input.write_all(stdin);
    drop(input);
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("it was started") {
            break status.code();
        }
        if start.elapsed() > WATCHDOG {
            child.kill().expect("it was started");
            panic!("{arguments:?} hangs");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |path| {
        let bytes = fs::read(path).expect("the command wrote it");
        String::from_utf8(bytes).expect("output is text")
    };
    let output = Output { code, stdout: text(&stdout), stderr: text(&stderr) };
    assert!(
        matches!(code, Some(0..=2)) && !output.stderr.contains("panicked"),
        "{arguments:?}: {code:?} with {} KiB: {:.2000}",
        kibibytes,
        output.stderr
    );
    output
}

/// Asserts that no line for people is longer than a screen or two.
pub(crate) fn assert_short_lines(output: &Output) {
    const BYTES_MAX: usize = 4096;
    let longest = output.stdout.lines().chain(output.stderr.lines()).max_by_key(|it| it.len());
    let longest = longest.unwrap_or_default();
    assert!(longest.len() <= BYTES_MAX, "{} bytes: {longest:.300}", longest.len());
}
