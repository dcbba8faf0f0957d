//! A node that runs as a process of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::client::Client;

/// What the system calls a clock tick: hundredths of a second on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// How long a node may take to start or to refuse.
const START_MAX: Duration = Duration::from_secs(60);

/// Where a node listens.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// `host:port` of HTTP.
    pub(crate) rpc: String,
    /// `host:port` of WebSocket.
    pub(crate) websocket: String,
}

impl Addresses {
    /// Reads the line of a node that is ready.
    fn of(line: &str) -> Result<Self> {
        let ready: Value = serde_json::from_str(line)?;
        let address = |name: &str| host_and_port(ready[name].as_str().context("no address")?);
        Ok(Self { rpc: address("rpcUrl")?, websocket: address("websocketUrl")? })
    }
}

/// A node. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) addresses: Addresses,
    /// From the start of the process to its first healthy answer.
    pub(crate) ready: Duration,
}

/// How to start a node.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) ledger: Option<PathBuf>,
    pub(crate) arguments: Vec<String>,
}

impl Launch {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["node", "--json", "--quiet", "--rpc-port", "0"]).args(&self.arguments);
        if let Some(ledger) = &self.ledger {
            command.arg("--ledger").arg(ledger);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a node and waits until it is healthy.
    pub(crate) fn start(&self) -> Result<Process> {
        match self.try_start()? {
            Started::Ready(process) => Ok(process),
            Started::Refused { code, text } => bail!("the node ends with {code:?}: {text}"),
        }
    }

    /// Starts a node that may refuse to. The error is that it hangs.
    pub(crate) fn try_start(&self) -> Result<Started> {
        let started = Instant::now();
        let shown = || format!("cannot start {}", self.program.display());
        let mut child = self.command().spawn().with_context(shown)?;
        let line = match first_line(&mut child)? {
            Some(line) if !line.contains(r#""error":"#) => line,
            line => return refused(child, line),
        };
        let addresses = Addresses::of(&line).with_context(|| format!("in {line}"))?;
        let mut process = Process { child, addresses, ready: Duration::ZERO };
        let health = Client::connect(&process.addresses.rpc)?.call("getHealth", "[]")?;
        ensure!(health == "ok", "the node says {health} when it is ready");
        process.ready = started.elapsed();
        Ok(Started::Ready(process))
    }
}

/// The result of starting a node.
#[derive(Debug)]
pub(crate) enum Started {
    Ready(Process),
    /// The exit code, `None` after a signal, and the text that explains it.
    Refused {
        code: Option<i32>,
        text: String,
    },
}

/// Returns the first line that a node prints; `None` if it ends without.
fn first_line(child: &mut Child) -> Result<Option<String>> {
    let output = child.stdout.take().context("the output is a pipe")?;
    let (line, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(output).lines();
        // Sending fails if the wait has timed out. The rest is read so that the pipe stays open.
        let _ = line.send(lines.next());
        lines.for_each(drop);
    });
    match lines.recv_timeout(START_MAX) {
        Ok(line) => Ok(line.transpose()?.filter(|line| !line.is_empty())),
        Err(_) => {
            child.kill()?;
            child.wait()?;
            bail!("the node neither starts nor ends within {START_MAX:?}")
        }
    }
}

/// Errors are on the first line, panics are not.
fn refused(child: Child, line: Option<String>) -> Result<Started> {
    let output = child.wait_with_output()?;
    let text = line.unwrap_or_default() + &String::from_utf8_lossy(&output.stderr);
    Ok(Started::Refused { code: output.status.code(), text })
}
/// Returns `host:port` of a URL.
pub(crate) fn host_and_port(url: &str) -> Result<String> {
    let (_, rest) = url.split_once("://").with_context(|| format!("{url} is no URL"))?;
    Ok(rest.trim_end_matches('/').to_owned())
}

fn stop(child: &mut Child) -> Result<std::process::ExitStatus> {
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status()?;
    Ok(child.wait()?)
}

impl Process {
    /// Returns the memory that is resident, in MB.
    pub(crate) fn resident_mb(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|it| it.split_whitespace().next()).context("no VmRSS")?;
        Ok(number.parse::<f64>()? * 1024.0 / 1e6)
    }

    /// Returns the time on processors since the start, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name may contain blanks; it ends with the last parenthesis.
        let (_, rest) = text.rsplit_once(')').context("no name in stat")?;
        let fields: Vec<f64> =
            rest.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        Ok(fields.iter().sum::<f64>() / TICKS_PER_SECOND)
    }

    /// Returns the bytes that were handed to the system for files.
    pub(crate) fn written_bytes(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("write_bytes:"));
        Ok(line.context("no write_bytes")?.trim().parse()?)
    }

    /// Kills the process as a crash would.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks the process to stop, and returns how long that took.
    pub(crate) fn stop(mut self) -> Result<Duration> {
        let started = Instant::now();
        let status = stop(&mut self.child)?;
        ensure!(status.success(), "the node ends with {status}");
        Ok(started.elapsed())
    }

    /// Checks that a new client gets an answer in time.
    pub(crate) fn answers(&self, patience: Duration) -> Result<()> {
        let mut client = Client::connect(&self.addresses.rpc)?;
        client.set_timeout(patience)?;
        let health = client.call("getHealth", "[]").context("another client waits in vain")?;
        ensure!(health == "ok", "the node says {health}");
        Ok(())
    }

    /// Returns an error if the process has ended.
    pub(crate) fn is_alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the node has ended with {status}"),
            None => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the size of a folder's files, in bytes.
pub(crate) fn folder_bytes(folder: &Path) -> Result<u64> {
    let sizes: std::io::Result<Vec<u64>> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).collect();
    Ok(sizes?.into_iter().sum())
}
