//! Malformed input of every command: no panic, no hang, and a message that says what is wrong.

mod common;

use std::{fs, path::Path};

use common::{Output, fixture, folder, repository, selkie};

/// Runs the command; it must end by itself, with one of its exit codes.
fn survives(folder: &Path, arguments: &[&str]) -> Output {
    let output = selkie(folder, arguments);
    assert!(matches!(output.code, Some(0..=2)), "{arguments:?}: {output:#?}");
    assert!(!output.stderr.contains("panicked"), "{arguments:?}: {output:#?}");
    if output.code != Some(0) {
        assert!(!output.text().trim().is_empty(), "{arguments:?}: says nothing");
    }
    output
}

/// Every command that reads programs.
fn survive_program(folder: &Path, bytes: &[u8]) {
    fs::write(folder.join("program.so"), bytes).expect("the folder is writable");
    for command in ["check", "disasm", "cfg", "run"] {
        survives(folder, &[command, "program.so"]);
    }
    // To list machine code, the JIT compiles programs that the verifier rejects, too.
    survives(folder, &["disasm", "program.so", "--native"]);
    survives(folder, &["run", "program.so", "--engine", "jit"]);
}

/// A program built from `examples/hello.s`, with line tables.
fn hello(folder: &Path, arch: &str) -> Vec<u8> {
    let source = repository().join("examples/hello.s");
    let source = source.to_str().expect("the path is text");
    let built = selkie(folder, &["build", source, "-g", "-o", "hello.so", "--arch", arch]);
    assert_eq!(built.code, Some(0), "{built:#?}");
    fs::read(folder.join("hello.so")).expect("the file was written")
}

#[test]
fn truncated_programs_do_not_panic() {
    let folder = folder("robust-truncated");
    for arch in ["v0", "v3"] {
        let bytes = hello(&folder, arch);
        for len in (0..bytes.len()).step_by(bytes.len() / 24) {
            survive_program(&folder, &bytes[..len]);
        }
    }
}

#[test]
fn check_rejects_programs_with_a_truncated_section_table() {
    let folder = folder("robust-cut-off");
    for arch in ["v0", "v3"] {
        let bytes = hello(&folder, arch);
        let table = u64::from_le_bytes(bytes[40..48].try_into().expect("eight bytes"));
        let table = usize::try_from(table).expect("a small file");
        for len in (table + 1..bytes.len()).step_by(64).chain([bytes.len() - 1]) {
            fs::write(folder.join("cut.so"), &bytes[..len]).expect("the folder is writable");
            let output = survives(&folder, &["check", "cut.so"]);
            assert_eq!(output.code, Some(1), "{arch}, {len} bytes: {output:#?}");
        }
    }
}

#[test]
fn files_that_are_not_for_sbpf_are_named_as_such() {
    let folder = folder("robust-foreign");
    let mut bytes = hello(&folder, "v3");
    bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
    fs::write(folder.join("foreign.so"), &bytes).expect("the folder is writable");
    fs::write(folder.join("random.so"), [0x5a; 1000]).expect("the folder is writable");
    fs::write(folder.join("empty.so"), []).expect("the folder is writable");
    fs::write(folder.join("header.so"), &bytes[..40]).expect("the folder is writable");
    let cases = [
        ("foreign.so", "this ELF file is for x86-64, not for sBPF"),
        ("random.so", "not an ELF file"),
        ("empty.so", "the file is empty"),
        ("header.so", "the file ends inside its ELF header"),
    ];
    for (file, message) in cases {
        for command in ["check", "disasm", "cfg", "run"] {
            let output = survives(&folder, &[command, file]);
            assert_ne!(output.code, Some(0), "{output:#?}");
            assert!(output.text().contains(message), "{command} {file}: {output:#?}");
        }
    }
    let raw = survives(&folder, &["disasm", "random.so", "--raw"]);
    assert_eq!(raw.code, Some(0), "{raw:#?}");
}

#[test]
fn programs_with_an_inverted_byte_do_not_panic() {
    let folder = folder("robust-flipped");
    for arch in ["v0", "v3"] {
        let bytes = hello(&folder, arch);
        for at in (0..bytes.len()).step_by(bytes.len() / 24) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0xff;
            survive_program(&folder, &bytes);
        }
    }
}

#[test]
fn real_programs_cut_in_half_do_not_panic() {
    let folder = folder("robust-half");
    for base in ["53e587eee80c", "67053ed6b0c4"] {
        let bytes = fs::read(fixture(base)).expect("the file is there");
        survive_program(&folder, &bytes[..bytes.len() / 2]);
    }
}

