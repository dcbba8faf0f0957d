//! The examples that the playground begins with, by questions as its page asks them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_wasm::Workbench;
use serde_json::{Value, json};

const SYSTEM: &str = "11111111111111111111111111111111";
const MEMO: &str = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const ALICE: &str = "5PjDJaGfSPJj4tFzMRCiuuAasKg5n8dJKXKenhuwZexx";
const BOB: &str = "5TeWSsjg2gbxCyWVniXeCmwM7UtHTCK7svzJr5xYJzHf";

fn ask(bench: &mut Workbench, method: &str, params: &Value) -> Value {
    let answer = bench.answer(&json!({ "method": method, "params": params }).to_string());
    serde_json::from_str(&answer).expect("answers are JSON")
}

fn result(bench: &mut Workbench, method: &str, params: &Value) -> Value {
    let mut answer = ask(bench, method, params);
    assert_eq!(answer["error"], Value::Null);
    answer["result"].take()
}

fn run(source: &str, accounts: Value, data: &[u8]) -> Value {
    let data = BASE64_STANDARD.encode(data);
    let params = json!([{ "source": source, "accounts": accounts, "instruction_data": data }]);
    result(&mut Workbench::default(), "run", &params)["run"].take()
}

/// Runs an example without accounts.
fn check(source: &str, error: Option<&str>, units: u64) {
    let run = run(source, json!([]), &[]);
    let found = run["error"].as_str();
    assert_eq!(found.is_some(), error.is_some(), "{run}");
    assert!(found.unwrap_or_default().contains(error.unwrap_or_default()), "{run}");
    assert_eq!(run["units"], units, "{run}");
}

#[test]
fn examples_of_registers_end_as_they_say() {
    check(include_str!("../../../examples/hello.s"), None, 105);
    check(include_str!("../../../examples/registers/arguments.s"), None, 9);
    check(include_str!("../../../examples/registers/preserved.s"), None, 10);
    check(include_str!("../../../examples/registers/error-code.s"), Some("0x258"), 2);
    // A program that traps has used up its units.
    let trap = Some("failed to complete");
    check(include_str!("../../../examples/registers/read-only.s"), trap, 200_000);
}

#[test]
fn the_first_byte_of_the_data_selects_what_is_done() {
    let source = include_str!("../../../examples/dispatch.s");
    let accounts = json!([{ "key": ALICE, "lamports": "1" }]);
    let error = |data: &[u8]| run(source, accounts.clone(), data)["error"].take();
    assert_eq!(error(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), Value::Null);
    for data in [&[2, 0, 0, 0, 0, 0, 0, 0, 0][..], &[0, 0, 0, 0]] {
        assert!(error(data).as_str().is_some_and(|it| it.ends_with("0x2")), "{data:?}");
    }
}

#[test]
fn changes_of_data_and_lamports_are_told() {
    let own = "8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff";
    let data = BASE64_STANDARD.encode(41_u64.to_le_bytes());
    let accounts =
        json!([{ "key": ALICE, "is_writable": true, "owner": own, "lamports": 1, "data": data }]);
    let counter =
        run(include_str!("../../../examples/counter/counter.s"), accounts, &1_u64.to_le_bytes());
    let after = BASE64_STANDARD.encode(42_u64.to_le_bytes());
    assert_eq!(counter["changes"][0]["after"]["data"], json!(after), "{counter}");
    let accounts = json!([
        { "key": ALICE, "is_signer": true, "is_writable": true, "lamports": "1000000" },
        { "key": BOB, "is_writable": true, "lamports": 5 },
        { "key": SYSTEM },
    ]);
    let pay = include_str!("../../../examples/pay/pay.s");
    let pay = run(pay, accounts, &250_000_u64.to_le_bytes());
    assert_eq!((&pay["error"], &pay["units"]), (&Value::Null, &json!(1153)), "{pay}");
    assert_eq!(pay["changes"][1]["after"]["lamports"], json!("250005"), "{pay}");
}

#[test]
fn well_known_programs_are_called() {
    let memo = run(include_str!("../../../examples/memo.s"), json!([{ "key": MEMO }]), &[]);
    let said = "Program log: Memo (len 14): \"from a program\"";
    assert!(memo["logs"].as_array().is_some_and(|it| it.contains(&json!(said))), "{memo}");
}

#[test]
fn each_line_has_what_it_took() {
    let hello = run(include_str!("../../../examples/hello.s"), json!([]), &[]);
    let lines = hello["lines"].as_array().expect("there are lines");
    let sum: u64 = lines.iter().filter_map(|it| it["units"].as_u64()).sum();
    assert_eq!(hello["units"], sum);
    assert!(lines.contains(&json!({ "count": 1, "line": 9, "units": 101 })), "{lines:?}");
}

