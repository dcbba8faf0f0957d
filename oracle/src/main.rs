//! Runs random programs on Selkie and on anza's `solana-sbpf`, and compares everything that shows:
//! verdicts, results, error texts, compute units, registers, call depth and memory.
//!
//! | module | what it owns |
//! |---|---|
//! | [`generate`] | random cases, from a seed and an index |
//! | [`case`] | what is run, in neutral terms |
//! | [`anchor`], [`ours`] | the two sides |
//! | [`observed`] | what a side shows, and how two of them differ |
//! | [`shrink`] | makes a differing case smaller |
//! | [`exec`] | runs, counts, reports |

mod anchor;
mod case;
mod exec;
mod generate;
mod observed;
mod ours;
mod rng;
mod shrink;
mod syscalls;

use std::{
    env,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use selkie_isa::Version;

const USAGE: &str = "\
usage: oracle exec [--count N] [--seed S] [--only INDEX] [--versions V0,V3…] [--threads N]
       oracle all --seconds T [--seed S] [--threads N]

exec  random programs: verify and run on both sides
all   everything, for a given time

Exits with 1 if the sides differ. Differences are printed with a case made small, and with a line
that `selkie conform` runs.
";

struct Options {
    command: String,
    count: u64,
    seed: u64,
    only: Option<u64>,
    versions: Vec<Version>,
    threads: u64,
    seconds: Option<u64>,
}

fn options() -> Option<Options> {
    let mut arguments = env::args().skip(1);
    let mut options = Options {
        command: arguments.next()?,
        count: 100_000,
        seed: 1,
        only: None,
        versions: Version::ALL.to_vec(),
        threads: 2,
        seconds: None,
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next()?;
        match argument.as_str() {
            "--count" => options.count = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--only" => options.only = Some(value.parse().ok()?),
            "--threads" => options.threads = value.parse().ok().filter(|&it| it > 0)?,
            "--seconds" => options.seconds = Some(value.parse().ok()?),
            "--versions" => {
                let name = |version: &&Version, text: &str| format!("{version:?}") == text;
                options.versions = value
                    .split(',')
                    .map(|text| Version::ALL.iter().find(|it| name(it, text)).copied())
                    .collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    Some(options)
}

/// Differences after which a thread gives up.
const DIFFERENCES_MAX: usize = 5;

fn run_exec(options: &Options) -> exec::Tally {
    let (first, last) = match options.only {
        Some(index) => (index, index + 1),
        None => (0, options.count),
    };
    let deadline = options.seconds.map(|it| Instant::now() + Duration::from_secs(it));
    let mut total = exec::Tally::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads)
            .map(|worker| {
                scope.spawn(move || {
                    let indices = (first + worker..last).step_by(options.threads as usize);
                    exec::run(options.seed, &options.versions, indices, |tally| {
                        tally.differing.len() >= DIFFERENCES_MAX
                            || deadline.is_some_and(|deadline| Instant::now() >= deadline)
                    })
                })
            })
            .collect();
        for worker in workers {
            total.add(worker.join().expect("workers catch panics"));
        }
    });
    total
}

fn main() -> ExitCode {
    let Some(mut options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    ours::quieten_panics();
    match options.command.as_str() {
        "exec" => {}
        "all" => options.count = u64::MAX,
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    let start = Instant::now();
    let tally = run_exec(&options);
    for (_, text) in &tally.differing {
        println!("{text}");
    }
    println!("seed {}", options.seed);
    print!("{}", tally.report());
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds:.1} s, {:.0} executions/s", tally.executions as f64 / seconds);
    ExitCode::from(u8::from(!tally.differing.is_empty()))
}
