//! Registers that a test suite writes: the test runs itself again, with the variables set.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::{self, Command},
};

use selkie::{Instruction, Signer as _, Svm, address, keypair, registers::RegisterTrace};

/// Runs a program that ends, and one that fails, in a transaction each.
#[test]
fn what_is_written() {
    run_both(&mut Svm::new());
}

fn run_both(svm: &mut Svm) {
    let payer = keypair("payer");
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    for (name, result) in [("good", 0), ("bad", 1)] {
        let source = format!(".globl entrypoint\nentrypoint:\n  mov64 r0, {result}\n  exit\n");
        let output = selkie_asm::assemble(&source, &selkie_asm::Options::default());
        let elf = output.assembly.unwrap().to_elf();
        svm.add_program(address(name), elf).unwrap();
        let instruction = Instruction::new_with_bytes(address(name), &[], Vec::new());
        let sent = svm.send_instructions(&[instruction], &[&payer]);
        assert_eq!(sent.is_ok(), result == 0, "{name}");
    }
}

/// Returns the traces by program, and checks the files beside them.
fn written(folder: &Path, filter: &str) -> BTreeMap<String, RegisterTrace> {
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", "what_is_written"]);
    again.env("SBF_TRACE_DIR", folder).env("SBF_TRACE_FILTER", filter);
    again.env("SBF_TRACE_DISASSEMBLE", "1");
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut traces = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "regs") {
            let program = fs::read_to_string(path.with_extension("program_id")).unwrap();
            let trace = RegisterTrace::read(&fs::read(&path).unwrap(), &program).unwrap();
            let instructions = fs::read(path.with_extension("insns")).unwrap();
            assert_eq!(instructions.len(), trace.steps.len() * 8);
            // The last instruction is `exit`.
            assert_eq!(instructions[8], 0x95, "{instructions:?}");
            let hash = fs::read_to_string(path.with_extension("exec.sha256")).unwrap();
            assert_eq!(hash.len(), 64);
            let text = fs::read_to_string(path.with_extension("trace")).unwrap();
            let last = text.lines().last().unwrap();
            assert!(
                last.starts_with("    1 [00000000000000") && last.ends_with("    1: exit"),
                "{text}"
            );
            traces.insert(program, trace);
        }
    }
    fs::remove_dir_all(folder).unwrap();
    traces
}

#[test]
fn registers_of_each_invocation_are_written_that_passes_the_filter() {
    let folder = env::temp_dir().join(format!("selkie-registers-{}", process::id()));
    let traces = written(&folder, "");
    let (good, bad) = (address("good").to_string(), address("bad").to_string());
    assert_eq!(traces.len(), 2);
    assert_eq!(traces[&good].steps.len(), 2);
    // The result is in r0 when `exit` begins, whose slot is the second one.
    assert_eq!((traces[&bad].steps[1][0], traces[&bad].steps[1][11]), (1, 1));
    let traces = written(&folder, &format!("program_id != {good}"));
    assert_eq!(traces.into_keys().collect::<Vec<_>>(), [bad]);
}

#[test]
fn files_are_numbered_by_invocation_and_transaction() {
    let folder = env::temp_dir().join(format!("selkie-numbered-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    // Of an earlier run with more transactions, and what is not ours.
    for name in ["0007__tx4.regs", "0007__tx4.program_id", "notes__tx.txt"] {
        fs::write(folder.join(name), "").unwrap();
    }
    let mut svm = Svm::new();
    svm.number_registers(&folder, None);
    run_both(&mut svm);
    let entries = fs::read_dir(&folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    let of = |stem: &str| {
        ["exec.sha256", "insns", "program_id", "regs"].map(|it| format!("{stem}.{it}"))
    };
    let expected = [&of("0001__tx1")[..], &of("0002__tx2"), &["notes__tx.txt".to_owned()]].concat();
    assert_eq!(names, expected);
    let program = fs::read_to_string(folder.join("0002__tx2.program_id")).unwrap();
    assert_eq!(program, address("bad").to_string());
    fs::remove_dir_all(folder).unwrap();
}
