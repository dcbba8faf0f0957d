//! Runs random transactions on Selkie and on agave's own crates, and compares everything observable:
//! results, fees, compute units, sizes, logs, inner instructions, return data, accounts.
//!
//! | module | what it owns |
//! |---|---|
//! | [`generate`] | random cases, from a seed and an index |
//! | [`case`] | cases: a chain's state and transactions |
//! | [`agave`], [`selkie`] | the two sides; `agave::release` has what of agave's interface depends on its release |
//! | [`release`] | which release of agave that is |
//! | [`observed`] | the observable result of a transaction, and differences between two |
//! | [`run`] | runs, counts, reports |
//! | [`programs`] | programs from files, called with many inputs |
//! | [`traces`] | register traces of random transactions, as files |
//! | [`shrink`] | shrinking of differing cases |
//! | [`vector`] | conversion of cases from and to conformance vectors |

mod agave;
mod case;
mod generate;
mod observed;
mod programs;
mod release;
#[path = "../../oracle/src/rng.rs"]
mod rng;
mod run;
mod selkie;
mod shrink;
mod traces;
mod vector;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use selkie_svm::{Engine, Release};

use crate::{
    agave::{Agave, TRACES},
    case::Case,
    generate::{Choice, FeatureChoice, Theme, world::World},
    observed::Observed,
    release::RELEASE,
    run::{Source, Tally},
    selkie::Selkie,
};

const USAGE: &str = "\
usage: oracle-svm run [--count N | --seconds T] [--seed S] [--only INDEX] [--threads N]
                      [--features mainnet|any] [--engine auto|interpreter|jit] [--elfs DIR]
                      [--themes system,token,token2022,associated,tables,loader,precompiles,
                                programs,vote,zk,mixed] [--save DIR] [--known TEXT]… [--stop N]
                      [--release 4.2|4.3|4.4|4.5]
       oracle-svm answer FILE… [--blobs DIR]… [--elfs DIR]
       oracle-svm vectors FILE… [--blobs DIR]… [--engine …] [--elfs DIR]
       oracle-svm repeat [as run]
       oracle-svm traces [as run]
       oracle-svm show --only INDEX [as run]
       oracle-svm programs FILE…

run      random cases on both sides
vectors  conformance vectors of the kind `svm`, uncompressed, on both sides
answer   conformance vectors of the kind `svm`, uncompressed, with agave's results in place of theirs, and
         the release of agave
repeat   random cases on agave's side twice, the second time without what it keeps from case to case
traces   random cases: the files with the registers before every instruction that tools write for
         agave's engine, and those of `selkie trace --agave`, byte for byte; agave interprets every
         second case and compiles the others, if the option does not choose its engine
show     what agave makes of one random case
programs each file as a program that is deployed, and called with many kinds of accounts and data,
         on the interpreters and the compilers of both sides; at least one call must succeed

Programs of mainnet are read from the folder that `cargo xtask fixtures` fills. Exits with 1 if the
sides differ. Of each kind of difference one is printed, with a case made small as a conformance
vector, or that goes to a folder; those that have TEXT in them are counted only. A thread stops
after N kinds. Selkie follows the release of agave's crates, or the one that is chosen: the differences
are then those of the two releases.
";

struct Options {
    command: String,
    files: Vec<PathBuf>,
    count: u64,
    seed: u64,
    only: Option<u64>,
    threads: u64,
    seconds: Option<u64>,
    elfs: PathBuf,
    blobs: Vec<PathBuf>,
    /// File for the vectors of differences, instead of standard output.
    save: Option<PathBuf>,
    /// Texts by which known differences are recognized.
    known: Vec<String>,
    /// Distinct differences after which a thread stops.
    stop: usize,
    /// The themes of cases; all if empty.
    themes: Vec<Theme>,
    features: FeatureChoice,
    engine: Engine,
    /// The release whose rules Selkie follows.
    release: Release,
}