#[test]
fn malformed_sources_are_rejected() {
    let folder = folder("robust-sources");
    let sources: [&[u8]; 7] = [
        b"\0\0\0\0",
        b"\xff\xfe\xfd",
        b"\x7fELF",
        b".macro m\nm\n.endm\nm",
        b".rept 1000000000\n.quad 0\n.endr",
        b".include \"program.s\"",
        "// \u{202e}\u{1f980}\nmov64 r\u{660}, 1".as_bytes(),
    ];
    for source in sources {
        fs::write(folder.join("program.s"), source).expect("the folder is writable");
        for command in ["build", "check", "run", "disasm", "cfg"] {
            let output = survives(&folder, &[command, "program.s"]);
            assert_ne!(output.code, Some(0), "{source:?}: {output:#?}");
        }
    }
}

#[test]
fn malformed_inputs_do_not_panic() {
    let folder = folder("robust-inputs");
    for input in ["", "[]", "null", "1", "{}", "{\"account\":1}", "{\"accounts\":1}", "[[[[[["] {
        fs::write(folder.join("input.json"), input).expect("the folder is writable");
        survives(&folder, &["input", "input.json"]);
        let hello = repository().join("examples/hello.s");
        survives(&folder, &["run", hello.to_str().expect("text"), "--input", "input.json"]);
    }
    for len in [0, 1, 7, 8, 9, 100] {
        for byte in [0, 1, 0xff] {
            fs::write(folder.join("input.bin"), vec![byte; len]).expect("the folder is writable");
            survives(&folder, &["input", "input.bin"]);
            survives(&folder, &["input", "input.bin", "--abi", "unaligned"]);
        }
    }
}

#[test]
fn a_program_rejected_by_the_verifier_is_reported() {
    let program = fixture("f762c0435a79");
    let output = survives(&repository(), &["check", &program]);
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("refused") && output.stdout.contains("verifier"), "{output:#?}");
    let run = survives(&repository(), &["run", &program]);
    assert_eq!(run.code, Some(1));
}

#[test]
fn completions_exist_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = selkie(&repository(), &["completions", shell]);
        assert_eq!(output.code, Some(0));
        for command in ["build", "conform", "disasm"] {
            assert!(output.stdout.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn the_help_of_every_command_has_examples() {
    let commands = ["build", "run", "check", "disasm", "cfg", "input", "conform", "completions"];
    for command in commands {
        let output = selkie(&repository(), &[command, "--help"]);
        assert_eq!(output.code, Some(0));
        assert!(output.stdout.contains(&format!("selkie {command} ")), "{output:#?}");
        assert!(output.stdout.contains("Examples:"), "{output:#?}");
    }
    let output = selkie(&repository(), &["--help"]);
    assert!(output.stdout.contains("Exit codes:"), "{output:#?}");
}

#[test]
fn writing_to_a_closed_pipe_does_not_panic() {
    let folder = folder("robust-pipes");
    let source = "hello.s";
    fs::copy(repository().join("examples/hello.s"), folder.join(source)).expect("it is there");
    let lines: [&[&str]; 17] = [
        &["--help"],
        &["--version"],
        &["run", "--help"],
        &["completions", "bash"],
        &["completions", "zsh"],
        &["disasm", source],
        &["disasm", source, "--native"],
        &["cfg", source],
        &["check", source],
        &["--json", "check", source],
        &["run", source],
        &["build", source, "-o", "hello.so"],
        &["deploy", source],
        &["program", "show"],
        &["--json", "frobnicate"],
        &["frobnicate"],
        &["check", "missing.so"],
    ];
    for arguments in lines {
        for closes_stderr in [false, true] {
            let output = closed(&folder, arguments, closes_stderr);
            assert!(matches!(output.status.code(), Some(0..=2)), "{arguments:?}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        }
    }
}

/// Runs the command with standard output, or both outputs, closed by the reader.
fn closed(folder: &Path, arguments: &[&str], closes_stderr: bool) -> std::process::Output {
    let pipe = || {
        let (reader, writer) = std::io::pipe().expect("a pipe can be created");
        drop(reader);
        writer
    };
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.current_dir(folder).args(arguments).env("HOME", folder).stdout(pipe());
    command.stderr(std::process::Stdio::piped());
    if closes_stderr {
        command.stderr(pipe());
    }
    command.output().expect("the command is built")
}
