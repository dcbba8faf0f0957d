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
use selkie_vm::MachineCode;

use crate::{
    kernels::{INPUT_BYTES, KERNELS, Kernel},
    programs::{PROGRAMS, ProgramFile},
    report::{Goal, Row},
};

const USAGE: &str = "\
usage: selkie-bench [--engine interpreter|jit] [--peer interpreter|jit] [--hardening on|off]
                    [--turns N] [--elfs DIR] [--json] [NAME…]

Prints what anza's solana-sbpf takes, what Selkie takes, and how many times faster Selkie is: for
small kernels, for transfers by mainnet's token programs, for an invocation of a program that does
nothing, for loading, verifying and compiling those programs, and for the first transfer of a program
that is not compiled yet, nor even loaded. The engines are Selkie's and
anza's: both JITs unless something else is said; then goals are shown too. NAME picks rows by part
of their name. DIR is where the programs' files are (`cargo xtask fixtures`).
";

/// A configuration in which every kernel is measured.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    name: &'static str,
    version: Version,
    pub(crate) stack_frame_gaps: bool,
    pub(crate) aligned_memory: bool,
    /// Whether compiled code is hardened against programs that want to tell what is in it.
    pub(crate) hardened: bool,
}

/// Mainnet's configuration for old programs, and one for new ones.
const CASES: [Case; 2] = [
    Case {
        name: "V0",
        version: Version::V0,
        stack_frame_gaps: true,
        aligned_memory: true,
        hardened: true,
    },
    Case {
        name: "V3",
        version: Version::V3,
        stack_frame_gaps: false,
        aligned_memory: false,
        hardened: true,
    },
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
    jit: bool,
    peer_jit: bool,
    hardened: bool,
    turns: u32,
    json: bool,
    elfs: PathBuf,
    names: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        jit: true,
        peer_jit: true,
        hardened: true,
        turns: 60,
        json: false,
        elfs: PathBuf::from("../testdata/elfs"),
        names: Vec::new(),
    };
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--engine" => options.jit = either(arguments.next()?, ["interpreter", "jit"])?,
            "--peer" => options.peer_jit = either(arguments.next()?, ["interpreter", "jit"])?,
            "--hardening" => options.hardened = either(arguments.next()?, ["off", "on"])?,
            "--turns" => options.turns = arguments.next()?.parse().ok().filter(|&it| it > 0)?,
            "--elfs" => options.elfs = arguments.next()?.into(),
            "--json" => options.json = true,
            name if !name.starts_with('-') => options.names.push(argument),
            _ => return None,
        }
    }
    Some(options)
}

/// Whether it is the second of two words.
fn either(word: String, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|it| *it == word).map(|index| index == 1)
}

impl Options {
    fn case(&self, case: Case) -> Case {
        Case { hardened: self.hardened, ..case }
    }

    /// A goal, which is one for a JIT beside a JIT.
    fn goal(&self, goal: Goal) -> Option<Goal> {
        (self.jit && self.peer_jit).then_some(goal)
    }

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
    let case = Case { aligned_memory, ..options.case(case) };
    let assembler = selkie_asm::Options { version: case.version, ..Default::default() };
    let output = selkie_asm::assemble(&kernel.assembly(), &assembler);
    let Some(assembly) = &output.assembly else {
        panic!("{}:\n{}", kernel.name, output.render(false));
    };
    let elf = assembly.to_elf();
    let mut anchor = anchor::Program::new(&case, &elf, options.peer_jit);
    let mut ours = ours::Program::new(&case, &elf, options.jit);
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
        goal: kernel.goal().and_then(|ratio| options.goal(Goal::Ratio(ratio))),
    }
}

/// The least time of nothing at all: what it costs to take the time.
fn timer_overhead() -> Duration {
    let pair = || {
        let start = Instant::now();
        start.elapsed()
    };
    (0..10_000).map(|_| pair()).min().expect("there are pairs")
}

/// Microseconds without what it costs to take the time.
fn net_us(time: Duration, timer: Duration) -> f64 {
    time.saturating_sub(timer).as_secs_f64() * 1e6
}

