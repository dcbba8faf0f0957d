//! Measures Selkie's engines beside anza's, in one process, turn by turn.
//!
//! Each figure is the least of many short runs, so that other load on the machine does not count;
//! turns alternate, so that a slow phase hits both.

mod anchor;
mod kernels;
mod ours;

use core::{fmt::Write as _, time::Duration};
use std::{env, process::ExitCode};

use selkie_isa::Version;

use crate::kernels::{INPUT_BYTES, KERNELS, Kernel};

const USAGE: &str = "\
usage: selkie-bench [--engine interpreter] [--peer interpreter|jit] [--turns N] [--json] [NAME…]

Prints nanoseconds per instruction of anza's solana-sbpf and of Selkie, and how many times faster
Selkie is. NAME picks kernels by part of their name.
";

/// A configuration in which every kernel is measured.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    pub(crate) version: Version,
    pub(crate) stack_frame_gaps: bool,
    pub(crate) aligned_memory: bool,
}

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
    pub(crate) input_bytes: usize,
}

impl Memory {
    fn new(kernel: &Kernel) -> Self {
        Self {
            stack: vec![0; 64 * 4096],
            heap: vec![0; 32 * 1024],
            input: vec![0; INPUT_BYTES],
            input_bytes: INPUT_BYTES / kernel.input_regions,
        }
    }

    fn cleared(&mut self) -> &mut Self {
        for bytes in [&mut self.stack, &mut self.heap, &mut self.input] {
            bytes.fill(0);
        }
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
    names: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options { peer_jit: false, turns: 40, json: false, names: Vec::new() };
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
            "--turns" => options.turns = arguments.next()?.parse().ok()?,
            "--json" => options.json = true,
            name if !name.starts_with('-') => options.names.push(argument),
            _ => return None,
        }
    }
    Some(options)
}

struct Row {
    case: &'static str,
    kernel: &'static str,
    instructions: u64,
    anchor_ns: f64,
    ours_ns: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.anchor_ns / self.ours_ns
    }
}

/// Runs a kernel on both engines by turns.
fn measure(case: Case, kernel: &Kernel, options: &Options) -> Row {
    // Several regions in one window need the other mapping.
    let aligned_memory = case.aligned_memory && kernel.input_regions == 1;
    let case = Case { aligned_memory, ..case };
    let assembly = kernel.assembly();
    let mut anchor = anchor::Program::new(&case, &assembly, options.peer_jit);
    let mut ours = ours::Program::new(&case, &anchor.assembled());
    let mut least = [Duration::MAX; 2];
    let mut instructions = 0;
    let mut memory = Memory::new(kernel);
    for _ in 0..options.turns {
        let a = anchor.run(memory.cleared(), BUDGET);
        let b = ours.run(memory.cleared(), BUDGET);
        assert_eq!((a.result, a.consumed), (b.result, b.consumed), "{}", kernel.name);
        least = [least[0].min(a.time), least[1].min(b.time)];
        instructions = a.consumed;
    }
    let ns = |time: Duration| time.as_secs_f64() * 1e9 / instructions as f64;
    Row {
        case: case.name,
        kernel: kernel.name,
        instructions,
        anchor_ns: ns(least[0]),
        ours_ns: ns(least[1]),
    }
}

/// More than any kernel uses.
const BUDGET: u64 = 10_000_000;

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), it| (sum + it.ln(), count + 1.0));
    if count == 0.0 { f64::NAN } else { f64::exp(sum / count) }
}

fn table(rows: &[Row], peer: &str) -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 5]| {
        let [case, kernel, anchor, ours, ratio] = cells;
        let _ = writeln!(text, "{case:<4} {kernel:<14} {anchor:>14} {ours:>14} {ratio:>8}");
    };
    line(["", "ns/instruction", peer, "selkie interp", "ratio"]);
    for row in rows {
        let (anchor, ours) = (format!("{:.3}", row.anchor_ns), format!("{:.3}", row.ours_ns));
        line([row.case, row.kernel, &anchor, &ours, &format!("{:.2}", row.ratio())]);
    }
    for case in CASES.map(|case| case.name) {
        let ratios = rows.iter().filter(|row| row.case == case).map(Row::ratio);
        line([case, "geometric mean", "", "", &format!("{:.2}", geometric_mean(ratios))]);
    }
    let mean = geometric_mean(rows.iter().map(Row::ratio));
    line(["", "geometric mean", "", "", &format!("{mean:.2}")]);
    text
}

fn json(rows: &[Row], peer: &str) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|Row { case, kernel, instructions, anchor_ns, ours_ns }| {
            format!(
                "{{\"case\":\"{case}\",\"kernel\":\"{kernel}\",\"instructions\":{instructions},\
                 \"anchor_ns\":{anchor_ns:.4},\"ours_ns\":{ours_ns:.4}}}"
            )
        })
        .collect();
    format!("{{\"peer\":\"{peer}\",\"rows\":[{}]}}\n", rows.join(","))
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let picked = |kernel: &&Kernel| {
        options.names.is_empty() || options.names.iter().any(|name| kernel.name.contains(&**name))
    };
    let rows: Vec<Row> = CASES
        .iter()
        .flat_map(|&case| KERNELS.iter().filter(picked).map(move |kernel| (case, kernel)))
        .map(|(case, kernel)| measure(case, kernel, &options))
        .collect();
    let peer = if options.peer_jit { "anza jit" } else { "anza interp" };
    print!("{}", if options.json { json(&rows, peer) } else { table(&rows, peer) });
    ExitCode::SUCCESS
}
