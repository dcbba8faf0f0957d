//! Questions of the explorer: what it asks of one transaction, and the limits of answers.

mod support;

use selkie_debug::explorer::Debugger;
use serde_json::{Value, json};

fn ask(question: Value) -> Value {
    try_ask(&Debugger::default(), question).unwrap()
}

fn try_ask(debugger: &Debugger, question: Value) -> Result<Value, String> {
    let open = || Ok(Some(support::session()));
    debugger.ask("create", &open, &question).map_err(|error| error.chain())
}

#[test]
fn a_run_and_its_calls_add_up() {
    let run = ask(json!({ "ask": "run" }));
    let steps = run["steps"].as_u64().unwrap();
    let invocations = run["invocations"].as_array().unwrap();
    assert_eq!(invocations[0]["end"], run["steps"]);
    assert!(invocations.iter().any(|it| it["height"] == 2 && it["start"] != it["end"]));
    assert_eq!((&run["failure"], &run["differences"]), (&Value::Null, &json!([])));
    let calls = ask(json!({ "ask": "calls" }));
    let calls = calls["calls"].as_array().unwrap();
    assert_eq!((&calls[0]["start"], &calls[0]["end"]), (&json!(0), &json!(steps)));
    // A call lies within the one above it.
    let mut open: Vec<&Value> = Vec::new();
    for call in calls {
        let level = usize::try_from(call["level"].as_u64().unwrap()).unwrap();
        open.truncate(level);
        if let Some(around) = open.last() {
            assert!(call["start"].as_u64() >= around["start"].as_u64(), "{call} in {around}");
            assert!(call["end"].as_u64() <= around["end"].as_u64(), "{call} in {around}");
        }
        open.push(call);
    }
}

#[test]
fn steps_lead_forward_and_back() {
    let debugger = Debugger::default();
    let here = |question| try_ask(&debugger, question).unwrap();
    let first = here(json!({ "ask": "step", "step": 100 }));
    assert_eq!(first["registers"].as_array().unwrap().len(), 11);
    let next = here(json!({ "ask": "go", "step": 100, "to": "in", "by": "instruction" }));
    assert_eq!((&next["step"], &next["before"]), (&json!(101), &first["registers"]));
    let back = json!({ "ask": "go", "step": 101, "to": "in", "by": "instruction", "back": true });
    assert_eq!(here(back)["registers"], first["registers"]);
    let syscall = here(json!({ "ask": "go", "step": 0, "to": "syscall" }));
    let at = syscall["step"].as_u64().unwrap();
    let code =
        json!({ "ask": "code", "program": syscall["program"], "from": syscall["pc"], "count": 1 });
    let text = here(code)["instructions"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("sol_"), "{text}");
    let before = json!({ "ask": "go", "step": at + 1, "to": "syscall", "back": true });
    assert_eq!(here(before)["step"], json!(at));
    // What an instruction wrote is told at the step after it.
    let is_store = |step: u64| {
        let it = here(json!({ "ask": "step", "step": step }));
        let code = json!({ "ask": "code", "program": it["program"], "from": it["pc"], "count": 1 });
        here(code)["instructions"][0]["text"].as_str().unwrap().starts_with("stx")
    };
    let store = (0..400).find(|step| is_store(*step)).unwrap();
    let after = here(json!({ "ask": "step", "step": store + 1 }));
    let write = &after["writes"][0];
    let who = json!({ "ask": "lastWrite", "step": store + 1, "invocation": 0, "vaddr": write["vaddr"], "len": 1 });
    assert_eq!(here(who)["step"], json!(store));
    let end = here(json!({ "ask": "step", "step": u64::MAX }));
    assert_eq!((&end["isEnd"], &end["registers"]), (&json!(true), &Value::Null));
}

#[test]
fn fields_of_the_input_have_names() {
    let input = ask(json!({ "ask": "input", "step": 0 }));
    let fields = input["fields"].as_array().unwrap();
    assert_eq!((&fields[0]["path"], &fields[0]["value"]), (&json!("accounts.len"), &json!("6")));
    assert!(fields.iter().any(|it| it["path"] == "program_id"));
    let rest = ask(json!({ "ask": "input", "step": 0, "from": 1 }));
    assert_eq!(rest["fields"][0], fields[1]);
}

#[test]
fn answers_have_limits_and_questions_are_checked() {
    let debugger = Debugger::default();
    let code = try_ask(&debugger, json!({ "ask": "code", "count": 1_000_000 })).unwrap();
    assert_eq!(code["instructions"].as_array().unwrap().len(), 500);
    let source =
        json!({ "ask": "source", "file": concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs") });
    assert_eq!(try_ask(&debugger, source), Ok(Value::Null));
    for (question, error) in [
        (json!({}), "`ask` is not text"),
        (json!({ "ask": "everything" }), "there is no method `everything`"),
        (json!({ "ask": "step" }), "`step` is missing"),
        (json!({ "ask": "go", "step": 0, "to": "up" }), "`to` is `up`"),
        (json!({ "ask": "go", "step": 0, "to": "in", "by": "day" }), "`by` is `day`"),
        (json!({ "ask": "go", "step": 0, "to": "place", "place": "nowhere" }), "no further step"),
        (json!({ "ask": "memory", "step": 0, "vaddr": 0, "len": 1 << 30 }), "is the maximum"),
        (json!({ "ask": "code", "program": 99 }), "there is no such program"),
        (json!({ "ask": "variable", "step": 0, "path": [7] }), "there is no such variable"),
        (json!({ "ask": "input", "step": u64::MAX }), "no program runs there"),
    ] {
        let found = try_ask(&debugger, question.clone()).unwrap_err();
        assert!(found.contains(error), "{question}: {found}");
    }
    let none = debugger.ask("other", &|| Ok(None), &json!({ "ask": "run" }));
    assert_eq!(none.unwrap(), Value::Null);
}
