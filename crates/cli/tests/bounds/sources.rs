//! Assembler sources, and the files that they include.

use std::{fs, path::Path, process::Command};

use crate::{
    bound::{assert_short_lines, run, run_with},
    common::{Output, folder},
};

/// Runs every command that reads a source.
fn check(folder: &Path, source: &str) -> Vec<Output> {
    fs::write(folder.join("program.s"), source).expect("the folder is writable");
    let commands: [&[&str]; 5] = [
        &["check", "program.s"],
        &["build", "program.s", "-o", "built.so"],
        &["build", "-c", "program.s", "-o", "built.o"],
        &["fmt", "program.s", "--check"],
        &["disasm", "program.s"],
    ];
    commands.map(|arguments| run(folder, source.len(), arguments)).into()
}

#[test]
fn messages_shorten_a_name_of_a_megabyte() {
    let folder = folder("bounds-name");
    let name = "a".repeat(1_000_000);
    for source in [
        format!("ja {name}"),
        name.clone(),
        format!("{name}:\n{name}:\nexit"),
        format!(".equ {name}, 1\n.equ {name}, x"),
        format!("mov64 r0, {name}"),
        format!(".include \"{name}\""),
        format!(".error \"{name}\""),
        format!("call {name}"),
    ] {
        for output in check(&folder, &source).iter().take(3) {
            assert_short_lines(output);
        }
        run(&folder, source.len(), &["check", "program.s", "--json"]);
    }
}

#[test]
fn short_sources_that_generate_much_output() {
    let folder = folder("bounds-generated");
    let nested = (0..20).map(|_| ".rept 1000\n").collect::<String>() + &".endr\n".repeat(20);
    let twice = (1..64).map(|it| format!(".macro m{it}\nm{}\nm{}\n.endm\n", it - 1, it - 1));
    for source in [
        ".rept 1000000000\n.quad 0\n.endr".to_owned(),
        ".zero 1000000000000".to_owned(),
        ".rodata\n.fill 100000000, 8, 1".to_owned(),
        ".text_offset 0x7fffffff\nexit".to_owned(),
        ".p2align 60\nexit".to_owned(),
        nested,
        twice.collect::<String>() + ".macro m0\nexit\n.endm\nm63\n",
        format!("mov64 r0, {}1{}", "(".repeat(200_000), ")".repeat(200_000)),
        format!("mov64 r0, 1{}", "+1".repeat(200_000)),
        "\"".repeat(500_000),
        "a:".repeat(200_000),
        "1:\nja 1b\n".repeat(20_000),
        "ja 1f\n".repeat(50_000),
    ] {
        check(&folder, &source);
    }
}

#[cfg(unix)]
#[test]
fn devices_pipes_and_folders_are_not_included() {
    let folder = folder("bounds-fifo");
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(made.expect("there is mkfifo").success());
    for directive in [".include", ".incbin"] {
        for name in ["pipe", "/dev/zero", "/dev/stdin", "."] {
            let source = format!(".rodata\n{directive} \"{name}\"\n");
            let outputs = check(&folder, &source);
            let text = outputs[0].text();
            assert_eq!(outputs[0].code, Some(1), "{text}");
            let reason = if name == "." { "is a directory" } else { "not a regular file" };
            assert!(text.contains("program.s:2:") && text.contains(reason), "{text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn endless_inputs_are_rejected() {
    const PIPE_BYTES: usize = 64 << 20;
    let folder = folder("bounds-endless");
    for command in ["check", "input", "link", "disasm"] {
        let output = run(&folder, PIPE_BYTES, &[command, "/dev/zero"]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("/dev/zero: more than 64 MiB"), "{output:?}");
    }
}

#[test]
fn piped_sources_are_formatted() {
    let output = run_with(&folder("bounds-piped"), 0, &["fmt"], b"exit\n");
    assert_eq!(output.stdout, "    exit\n");
}
