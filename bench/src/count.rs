//! Runs Selkie's side of a row a given number of times, for instruction counters.
//!
//! Everything that is counted runs in [`time_selkie`]; the same number of warm-up runs precedes it
//! whatever that number is, so that the difference of two counts is exact.

use crate::{
    kernels::{INPUT_BYTES, KERNELS, Kernel},
    options::Options,
    programs::{PROGRAMS, ProgramFile},
    run::{COMPUTE_UNIT_LIMIT, Case, Memory, RETURN_AT_ONCE, V0, V3, assemble, time_selkie},
    selkie::{self, Loader, Program},
};

/// Runs after which machine code is complete.
const WARM_UPS: u32 = 20;

/// Repeats one piece of work on a program's file.
type ProgramWork = fn(&ProgramFile, &[u8], &Options, u32);

/// The groups of programs' rows that can be counted: all but sums and sizes.
const PROGRAM_WORK: [(&str, ProgramWork); 7] = [
    ("transfer", transfer),
    ("load", load),
    ("verify", verify),
    ("prepare", prepare),
    ("compile all", compile_all),
    ("compile+run", compile_and_run),
    ("first result", first_result),
];

/// A row that can be counted.
pub(crate) enum Row {
    Kernel(Case, &'static Kernel),
    Invocation,
    Program(&'static str, ProgramWork, &'static ProgramFile),
}

/// The rows that `options` allow, in the order of the table.
pub(crate) fn rows(options: &Options) -> Vec<Row> {
    let kernels =
        [V0, V3].into_iter().flat_map(|case| KERNELS.iter().map(move |it| Row::Kernel(case, it)));
    let needs_jit = |group: &str| group.starts_with("compile") || group == "first result";
    let needs_transfer = |group: &str| ["transfer", "compile+run", "first result"].contains(&group);
    let programs = PROGRAM_WORK.iter().filter(|(group, _)| options.jit || !needs_jit(group));
    let programs = programs.flat_map(|&(group, work)| {
        let can =
            move |it: &&ProgramFile| it.transfer_compute_units.is_some() || !needs_transfer(group);
        PROGRAMS.iter().filter(can).map(move |it| Row::Program(group, work, it))
    });
    kernels.chain([Row::Invocation]).chain(programs).collect()
}

/// Returns whether `options` name the row: by its whole name, or else by a part of it.
pub(crate) fn picks(options: &Options, row: &str) -> bool {
    let rows: Vec<String> = rows(options).iter().map(Row::name).collect();
    let picks = |it: &String| if rows.contains(it) { row == it } else { row.contains(&**it) };
    options.names.is_empty() || options.names.iter().any(picks)
}

impl Row {
    /// Returns the row's name in the table.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Kernel(case, kernel) => format!("{} {}", case.name, kernel.name),
            Self::Invocation => "invocation mov64, exit".into(),
            Self::Program(group, _, program) => format!("{group} {}", program.name),
        }
    }

    /// Warms up, then runs the row `times` times. Returns `None` if the program's file is missing.
    pub(crate) fn repeat(&self, times: u32, options: &Options) -> Option<()> {
        match self {
            Self::Kernel(case, kernel) => {
                let case = options.kernel_case(*case, kernel);
                let elf = assemble(&kernel.assembly(), case.version);
                let memory = Memory::new(vec![0; INPUT_BYTES], kernel.input_regions);
                runs(&case, &elf, memory, times, options);
            }
            Self::Invocation => {
                let case = options.case(V0);
                let elf = assemble(RETURN_AT_ONCE, case.version);
                let mut program = Program::new(&case, &elf, options.jit);
                let mut memory = Memory::new(vec![0; 8], 1);
                for _ in 0..WARM_UPS + times {
                    program.invoke(&mut memory, COMPUTE_UNIT_LIMIT);
                }
            }
            Self::Program(_, work, program) => {
                work(program, &program.read(&options.elfs)?, options, times);
            }
        }
        Some(())
    }
}

fn runs(case: &Case, elf: &[u8], mut memory: Memory, times: u32, options: &Options) {
    let mut program = Program::new(case, elf, options.jit);
    for _ in 0..WARM_UPS + times {
        program.run(memory.restored(), COMPUTE_UNIT_LIMIT);
    }
}

fn transfer(program: &ProgramFile, elf: &[u8], options: &Options, times: u32) {
    let memory = Memory::new(program.transfer_input(), 1);
    runs(&options.case(V0), elf, memory, times, options);
}

fn load(_: &ProgramFile, elf: &[u8], _: &Options, times: u32) {
    let loader = Loader::new();
    for _ in 0..=times {
        time_selkie(|| loader.load(elf));
    }
}

fn verify(_: &ProgramFile, elf: &[u8], _: &Options, times: u32) {
    let executable = Loader::new().load(elf);
    for _ in 0..=times {
        time_selkie(|| selkie::verify_only(&executable));
    }
}

fn prepare(_: &ProgramFile, elf: &[u8], _: &Options, times: u32) {
    let executable = Loader::new().load(elf);
    for _ in 0..=times {
        let executable = executable.clone();
        time_selkie(|| selkie::prepare(executable));
    }
}

fn compile_all(_: &ProgramFile, elf: &[u8], options: &Options, times: u32) {
    let verified = selkie::prepare(Loader::new().load(elf));
    let case = options.case(V0);
    for _ in 0..=times {
        time_selkie(|| selkie::compile(&case, &verified, true));
    }
}

fn compile_and_run(program: &ProgramFile, elf: &[u8], options: &Options, times: u32) {
    let (case, loader) = (options.case(V0), Loader::new());
    let mut memory = Memory::new(program.transfer_input(), 1);
    for _ in 0..=times {
        let mut program = Program::load(&case, &loader, elf);
        let memory = memory.restored();
        time_selkie(|| program.first_result(&case, memory));
    }
}

fn first_result(program: &ProgramFile, elf: &[u8], options: &Options, times: u32) {
    let (case, loader) = (options.case(V0), Loader::new());
    let mut memory = Memory::new(program.transfer_input(), 1);
    for _ in 0..=times {
        let memory = memory.restored();
        time_selkie(|| Program::load(&case, &loader, elf).first_result(&case, memory));
    }
}