fn options() -> Option<Options> {
    let mut arguments = env::args().skip(1);
    let mut options = Options {
        command: arguments.next()?,
        files: Vec::new(),
        count: 20_000,
        seed: 1,
        only: None,
        threads: 2,
        seconds: None,
        elfs: PathBuf::from("../testdata/elfs"),
        blobs: Vec::new(),
        save: None,
        known: Vec::new(),
        stop: 12,
        themes: Vec::new(),
        features: FeatureChoice::Mainnet,
        engine: Engine::Auto,
        release: RELEASE,
    };
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("--") {
            options.files.push(argument.into());
            continue;
        }
        let value = arguments.next()?;
        match argument.as_str() {
            "--count" => options.count = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--only" => options.only = Some(value.parse().ok()?),
            "--threads" => options.threads = value.parse().ok().filter(|&it| it > 0)?,
            "--seconds" => options.seconds = Some(value.parse().ok()?),
            "--elfs" => options.elfs = value.into(),
            "--blobs" => options.blobs.push(value.into()),
            "--known" => options.known.push(value),
            "--release" => options.release = value.parse().ok()?,
            "--stop" => options.stop = value.parse().ok()?,
            "--save" => options.save = Some(value.into()),
            "--themes" => {
                let names = value.split(',');
                options.themes = names.map(Theme::named).collect::<Option<_>>()?;
            }
            "--engine" => {
                options.engine = match value.as_str() {
                    "auto" => Engine::Auto,
                    "interpreter" => Engine::Interpreter,
                    "jit" => Engine::Jit,
                    _ => return None,
                }
            }
            "--features" => {
                options.features = match value.as_str() {
                    "mainnet" => FeatureChoice::Mainnet,
                    "any" => FeatureChoice::Any,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    if options.seconds.is_some() {
        options.count = u64::MAX;
    }
    options.fit().then_some(options)
}

impl Options {
    /// Whether there is such a command, and files where it takes them.
    fn fit(&self) -> bool {
        let command = self.command.as_str();
        let takes_files = ["vectors", "answer", "programs"].contains(&command);
        let is_known = takes_files || ["run", "repeat", "traces", "show"].contains(&command);
        is_known && self.files.is_empty() != takes_files
    }
}

fn run_random(options: &Options) -> io::Result<bool> {
    let (world, start) = (World::new(&options.elfs)?, Instant::now());
    println!("seed {}", options.seed);
    let end = options.seconds.map(|it| start + Duration::from_secs(it));
    let stop = |tally: &Tally| {
        tally.differing.len() >= options.stop || end.is_some_and(|end| Instant::now() >= end)
    };
    let source = source(options, &world);
    let mut total = Tally::default();
    for tally in
        on_threads(options, |indices| run::run(&source, peer(options).as_mut(), indices, stop))
    {
        total.add(tally);
    }
    for difference in total.differing.values() {
        println!("{} times, first {}", difference.count, difference.report);
        match (&difference.vector, &options.save) {
            (Some((name, line)), Some(folder)) => {
                fs::write(folder.join(format!("{name}.jsonl")), format!("{line}\n"))?;
            }
            (Some((_, line)), None) => println!("{line}"),
            (None, _) => println!("it takes more than one transaction"),
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = total.cases as f64 / seconds / options.threads as f64;
    print!("{}", total.report());
    println!("{seconds:.1} s, {rate:.0} cases per second and thread");
    Ok(total.differing.is_empty())
}

/// Divides the indices of cases among threads, and returns the results.
fn on_threads<T: Send>(
    options: &Options,
    work: impl Fn(&mut dyn Iterator<Item = u64>) -> T + Sync,
) -> Vec<T> {
    let (first, last) = match options.only {
        Some(index) => (index, index + 1),
        None => (0, options.count),
    };
    let step = usize::try_from(options.threads).expect("few threads");
    thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..options.threads)
            .map(|worker| {
                let mut indices = (first + worker..last).step_by(step);
                // Nested invocations use the host's stack on both sides.
                let builder = thread::Builder::new().stack_size(64 << 20);
                let worker = builder.spawn_scoped(scope, move || work(&mut indices));
                worker.expect("there are few threads")
            })
            .collect();
        let results = workers.into_iter().map(|worker| worker.join());
        results.map(|it| it.expect("a peer's panics are caught")).collect()
    })
}

fn run_traces(options: &Options) -> io::Result<bool> {
    if !TRACES {
        return Err(io::Error::other(
            "this build's engine does not trace: add `--features traces` to cargo's options",
        ));
    }
    let (world, start) = (World::new(&options.elfs)?, Instant::now());
    println!("seed {}", options.seed);
    let end = options.seconds.map(|it| start + Duration::from_secs(it));
    let stop = |tally: &traces::Tally| {
        tally.differing.len() >= options.stop || end.is_some_and(|end| Instant::now() >= end)
    };
    let source = source(options, &world);
    let mut total = traces::Tally::default();
    for tally in on_threads(options, |indices| traces::run(&source, options.engine, indices, stop))
    {
        total.add(tally);
    }
    total.differing.iter().for_each(|line| println!("{line}"));
    print!("{}", total.report());
    println!("{:.1} s", start.elapsed().as_secs_f64());
    // A run of one case, or of one theme, need not have them all.
    let missing = match options.only.is_none() && options.themes.is_empty() {
        true => total.missing(),
        false => Vec::new(),
    };
    missing.iter().for_each(|name| println!("nothing of {name} was traced"));
    Ok(total.differing.is_empty() && missing.is_empty())
}

fn source<'a>(options: &'a Options, world: &'a World) -> Source<'a> {
    let choice = Choice { features: options.features, themes: options.themes.clone() };
    Source { world, seed: options.seed, choice, known: options.known.clone() }
}

fn peer(options: &Options) -> Box<dyn run::Peer> {
    match options.command.as_str() {
        "repeat" => Box::new(Agave::forgetful()),
        _ => Box::new(Selkie::new(options.engine, options.release)),
    }
}

/// Reads the vectors of the files, and passes them on.
fn with_vectors<T>(
    options: &Options,
    work: impl FnOnce(&mut dyn Iterator<Item = io::Result<(Case, Observed)>>) -> io::Result<T>,
) -> io::Result<T> {
    let mut folders: Vec<&Path> = options.blobs.iter().map(PathBuf::as_path).collect();
    folders.push(&options.elfs);
    let mut blobs = vector::Blobs::new(&folders);
    let mut text = String::new();
    for file in &options.files {
        text.push_str(&fs::read_to_string(file)?);
    }
    let lines = text.lines().filter(|line| !line.is_empty());
    work(&mut lines.map(|line| vector::read(line, &mut blobs)))
}

fn run_vectors(options: &Options) -> io::Result<bool> {
    with_vectors(options, |cases| run::vectors(cases, peer(options).as_mut()))
}

fn answer(options: &Options) -> io::Result<bool> {
    let mut agave = Agave::default();
    with_vectors(options, |cases| {
        for case in cases {
            let (case, _) = case?;
            let observed = agave.run(&case);
            println!("{}", vector::write(&case, &observed[0]));
        }
        Ok(true)
    })
}

fn show(options: &Options) -> io::Result<bool> {
    let world = World::new(&options.elfs)?;
    let source = source(options, &world);
    run::show(&source, options.only.unwrap_or_default());
    Ok(true)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match options.command.as_str() {
        "vectors" => run_vectors(&options),
        "answer" => answer(&options),
        "show" => show(&options),
        "traces" => run_traces(&options),
        "programs" => programs::run(&options.files),
        _ => run_random(&options),
    };
    match done {
        Ok(agree) => ExitCode::from(u8::from(!agree)),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
