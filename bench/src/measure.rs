//! Measures both engines, row by row.

use core::time::Duration;
use std::time::Instant;

use crate::{
    anza,
    count::picks,
    kernels::{INPUT_BYTES, KERNELS, Kernel},
    options::Options,
    programs::{PROGRAMS, ProgramFile},
    report::{Figure, Goal, Row},
    run::{
        COMPUTE_UNIT_LIMIT, Case, Memory, Outcome, RETURN_AT_ONCE, Run, V0, V3, assemble,
        time_selkie,
    },
    selkie,
};

/// The rows that one function measures of a program.
type ProgramRows = (&'static [&'static str], fn(&ProgramFile, &[u8], &Options) -> Vec<Row>);

const PROGRAM_ROWS: [ProgramRows; 4] = [
    (&["transfer"], transfer_row),
    (&["load", "verify", "prepare", "load+verify"], loading_rows),
    (&["compile all", "code"], compiling_rows),
    (&["compile+run", "first result"], first_rows),
];

/// The groups of programs' rows, in the order of the table.
const GROUPS: [&str; 9] = [
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

/// Measures the rows that `options` picks.
pub(crate) fn rows(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in [V0, V3] {
        let is_picked = |it: &&Kernel| picks(options, &format!("{} {}", case.name, it.name));
        let kernels = KERNELS.iter().filter(is_picked);
        rows.extend(kernels.map(|kernel| kernel_row(case, kernel, options)));
    }
    if picks(options, "invocation mov64, exit") {
        rows.push(invocation_row(options));
    }
    rows.extend(program_rows(options));
    rows
}

fn program_rows(options: &Options) -> Vec<Row> {
    let mut rows = Vec::new();
    for program in &PROGRAMS {
        let picks_group = |group: &str| picks(options, &format!("{group} {}", program.name));
        let picked =
            PROGRAM_ROWS.iter().filter(|(groups, _)| groups.iter().any(|it| picks_group(it)));
        let measures: Vec<_> = picked.map(|(_, measure)| measure).collect();
        if measures.is_empty() {
            continue;
        }
        let Some(elf) = program.read(&options.elfs) else { continue };
        let all = measures.into_iter().flat_map(|measure| measure(program, &elf, options));
        rows.extend(all.filter(|row| picks_group(&row.group)));
    }
    rows.sort_by_key(|row| GROUPS.iter().position(|group| *group == row.group));
    rows
}

fn kernel_row(case: Case, kernel: &Kernel, options: &Options) -> Row {
    let case = options.kernel_case(case, kernel);
    let elf = assemble(&kernel.assembly(), case.version);
    let mut anza = anza::Program::new(&case, &elf, options.peer_jit);
    let mut selkie = selkie::Program::new(&case, &elf, options.jit);
    assert_eq!(anza.version(), case.version);
    let mut memory = Memory::new(vec![0; INPUT_BYTES], kernel.input_regions);
    let (times, outcome) = compare(&mut anza, &mut selkie, &mut memory, options.turns);
    let [anza, selkie] = times.map(|it| it.map(|ns| ns / outcome.compute_units as f64));
    Row {
        group: case.name.into(),
        name: kernel.name.into(),
        unit: "ns/insn",
        anza,
        selkie,
        goal: kernel.goal().and_then(|ratio| options.goal(Goal::Ratio(ratio))),
    }
}

/// Runs a program on both engines by turns. Returns anza's and Selkie's nanoseconds, and the outcome
/// of a run.
///
/// # Panics
/// If the engines disagree on an outcome.
fn compare(
    anza: &mut anza::Program,
    selkie: &mut selkie::Program,
    memory: &mut Memory,
    turns: u32,
) -> ([Figure; 2], Outcome) {
    by_turns(turns, memory, |memory| {
        let anza = anza.run(memory.restored(), COMPUTE_UNIT_LIMIT);
        [anza, selkie.run(memory.restored(), COMPUTE_UNIT_LIMIT)]
    })
}

/// Runs `turn` so many times. It returns anza's run and Selkie's, which must have the same outcome.
fn by_turns(
    turns: u32,
    memory: &mut Memory,
    mut turn: impl FnMut(&mut Memory) -> [Run; 2],
) -> ([Figure; 2], Outcome) {
    let (mut times, mut last) = ([Vec::new(), Vec::new()], None);
    for _ in 0..turns {
        let [anza, selkie] = turn(memory);
        assert_eq!(anza.outcome, selkie.outcome, "engines agree");
        times[0].push(anza.time);
        times[1].push(selkie.time);
        last = Some(anza.outcome);
    }
    (times.map(Figure::ns), last.expect("there is at least one turn"))
}

/// The least time between two readings of the clock.
pub(crate) fn timer_overhead() -> Duration {
    let pair = || {
        let start = Instant::now();
        start.elapsed()
    };
    (0..10_000).map(|_| pair()).min().expect("there are pairs")
}

/// Microseconds without the time that it takes to read the clock.
fn net_us(ns: Figure) -> Figure {
    let timer = timer_overhead().as_secs_f64() * 1e9;
    ns.map(|ns| (ns - timer).max(0.0) / 1e3)
}

fn us(ns: Figure) -> Figure {
    ns.map(|ns| ns / 1e3)
}

fn transfer_row(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    let Some(expected) = program.transfer_compute_units else { return Vec::new() };
    let case = options.case(V0);
    let mut anza = anza::Program::new(&case, elf, options.peer_jit);
    let mut selkie = selkie::Program::new(&case, elf, options.jit);
    let mut memory = Memory::new(program.transfer_input(), 1);
    let turns = options.turns * 20;
    let (times, outcome) = compare(&mut anza, &mut selkie, &mut memory, turns);
    assert_eq!(outcome, Outcome { compute_units: expected, result: 0 }, "a transfer succeeds");
    let [anza, selkie] = times.map(net_us);
    vec![Row {
        group: "transfer".into(),
        name: program.name.into(),
        unit: "us",
        anza,
        selkie,
        goal: program.transfer_goal.and_then(|ratio| options.goal(Goal::Ratio(ratio))),
    }]
}

/// The time until the result of the first transfer: from the verified program on, and from the bytes
/// of its file on. Selkie compiles only what the transfer calls.
fn first_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    if program.transfer_compute_units.is_none() || !options.jit || !options.peer_jit {
        return Vec::new();
    }
    let case = options.case(V0);
    let loaders = (anza::Loader::new(&case), selkie::Loader::new());
    let mut memory = Memory::new(program.transfer_input(), 1);
    // Anza's and Selkie's times.
    let (mut from_verified, mut from_file) = ([vec![], vec![]], [vec![], vec![]]);
    for _ in 0..options.turns {
        let (anza, from) = anza::first_result(&loaders.0, elf, memory.restored());
        let memory = memory.restored();
        let (mut loaded, loading) = time_selkie(|| selkie::Program::load(&case, &loaders.1, elf));
        let (selkie, rest) = time_selkie(|| loaded.first_result(&case, memory));
        assert_eq!(anza, selkie, "engines agree");
        for (side, [verified, file]) in [from, [rest, loading + rest]].into_iter().enumerate() {
            from_verified[side].push(verified);
            from_file[side].push(file);
        }
    }
    let row = |group: &str, times: [Vec<Duration>; 2]| {
        let [anza, selkie] = times.map(|it| us(Figure::ns(it)));
        let goal = options.goal(Goal::Ratio(3.0));
        Row { group: group.into(), name: program.name.into(), unit: "us", anza, selkie, goal }
    };
    vec![row("compile+run", from_verified), row("first result", from_file)]
}