fn transfer_row(
    program: &ProgramFile,
    elf: &[u8],
    timer: Duration,
    options: &Options,
) -> Option<Row> {
    let expected = program.transfer_cu?;
    let case = options.case(CASES[0]);
    let mut anchor = anchor::Program::new(&case, elf, options.peer_jit);
    let mut ours = ours::Program::new(&case, elf, options.jit);
    let mut memory = Memory::new(program.transfer_input(), 1);
    let turns = options.turns * 20;
    let (least, run) = compare(&mut anchor, &mut ours, &mut memory, turns);
    assert_eq!((run.result, run.consumed), (0, expected), "a transfer succeeds, at its price");
    Some(Row {
        group: "transfer".into(),
        name: program.name.into(),
        unit: "us",
        anchor: net_us(least[0], timer),
        ours: net_us(least[1], timer),
        goal: program.transfer_goal.and_then(|ratio| options.goal(Goal::Ratio(ratio))),
    })
}

/// What it takes until the first transfer has come to its result: from the verified program on, and
/// from the bytes of its file on. Of Selkie's machine code, only what the transfer calls is made.
fn first_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    if program.transfer_cu.is_none() || !options.jit || !options.peer_jit {
        return Vec::new();
    }
    let case = options.case(CASES[0]);
    let (theirs, our) = (anchor::Loader::new(&case), ours::Loader::new());
    let mut memory = Memory::new(program.transfer_input(), 1);
    let mut least = [[Duration::MAX; 2]; 2];
    let mut note = |side: usize, start: Instant, loaded: Duration| {
        let whole = start.elapsed();
        for (least, time) in least[side].iter_mut().zip([whole - loaded, whole]) {
            *least = time.min(*least);
        }
    };
    for _ in 0..options.turns {
        memory.restored();
        let start = Instant::now();
        let mut anchor = anchor::Program::load(&theirs, elf);
        let loaded = start.elapsed();
        anchor.compile();
        let a = anchor.run(&mut memory, BUDGET);
        note(0, start, loaded);
        memory.restored();
        let start = Instant::now();
        let mut ours = ours::Program::load(&case, &our, elf);
        let loaded = start.elapsed();
        ours.compile(&case);
        let b = ours.run(&mut memory, BUDGET);
        note(1, start, loaded);
        assert_eq!((a.result, a.consumed), (b.result, b.consumed), "engines agree");
    }
    let row = |index: usize, group: &str| Row {
        group: group.into(),
        name: program.name.into(),
        unit: "us",
        anchor: least[0][index].as_secs_f64() * 1e6,
        ours: least[1][index].as_secs_f64() * 1e6,
        goal: options.goal(Goal::Ratio(3.0)),
    };
    vec![row(0, "compile+run"), row(1, "first result")]
}

