//! Searches find what needs several steps and magic numbers, and always the same.

use selkie::{Account, AccountMeta, Instruction, Pubkey, Svm, address};
use selkie_explore::{
    Case, ExploreError, FailsOn, Fixture, Options, Report, explore, folder, reproduce,
};
use selkie_replay::ReplayFile;

/// A program with a bug that takes four calls in order: B(2), C(3), A(1), D(4). Its account keeps how
/// far it came; a wrong call succeeds, and starts over. The data are the letter, from 0, and a number
/// of eight bytes.
const STEPS: &str = "
entrypoint:
    ldxb r6, [r2+0]
    ldxdw r7, [r2+1]
    ldxb r8, [r1+0x60]          // account 0's data
    mov64 r9, 0
    jne r8, 0, second
    jne r6, 1, done
    jne r7, 2, done
    mov64 r9, 1
    ja done
second:
    jne r8, 1, third
    jne r6, 2, done
    jne r7, 3, done
    mov64 r9, 2
    ja done
third:
    jne r8, 2, fourth
    jne r6, 0, done
    jne r7, 1, done
    mov64 r9, 3
    ja done
fourth:
    jne r6, 3, done
    lddw r3, 4
    jne r7, r3, done
    mov64 r3, 0
    div64 r7, r3
done:
    stxb [r1+0x60], r9
    mov64 r0, 0
    exit
";

fn program(source: &str) -> Vec<u8> {
    let options = selkie_asm::Options::default();
    let output = selkie_asm::assemble(source, &options);
    assert!(output.diagnostics.is_empty(), "{:?}", output.diagnostics);
    output.assembly.expect("it assembles").to_elf()
}

fn id() -> Pubkey {
    address("steps")
}

fn chain() -> Svm {
    let mut svm = Svm::new();
    svm.add_program(id(), program(STEPS).as_slice()).expect("it loads");
    let account = Account { lamports: 1_000_000, data: vec![0], owner: id(), ..Account::default() };
    svm.set_account(address("state"), account).expect("no sysvar");
    svm
}

fn step(letter: u8, number: u64) -> Instruction {
    let data = [&[letter][..], &number.to_le_bytes()].concat();
    Instruction {
        program_id: id(),
        accounts: vec![AccountMeta::new(address("state"), false)],
        data,
    }
}

/// An action for each letter.
fn fixture() -> Fixture {
    let letters = (0..).zip(["a", "b", "c", "d"]);
    letters.fold(Fixture::new(chain).fails_on(FailsOn::Trap), |fixture, (letter, name)| {
        fixture.action(name, move |session| {
            let number = session.args.u64();
            session.send(&[step(letter, number)]);
        })
    })
}

fn search(seed: u64) -> Report {
    let options = Options { seed, runs: Some(100_000), ..Options::default() };
    explore(&fixture(), &options).expect("actions succeed")
}

#[test]
fn a_bug_of_four_steps_is_found_and_shrunk() {
    for seed in 0..3 {
        let report = search(seed);
        let [finding] = &report.findings[..] else { panic!("seed {seed}: {:?}", report.progress) };
        let names = fixture().action_names().join("");
        let calls = finding.case.calls.iter();
        let calls: Vec<_> = calls.map(|it| (&names[it.action..=it.action], &it.data[..])).collect();
        assert_eq!(calls, [("b", &[2][..]), ("c", &[3]), ("a", &[1]), ("d", &[4])]);
        assert!(report.progress.actions.iter().all(|it| it.successes > 0));
    }
}

#[test]
fn a_finding_fails_again_as_a_case_and_as_a_replay() {
    let report = search(7);
    let finding = &report.findings[0];
    let failure = reproduce(&fixture(), &finding.case).expect("it fails again");
    assert_eq!(failure.what, finding.what);
    let file = ReplayFile::parse(&finding.replay()).expect("it is a replay file");
    assert_eq!(file.len(), 4);
    let results: Vec<bool> = (0..4)
        .map(|index| file.timeline(index).expect("it can be replayed").receipt().is_ok())
        .collect();
    assert_eq!(results, [true, true, true, false]);
    let source = finding.test_source("fixture()");
    assert!(source.contains(&finding.text) && source.contains("#[test]"), "{source}");
}

