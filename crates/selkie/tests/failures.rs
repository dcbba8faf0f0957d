//! Explanations of failures: `testdata/receipts` has sources and the expected receipts.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use selkie::{
    Account, AirdropError, Check, Instruction, Pubkey, Signer, Svm, address, ids, keypair,
    programs, system, token,
};

const PROGRAM: Pubkey = Pubkey::new_from_array([7; 32]);

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/receipts")
}

/// Creates a temporary folder for one test.
fn folder(name: &str) -> PathBuf {
    let name = format!("selkie-failures-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn assemble(source: &str, name: &str, is_whole: bool) -> Vec<u8> {
    let options = selkie_asm::Options {
        name: name.to_owned(),
        debug_info: is_whole,
        strip: !is_whole,
        ..selkie_asm::Options::default()
    };
    let output = selkie_asm::assemble(source, &options);
    let found = output.render(false);
    output.assembly.unwrap_or_else(|| panic!("{found}")).to_elf()
}

/// Adds a program from a file and calls it; returns its receipt as text.
fn receipt(program: &Path) -> String {
    let mut svm = Svm::new();
    svm.add_program(PROGRAM, program).unwrap();
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    svm.process_instruction(&instruction, &[]).to_string()
}

#[test]
fn receipts_explain_traps_and_errors() {
    let folder = folder("traps");
    for entry in fs::read_dir(testdata()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "s") {
            continue;
        }
        let (source, name) = (fs::read_to_string(&path).unwrap(), path.file_name().unwrap());
        let name = name.to_str().unwrap();
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (program, debug) = (folder.join(stem).with_extension("so"), folder.join(stem));
        let debug = debug.with_extension("so.debug");
        let (stripped, whole) = (assemble(&source, name, false), assemble(&source, name, true));

        fs::write(&program, &whole).unwrap();
        assert_eq!(receipt(&program), expected.trim_end(), "{name}");
        // Debug information in a `.so.debug` file next to the program.
        fs::write(&program, &stripped).unwrap();
        fs::write(&debug, &whole).unwrap();
        assert_eq!(receipt(&program), expected.trim_end(), "{name}");
        // A debug file of another program is ignored.
        fs::write(&debug, assemble("exit", "other.s", true)).unwrap();
        assert!(selkie_inspect::debug_file(&program, &stripped).is_none());
        assert!(!receipt(&program).contains(&format!("{name}:")), "{name}");
        fs::remove_file(&debug).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn trap_reports_have_structured_fields() {
    let source = fs::read_to_string(testdata().join("divide.s")).unwrap();
    let mut svm = Svm::new();
    svm.add_program(PROGRAM, assemble(&source, "divide.s", true)).unwrap();
    let payer = keypair("payer");
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    let failed = svm.send_instructions(&[instruction], &[&payer]).unwrap_err();
    let trap = failed.receipt.trap().unwrap();
    let location = trap.place.location.as_ref().unwrap();
    assert_eq!((trap.place.function.as_deref(), location.line), (Some("share"), 9));
    assert_eq!((trap.callers.len(), trap.registers[1]), (1, 7));
    // A successful transaction has no trap, whatever failed before it.
    let transfer = system::transfer(&payer.pubkey(), &address("bob"), 1_000_000);
    assert_eq!(svm.send_instructions(&[transfer], &[&payer]).unwrap().trap(), None);
}

#[test]
fn failures_name_programs_older_than_their_sources() {
    let project = folder("stale");
    let (target, sources) = (project.join("target/deploy"), project.join("examples/vault/src"));
    let other = project.join("programs/other/src");
    for folder in [&target, &sources, &other] {
        fs::create_dir_all(folder).unwrap();
    }
    let program = target.join("my_vault.so");
    fs::write(&program, assemble("mov64 r0, 1\nexit", "vault.s", true)).unwrap();
    fs::write(project.join("examples/vault/Cargo.toml"), "[package]\nname = \"my-vault\"\n")
        .unwrap();
    let set = |path: &Path, seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
        fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    set(&program, 100);
    set(&sources.join("lib.rs"), 50);
    // Newer sources of another package do not count.
    set(&other.join("lib.rs"), 200);
    assert!(!receipt(&program).contains("is older than"), "{}", receipt(&program));
    set(&sources.join("lib.rs"), 150);
    let note = format!(
        "note: {} is older than {}: rebuild the program",
        program.display(),
        sources.join("lib.rs").display()
    );
    assert!(receipt(&program).contains(&note), "{}", receipt(&program));

    // A failed check on a successful transaction names stale programs, too.
    fs::write(&program, assemble("mov64 r0, 0\nexit", "vault.s", true)).unwrap();
    set(&program, 100);
    let mut svm = Svm::new();
    svm.add_program(PROGRAM, &program).unwrap();
    let instruction = Instruction { program_id: PROGRAM, accounts: vec![], data: vec![] };
    let receipt = svm.process_instruction(&instruction, &[]);
    let failures = receipt.check(Check::success().compute_units(5)).unwrap_err();
    assert!(failures.to_string().contains(&note), "{failures}");
    fs::remove_dir_all(project).unwrap();
}

#[test]
fn checks_show_where_bytes_differ() {
    let (owner, mint, from) = (address("owner"), address("mint"), address("from"));
    let id = programs::TOKEN.id;
    let data = token::account_data(&mint, &owner, 5);
    let account = Account { lamports: 10_000_000, data, owner: id, ..Account::default() };
    let transfer = token::transfer(&id, &from, &from, &owner, 1);
    let receipt = Svm::new().process_instruction(&transfer, &[(from, account)]);
    let mut expected = token::account_data(&mint, &owner, 6);
    expected[108] = 2;
    let check = Check::success()
        .return_data(&[1])
        .inner_instructions(&[(2, ids::system_program::ID)])
        .account(&from)
        .data(&expected)
        .data_slice(64, &[6, 0])
        .data_slice(160, &[0; 8])
        .owner(&ids::system_program::ID);
    let failures = receipt.check(check).unwrap_err();
    let expected = fs::read_to_string(testdata().join("checks.txt")).unwrap_or_default();
    assert_eq!(failures.to_string(), expected.trim_end());
    let shown = format!("{failures:?}");
    let (start, command) = shown.rsplit_once('\n').expect("it has lines");
    assert_eq!(start, expected.trim_end());
    assert!(command.starts_with("  debug: selkie debug "), "{command}");
}

#[test]
fn debug_of_errors_equals_display() {
    let error = AirdropError { balance: u64::MAX, lamports: 1 };
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = Svm::new().add_program(PROGRAM, "no/such/file.so").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().starts_with("cannot read no/such/file.so: "), "{error}");
    assert!(error.to_string().contains("\nhelp: build the program first"), "{error}");
    let error = Svm::load("no/such/file.state").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
}
