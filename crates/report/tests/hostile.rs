//! Damaged replay files: each is refused, or looked at in every way without a panic.

use selkie::{Instruction, Svm, address};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Coverage, Profile, Programs, coverage, diff::parting, profile, trace};

const SOURCE: &str = ".globl entrypoint
entrypoint:
    ldxdw r6, [r1+8]
    lddw r1, 0x300000000
    stxdw [r1], r6
    mov64 r2, 8
    call sol_log_
    call inner
    exit
inner:
    mov64 r0, 0
    exit
";

/// Compute units of a run, at most: a damaged program may loop.
const COMPUTE_UNITS: u64 = 20_000;

fn file() -> String {
    let options = selkie_asm::Options { debug_info: true, ..selkie_asm::Options::default() };
    let output = selkie_asm::assemble(SOURCE, &options);
    let budget = selkie::ComputeBudget { compute_unit_limit: COMPUTE_UNITS, heap_bytes: 32_768 };
    let mut svm = Svm::new().with_instruction_budget(budget);
    let elf = output.assembly.expect("the source has no errors").to_elf();
    svm.add_program(address("p"), elf).unwrap();
    let call = Instruction { program_id: address("p"), accounts: vec![], data: vec![1; 8] };
    svm.record_instructions("damaged", &[call], &[]).to_string()
}

fn look_at(timeline: &Timeline) {
    let (mut programs, mut units) = (Programs::default(), Profile::default());
    units.add(timeline, &mut programs);
    let sum: u64 = units.nodes().iter().map(|node| node.units).sum();
    assert_eq!(sum, timeline.receipt().compute_units);
    for format in profile::format::FORMATS {
        let _ = format.render(&units);
    }
    let mut executed = Coverage::default();
    executed.add(timeline, &mut programs);
    let files = executed.files(&mut programs);
    for format in coverage::format::FORMATS {
        let _ = format.render(&files, &|_| None);
    }
    let filter = trace::Filter { function: Some("inner".to_owned()), ..trace::Filter::default() };
    trace::registers(timeline, &mut programs, &filter, &mut Vec::new()).unwrap();
    let last = timeline.steps().saturating_sub(1);
    let state = timeline.state_at(last);
    if let Some(level) = state.levels.last() {
        let _ = timeline.last_write(last, level.invocation, level.registers[1], 8);
    }
    assert_eq!(parting(timeline, timeline), None);
}

#[test]
fn damaged_files_are_refused_or_run() {
    let text = file();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let (mut ran, mut refused) = (0, 0);
    for _ in 0..300 {
        let mut bytes = text.clone().into_bytes();
        // The program and the fields around it are in the last third.
        let at = bytes.len() - 1 - next(bytes.len() / 3);
        bytes[at] = *b"0Az9/\"{}[]:,1".get(next(13)).unwrap();
        let damaged = String::from_utf8(bytes).unwrap();
        let timeline = ReplayFile::parse(&damaged).and_then(|file| file.timeline(0));
        match timeline {
            Ok(timeline) if timeline.receipt().compute_unit_limit <= COMPUTE_UNITS => {
                look_at(&timeline);
                ran += 1;
            }
            Ok(_) => {}
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(ran > 20 && refused > 20, "{ran} ran, {refused} were refused");
}
