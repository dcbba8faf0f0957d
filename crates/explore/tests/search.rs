//! Searches find what needs several steps and magic numbers, and always the same.

use selkie::{Account, AccountMeta, Instruction, Pubkey, Svm, address};
use selkie_explore::{
    Call, CallSequence, Example, ExploreError, FailsOn, Harness, Idl, Options, Report, Target,
    explore, folder, reproduce,
};
use selkie_replay::ReplayFile;

/// A program with a bug that takes four calls in order: B(2), C(3), A(1), D(4).
const STEPS: &str = include_str!("../../../testdata/explore/steps.s");

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
fn target() -> Target {
    let letters = (0..).zip(["a", "b", "c", "d"]);
    letters.fold(Target::new(chain).fails_on(FailsOn::Trap), |target, (letter, name)| {
        target.action(name, move |session| {
            let number = session.args.u64();
            session.send(&[step(letter, number)]);
        })
    })
}

fn search(seed: u64) -> Report {
    let options = Options { seed, runs: Some(100_000), ..Options::default() };
    explore(&target(), &options).expect("actions succeed")
}

#[test]
fn a_bug_of_four_steps_is_found_and_shrunk() {
    for seed in 0..3 {
        let report = search(seed);
        let [finding] = &report.findings[..] else { panic!("seed {seed}: {:?}", report.progress) };
        let names = target().action_names().join("");
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
    let failure = reproduce(&target(), &finding.case).expect("it fails again");
    assert_eq!(failure.what, finding.what);
    let file = ReplayFile::parse(&finding.replay()).expect("it is a replay file");
    assert_eq!(file.len(), 4);
    let results: Vec<bool> = (0..4)
        .map(|index| file.timeline(index).expect("it can be replayed").receipt().is_ok())
        .collect();
    assert_eq!(results, [true, true, true, false]);
    let source = finding.test_source("target()");
    assert!(source.contains(&finding.text) && source.contains("#[test]"), "{source}");
}

/// Another fuzzer, as small as one can be: puts three bytes into an input that has raised a counter.
fn fuzz_bytes(harness: &mut Harness<'_>, runs: u32) -> Option<Vec<u8>> {
    let mut state = 1_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let (mut corpus, mut highest, mut map) = (vec![vec![]], [0; 64], [0; 64]);
    for _ in 0..runs {
        let mut input: Vec<u8> = corpus[random(corpus.len())].clone();
        let at = 3 * random(input.len() / 3 + 1);
        let [letter, number] = [random(4), random(8)].map(|it| u8::try_from(it).unwrap());
        input.splice(at..at, [letter, 1, number]);
        map.fill(0);
        let case = harness.case(&input);
        if harness.run(&case, &mut map).is_some() {
            return Some(input);
        }
        if map.iter().zip(&highest).any(|(count, highest)| count > highest) {
            highest.iter_mut().zip(&map).for_each(|(highest, count)| *highest |= count);
            corpus.push(input);
        }
    }
    None
}

#[test]
fn another_fuzzer_finds_the_bug_by_the_map() {
    let target = target();
    let mut harness = Harness::new(&target);
    let input = fuzz_bytes(&mut harness, 20_000).expect("it is found");
    let case = harness.case(&input);
    let finding = harness.finding(&case).expect("it fails again");
    let calls = finding.case.calls.iter().map(|it| (it.action, &it.data[..]));
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [(1, &[2][..]), (2, &[3][..]), (0, &[1][..]), (3, &[4][..])]
    );
    assert_eq!(finding.transactions.len(), 4);
    assert_eq!(harness.finding(&CallSequence::default()).map(|it| it.what), None);
}

#[test]
fn the_map_of_a_case_is_always_the_same() {
    let target = target();
    let map_of = |harness: &mut Harness<'_>, input: &[u8]| {
        let mut map = vec![0_u8; 1000];
        let case = harness.case(input);
        assert_eq!(harness.run(&case, &mut map), None);
        map
    };
    let mut harness = Harness::new(&target);
    let first = map_of(&mut harness, &[1, 1, 2]);
    assert!(first.iter().any(|count| *count > 0));
    let longer = map_of(&mut harness, &[1, 1, 2, 2, 1, 3]);
    assert_ne!(first, longer);
    assert_eq!(map_of(&mut harness, &[1, 1, 2]), first);
    assert_eq!(map_of(&mut Harness::new(&target), &[1, 1, 2]), first);
    // A call is counted by itself, so that repeating it looks no different.
    assert_eq!(map_of(&mut harness, &[0, 1, 9, 0, 1, 9]), map_of(&mut harness, &[0, 1, 9]));
    // No map is too short.
    let case = harness.case(&[1, 1, 2]);
    assert_eq!(harness.run(&case, &mut []), None);
}

