//! What gdb asks, and what it is told, packet by packet. `cargo xtask gdb` runs gdb itself.

use std::{fs, io::Cursor, path::Path};

use selkie::{Instruction, Svm, address};
use selkie_debug::{History, PathMap, Session, console::Console, gdb::serve};
use selkie_isa::Version;
use selkie_replay::{DebugFiles, ReplayFile};

/// The code of the first program, whose text is at 4 GiB.
const CODE: u64 = (1 << 36) + (1 << 32);
/// The size of the registers before r0 under its own name: x0 to x31 and pc.
const RISCV: usize = 33 * 8;

fn console() -> Console {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/dap");
    let source = fs::read_to_string(folder.join("squares.s")).unwrap();
    let options = selkie_asm::Options {
        version: Version::V3,
        name: "squares.s".to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    let elf = selkie_asm::assemble(&source, &options).assembly.unwrap().to_elf();
    let mut svm = Svm::new();
    svm.add_program(address("squares"), elf).unwrap();
    let call = Instruction { program_id: address("squares"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("squares", &[call], &[]);
    let timeline = ReplayFile::from(replay).timeline(0).unwrap();
    let history = History::new(timeline, &DebugFiles::default());
    Console::new(Session::new(history, PathMap::default()), Box::new(|_| None))
}

/// Sends packets, and returns the answer to each.
fn ask(packets: &[&str]) -> Vec<String> {
    let mut input = b"+".to_vec();
    for packet in packets {
        let sum = packet.bytes().fold(0_u8, u8::wrapping_add);
        input.extend(format!("${packet}#{sum:02x}+").bytes());
    }
    let mut output = Vec::new();
    let _ = serve(&mut Cursor::new(input), &mut output, console());
    let text: String = output.iter().map(|&it| char::from(it)).collect();
    let answers = text.split('$').skip(1);
    answers.map(|it| expanded(it.rsplit_once('#').unwrap().0)).collect()
}

/// Repeats the characters that are followed by `*` and a number of repetitions.
fn expanded(text: &str) -> String {
    let mut whole = String::new();
    let mut rest = text.chars();
    while let Some(it) = rest.next() {
        match (it, whole.chars().last()) {
            ('*', Some(last)) => {
                let count = rest.next().unwrap() as usize - 29;
                whole.extend(core::iter::repeat_n(last, count));
            }
            _ => whole.push(it),
        }
    }
    whole
}

/// Returns the registers pc, r0 and r6 of an answer to `g`.
fn registers(answer: &str) -> [u64; 3] {
    let bytes = hex(answer);
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    [word(RISCV - 8), word(RISCV), word(RISCV + 6 * 8)]
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|it| str::from_utf8(it).unwrap());
    digits.map(|it| u8::from_str_radix(it, 16).unwrap()).collect()
}

#[test]
fn breakpoints_stop_in_both_directions() {
    // `add64 r2, r0`, after the call.
    let at = CODE + 7 * 8;
    let insert = format!("Z0,{at:x},4");
    let answers = ask(&[&insert, "c", "g", "c", "g", "bc", "g", "bc"]);
    assert_eq!(answers[0], "OK");
    assert_eq!(registers(&answers[2]), [at, 1, 1]);
    assert_eq!(registers(&answers[4]), [at, 4, 2]);
    assert_eq!(registers(&answers[6]), [at, 1, 1]);
    assert_eq!(answers[7], "T05replaylog:begin;");
}

#[test]
fn steps_lead_by_an_instruction_in_both_directions() {
    let answers = ask(&["Hc1", "s", "s", "g", "bs", "g", "bs", "bs"]);
    assert_eq!(registers(&answers[3])[0], CODE + 3 * 8);
    assert_eq!(registers(&answers[5])[0], CODE + 2 * 8);
    assert_eq!(answers[7], "T05replaylog:begin;");
}

#[test]
fn the_run_ends_in_the_runtime() {
    let answers = ask(&["c", "g", "m300000000,8", "Hc1", "bs", "m300000000,8"]);
    assert_eq!(answers[0], "T05replaylog:end;");
    assert_eq!(registers(&answers[1])[0], 0x44);
    assert_eq!(answers[2], "E0e");
    assert_eq!(answers[5], "3700000000000000");
}

#[test]
fn watched_memory_stops_when_it_is_written() {
    let answers = ask(&["Z2,300000000,8", "c", "m300000000,8", "c", "m300000000,8"]);
    assert!(answers[1].contains("watch:0300000000"), "{}", answers[1]);
    assert_eq!(answers[2], "0100000000000000");
    assert_eq!(answers[4], "0500000000000000");
}

#[test]
fn frames_have_records_in_the_window() {
    // In `square`, which `entrypoint` has called: the record below the outermost one.
    let insert = format!("Z0,{:x},4", CODE + 19 * 8);
    let answers = ask(&[&insert, "c", "g", "m80000ffc0,40", "m80000ff80,40"]);
    let word = |answer: &str, at: usize| {
        u64::from_le_bytes(hex(answer)[at * 8..at * 8 + 8].try_into().unwrap())
    };
    assert_eq!(word(&answers[2], 31), 0x8_0000_ffc0, "x31 is the end of its record");
    assert_eq!(word(&answers[3], 7), 0x44, "the program returns to the runtime");
    assert_eq!(word(&answers[4], 7), CODE + 6 * 8, "the function returns behind its call");
    assert_eq!(word(&answers[4], 6), 1, "r6 of the caller");
}

#[test]
fn memory_and_registers_can_be_set() {
    let answers = ask(&["M300000000,1:2a", "m300000000,8", "c", "M300000000,1:00"]);
    assert_eq!(answers[..2], ["OK", "2a00000000000000"]);
    assert_eq!(answers[3], "E0e", "no program runs at the end");
}

#[test]
fn programs_are_fetched_as_files_for_risc_v() {
    let name: String = "/runtime".bytes().map(|it| format!("{it:02x}")).collect();
    let open = format!("vFile:open:{name},0,0");
    let answers = ask(&[&open, "vFile:pread:0,4,0", "vFile:pread:9,4,0", "vFile:close:0"]);
    assert_eq!(answers[0], "F00");
    assert_eq!(answers[1], "F04;\u{7f}ELF");
    assert!(answers[2].starts_with("F-1,"), "{}", answers[2]);
    let answers = ask(&["qXfer:libraries:read::0,fff", "qXfer:features:read:target.xml:0,40"]);
    assert!(answers[0].contains(".so\"><section address=\"0x1000000000\"/>"), "{}", answers[0]);
    assert!(answers[1].starts_with("m<?xml"), "{}", answers[1]);
}

#[test]
fn monitor_does_a_command_of_the_console() {
    let command: String = "p $r7".bytes().map(|it| format!("{it:02x}")).collect();
    let answers = ask(&[&format!("qRcmd,{command}")]);
    assert_eq!(hex(&answers[0][1..]), b"0\n");
}

#[test]
fn malformed_packets_are_errors() {
    for packet in
        ["qXfer:features:read:target.xml:zz,", "m,", "Z0,", "vFile:open:", "G00", "qRcmd,z"]
    {
        assert!(ask(&[packet, "g"]).len() <= 2, "{packet}");
    }
    let bad_sum = b"$g#00".to_vec();
    let ended = serve(&mut Cursor::new(bad_sum), &mut Vec::new(), console());
    assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}