/// The cost of an invocation, without the instructions of a program.
fn invocation_row(options: &Options) -> Row {
    let case = options.case(V0);
    let elf = assemble(RETURN_AT_ONCE, case.version);
    let mut anza = anza::Program::new(&case, &elf, options.peer_jit);
    let mut selkie = selkie::Program::new(&case, &elf, options.jit);
    let mut memory = Memory::new(vec![0; 8], 1);
    let (times, _) = by_turns(options.turns * 20, &mut memory, |memory| {
        let anza = anza.invoke(memory, COMPUTE_UNIT_LIMIT);
        [anza, selkie.invoke(memory, COMPUTE_UNIT_LIMIT)]
    });
    let [anza, selkie] = times.map(net_us);
    Row {
        group: "invocation".into(),
        name: "mov64, exit".into(),
        unit: "us",
        anza,
        selkie,
        goal: options.goal(Goal::Ratio(10.0)),
    }
}

/// The time of `work` in nanoseconds. Neither making its input nor dropping its output is counted.
fn time<I, O>(turns: u32, input: impl Fn() -> I, work: impl Fn(I) -> O) -> Figure {
    let turn = || {
        let input = input();
        let start = Instant::now();
        let output = work(input);
        let time = start.elapsed();
        drop(output);
        time
    };
    Figure::ns((0..turns).map(|_| turn()).collect())
}