/// What an invocation costs besides what the program does.
fn invocation_row(timer: Duration, options: &Options) -> Row {
    let case = options.case(CASES[0]);
    let assembler = selkie_asm::Options { version: case.version, ..Default::default() };
    let source = ".globl entrypoint\nentrypoint:\nmov64 r0, 0\nexit\n";
    let output = selkie_asm::assemble(source, &assembler);
    let elf = output.assembly.expect("it is right").to_elf();
    let mut anchor = anchor::Program::new(&case, &elf, options.peer_jit);
    let mut ours = ours::Program::new(&case, &elf, options.jit);
    let mut memory = Memory::new(vec![0; 8], 1);
    let mut least = [Duration::MAX; 2];
    for _ in 0..options.turns * 20 {
        let (a, b) = (anchor.invoke(&mut memory, BUDGET), ours.invoke(&mut memory, BUDGET));
        assert_eq!((a.result, a.consumed), (b.result, b.consumed), "engines agree");
        least = [least[0].min(a.time), least[1].min(b.time)];
    }
    Row {
        group: "invocation".into(),
        name: "mov64, exit".into(),
        unit: "us",
        anchor: net_us(least[0], timer),
        ours: net_us(least[1], timer),
        goal: options.goal(Goal::Ratio(10.0)),
    }
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

/// Loading, verifying, verifying with what an interpreter needs besides (Selkie's decoding), and
/// compiling, with the size of the code.
fn loading_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    let case = options.case(CASES[0]);
    let (theirs, ours) = (anchor::Loader::new(&case), ours::Loader::new());
    let turns = options.turns.div_ceil(2);
    let (anchor_loaded, executable) = (theirs.load(elf), ours.load(elf));
    let row = |group: &str, unit, anchor, ours, goal: Option<Goal>| Row {
        group: group.into(),
        name: program.name.into(),
        unit,
        anchor,
        ours,
        goal: goal.and_then(|goal| options.goal(goal)),
    };
    let ns_each = 1e3 / anchor_loaded.slots() as f64;
    let anchor_verify = least_us(turns, || (), |()| anchor_loaded.verify());
    let ours_verify = least_us(turns, || (), |()| ours::verify_only(&executable));
    let ours_prepare = least_us(turns, || executable.clone(), ours::prepare) * ns_each;
    let anchor_load = least_us(turns, || (), |()| theirs.load(elf));
    let ours_load = least_us(turns, || (), |()| ours.load(elf));
    let sums = (anchor_load + anchor_verify, ours_load + ours_verify);
    let (anchor_verify, ours_verify) = (anchor_verify * ns_each, ours_verify * ns_each);
    let mut rows = vec![
        row("load", "us", anchor_load, ours_load, None),
        row("verify", "ns/insn", anchor_verify, ours_verify, None),
        row("prepare", "ns/insn", anchor_verify, ours_prepare, None),
        row("load+verify", "us", sums.0, sums.1, program.loading_goal.map(Goal::Ratio)),
    ];
    if options.jit {
        let instructions = anchor_loaded.instructions() as f64;
        let verified = ours::prepare(executable);
        let ns_each = 1e3 / instructions;
        let anchor = least_us(turns, || anchor_loaded.forget_code(), |()| anchor_loaded.compile());
        let ours = least_us(turns, || (), |()| ours::compile(&case, &verified, true));
        let goal = Some(Goal::Ratio(3.0));
        rows.push(row("compile all", "ns/insn", anchor * ns_each, ours * ns_each, goal));
        let anchor = anchor_loaded.code_bytes() as f64 / instructions;
        let ours = ours::compile(&case, &verified, true).bytes().len() as f64 / instructions;
        rows.push(row("code", "B/insn", anchor, ours, Some(Goal::AtMost(20.0))));
    }
    rows
}

fn program_rows(timer: Duration, options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for program in PROGRAMS.iter().filter(|program| options.picks(program.name)) {
        let Some(elf) = read(program, &options.elfs) else { continue };
        rows.extend(transfer_row(program, &elf, timer, options));
        rows.extend(loading_rows(program, &elf, options));
        rows.extend(first_rows(program, &elf, options));
    }
    let order = [
        "transfer",
        "load",
        "verify",
        "prepare",
        "load+verify",
        "compile all",
        "compile+run",
        "first result",
        "code",
    ];
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
    if options.jit && !MachineCode::SUPPORTED {
        eprintln!("error: the JIT has no back end for this host\nhelp: --engine interpreter");
        return ExitCode::from(2);
    }
    let mut rows = Vec::new();
    for case in CASES {
        for kernel in KERNELS.iter().filter(|kernel| options.picks(kernel.name)) {
            rows.push(kernel_row(case, kernel, &options));
        }
    }
    let timer = timer_overhead();
    if options.picks("invocation") {
        rows.push(invocation_row(timer, &options));
    }
    rows.extend(program_rows(timer, &options));
    let peer = if options.peer_jit { "anza jit" } else { "anza interp" };
    let engine = if options.jit { "selkie jit" } else { "selkie int" };
    if options.json {
        print!("{}", report::json(&rows, peer, engine));
        return ExitCode::SUCCESS;
    }
    println!(
        "hardening {}; of transfers and invocations, {} ns for taking the time are subtracted on \
         both sides",
        if options.hardened { "on" } else { "off" },
        timer.as_nanos(),
    );
    print!("{}", report::table(&rows, peer, engine, &["V0", "V3"]));
    ExitCode::SUCCESS
}
