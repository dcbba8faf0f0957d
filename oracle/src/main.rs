//! Runs random programs and mutated ELF files on Selkie and on anza's `solana-sbpf`, and compares
//! everything observable: the verifier's verdict, results, error texts, compute units, registers,
//! call depth and memory, and for files the loaded program.
//!
//! | module | what it owns |
//! |---|---|
//! | [`generate`] | random cases, from a seed and an index |
//! | [`case`] | cases: a program with its memory, registers and settings |
//! | [`anza`], [`ours`] | the two sides |
//! | [`observed`] | the observable outcome of a run, and differences between two |
//! | [`shrink`] | shrinking of differing cases |
//! | [`exec`] | runs and compares random programs |
//! | [`guard`] | detects crashes and hangs of machine code |
//! | [`mutate`] | random mutations of ELF files |
//! | [`elf`] | loads and compares mutated ELF files |

mod anza;
mod case;
mod elf;
mod exec;
mod generate;
mod guard;
mod mutate;
mod observed;
mod ours;
mod rng;
mod shrink;
mod syscalls;

use std::{
    env,
    path::PathBuf,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use selkie_isa::Version;

const USAGE: &str = "\
usage: oracle exec [--count N | --seconds T] [--seed S] [--only INDEX] [--versions V0,V3…]
                   [--threads N]
       oracle elf  [--count N | --seconds T] [--seed S] [--only INDEX] [--elfs DIR] [--threads N]
       oracle all --seconds T [--seed S] [--elfs DIR] [--threads N]

exec  random programs: verify and run on both sides, interpreted and compiled, each once more with
      a smaller budget
elf   mutated files: load and verify on both sides; the bases are the files of DIR, and some that
      Selkie writes
all   both, for T seconds together

What kills the process, as wrong machine code may, is found and printed too. Exits with 1 if the sides differ. Differences are printed with a case made small, and with a line
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
    elfs: PathBuf,
    /// For a child process that runs one case: whether its budget is reduced, and its changes.
    tightened: bool,
    changes: Vec<u32>,
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
        elfs: PathBuf::from("../testdata/elfs"),
        tightened: false,
        changes: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next()?;
        match argument.as_str() {
            "--count" => options.count = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--only" => options.only = Some(value.parse().ok()?),
            "--threads" => options.threads = value.parse().ok().filter(|&it| it > 0)?,
            "--seconds" => options.seconds = Some(value.parse().ok()?),
            "--elfs" => options.elfs = value.into(),
            "--versions" => options.versions = versions(&value)?,
            "--tightened" => options.tightened = value == "1",
            "--changes" => {
                let numbers = value.split(',').filter(|it| !it.is_empty());
                options.changes = numbers.map(|it| it.parse().ok()).collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    if options.seconds.is_some() {
        options.count = u64::MAX;
    }
    (options.command != "all" || options.seconds.is_some()).then_some(options)
}

fn versions(names: &str) -> Option<Vec<Version>> {
    names
        .split(',')
        .map(|name| Version::ALL.iter().copied().find(|it| format!("{it:?}") == name))
        .collect()
}

/// Differences after which a thread gives up.
const DIFFERENCES_MAX: usize = 5;

/// Divides the indices among threads, and returns the result of each.
fn share<T: Send>(
    options: &Options,
    work: impl Fn(u64, &mut dyn Iterator<Item = u64>) -> T + Sync,
) -> Vec<T> {
    let (first, last) = match options.only {
        Some(index) => (index, index + 1),
        None => (0, options.count),
    };
    thread::scope(|scope| {
        let work = &work;
        let step = usize::try_from(options.threads).expect("few threads");
        let start =
            |worker| scope.spawn(move || work(worker, &mut (first + worker..last).step_by(step)));
        let workers: Vec<_> = (0..options.threads).map(start).collect();
        workers.into_iter().map(|it| it.join().expect("our panics are caught")).collect()
    })
}

/// When to stop, if there is a time limit, of which `all` gives each part a half.
fn deadline(options: &Options) -> impl Fn() -> bool + Sync + use<> {
    let share = if options.command == "all" { 500 } else { 1000 };
    let end = options.seconds.map(|it| Instant::now() + Duration::from_millis(it * share));
    move || end.is_some_and(|end| Instant::now() >= end)
}

fn finish(differing: &[(u64, String)], report: &str, start: Instant) -> bool {
    for (_, text) in differing {
        println!("{text}");
    }
    print!("{report}");
    println!("{:.1} s", start.elapsed().as_secs_f64());
    differing.is_empty()
}

fn run_exec(options: &Options) -> bool {
    let (start, late) = (Instant::now(), deadline(options));
    let mut total = exec::Tally::default();
    let tallies = share(options, |thread, indices| {
        let mut notes = guard::Notes::new(thread);
        let stop = |tally: &exec::Tally| tally.differing.len() >= DIFFERENCES_MAX || late();
        exec::run(options.seed, &options.versions, indices, stop, |place| notes.begin(place))
    });
    tallies.into_iter().for_each(|tally| total.add(tally));
    let rate = total.cases as f64 / start.elapsed().as_secs_f64() / options.threads as f64;
    let report = format!("{}{rate:.0} programs per second and thread\n", total.report());
    finish(&total.differing, &report, start)
}

fn run_elf(options: &Options) -> std::io::Result<bool> {
    let (start, late) = (Instant::now(), deadline(options));
    let bases = elf::bases(&options.elfs)?;
    println!("{} base files", bases.len());
    let mut total = elf::Tally::default();
    let tallies = share(options, |_, indices| {
        elf::run(options.seed, &bases, &elf::rules(), indices, |tally| {
            tally.differing.len() >= DIFFERENCES_MAX || late()
        })
    });
    tallies.into_iter().for_each(|tally| total.add(tally));
    Ok(finish(&total.differing, &total.report(), start))
}

fn run(options: &Options) -> std::io::Result<bool> {
    println!("seed {}", options.seed);
    Ok(match options.command.as_str() {
        "probe" => {
            let (seed, index) = (options.seed, options.only.unwrap_or_default());
            let place = exec::Place { seed, index, tightened: options.tightened };
            exec::probe(place, &options.versions, &options.changes, true);
            true
        }
        "exec" => run_exec(options),
        "elf" => run_elf(options)?,
        // Both are run, even if the first finds differences.
        _ => run_exec(options) & run_elf(options)?,
    })
}

fn main() -> ExitCode {
    let commands = ["exec", "elf", "all", "probe"];
    let Some(options) = options().filter(|it| commands.contains(&it.command.as_str())) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    ours::quieten_panics();
    let done = if guard::is_watched() || options.command == "probe" {
        run(&options).map(|agree| ExitCode::from(u8::from(!agree)))
    } else {
        guard::watch(&options)
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}: {error}", options.elfs.display());
            ExitCode::from(2)
        }
    }
}