#[test]
fn any_bytes_are_a_case() {
    let call = |action: usize, data: &[u8]| Call { action, data: data.to_vec() };
    for (bytes, calls) in [
        (&[][..], vec![]),
        (&[7], vec![call(3, &[])]),
        (&[1, 2, 9], vec![call(1, &[9])]),
        (&[1, 2, 9, 8, 6, 0], vec![call(1, &[9, 8]), call(2, &[])]),
        (&[0, 255, 1, 0, 5, 1], vec![call(0, &[5]), call(1, &[])]),
        (&[0, 255, 1], vec![call(0, &[1])]),
    ] {
        assert_eq!(CallSequence::from_bytes(bytes, 4), CallSequence { calls }, "{bytes:?}");
    }
    let case = CallSequence { calls: vec![call(2, &[7; 4096]), call(0, &[1; 255]), call(1, &[])] };
    assert_eq!(CallSequence::from_bytes(&case.to_bytes(), 4), case);
    assert_eq!(CallSequence::from_bytes(&[0; 1000], 4).calls.len(), 64);
    assert_eq!(CallSequence::from_bytes(&[1, 2, 3], 0), CallSequence::default());
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
    let target = target().invariant("the second step is never reached", |svm| {
        match svm.account(&address("state")).map(|account| account.data[0]) {
            Some(0 | 1) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    let report = explore(&target, &Options { runs: Some(100_000), ..Options::default() });
    let report = report.expect("actions succeed");
    assert_eq!(report.findings[0].what, "invariant `the second step is never reached`");
    assert_eq!(report.findings[0].detail, "Some(2)");
    assert_eq!(report.findings[0].case.calls.len(), 2);
}

#[test]
fn several_threads_find_it_too() {
    let options = Options { runs: Some(2_000_000), threads: 3, ..Options::default() };
    let report = explore(&target(), &options).expect("actions succeed");
    assert_eq!(report.findings[0].case.calls.len(), 4);
}

#[test]
fn a_search_in_which_nothing_succeeds_is_given_up() {
    let target = Target::new(chain).action("lost", |session| {
        session.send(&[Instruction { program_id: address("nothing"), ..step(0, 0) }]);
    });
    let error = explore(&target, &Options::default()).unwrap_err();
    let ExploreError::NothingSucceeds(actions) = &error else { panic!("{error}") };
    assert_eq!(actions[0].errors[0].count, actions[0].calls);
    assert!(error.to_string().contains("`lost` failed "), "{error}");
    let error = explore(&Target::new(chain), &Options::default()).unwrap_err();
    assert_eq!(error, ExploreError::NoActions);
}

#[test]
fn a_corpus_is_read_as_it_was_written() {
    let names = ["a", "b", "c", "d"];
    let report = explore(&target(), &Options { runs: Some(2_000), ..Options::default() });
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
    let error = |text: &str| CallSequence::parse(text, &["a"]).unwrap_err().to_string();
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

/// The steps as an interface: instructions whose discriminators are the letters.
const INTERFACE: &str = r#"{
    "address": "11111111111111111111111111111112",
    "instructions": [
        {"name": "a", "discriminator": [0], "accounts": [{"name": "state", "writable": true}],
         "args": [{"name": "number", "type": "u64"}]},
        {"name": "b", "discriminator": [1], "accounts": [{"name": "state", "writable": true}],
         "args": [{"name": "number", "type": {"defined": {"name": "Number"}}}]},
        {"name": "c", "discriminator": [2], "accounts": [{"name": "state", "writable": true}],
         "args": [{"name": "number", "type": {"array": ["u8", 8]}}]},
        {"name": "d", "discriminator": [3], "accounts": [{"name": "state", "writable": true}],
         "args": [{"name": "low", "type": "u32"}, {"name": "high", "type": "i32"}]}
    ],
    "types": [{"name": "Number", "type": {"kind": "struct", "fields": [
        {"name": "low", "type": "u16"}, {"name": "high", "type": {"array": ["u16", 3]}}
    ]}}]
}"#;

#[test]
fn a_fixture_of_an_interface_finds_the_same_bug() {
    let idl = Idl::parse(INTERFACE).expect("it is a description");
    assert!(idl.address.is_some());
    let target = idl.target(&chain(), id()).fails_on(FailsOn::Trap);
    assert_eq!(target.action_names(), ["a", "b", "c", "d"]);
    let options = Options { runs: Some(200_000), ..Options::default() };
    let report = explore(&target, &options).expect("actions succeed");
    let [finding] = &report.findings[..] else { panic!("{:?}", report.progress) };
    let actions: Vec<usize> = finding.case.calls.iter().map(|it| it.action).collect();
    assert_eq!(actions, [1, 2, 0, 3]);
}

#[test]
fn descriptions_without_instructions_are_refused() {
    for text in ["", "[]", "{}", r#"{"instructions": []}"#, r#"{"instructions": [{}]}"#] {
        assert!(Idl::parse(text).is_err(), "{text}");
    }
}

/// An interface with every form of account, seed and type.
const FORMS: &str = r#"{
    "instructions": [{
        "name": "openVault",
        "accounts": [
            {"name": "owner", "isMut": true, "isSigner": true},
            {"name": "vault", "isMut": true, "isSigner": false, "pda": {"seeds": [
                {"kind": "const", "value": [118]}, {"kind": "account", "path": "owner"},
                {"kind": "arg", "path": "name"}]}},
            {"name": "systemProgram", "isMut": false, "isSigner": false},
            {"accounts": [{"name": "state", "isMut": true, "isSigner": false}], "name": "group"}
        ],
        "args": [
            {"name": "name", "type": "string"}, {"name": "key", "type": "publicKey"},
            {"name": "list", "type": {"vec": {"option": "u128"}}},
            {"name": "kind", "type": {"defined": "Kind"}}, {"name": "endless", "type": {"defined": "Endless"}}
        ]
    }],
    "types": [
        {"name": "Kind", "type": {"kind": "enum", "variants": [
            {"name": "None"}, {"name": "Some", "fields": ["u8", "bool"]}]}},
        {"name": "Endless", "type": {"kind": "struct", "fields": [
            {"name": "it", "type": {"defined": "Endless"}}, {"name": "more", "type": {"vec": {"defined": "Endless"}}}]}}
    ]
}"#;

#[test]
fn every_form_of_an_interface_is_called() {
    let idl = Idl::parse(FORMS).expect("it is a description");
    let svm = {
        let mut svm = Svm::new();
        let exit = program("entrypoint:\n    mov64 r0, 0\n    exit\n");
        svm.add_program(id(), exit.as_slice()).expect("it loads");
        svm
    };
    // The discriminator of Anchor is a hash of the name.
    let discriminator = sha2_of("global:open_vault");
    let target = idl.target(&svm, id()).invariant("nothing", |_| Err("reached".to_owned()));
    let report = explore(&target, &Options { runs: Some(1000), ..Options::default() });
    let finding = &report.expect("it succeeds").findings[0];
    let case = finding.transactions[0].case(&|_| None).expect("it is recorded");
    let instructions = case.instructions().expect("they are recorded");
    let [instruction] = &instructions[..] else { panic!("one instruction") };
    assert_eq!(instruction.data[..8], discriminator);
    let [owner, vault, system, state] = &instruction.accounts[..] else { panic!("four accounts") };
    assert!(owner.is_signer && owner.is_writable);
    let name = &instruction.data[12..12 + usize::from(instruction.data[8])];
    let seeds = [b"v", owner.pubkey.as_ref(), name];
    assert_eq!(vault.pubkey, Pubkey::find_program_address(&seeds, &id()).0);
    assert_eq!(system.pubkey, Pubkey::default());
    assert_eq!(state.pubkey, address("state"));
}

#[test]
fn a_type_of_endless_empty_values_ends() {
    let mut kind = r#"{"defined": "Empty"}"#.to_owned();
    for _ in 0..14 {
        kind = format!(r#"{{"array": [{kind}, 1000000000000]}}"#);
    }
    let idl = format!(
        r#"{{"instructions": [{{"name": "go", "accounts": [],
            "args": [{{"name": "it", "type": {kind}}}]}}],
            "types": [{{"name": "Empty", "type": {{"kind": "struct", "fields": []}}}}]}}"#
    );
    let target = Idl::parse(&idl).expect("it is a description").target(&Svm::new(), id());
    let report = explore(&target, &Options { runs: Some(3), ..Options::default() });
    assert!(matches!(report, Err(ExploreError::NothingSucceeds(_))), "there is no program");
}

fn sha2_of(text: &str) -> [u8; 8] {
    use sha2::Digest as _;
    *sha2::Sha256::digest(text).first_chunk().expect("it is longer")
}

#[test]
fn an_example_is_called_with_other_data_and_other_accounts() {
    let example = Example { name: "step".to_owned(), instruction: step(0, 0) };
    let (target, cases) = Target::of_examples(&chain(), &[example]);
    assert_eq!(target.action_names(), ["step", "step, other accounts"]);
    let target = target.fails_on(FailsOn::Trap);
    // The search reaches the bug of four steps from one example of a step.
    let options = Options { runs: Some(400_000), seeds: cases, ..Options::default() };
    let report = explore(&target, &options).expect("the example succeeds");
    assert!(
        report.findings[0].what.starts_with("division by zero of "),
        "{:?}",
        report.findings[0].what
    );
}
