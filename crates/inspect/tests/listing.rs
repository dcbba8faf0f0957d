//! Listings: in anza's style, as source, as data.

mod support;

use std::sync::Arc;

use proptest::prelude::*;
use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, Executable, Functions, ReadOnly, Syscalls};
use selkie_inspect::{Listing, NamedProgram, TextOptions, listing::anza};
use selkie_isa::{
    Version,
    layout::RODATA_START,
    symbol::{murmur3, pc_key},
};
use support::{EXIT, Section, bytes, elf, program, symbols, word};

fn check_anza(program: &NamedProgram, expected: &str) {
    assert_eq!(anza(program), expected);
}

/// Without the first line, which names the version.
fn check_text(program: &NamedProgram, expected: &str) {
    let text = Listing::new(program).text(&TextOptions::default());
    assert_eq!(text.split_once('\n').unwrap().1, expected);
}

fn call(key: u32) -> u64 {
    word(0x85, 0x10, 0, key.cast_signed())
}

#[test]
fn anza_listing_labels_functions_and_joins() {
    let words = [
        word(0x15, 1, 1, 7),
        word(0x7b, 0x1a, -8, 0),
        word(0x18, 2, 0, -1),
        0,
        call(pc_key(7)),
        call(murmur3(b"sol_log_")),
        EXIT,
        word(0x05, 0, -1, 0),
    ];
    let functions = [(0, "entrypoint"), (7, "_ZN4core3ptr4read17h0123456789abcdefE")];
    check_anza(
        &program(Version::V0, &words, &functions),
        "entrypoint:
    jeq r1, 7, lbb_2
    stxdw [r10-0x8], r1
lbb_2:
    lddw r2, 0xffffffff
    call _ZN4core3ptr4read17h0123456789abcdefE
    syscall sol_log_
    exit

core::ptr::read::h0123456789abcdef:
    ja core::ptr::read::h0123456789abcdef
",
    );
}

#[test]
fn anza_listing_shows_unknown_opcodes_and_targets() {
    let words = [call(0x8000_0000), word(0x15, 0, 99, 0), word(0x9d, 0, 0, 0), 0, 0x18];
    let expected = "entrypoint:
    syscall -2147483648
    jeq r0, 0, [invalid]
    unknown opcode=0x9d
    unknown opcode=0x0
";
    check_anza(&program(Version::V0, &words, &[(0, "entrypoint")]), expected);
}

#[test]
fn anza_listing_skips_the_slot_after_an_lddw_opcode_in_v2() {
    let words = [0x18, EXIT, word(0x9c, 0x21, 3, 0), EXIT];
    let expected = "entrypoint:\n    unknown opcode=0x18\n    ldxdw r1, [r2+0x3]\n    exit\n";
    check_anza(&program(Version::V2, &words, &[(0, "entrypoint")]), expected);
}

#[test]
fn source_has_labels_and_function_names() {
    let words = [
        word(0x15, 1, 1, 7),
        word(0x7b, 0x1a, -8, 0),
        word(0x79, 0x10, 0, 0),
        call(pc_key(6)),
        call(murmur3(b"sol_log_")),
        EXIT,
        word(0x05, 0, -1, 0),
    ];
    let functions = [(0, "entrypoint"), (6, "_ZN4core3ptr4read17h0123456789abcdefE")];
    check_text(
        &program(Version::V0, &words, &functions),
        ".globl entrypoint
.text

entrypoint:
    jeq r1, 7, lbb_2
    stxdw [r10-0x8], r1
lbb_2:
    ldxdw r0, [r1]
    call _ZN4core3ptr4read17h0123456789abcdefE
    syscall sol_log_
    exit

; core::ptr::read
_ZN4core3ptr4read17h0123456789abcdefE:
    ja _ZN4core3ptr4read17h0123456789abcdefE
",
    );
}

#[test]
fn source_has_unique_labels_and_quotes_ambiguous_ones() {
    let functions = [(0, "r1"), (1, "r1"), (2, "a b\"c"), (3, "exit")];
    check_text(
        &program(Version::V3, &[EXIT; 4], &functions),
        ".globl \"r1\"
.text

\"r1\":
    exit

; r1
r1_1:
    exit

; a b\"c
\"a b_c\":
    exit

\"exit\":
    exit
",
    );
}

#[test]
fn source_writes_inexpressible_instructions_as_numbers() {
    let words = [
        word(0x07, 0x21, 0, 5),
        word(0x67, 1, 0, 64),
        word(0x37, 1, 0, 0),
        word(0xb7, 10, 0, 1),
        word(0x05, 0, 99, 0),
        word(0xff, 0, 0, 0),
        0,
        word(0xdc, 1, 0, 8),
        0x18,
    ];
    check_text(
        &program(Version::V0, &words, &[(0, "entrypoint")]),
        ".globl entrypoint
.text

entrypoint:
    .quad 0x0000000500002107                ; add64 r1, 5
    .quad 0x0000004000000167                ; lsh64 r1, 64
    .quad 0x0000000000000137                ; div64 r1, 0
    .quad 0x0000000100000ab7                ; mov64 r10, 1
    .quad 0x0000000000630005                ; ja lbb_104
    .quad 0x00000000000000ff
    .quad 0x0000000000000000
    .quad 0x00000008000001dc                ; be8 r1
    .quad 0x0000000000000018
",
    );
}

/// A V3 program with read-only data.
fn with_data(words: &[u64], data: &[u8]) -> NamedProgram {
    let read_only = ReadOnly { vaddr: RODATA_START, bytes: data.to_vec().into() };
    let (functions, syscalls) = (Functions::default(), Arc::new(Syscalls::default()));
    let executable =
        Executable::from_parts(Version::V3, bytes(words), 0, read_only, functions, syscalls);
    NamedProgram::new(executable.unwrap())
}

