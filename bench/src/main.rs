//! Measures Selkie's engines beside anza's, in one process and by turns.
//!
//! Each figure is the minimum of many short runs, which other load on the machine disturbs least;
//! turns alternate, so that a slow phase of the machine slows down both engines. The ratio of the
//! medians is printed beside the ratio of the minima.

mod anza;
mod count;
mod kernels;
mod measure;
mod options;
mod programs;
mod report;
mod run;
mod selkie;
mod syscalls;

use std::process::ExitCode;

use selkie_vm::MachineCode;

use crate::options::{Options, USAGE};

fn main() -> ExitCode {
    let Some(options) = Options::parse() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if options.jit && !MachineCode::SUPPORTED {
        eprintln!("error: the JIT has no back end for this host\nhelp: --engine interpreter");
        return ExitCode::from(2);
    }
    if options.list || options.repeat.is_some() {
        return list_or_repeat(&options);
    }
    let rows = measure::rows(&options);
    let peer = if options.peer_jit { "anza jit" } else { "anza interp" };
    let engine = if options.jit { "selkie jit" } else { "selkie int" };
    if options.json {
        print!("{}", report::json(&rows, peer, engine));
        return ExitCode::SUCCESS;
    }
    println!(
        "hardening {}; {} ns for reading the clock are subtracted from transfers and invocations \
         on both sides",
        if options.hardened { "on" } else { "off" },
        measure::timer_overhead().as_nanos(),
    );
    print!("{}", report::table(&rows, peer, engine, &["V0", "V3"]));
    ExitCode::SUCCESS
}

/// Names the rows that can be counted, or runs Selkie's side of them.
fn list_or_repeat(options: &Options) -> ExitCode {
    for row in count::rows(options).iter().filter(|row| count::picks(options, &row.name())) {
        match options.repeat {
            None => println!("{}", row.name()),
            Some(times) if row.repeat(times, options).is_none() => return ExitCode::FAILURE,
            Some(_) => {}
        }
    }
    ExitCode::SUCCESS
}
