//! Measures Selkie's engines beside anza's, in one process, turn by turn.
//!
//! Each figure is the least of many short runs, so that other load on the machine does not count;
//! turns alternate, so that a slow phase hits both.

mod anchor;
mod kernels;
mod ours;
mod programs;
mod report;
mod syscalls;

use core::time::Duration;
use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use selkie_isa::Version;

use crate::{
    kernels::{INPUT_BYTES, KERNELS, Kernel},
    programs::{PROGRAMS, ProgramFile},
    report::Row,
};

const USAGE: &str = "\
usage: selkie-bench [--engine interpreter] [--peer interpreter|jit] [--turns N] [--elfs DIR]
                    [--json] [NAME…]

Prints what anza's solana-sbpf takes, what Selkie takes, and how many times faster Selkie is: for
small kernels, for transfers by mainnet's token programs, and for loading those programs. NAME picks
rows by part of their name. DIR is where the programs' files are (`cargo xtask fixtures`).
";

/// A configuration in which every kernel is measured.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    version: Version,
    pub(crate) stack_frame_gaps: bool,
    pub(crate) aligned_memory: bool,
}

/// Mainnet's configuration for old programs, and one for new ones.
const CASES: [Case; 2] = [
    Case { name: "V0", version: Version::V0, stack_frame_gaps: true, aligned_memory: true },
    Case { name: "V3", version: Version::V3, stack_frame_gaps: false, aligned_memory: false },
];

/// Memory for programs, reused by every run.
pub(crate) struct Memory {
    pub(crate) stack: Vec<u8>,
    pub(crate) heap: Vec<u8>,
    pub(crate) input: Vec<u8>,
    /// Bytes of an input region.
    pub(crate) piece_bytes: usize,
    input_first: Vec<u8>,
}

impl Memory {
    fn new(input: Vec<u8>, regions: usize) -> Self {
        Self {
            stack: vec![0; 64 * 4096],
            heap: vec![0; 32 * 1024],
            piece_bytes: input.len() / regions,
            input_first: input.clone(),
            input,
        }
    }

    fn restored(&mut self) -> &mut Self {
        self.stack.fill(0);
        self.heap.fill(0);
        self.input.copy_from_slice(&self.input_first);
        self
    }
}

/// One run of a program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) time: Duration,
    pub(crate) consumed: u64,
    pub(crate) result: u64,
}

struct Options {
    peer_jit: bool,
    turns: u32,
    json: bool,
    elfs: PathBuf,
    names: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        peer_jit: false,
        turns: 60,
        json: false,
        elfs: PathBuf::from("../testdata/elfs"),
        names: Vec::new(),
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--engine" => {
                arguments.next().filter(|engine| engine == "interpreter")?;
            }
            "--peer" => {
                options.peer_jit = match arguments.next()?.as_str() {
                    "interpreter" => false,
                    "jit" => true,
                    _ => return None,
                }
            }
            "--turns" => options.turns = arguments.next()?.parse().ok().filter(|&it| it > 0)?,
            "--elfs" => options.elfs = arguments.next()?.into(),
            "--json" => options.json = true,
            name if !name.starts_with('-') => options.names.push(argument),
            _ => return None,
        }
    }
    Some(options)
}

impl Options {
    fn picks(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|it| name.contains(&**it))
    }
}

/// More than anything measured uses.
const BUDGET: u64 = 10_000_000;

/// Runs a program on both engines by turns. Gives the least times, and what a run comes to.
fn compare(
    anchor: &mut anchor::Program,
    ours: &mut ours::Program,
    memory: &mut Memory,
    turns: u32,
) -> ([Duration; 2], Run) {
    let mut least = [Duration::MAX; 2];
    let mut last = None;
    for _ in 0..turns {
        let a = anchor.run(memory.restored(), BUDGET);
        let b = ours.run(memory.restored(), BUDGET);
        assert_eq!((a.result, a.consumed), (b.result, b.consumed), "engines agree");
        least = [least[0].min(a.time), least[1].min(b.time)];
        last = Some(a);
    }
    (least, last.expect("at least one turn"))
}