/// Loading; verifying; verifying with Selkie's decoding, which its interpreter needs; and loading
/// with verifying.
fn loading_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    let case = options.case(V0);
    let loaders = (anza::Loader::new(&case), selkie::Loader::new());
    let turns = options.turns.div_ceil(2);
    let (loaded, executable) = (loaders.0.load(elf), loaders.1.load(elf));
    let anza_load = time(turns, || (), |()| loaders.0.load(elf));
    let anza_verify = time(turns, || (), |()| loaded.verify());
    let load = time(turns, || (), |()| loaders.1.load(elf));
    let verify = time(turns, || (), |()| selkie::verify_only(&executable));
    let prepare = time(turns, || executable.clone(), selkie::prepare);
    let goal = program.loading_goal.and_then(|ratio| options.goal(Goal::Ratio(ratio)));
    let row = |group: &str, unit, anza, selkie, goal| Row {
        group: group.into(),
        name: program.name.into(),
        unit,
        anza,
        selkie,
        goal,
    };
    let per_slot = |ns: Figure| ns.map(|ns| ns / loaded.slots() as f64);
    vec![
        row("load", "us", us(anza_load), us(load), None),
        row("verify", "ns/insn", per_slot(anza_verify), per_slot(verify), None),
        row("prepare", "ns/insn", per_slot(anza_verify), per_slot(prepare), None),
        row("load+verify", "us", us(anza_load + anza_verify), us(load + verify), goal),
    ]
}

/// Compiling the whole program, and the size of the machine code.
fn compiling_rows(program: &ProgramFile, elf: &[u8], options: &Options) -> Vec<Row> {
    if !options.jit {
        return Vec::new();
    }
    let case = options.case(V0);
    let loaded = anza::Loader::new(&case).load(elf);
    let verified = selkie::prepare(selkie::Loader::new().load(elf));
    let turns = options.turns.div_ceil(2);
    let anza = time(turns, || loaded.forget_code(), |()| loaded.compile());
    let selkie = time(turns, || (), |()| selkie::compile(&case, &verified, true));
    let row = |group: &str, unit, anza: Figure, selkie: Figure, goal| {
        let per_instruction = |it: Figure| it.map(|it| it / loaded.instructions() as f64);
        Row {
            group: group.into(),
            name: program.name.into(),
            unit,
            anza: per_instruction(anza),
            selkie: per_instruction(selkie),
            goal: options.goal(goal),
        }
    };
    let code_bytes = selkie::compile(&case, &verified, true).bytes().len();
    let [anza_code, selkie_code] =
        [loaded.code_bytes(), code_bytes].map(|bytes| Figure::exact(bytes as f64));
    vec![
        row("compile all", "ns/insn", anza, selkie, Goal::Ratio(3.0)),
        row("code", "B/insn", anza_code, selkie_code, Goal::AtMost(20.0)),
    ]
}