#[test]
fn a_run_is_stepped_through_with_its_source() {
    let mut bench = Workbench::default();
    let source = include_str!("../../../examples/registers/preserved.s");
    let params = json!([{ "source": source, "version": "v0" }]);
    let ran = result(&mut bench, "run", &params);
    let mut ask = |question: Value| {
        result(&mut bench, "selkie_debugTransaction", &json!([ran["name"], question]))
    };
    let inner = ask(json!({ "ask": "step", "step": 4 }));
    // Before V3 there is a gap after each frame.
    assert_eq!(
        (&inner["registers"][6], &inner["registers"][10]),
        (&json!("0x2a"), &json!("0x200003000"))
    );
    let file = inner["frames"][0]["file"].clone();
    let lines = ask(json!({ "ask": "source", "file": file }));
    assert_eq!(lines["total"], source.lines().count());
    let outer = ask(json!({ "ask": "go", "step": 4, "to": "out", "by": "own" }));
    assert_eq!(outer["registers"][6], "0x3e7");
}

#[test]
fn diagnostics_have_places_as_pages_count() {
    let mut bench = Workbench::default();
    let source = "; ü𝄞\nmov r10, 999\nexti\n";
    let answer = result(&mut bench, "run", &json!([{ "source": source }]));
    assert_eq!((&answer["run"], &answer["program"]), (&Value::Null, &Value::Null));
    let found = answer["diagnostics"].as_array().expect("there are diagnostics");
    let text = |it: &Value| -> String {
        let at = |name: &str| {
            it[name].as_u64().and_then(|it| usize::try_from(it).ok()).expect("a place")
        };
        let units: Vec<u16> = source.encode_utf16().collect();
        String::from_utf16(&units[at("start")..at("end")]).expect("whole characters")
    };
    let texts: Vec<String> = found.iter().map(text).collect();
    assert!(texts.contains(&"r10".to_owned()) && texts.contains(&"exti".to_owned()), "{texts:?}");
    let fix = found.iter().find(|it| it["fix"] != Value::Null).expect("one has a fix");
    assert_eq!((&fix["fix"]["text"], text(&fix["fix"])), (&json!("exit"), "exti".to_owned()));
}

#[test]
fn files_are_made_disassembled_and_run() {
    let mut bench = Workbench::default();
    let source = include_str!("../../../examples/hello.s");
    let elf = result(&mut bench, "elf", &json!([{ "source": source }]));
    let listing =
        result(&mut bench, "disassemble", &json!([{ "elf": elf, "from": 0, "count": 10 }]));
    assert_eq!(
        (&listing["slots"], &listing["functions"][0]["name"]),
        (&json!(6), &json!("entrypoint"))
    );
    let ran = result(&mut bench, "run", &json!([{ "elf": elf }]));
    assert_eq!(ran["run"]["units"], 105);
    let text = result(&mut bench, "format", &json!(["entrypoint:\nexit\n"]));
    assert_eq!(text, "entrypoint:\n    exit\n");
}

#[test]
fn whatever_is_asked_has_an_answer() {
    let mut bench = Workbench::default();
    for (method, params, error) in [
        ("fly", json!([]), "there is no method `fly`"),
        ("assemble", json!([{}]), "the source is not text"),
        ("assemble", json!([{ "source": "exit", "version": "v9" }]), "not an sBPF version"),
        ("elf", json!([{ "source": "exti" }]), "the source has errors"),
        ("disassemble", json!([{ "elf": "AAAA" }]), "this is no program"),
        ("run", json!([{ "elf": "AAAA" }]), ""),
        (
            "run",
            json!([{ "source": "exit", "program_id": "x" }]),
            "program_id: `x` is not an address",
        ),
        (
            "run",
            json!([{ "source": "exit", "accounts": [{}] }]),
            "accounts[0]: key: the address is not text",
        ),
        ("run", json!([{ "source": "exit", "limit": -1 }]), "limit: -1 is no number of 64 bits"),
        ("selkie_debugTransaction", json!([1]), "the name of the run is not text"),
    ] {
        let answer = ask(&mut bench, method, &params);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty() && message.contains(error), "{method} {params}: {answer}");
    }
    assert!(bench.answer("{").contains("error"));
    let never = json!([{ "source": "it:\nja it\n", "limit": "5000" }]);
    assert_eq!(result(&mut bench, "run", &never)["run"]["units"], 5000);
}
