//! The command line.

use std::{env, path::PathBuf};

use crate::{kernels::Kernel, report::Goal, run::Case};

pub(crate) const USAGE: &str = "\
usage: selkie-bench [--engine interpreter|jit] [--peer interpreter|jit] [--hardening on|off]
                    [--turns N] [--elfs DIR] [--json] [NAME…]
       selkie-bench --list [NAME…]
       selkie-bench --repeat N [--engine interpreter|jit] [--hardening on|off] [NAME…]

Prints the time of anza's solana-sbpf, the time of Selkie, and how many times faster Selkie is: for
small kernels, for token transfers by mainnet's token programs, for an invocation of a program that
returns at once, for loading, verifying and compiling those programs, and for the first transfer of a
program that is not compiled yet, or not even loaded. --engine is Selkie's engine, --peer is anza's:
both are `jit` by default, and only then goals are shown. NAME picks the row of that name, or else
every row whose name contains it. DIR is the folder of the programs' files (`cargo xtask fixtures`).

--list prints the names of the rows that --repeat can run.

--repeat measures nothing: it warms up, then runs Selkie's side of each picked row N times, so that
an instruction counter can count it. `cargo xtask instructions bench` does that for every row.
";

/// The options of a run.
pub(crate) struct Options {
    pub(crate) jit: bool,
    pub(crate) peer_jit: bool,
    pub(crate) hardened: bool,
    pub(crate) turns: u32,
    pub(crate) json: bool,
    pub(crate) list: bool,
    pub(crate) repeat: Option<u32>,
    pub(crate) elfs: PathBuf,
    pub(crate) names: Vec<String>,
}

impl Options {
    /// The options that the process was started with; `None` if they are not understood.
    pub(crate) fn parse() -> Option<Self> {
        let mut options = Self {
            jit: true,
            peer_jit: true,
            hardened: true,
            turns: 60,
            json: false,
            list: false,
            repeat: None,
            elfs: PathBuf::from("../testdata/elfs"),
            names: Vec::new(),
        };
        let mut arguments = env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--engine" => options.jit = is_second(&arguments.next()?, ["interpreter", "jit"])?,
                "--peer" => {
                    options.peer_jit = is_second(&arguments.next()?, ["interpreter", "jit"])?;
                }
                "--hardening" => options.hardened = is_second(&arguments.next()?, ["off", "on"])?,
                "--turns" => options.turns = arguments.next()?.parse().ok().filter(|&it| it > 0)?,
                "--repeat" => options.repeat = Some(arguments.next()?.parse().ok()?),
                "--elfs" => options.elfs = arguments.next()?.into(),
                "--json" => options.json = true,
                "--list" => options.list = true,
                name if !name.starts_with('-') => options.names.push(argument),
                _ => return None,
            }
        }
        Some(options)
    }

    pub(crate) fn case(&self, case: Case) -> Case {
        Case { hardened: self.hardened, ..case }
    }

    /// Returns the configuration in which a kernel is measured: several regions in one window need
    /// the unaligned memory mapping.
    pub(crate) fn kernel_case(&self, case: Case, kernel: &Kernel) -> Case {
        let aligned_memory = case.aligned_memory && kernel.input_regions == 1;
        Case { aligned_memory, ..self.case(case) }
    }

    /// Returns `goal` if both engines are JITs; goals are set for that comparison only.
    pub(crate) fn goal(&self, goal: Goal) -> Option<Goal> {
        (self.jit && self.peer_jit).then_some(goal)
    }
}

/// Whether `word` is the second of two words; `None` if it is neither.
fn is_second(word: &str, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|it| *it == word).map(|index| index == 1)
}