#[test]
fn the_same_seed_gives_the_same_corpus_and_findings() {
    let [first, second] = [search(3), search(3)];
    assert_eq!(first.progress, second.progress);
    assert_eq!(first.corpus, second.corpus);
    assert_eq!(first.findings[0].case, second.findings[0].case);
}

#[test]
fn invariants_are_checked_after_each_action() {
    let fixture = fixture().invariant("the second step is never reached", |svm| {
        match svm.account(&address("state")).map(|account| account.data[0]) {
            Some(0 | 1) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    let report = explore(&fixture, &Options { runs: Some(100_000), ..Options::default() });
    let report = report.expect("actions succeed");
    assert_eq!(report.findings[0].what, "invariant `the second step is never reached`");
    assert_eq!(report.findings[0].detail, "Some(2)");
    assert_eq!(report.findings[0].case.calls.len(), 2);
}

#[test]
fn several_threads_find_it_too() {
    let options = Options { runs: Some(2_000_000), threads: 3, ..Options::default() };
    let report = explore(&fixture(), &options).expect("actions succeed");
    assert_eq!(report.findings[0].case.calls.len(), 4);
}

#[test]
fn a_search_in_which_nothing_succeeds_is_given_up() {
    let fixture = Fixture::new(chain).action("lost", |session| {
        session.send(&[Instruction { program_id: address("nothing"), ..step(0, 0) }]);
    });
    let error = explore(&fixture, &Options::default()).unwrap_err();
    assert!(matches!(&error, ExploreError::NothingSucceeds(Some(_))), "{error}");
    let error = explore(&Fixture::new(chain), &Options::default()).unwrap_err();
    assert_eq!(error, ExploreError::NoActions);
}

#[test]
fn a_corpus_is_read_as_it_was_written() {
    let names = ["a", "b", "c", "d"];
    let report = explore(&fixture(), &Options { runs: Some(2_000), ..Options::default() });
    let corpus = report.expect("actions succeed").corpus;
    let folder = std::env::temp_dir().join(format!("selkie-explore-{}", std::process::id()));
    folder::write(&folder, &corpus, &names).expect("it can be written");
    let mut read = folder::read(&folder, &names).expect("it can be read");
    std::fs::write(folder.join("damaged.case"), "{\"calls\":[{\"action\":\"e\",\"data\":\"\"}]}")
        .expect("ok");
    let error = folder::read(&folder, &names).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).expect("it is there");
    let mut written = corpus;
    written.sort_unstable();
    read.sort_unstable();
    assert_eq!(read, written);
    assert!(error.ends_with("calls[0]: there is no action `e`, only a, b, c, d"), "{error}");
}

#[test]
fn texts_that_are_no_cases_are_refused() {
    let error = |text: &str| Case::parse(text, &["a"]).unwrap_err().to_string();
    for (text, why) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("[]", "it has no list `calls`"),
        (r#"{"calls":[7]}"#, "calls[0]: `action` is not a string"),
        (r#"{"calls":[{"action":"a"}]}"#, "calls[0]: `data` is not a string"),
        (r#"{"calls":[{"action":"a","data":"0"}]}"#, "calls[0]: `data` is not hexadecimal"),
        (r#"{"calls":[{"action":"a","data":"zz"}]}"#, "calls[0]: `data` is not hexadecimal"),
    ] {
        assert_eq!(error(text), format!("not a case: {why}"), "{text}");
    }
    let long = |calls: usize| format!("{{\"calls\":[{}0]}}", "0,".repeat(calls));
    assert_eq!(error(&long(64)), "not a case: it has 65 calls, and 64 is the maximum");
}
