//! Measures Selkie's transactions beside LiteSVM's, in one process and by turns.
//!
//! Each figure is the minimum of many short turns, which other load on the machine disturbs least;
//! turns alternate, so that a slow phase of the machine slows down both sides. Both sides get the
//! same instructions, accounts and programs, must succeed, and must agree on compute units and on
//! the accounts that were written. The ratio of the medians is printed beside that of the minima.

mod batch;
mod inputs;
mod programs;
mod report;
mod rows;
mod scene;
mod selkie_side;

use std::{env, process::ExitCode};

use selkie::Engine;
use selkie_bench_seam::Failure;
use selkie_bench_svm::litesvm;

use crate::{
    batch::BLOCKS,
    rows::{Bench, ROWS},
    selkie_side::SelkieSide,
};

const USAGE: &str = "\
usage: selkie-bench-svm [--turns N] [--engine auto|jit|interpreter] [--alone] [NAME…]
       selkie-bench-svm --list [NAME…]
       selkie-bench-svm --repeat N [--engine …] [NAME…]
       selkie-bench-svm --programs [--engine …] FILE [INPUTS.json]…

Prints the time of a transaction with LiteSVM and with Selkie, in microseconds, and how many times
faster Selkie is. One thread and machine code on both sides; signatures are checked only in rows
whose names say so. NAME picks the row of that name, or else every row whose name contains it.
LiteSVM is built first, which takes minutes once; --alone measures Selkie without it. --engine is
Selkie's, `jit` by default, since LiteSVM compiles every program.

--list prints the names of the rows.

--repeat measures nothing: it warms up, then runs Selkie's side of each picked row N times, so that
an instruction counter can count it. `cargo xtask instructions bench-svm` does that for every row.

--programs measures nothing: it calls the program in each file in a few ways on both sides, prints
the result of the first call, and exits with 1 if anything differs. Inputs, as `selkie run --input` reads
them, are further calls of the program before them; a file may have many.
";

struct Options {
    turns: u32,
    engine: Engine,
    alone: bool,
    list: bool,
    repeat: Option<u32>,
    /// Whether `names` are files of programs.
    programs: bool,
    names: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        turns: 200,
        engine: Engine::Jit,
        alone: false,
        list: false,
        repeat: None,
        programs: false,
        names: Vec::new(),
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--turns" => options.turns = arguments.next()?.parse().ok().filter(|&it| it > 0)?,
            "--engine" => {
                let name = arguments.next()?;
                let engines = [Engine::Auto, Engine::Jit, Engine::Interpreter];
                options.engine = engines.into_iter().find(|it| it.to_string() == name)?;
            }
            "--alone" => options.alone = true,
            "--list" => options.list = true,
            "--repeat" => options.repeat = Some(arguments.next()?.parse().ok()?),
            "--programs" => options.programs = true,
            name if !name.starts_with('-') => options.names.push(argument),
            _ => return None,
        }
    }
    (!options.programs || !options.names.is_empty()).then_some(options)
}

impl Options {
    fn picks(&self, row: &str) -> bool {
        let is_row = |it: &String| rows().any(|row| row == it);
        let picks = |it: &String| if is_row(it) { row == it } else { row.contains(&**it) };
        self.names.is_empty() || self.names.iter().any(picks)
    }

    fn engine(&self) -> Result<Engine, Failure> {
        self.engine.resolve().map_err(|error| error.to_string())
    }
}

/// The names of all rows.
fn rows() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain(BLOCKS.iter().map(|block| block.name))
}

fn list(options: &Options) -> String {
    rows().filter(|row| options.picks(row)).map(|row| format!("{row}\n")).collect()
}

fn measure(options: &Options) -> Result<String, Failure> {
    let engine = options.engine()?;
    let litesvm = if options.alone { None } else { Some(litesvm::load(&[])?) };
    let bench = Bench { litesvm, selkie: Box::new(SelkieSide(engine)), turns: options.turns };
    let rows = ROWS.iter().filter(|row| options.picks(row.name));
    let lines = rows.map(|row| bench.measure(row)).collect::<Result<Vec<_>, _>>()?;
    let blocks = BLOCKS.iter().filter(|block| options.picks(block.name));
    let blocks = blocks.map(|block| batch::measure(block, engine, options.turns));
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let tables = [
        report::table(["litesvm", "selkie"], &lines),
        report::table(["1 thread", "2 threads"], &blocks),
    ];
    Ok(tables.concat())
}

fn repeat(times: u32, options: &Options) -> Result<String, Failure> {
    let engine = options.engine()?;
    for row in ROWS.iter().filter(|row| options.picks(row.name)) {
        row.repeat(&SelkieSide(engine), times)?;
    }
    for block in BLOCKS.iter().filter(|block| options.picks(block.name)) {
        batch::repeat(block, engine, times)?;
    }
    Ok(String::new())
}

fn compare(options: &Options) -> Result<String, Failure> {
    programs::compare(&*litesvm::load(&[])?, &SelkieSide(options.engine()?), &options.names)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let text = match options.repeat {
        _ if options.list => Ok(list(&options)),
        _ if options.programs => compare(&options),
        Some(times) => repeat(times, &options),
        None => measure(&options),
    };
    match text {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