fn kernel_row(case: Case, kernel: &Kernel, options: &Options) -> Row {
    // Several regions in one window need the other mapping.
    let aligned_memory = case.aligned_memory && kernel.input_regions == 1;
    let case = Case { aligned_memory, ..case };
    let assembler = selkie_asm::Options { version: case.version, ..Default::default() };
    let output = selkie_asm::assemble(&kernel.assembly(), &assembler);
    let Some(assembly) = &output.assembly else {
        panic!("{}:\n{}", kernel.name, output.render(false));
    };
    let elf = assembly.to_elf();
    let mut anchor = anchor::Program::new(&case, &elf, options.peer_jit);
    let mut ours = ours::Program::new(&case, &elf);
    assert_eq!(anchor.version(), case.version);
    let mut memory = Memory::new(vec![0; INPUT_BYTES], kernel.input_regions);
    let (least, run) = compare(&mut anchor, &mut ours, &mut memory, options.turns);
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / run.consumed as f64;
    Row {
        group: case.name.into(),
        name: kernel.name.into(),
        unit: "ns/insn",
        anchor: ns(least[0]),
        ours: ns(least[1]),
    }
}

fn transfer_row(program: &ProgramFile, elf: &[u8], options: &Options) -> Option<Row> {
    let expected = program.transfer_cu?;
    let mut anchor = anchor::Program::new(&CASES[0], elf, options.peer_jit);
    let mut ours = ours::Program::new(&CASES[0], elf);
    let mut memory = Memory::new(program.transfer_input(), 1);
    let turns = options.turns * 20;
    let (least, run) = compare(&mut anchor, &mut ours, &mut memory, turns);
    assert_eq!((run.result, run.consumed), (0, expected), "a transfer succeeds, at its price");
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    Some(Row {
        group: "transfer".into(),
        name: program.name.into(),
        unit: "us",
        anchor: us(least[0]),
        ours: us(least[1]),
    })
}

/// The least time of some turns, in microseconds. Neither what a turn works on nor what comes of
/// it is counted.
fn least_us<I, O>(turns: u32, input: impl Fn() -> I, work: impl Fn(I) -> O) -> f64 {
    let mut least = Duration::MAX;
    for _ in 0..turns {
        let input = input();
        let start = Instant::now();
        let output = work(input);
        least = least.min(start.elapsed());
        drop(output);
    }
    least.as_secs_f64() * 1e6
}

/// Loading, verifying, and verifying with what an interpreter needs besides: Selkie's decoding.
fn loading_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> [Row; 3] {
    let (theirs, ours) = (anchor::Loader::new(&CASES[0]), ours::Loader::new());
    let turns = options.turns.div_ceil(2);
    let (anchor_loaded, executable) = (theirs.load(elf), ours.load(elf));
    let row = |group: &str, unit, anchor, ours| Row {
        group: group.into(),
        name: program.name.into(),
        unit,
        anchor,
        ours,
    };
    let ns_each = 1e3 / anchor_loaded.slots() as f64;
    let anchor_verify = least_us(turns, || (), |()| anchor_loaded.verify()) * ns_each;
    let ours_verify = least_us(turns, || (), |()| ours::verify_only(&executable)) * ns_each;
    let ours_prepare = least_us(turns, || executable.clone(), ours::prepare) * ns_each;
    let anchor_load = least_us(turns, || (), |()| theirs.load(elf));
    let ours_load = least_us(turns, || (), |()| ours.load(elf));
    [
        row("load", "us", anchor_load, ours_load),
        row("verify", "ns/insn", anchor_verify, ours_verify),
        row("prepare", "ns/insn", anchor_verify, ours_prepare),
    ]
}

fn program_rows(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for program in PROGRAMS.iter().filter(|program| options.picks(program.name)) {
        let Some(elf) = read(program, &options.elfs) else { continue };
        rows.extend(transfer_row(program, &elf, options));
        rows.extend(loading_rows(program, &elf, options));
    }
    let order = ["transfer", "load", "verify", "prepare"];
    rows.sort_by_key(|row| order.iter().position(|group| *group == row.group));
    rows
}

fn read(program: &ProgramFile, folder: &Path) -> Option<Vec<u8>> {
    let elf = program.read(folder);
    if let Err(error) = &elf {
        eprintln!("without {}: {error} (`cargo xtask fixtures` fetches it)", program.name);
    }
    elf.ok()
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut rows = Vec::new();
    for case in CASES {
        for kernel in KERNELS.iter().filter(|kernel| options.picks(kernel.name)) {
            rows.push(kernel_row(case, kernel, &options));
        }
    }
    rows.extend(program_rows(&options));
    let peer = if options.peer_jit { "anza jit" } else { "anza interp" };
    let text = if options.json {
        report::json(&rows, peer)
    } else {
        report::table(&rows, peer, &["V0", "V3"])
    };
    print!("{text}");
    ExitCode::SUCCESS
}