#[test]
fn source_writes_data_as_strings_pointers_zeros_and_bytes() {
    let words = [word(0x18, 1, 0, 2), 0, word(0x18, 1, 0, 16), 0, EXIT];
    let mut data = b"\x01\x02say \"hi\"\n\x00\x00\x00\x00\x00".to_vec();
    data.extend(bytes(&[0x1_0000_0020, 0, 0xff]));
    check_text(
        &with_data(&words, &data),
        ".globl entrypoint
.text

entrypoint:
    lddw r1, data_2                         ; \"say \\\"hi\\\"\\n\"
    lddw r1, data_10

function_4:
    exit

.rodata
    .byte 0x01, 0x02
data_2:
    .ascii \"say \\\"hi\\\"\\n\"
    .zero 5
data_10:
    .quad function_4
    .zero 8
    .quad 255
",
    );
}

#[test]
fn unnamed_syscall_is_written_by_key_from_v3() {
    let words = [word(0x85, 0, 0, 0x1234), EXIT];
    let expected = ".globl entrypoint\n.text\n\nentrypoint:\n    syscall 0x1234\n    exit\n";
    check_text(&program(Version::V3, &words, &[]), expected);
    let expected = expected
        .replace("syscall 0x1234", &format!("{:<39} ; syscall 4660", ".quad 0x0000123400000085"));
    check_text(&program(Version::V0, &words, &[]), &expected);
}

#[test]
fn raw_calls_until_v2_are_written_with_their_distance() {
    let words = [
        word(0x85, 0x20, 0, pc_key(3).cast_signed()),
        word(0x85, 0x00, 0, murmur3(b"sol_log_").cast_signed()),
        EXIT,
        EXIT,
    ];
    check_text(
        &program(Version::V0, &words, &[(0, "entrypoint"), (3, "helper")]),
        ".globl entrypoint
.text

entrypoint:
    .quad 0x0000000200002085                ; call helper
    syscall sol_log_
    exit

helper:
    exit
",
    );
}

#[test]
fn syscalls_that_only_the_file_names_are_declared() {
    let source = ".syscall custom\nentrypoint:\n    call custom\n    exit\n";
    let file = assemble(source, &Options::default()).assembly.unwrap().to_elf();
    let program = NamedProgram::open(&file, &Environment::default()).unwrap();
    check_text(
        &program,
        ".globl entrypoint\n.syscall custom\n.text\n\nentrypoint:\n    syscall custom\n    exit\n",
    );
}

#[test]
fn comments_show_addresses_and_bytes() {
    let listing = Listing::new(&program(Version::V3, &[EXIT], &[(0, "entrypoint")]));
    let text = listing.text(&TextOptions { addresses: true, bytes: true });
    let line =
        "    exit                                    ;      0 0x100000000  95 00 00 00 00 00 00 00";
    assert_eq!(text.lines().last(), Some(line));
}

#[test]
fn lines_have_slot_operands_target_and_function() {
    let words = [word(0x85, 0x10, 0, 1), EXIT, word(0x18, 1, 0, 2), 3, EXIT];
    let listing = Listing::new(&program(Version::V3, &words, &[(0, "entrypoint")]));
    assert_eq!((listing.entry_pc, listing.entry.as_deref()), (0, Some("entrypoint")));
    let pcs: Vec<u32> = listing.lines.iter().map(|line| line.pc).collect();
    assert_eq!(pcs, [0, 1, 2, 4]);
    let call = &listing.lines[0];
    assert_eq!((call.mnemonic.as_str(), call.target, call.cost), ("call", Some(2), 1));
    assert_eq!(call.operands, ["function_2"]);
    let raw = &listing.lines[2];
    assert_eq!((raw.vaddr, raw.bytes.len(), raw.is_function), (0x1_0000_0010, 16, true));
    assert_eq!(raw.function.as_deref(), Some("function_2"));
}

#[test]
fn listing_of_a_refused_file_has_the_error_of_the_loader() {
    let mut sections = vec![Section::new(".text", 64, bytes(&[word(0x85, 0x10, 0, 0), EXIT]))];
    sections.extend(symbols(&[(72, "helper")], 3));
    sections.push(Section::new(".bss", 0, vec![]));
    let file = elf(Version::V0, 64, sections);
    let program = NamedProgram::open(&file, &Environment::default()).unwrap();
    assert!(program.refusal().is_some());
    let text = Listing::new(&program).text(&TextOptions::default());
    assert!(text.contains("; not loadable: "), "{text}");
    assert!(text.contains("    call helper\n\nhelper:\n    exit\n"), "{text}");
    assert!(NamedProgram::open(b"no file", &Environment::default()).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_can_be_listed(
        version in 0_usize..5,
        text in prop::collection::vec(any::<u8>(), 0..200),
        codes in prop::collection::vec(prop::sample::select(&[0x05_u8, 0x15, 0x18, 0x85, 0x8d, 0x95][..]), 25),
    ) {
        let mut text = text;
        for (slot, code) in text.chunks_mut(8).zip(codes) {
            slot[0] = if slot[0] < 128 { code } else { slot[0] };
        }
        let program = NamedProgram::bare(Version::ALL[version], &text, &Arc::default());
        let listing = Listing::new(&program);
        let listed: usize = listing.lines.iter().map(|line| line.bytes.len()).sum();
        prop_assert_eq!(listed + listing.trailing.len(), text.len());
        let _ = (listing.text(&TextOptions::default()), anza(&program));
    }
}
