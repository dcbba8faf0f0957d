//! Expressions over registers and memory, without debug information.

use std::sync::Arc;

use selkie_debug::{
    DebugInfo, Expr, Guest, Operands, Unreadable, Value, View, info::TypeRef, value::Contents,
};

const HEAP: u64 = 0x3_0000_0000;

/// A program whose r1 points to 16 bytes, 0 to 15, and whose r2 is 7.
struct Stopped;

impl Guest for Stopped {
    fn register(&self, index: u16) -> Option<u64> {
        [None, Some(HEAP), Some(7)].get(usize::from(index)).copied().flatten()
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let len = bytes.len() as u64;
        let offset = address.checked_sub(HEAP).filter(|it| it + len <= 16);
        let offset = offset.ok_or(Unreadable { address, len })?;
        for (value, byte) in (offset..).zip(bytes) {
            *byte = u8::try_from(value).unwrap();
        }
        Ok(())
    }
}

impl Operands for Stopped {
    fn variable(&self, name: &str) -> Option<Value> {
        let pointer = || TypeRef::Pointer(Box::new(TypeRef::Unknown));
        match name {
            "count" => Some(Value::word(u64::MAX)),
            "lost" => Some(Value::new(pointer(), Contents::Absent)),
            _ => None,
        }
    }

    fn pc(&self) -> u64 {
        9
    }

    fn known(&self) -> Vec<String> {
        vec!["count".to_owned()]
    }
}

fn evaluate(source: &str) -> String {
    let info = DebugInfo::load(&Arc::from([]));
    let view = View { info: &info, guest: &Stopped };
    let text = Expr::parse(source).and_then(|it| it.text(view, &Stopped));
    text.unwrap_or_else(|error| error.explain(source))
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(evaluate(source), expected, "{source}");
}

#[test]
fn registers_and_memory_have_values() {
    check("$r2", "7");
    check("r2 + $pc", "16");
    check("*(u8*)($r1 + 3)", "3");
    check("*(u32*)$r1, x", "0x3020100");
    check("*(u64*)0x300000008, x", "0xf0e0d0c0b0a0908");
    check("((u8*)$r1)[15]", "15");
    check("((u16*)$r1)[1..3]", "[770, 1284]");
    check("((u8*)$r1)[0..8]", "[0, 1, 2, 3, 4, 5, 6, 7] = 506097522914230528 u64");
    check("&*(u8*)$r1", "0x300000000 → 0");
    check("(u8*)$r1 + 5", "0x300000005 → 5");
    check("*($r1 as *const u16)", "256");
    check("*((*const u16)$r1)", "256");
}

#[test]
fn arithmetic_wraps_as_the_type_does() {
    check("count + 1", "0");
    check("count", "18446744073709551615");
    check("1 + 2 * 3 - 4 / 2", "5");
    check("(1 + 2) * 3 % 5", "4");
    check("1 << 4 | 1", "17");
    check("-1", "-1");
    check("-1 as u8", "255");
    check("300 as u8", "44");
    check("70000 as u16 * 2", "8928");
    check("~$r2 & 0xff", "248");
    check("0b101 ^ 1, t", "0b100");
    check("'a'", "97");
    check("97, c", "'a'");
}

#[test]
fn conditions_are_true_or_false() {
    check("$r2 == 7 && count > 1", "true");
    check("$r2 != 7 || !($r2 < 3)", "true");
    check("-1 < $r2", "true");
    check("\"a\" == \"a\"", "true");
    // What is decided by the left side does not read the right one.
    check("false && *(u8*)0", "false");
}

#[test]
fn errors_point_to_their_part() {
    check("*(u64*)0x30000000c", "<the program has no memory at 0x30000000c (8 bytes)>");
    check("1 + *(u8*)0 ", "1 + *(u8*)0 \n^^^^^^^^^^^ the program has no memory at 0x0 (1 bytes)");
    check("other", "other\n^^^^^ no variable `other` here, there are count");
    check("$r3", "$r3\n^^^ the register is not known here: callers keep r6 to r10 alone");
    check("$r11", "$r11\n^^^^ not a register: there are $r0 to $r10, $pc and $sp");
    check("1 +", "1 +\n   ^ expected a value");
    check("(*count).total", "(*count).total\n  ^^^^^ it is not a pointer");
    check("lost->total", "lost->total\n^^^^ optimized out");
    check("(1", "(1\n  ^ expected `)`");
    check("1 / 0", "1 / 0\n^^^^^ division by zero");
    check("((u8*)$r1)[0..2][2]", "((u8*)$r1)[0..2][2]\n                 ^ there are 2 elements");
    check("\"text\" + 1", "\"text\" + 1\n^^^^^^ a text can only be compared");
    check("1 # 2", "1 # 2\n  ^ no operator starts so");
    check("0xzz", "0xzz\n^^^^ not a number of 64 bits");
}

#[test]
fn long_and_deep_expressions_are_refused() {
    let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
    assert!(evaluate(&deep).contains("nested too deeply"));
    assert!(evaluate(&"-".repeat(1000)).contains("nested too deeply"));
    assert!(evaluate(&format!("1{}", "+1".repeat(1000))).contains("too many parts"));
    assert!(evaluate(&"1".repeat(10_000)).contains("too long"));
    assert!(evaluate("((u8*)$r1)[0..1000000000000]").contains("no memory"));
}
