//! Findings are grouped by lines and ranked, and errors are counted and explained.

use selkie::{Account, AccountMeta, Crash, Instruction, Pubkey, Svm, address};
use selkie_explore::{DefectKind, ExploreError, FailsOn, Options, Report, Target, explore};

/// Fails as the first byte of the data says, which are behind one account with eight bytes.
const PROGRAM: &str = "\
.accounts 1, 8
.globl entrypoint
entrypoint:
    mov64 r0, 0
    ldxb r2, [r1 + INSTRUCTION_DATA]
    jeq r2, 1, first
    jeq r2, 2, second
    jeq r2, 3, third
    jeq r2, 4, division
    jeq r2, 5, refused
    jeq r2, 6, endless
    exit
first:
    call fail
    exit
second:
    mov64 r3, 1
    call fail
    exit
third:
    call abort
division:
    div64 r2, r0
    exit
refused:
    mov64 r0, 101
    exit
endless:
    mov64 r3, 1
    mov64 r3, 2
    mov64 r3, 3
    ja endless
fail:
    call abort
    exit
";

/// The line of a text in the program, from 1.
fn line(text: &str) -> usize {
    PROGRAM.lines().position(|it| it == text).expect("it is there") + 1
}

fn id() -> Pubkey {
    address("program")
}

/// Calls of the program with a byte from `start` to `end`.
fn target(start: u64, end: u64, debug_info: bool) -> Target {
    let options = selkie_asm::Options {
        name: "program.s".to_owned(),
        debug_info,
        strip: !debug_info,
        ..selkie_asm::Options::default()
    };
    let output = selkie_asm::assemble(PROGRAM, &options);
    let found = output.render(false);
    let elf = output.assembly.unwrap_or_else(|| panic!("{found}")).to_elf();
    let setup = move || {
        let mut svm = Svm::new();
        svm.add_program(id(), elf.as_slice()).expect("it loads");
        svm.set_program_path(id(), "program.s");
        let account =
            Account { lamports: 1_000_000, data: vec![0; 8], owner: id(), ..Account::default() };
        svm.set_account(address("state"), account).expect("no sysvar");
        svm
    };
    Target::new(setup).fails_on(FailsOn::Trap).action("call", move |session| {
        let byte = u8::try_from(session.args.range(start, end)).expect("it is a byte");
        session.send(&[Instruction {
            program_id: id(),
            accounts: vec![AccountMeta::new(address("state"), false)],
            data: vec![byte],
        }]);
    })
}

fn search(target: &Target, runs: u64) -> Report {
    let options = Options { runs: Some(runs), findings_max: 99, ..Options::default() };
    explore(target, &options).expect("a call succeeds")
}

#[test]
fn findings_at_the_same_own_line_are_one_and_the_worst_come_first() {
    let target = target(0, 4, true)
        .invariant("lamports stay", |svm| match svm.balance(&address("state")) {
            1_000_000 => Ok(()),
            other => Err(format!("{other}")),
        })
        .action("pay", |session| {
            session.svm().set_account(address("state"), Account::default()).expect("no sysvar");
        });
    let report = search(&target, 1500);
    let kinds: Vec<(&str, DefectKind)> =
        report.findings.iter().map(|it| (it.kind.name(), it.kind)).collect();
    let panic = ("panic", DefectKind::Crash(Crash::Panic));
    let trap = ("trap", DefectKind::Crash(Crash::DivideByZero));
    assert_eq!(kinds, [panic, panic, trap, ("invariant", DefectKind::Invariant)]);
    let mut whats: Vec<&str> = report.findings.iter().map(|it| it.what.as_str()).collect();
    whats[..2].sort_unstable();
    // Two calls lead to the same line of `fail`.
    let at = |crash: &str, text: &str| format!("{crash} at program.s:{} in ", line(text));
    let third = PROGRAM.lines().position(|it| it == "third:").expect("it is there") + 2;
    let fail = PROGRAM.lines().position(|it| it == "fail:").expect("it is there") + 2;
    for (what, expected) in [
        (whats[0], format!("panic at program.s:{third} in ")),
        (whats[1], format!("panic at program.s:{fail} in ")),
        (whats[2], at("division by zero", "    div64 r2, r0")),
    ] {
        assert!(what.starts_with(&expected), "{what}: {expected}");
    }
    let [first, second, ..] = &report.findings[..] else { panic!("{whats:?}") };
    assert!(first.count > 10 && second.count > 10, "{} {}", first.count, second.count);
    let place = first.place.as_deref().expect("the program has lines");
    assert!(place.contains(":5 in "), "{place}");
    assert!(first.detail.contains(place), "{}", first.detail);
}

#[test]
fn without_debug_information_a_crash_is_told_by_its_slot() {
    let report = search(&target(0, 4, false), 1500);
    let whats: Vec<&str> = report.findings.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(whats.len(), 3, "{whats:?}");
    for what in whats {
        assert!(what.contains(" of program (") && what.contains(" at pc "), "{what}");
    }
}

#[test]
fn an_endless_loop_is_one_finding() {
    let target = target(0, 6, true);
    let report = search(&target, 300);
    let of =
        |crash| report.findings.iter().filter(|it| it.kind == DefectKind::Crash(crash)).count();
    assert_eq!(of(Crash::ComputeUnits), 1, "{:?}", report.progress);
}

#[test]
fn errors_are_counted_and_explained_instead_of_found() {
    let target = target(0, 0, true).action("refused", |session| {
        let data = vec![5];
        let accounts = vec![AccountMeta::new(address("state"), false)];
        session.send(&[Instruction { program_id: id(), accounts, data }]);
    });
    let report = search(&target, 1500);
    assert!(report.findings.is_empty());
    let refused = &report.progress.actions[1];
    assert_eq!((refused.successes, refused.errors.len()), (0, 1));
    assert_eq!(refused.errors[0].count, refused.calls);
    let explained = target.explain(&refused.errors[0]);
    assert_eq!(explained.error, "custom program error: 0x65");
    assert_eq!(explained.program, Some(format!("program ({})", id())));
    let place = explained.place.expect("the program has lines");
    let line = line("    mov64 r0, 101");
    assert!(place.starts_with(&format!("program.s:{line}:")), "{place}");
}

#[test]
fn a_search_that_is_given_up_tells_the_most_frequent_error() {
    let error = explore(&target(5, 5, true), &Options::default());
    let error = error.map(|it| it.findings.len()).unwrap_err();
    let ExploreError::NothingSucceeds(actions) = &error else { panic!("{error}") };
    let times = actions[0].calls;
    assert!(times >= 4096);
    let text = error.to_string();
    assert!(
        text.ends_with(&format!("`call` failed {times} times: custom program error: 0x65")),
        "{text}"
    );
}
