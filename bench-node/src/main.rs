//! Measures `selkie node` as clients see it, kills it, and treats it badly.

mod attacks;
mod case;
mod client;
mod damage;
mod durability;
mod hostile;
mod process;
mod report;
mod rows;
mod socket;
mod transfers;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{
    process::{Addresses, Launch, host_and_port},
    rows::Scale,
};

const USAGE: &str = "\
usage: selkie-bench-node [--json] [--quick] [--idle SECONDS] [SELKIE]
       selkie-bench-node [--json] [--quick] --url HTTP_URL [--websocket WS_URL]
       selkie-bench-node [--json] --kill TIMES [SELKIE]
       selkie-bench-node --hostile [--minutes MINUTES] [SELKIE]

Starts the program SELKIE (../target/lto/selkie by default) as a node and prints what clients
wait for and what it costs, beside the goals. --url measures a server that runs already, of any
kind. --quick measures a tenth. Nothing fails because it is slow; a transaction that does not land
is an error.

--kill kills a node under load at random moments and restarts it. It fails if anything is lost that
was finalized, or if balances, statuses and histories disagree.

--hostile treats nodes badly: connections without end or without requests, slow readers, requests for
gigabytes, bodies and frames that are too large or too deep, damaged ledgers, a full disk. It fails if
a node dies, hangs, needs too much memory or says nothing useful. --minutes repeats that as long.
";

#[derive(Default)]
struct Options {
    json: bool,
    quick: bool,
    idle: Option<u64>,
    url: Option<String>,
    websocket: Option<String>,
    kill: Option<usize>,
    hostile: bool,
    minutes: u64,
    program: Option<PathBuf>,
}

fn options() -> Option<Options> {
    let mut options = Options::default();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = true,
            "--quick" => options.quick = true,
            "--idle" => options.idle = Some(arguments.next()?.parse().ok()?),
            "--url" => options.url = Some(arguments.next()?),
            "--websocket" => options.websocket = Some(arguments.next()?),
            "--kill" => options.kill = Some(arguments.next()?.parse().ok()?),
            "--hostile" => options.hostile = true,
            "--minutes" => options.minutes = arguments.next()?.parse().ok()?,
            name if !name.starts_with('-') => options.program = Some(argument.into()),
            _ => return None,
        }
    }
    Some(options)
}

impl Options {
    fn scale(&self) -> Scale {
        let part = if self.quick { 10 } else { 1 };
        Scale {
            transfers: 100_000 / part,
            reads: 200_000 / part,
            notifications: 1000 / part,
            subscriptions: 10_000,
            idle: Duration::from_secs(self.idle.unwrap_or(if self.quick { 6 } else { 60 })),
        }
    }

    fn launch(&self) -> Launch {
        let program = self.program.clone().unwrap_or_else(|| "../target/lto/selkie".into());
        Launch { program, ledger: None, arguments: vec!["--history".into(), "10000".into()] }
    }
}

fn run(options: &Options) -> Result<()> {
    let scale = options.scale();
    let launch = options.launch();
    if options.hostile {
        let until = Instant::now() + Duration::from_secs(options.minutes * 60);
        loop {
            in_scratch(|scratch| hostile::run(&launch, scratch))?;
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }
    let figures = match (&options.url, options.kill) {
        (_, Some(kills)) => in_scratch(|scratch| durability::run(&launch, scratch, kills))?,
        (Some(url), None) => {
            let addresses = addresses(url, options.websocket.as_deref())?;
            let mut figures = Vec::new();
            rows::of_server(&addresses, &scale, &mut figures)?;
            figures
        }
        (None, None) => in_scratch(|scratch| rows::of_process(&launch, scratch, &scale))?,
    };
    match options.json {
        true => println!("{}", report::json(&figures)),
        false => print!("{}", report::table(&figures)),
    }
    Ok(())
}

/// Returns where a server listens; its WebSocket is on the next port unless told otherwise.
fn addresses(url: &str, websocket: Option<&str>) -> Result<Addresses> {
    let rpc = host_and_port(url)?;
    let websocket = match websocket {
        Some(url) => host_and_port(url)?,
        None => {
            let (host, port) = rpc.rsplit_once(':').context("the URL has no port")?;
            format!("{host}:{}", port.parse::<u16>()?.saturating_add(1))
        }
    };
    Ok(Addresses { rpc, websocket })
}

/// Passes a folder that is removed afterwards.
fn in_scratch<T>(action: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let folder = env::temp_dir().join(format!("selkie-bench-node-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = action(&folder);
    fs::remove_dir_all(&folder)?;
    result
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
