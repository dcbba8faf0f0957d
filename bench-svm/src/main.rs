//! Measures Selkie's transactions beside LiteSVM's, in one process, turn by turn.
//!
//! Each figure is the least of many short turns, so that other load on the machine does not count;
//! turns alternate, so that a slow phase hits both. Both sides get the same instructions, accounts
//! and programs, must succeed, and must agree on compute units and on what was written.

mod batch;
mod litesvm;
mod ours;
mod programs;
mod report;
mod rows;
mod scene;

use std::{env, process::ExitCode};

use selkie::Engine;
use selkie_bench_seam::Failure;

use crate::{
    batch::BLOCKS,
    rows::{Bench, ROWS},
};

const USAGE: &str = "\
usage: selkie-bench-svm [--turns N] [--engine auto|jit|interpreter] [--alone] [--list] [NAME…]
       selkie-bench-svm --programs [--engine …] FILE…

Prints what a transaction takes with LiteSVM and with Selkie, in microseconds, and how many times
faster Selkie is. One thread, machine code on both sides, signatures not checked where a row does
not say so. NAME picks a row, or several by part of their names; --list names them all. LiteSVM is
built first, which takes minutes once; --alone goes without. --engine is Selkie's: `jit` unless
something else is said, since LiteSVM compiles every program.

--programs measures nothing: it calls the program in each file in a few ways on both sides, prints
what becomes of the first call, and exits with 1 if anything differs.
";

struct Options {
    turns: u32,
    engine: Engine,
    alone: bool,
    list: bool,
    /// Whether names are those of files with programs.
    programs: bool,
    names: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        turns: 200,
        engine: Engine::Jit,
        alone: false,
        list: false,
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
            "--programs" => options.programs = true,
            name if !name.starts_with('-') => options.names.push(argument),
            _ => return None,
        }
    }
    (!options.programs || !options.names.is_empty()).then_some(options)
}

impl Options {
    fn picks(&self, name: &str) -> bool {
        let is_whole = |it: &String| names().any(|name| name == it);
        let picks = |it: &String| if is_whole(it) { name == it } else { name.contains(&**it) };
        self.names.is_empty() || self.names.iter().any(picks)
    }
}

/// The names of all rows.
fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain(BLOCKS.iter().map(|block| block.name))
}

fn measure(options: &Options) -> Result<String, Failure> {
    let engine = options.engine.resolve().map_err(|error| error.to_string())?;
    let theirs = if options.alone { None } else { Some(litesvm::load()?) };
    let bench = Bench { theirs, ours: Box::new(ours::Ours(engine)), turns: options.turns };
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

fn compare(options: &Options) -> Result<String, Failure> {
    let engine = options.engine.resolve().map_err(|error| error.to_string())?;
    programs::compare(&*litesvm::load()?, &ours::Ours(engine), &options.names)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if options.list {
        names().for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    match if options.programs { compare(&options) } else { measure(&options) } {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
