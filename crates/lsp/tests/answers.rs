//! The responses of the server. In sources, `|` is the cursor.

mod client;

use client::{Client, URI, cursor, place};
use serde_json::{Value, json};

const PROGRAM: &str = "\
; Offsets of the input.
.equ SIZE, 8 * 2
.globl entrypoint
.macro fail_unless register, value, code=1
    jeq \\register, \\value, ok_\\@
    mov64 r0, \\code
    exit
ok_\\@:
.endm
.struct Vault
.field owner, 32
.field amount, 8
.ends
; Where it starts.
; It has two lines.
entrypoint:
    ldxdw r2, [r1 + SIZE]
    fail_unless r2, SIZE
    add64 r2, Vault.amount
    jne r2, 0, out
    call sol_log_64_
1:  call helper
    jne r1, 0, 1b
out:
    exit
helper:
    r0 = *(u64 *)(r1 + 8)
    exit
";

fn text_of(hover: &Value) -> String {
    hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

/// The text at `before|after` in [`PROGRAM`].
fn program_at(mark: &str) -> (String, (u32, u32)) {
    let at = PROGRAM.find(&mark.replace('|', "")).unwrap_or_else(|| panic!("{mark}"));
    let at = at + mark.find('|').expect("the mark has a cursor");
    let (_, place) = cursor(&format!("{}|{}", &PROGRAM[..at], &PROGRAM[at..]));
    (PROGRAM.to_owned(), place)
}

#[track_caller]
fn check_hover(mark: &str, expected: &[&str]) {
    let (text, place) = program_at(mark);
    let found = text_of(&Client::open(&text).at("textDocument/hover", place));
    for expected in expected {
        assert!(found.contains(expected), "{mark}: {found}");
    }
}

#[test]
fn a_hover_describes_instructions_syscalls_registers_and_directives() {
    check_hover(
        "    ld|xdw r2",
        &[
            "ldxdw dst, [src + off]",
            "dst = *(u64 *)(src + off)",
            "opcode `0x79`, V0 V1 V3 V4, 1 CU",
            "slot 0: `79 12 10 00 00 00 00 00`",
        ],
    );
    check_hover("sol_|log_64_", &["sol_log_64_(a, b, c, d, e)", "Cost: 100 CU", "r1 = `a`"]);
    check_hover("ldxdw r|2", &["an argument"]);
    check_hover(".glo|bl", &[".global name", "Makes a symbol global"]);
    check_hover("    r|0 = ", &["ldxdw r0, [r1+0x8]", "1 CU"]);
}

#[test]
fn a_hover_shows_the_definition_and_value_of_a_name() {
    check_hover("[r1 + SI|ZE]", &[".equ SIZE, 8 * 2", "`16` (`0x10`)", "Offsets of the input."]);
    check_hover("entry|point:", &["slot 0", "Where it starts.\nIt has two lines."]);
    check_hover("Vault.am|ount", &[".field amount, 8", "`32` (`0x20`)"]);
    check_hover("    fail_un|less", &[".macro fail_unless register, value, code=1"]);
    check_hover("jeq \\regi|ster", &["a parameter"]);
    check_hover("8 * |2", &["`2`"]);
}

#[track_caller]
fn check_definition(mark: &str, expected: &str) {
    let (text, place) = program_at(mark);
    let found = Client::open(&text).at("textDocument/definition", place);
    let range = &found[0]["range"];
    let line = range["start"]["line"].as_u64().unwrap_or(u64::MAX);
    let line = usize::try_from(line).expect("lines are few");
    assert_eq!(PROGRAM.lines().nth(line).unwrap_or_default().trim(), expected, "{mark}: {found}");
}

#[test]
fn go_to_definition_finds_labels_constants_macros_parameters_and_fields() {
    check_definition("r2, 0, o|ut", "out:");
    check_definition("[r1 + |SIZE]", ".equ SIZE, 8 * 2");
    check_definition("    |fail_unless", ".macro fail_unless register, value, code=1");
    check_definition("\\va|lue", ".macro fail_unless register, value, code=1");
    check_definition("call help|er", "helper:");
    check_definition("Vault.amount|", ".field amount, 8");
    check_definition("0, 1|b", "1:  call helper");
}

#[test]
fn the_definition_of_a_generated_constant_is_its_directive() {
    let text = "entrypoint:\n.accounts 1\nldxdw r2, [r1 + ACCT0_DATA]\nexit\n";
    let mut client = Client::open(text);
    let found = client.at("textDocument/definition", (2, 18));
    assert_eq!(found[0]["range"]["start"]["line"], 1);
    let hover = text_of(&client.at("textDocument/hover", (2, 18)));
    assert_eq!(hover, "`ACCT0_DATA` = `96` (`0x60`)");
}

#[test]
fn references_and_highlights_are_found() {
    let (text, (line, character)) = program_at("[r1 + S|IZE]");
    let mut client = Client::open(&text);
    let mut params = place(line, character);
    params["context"] = json!({ "includeDeclaration": true });
    assert_eq!(client.ask("textDocument/references", params.clone()).as_array().unwrap().len(), 3);
    params["context"] = json!({ "includeDeclaration": false });
    assert_eq!(client.ask("textDocument/references", params).as_array().unwrap().len(), 2);
    let found = client.at("textDocument/documentHighlight", (line, character));
    assert_eq!(found.as_array().unwrap().len(), 3);
}

/// The document after the edits of a rename.
fn apply(text: &str, edit: &Value) -> String {
    let mut edits: Vec<&Value> = edit["changes"][URI].as_array().unwrap().iter().collect();
    edits.sort_by_key(|it| {
        let start = &it["range"]["start"];
        core::cmp::Reverse((start["line"].as_u64(), start["character"].as_u64()))
    });
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for edit in edits {
        let (start, end) = (&edit["range"]["start"], &edit["range"]["end"]);
        let number = |it: &Value| usize::try_from(it.as_u64().unwrap()).unwrap();
        let line = &mut lines[number(&start["line"])];
        let range = number(&start["character"])..number(&end["character"]);
        line.replace_range(range, edit["newText"].as_str().unwrap());
    }
    lines.join("\n")
}

#[track_caller]
fn check_rename(mark: &str, name: &str, pairs: &[(&str, &str)]) {
    let (text, (line, character)) = program_at(mark);
    let mut client = Client::open(&text);
    client.ask("textDocument/prepareRename", place(line, character));
    let mut params = place(line, character);
    params["newName"] = json!(name);
    let edit = client.ask("textDocument/rename", params);
    let expected = pairs.iter().fold(text.clone(), |text, (old, new)| text.replace(old, new));
    assert_eq!(apply(&text, &edit), expected);
}

#[test]
fn a_rename_changes_every_occurrence() {
    check_rename("0, o|ut", "done", &[("out", "done")]);
    check_rename(".equ S|IZE", "LENGTH", &[("SIZE", "LENGTH")]);
    check_rename(".macro f|ail", "check", &[("fail_unless", "check")]);
    check_rename("Vault.a|mount", "sum", &[("amount", "sum")]);
}

#[test]
fn a_rename_that_is_impossible_fails_with_a_reason() {
    let check = |mark: &str, name: &str, reason: &str| {
        let (text, (line, character)) = program_at(mark);
        let mut params = place(line, character);
        params["newName"] = json!(name);
        let (code, found) = Client::open(&text).fail("textDocument/rename", params);
        assert_eq!((code, found.as_str()), (-32803, reason), "{mark}");
    };
    check("ldxdw r|2", "x", "`r2` is a register");
    check("    |ldxdw", "x", "`ldxdw` is an instruction");
    check(".gl|obl", "x", "`.globl` is a directive");
    check("sol_|log_64_", "x", "`sol_log_64_` is a syscall and cannot be renamed");
    check("o|ut:", "helper", "`helper` is already defined");
    let rule =
        "is not a name: names consist of letters, digits, `_`, `.` and `$`, and are not registers";
    check("o|ut:", "r1", &format!("`r1` {rule}"));
    check("o|ut:", "a b", &format!("`a b` {rule}"));
}

#[track_caller]
fn check_completion(text: &str, with: &[&str], without: &[&str]) {
    let (text, place) = cursor(text);
    let found = Client::open(&text).at("textDocument/completion", place);
    let items = found.as_array().expect("it is a list");
    let labels: Vec<&str> = items.iter().filter_map(|it| it["label"].as_str()).collect();
    for it in with {
        assert!(labels.contains(it), "{it} is not among {labels:?}");
    }
    for it in without {
        assert!(!labels.contains(it), "{it} is among {labels:?}");
    }
}

#[test]
fn a_completion_offers_what_can_be_typed_at_the_cursor() {
    let names = ".equ SIZE, 1\n.macro check a\n.endm\nhere: exit\n";
    let check = |line: &str, with: &[&str], without: &[&str]| {
        check_completion(&format!("{names}{line}\n"), with, without);
    };
    check("  a|", &["add64", "call", ".equ", "check", "be16"], &["r1", "SIZE", "here", "lmul64"]);
    check("|", &["add64"], &["r1"]);
    check("label: |", &["add64"], &["r1"]);
    check("  add64 |", &["r1", "r10", "SIZE", "here"], &["add64", "sol_log_"]);
    check("  ldxw r1, [r2 + S|]", &["SIZE"], &["add64"]);
    check("  call s|", &["sol_log_", "here"], &["r1", "SIZE"]);
    check("  syscall |", &["sol_log_"], &["here"]);
    check("  jeq r1, 2, |", &["here"], &["r1", "SIZE"]);
    check("  if r1 > 2 goto |", &["here"], &["r1", "SIZE"]);
    check("  r1 = |", &["r1", "SIZE"], &["add64"]);
    check("  .quad |", &["here", "SIZE"], &["r1"]);
    check("  exit |", &[], &["r1"]);
    check("  add64 r1, 2 ; S|", &[], &["SIZE", "r1"]);
    check("  .ascii \"S|", &[], &["SIZE", "r1"]);
    check(".macro m first, second\n mov64 \\|", &["first", "second"], &["r1", "a"]);
    check("ja missing|", &["here"], &["missing"]);
}

#[test]
fn a_completion_shows_arguments_and_cost_of_a_syscall() {
    let found = Client::open("entrypoint: call sol_l\n").at("textDocument/completion", (0, 22));
    let items = found.as_array().unwrap();
    let item = items.iter().find(|it| it["label"] == "sol_log_").unwrap();
    assert_eq!(item["detail"], "sol_log_(addr, len)  +100… CU");
    assert_eq!(item["textEdit"]["range"]["start"]["character"], 17);
    assert!(item["documentation"]["value"].as_str().unwrap().contains("max(100, len)"));
}

#[test]
fn inlay_hints_show_compute_units_of_labels_and_syscalls() {
    let text = "\
.globl entrypoint
entrypoint:
    jeq r1, 0, out
    call sol_log_64_
out:
    call helper
    exit
helper:
    sub64 r1, 1
    jne r1, 0, helper
    exit
";
    let range = json!({
        "start": { "line": 0, "character": 0 },
        "end": { "line": 99, "character": 0 },
    });
    let mut client = Client::open(text);
    let params = json!({ "textDocument": { "uri": URI }, "range": range });
    let hints = client.ask("textDocument/inlayHint", params.clone());
    let hints: Vec<(u64, &str)> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["position"]["line"].as_u64().unwrap(), it["label"].as_str().unwrap()))
        .collect();
    assert_eq!(
        hints,
        [(1, "6… CU to exit"), (3, "+100 CU"), (4, "5… CU to exit"), (7, "3… CU to exit")]
    );
    // While the source does not assemble, the hints of the last program stay.
    client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": URI, "version": 2 },
            "contentChanges": [{ "text": text.replace("call helper", "call hel") }],
        }),
    );
    let hints = client.ask("textDocument/inlayHint", params);
    assert_eq!(hints.as_array().unwrap().len(), 4);
}

#[test]
fn diagnostics_follow_the_changes_of_a_document() {
    let client = Client::open("entrypoint:\n    mvo64 r0, 0\n    exit\n");
    let found = client.diagnostics();
    assert_eq!(found["version"], 1);
    let diagnostic = &found["diagnostics"][0];
    assert_eq!(diagnostic["message"], "unknown instruction `mvo64`\nhelp: did you mean `mov64`?");
    assert_eq!(diagnostic["severity"], 1);
    assert_eq!(diagnostic["range"]["start"], json!({ "line": 1, "character": 4 }));
    assert_eq!(diagnostic["range"]["end"], json!({ "line": 1, "character": 9 }));
    let range = diagnostic["range"].clone();
    let change = |version: i32, range: &Value, text: &str| {
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": version },
                "contentChanges": [{ "range": range, "text": text }],
            }),
        );
        client.diagnostics()
    };
    let found = change(2, &range, "mov64");
    assert_eq!((&found["version"], &found["diagnostics"]), (&json!(2), &json!([])));
    let end = json!({ "line": 3, "character": 0 });
    let found = change(3, &json!({ "start": end, "end": end }), "entrypoint: exit\n");
    let diagnostic = &found["diagnostics"][0];
    assert_eq!(diagnostic["message"], "`entrypoint` is defined twice: again here");
    let related = &diagnostic["relatedInformation"][0];
    assert_eq!(related["message"], "first defined here");
    assert_eq!(related["location"]["range"]["start"], json!({ "line": 0, "character": 0 }));
    client.notify("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(client.diagnostics()["diagnostics"], json!([]));
}

#[test]
fn a_suggestion_of_a_diagnostic_is_a_quick_fix() {
    let mut client = Client::open("entrypoint:\n    call sol_lgo_\n    exit\n");
    let range = json!({
        "start": { "line": 1, "character": 10 },
        "end": { "line": 1, "character": 10 },
    });
    let actions = client.ask(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": URI },
            "range": range,
            "context": { "diagnostics": [] },
        }),
    );
    assert_eq!(actions[0]["title"], "Change to `sol_log_`");
    assert_eq!(actions[0]["kind"], "quickfix");
    let edit = &actions[0]["edit"]["changes"][URI][0];
    assert_eq!(edit["newText"], "sol_log_");
    assert_eq!(edit["range"]["start"], json!({ "line": 1, "character": 9 }));
    assert_eq!(edit["range"]["end"], json!({ "line": 1, "character": 17 }));
}

/// Returns the labels of the signatures at `|`, the active one first, and its active parameter.
fn signatures(text: &str) -> (Vec<String>, String) {
    let (text, place) = cursor(text);
    let help = Client::open(&text).at("textDocument/signatureHelp", place);
    let Some(all) = help["signatures"].as_array() else { return (Vec::new(), String::new()) };
    let mut labels: Vec<String> =
        all.iter().map(|it| it["label"].as_str().expect("a label").to_owned()).collect();
    let active = help["activeSignature"].as_u64().map_or(0, |it| it.try_into().expect("few"));
    labels[..=active].rotate_right(1);
    let parameter = help["activeParameter"].as_u64().unwrap_or(99);
    let range = &all[active]["parameters"][usize::try_from(parameter).expect("few")]["label"];
    let at = |index: usize| range[index].as_u64().and_then(|it| usize::try_from(it).ok());
    let parameter = at(0).zip(at(1)).and_then(|(start, end)| labels[0].get(start..end));
    (labels.clone(), parameter.unwrap_or_default().to_owned())
}

#[track_caller]
fn check_signatures(text: &str, labels: &[&str], parameter: &str) {
    let (found, active) = signatures(text);
    assert_eq!((found, active.as_str()), (labels.iter().map(|&it| it.into()).collect(), parameter));
}

#[test]
fn signatures_are_the_forms_of_an_instruction() {
    let both = ["add64 dst, imm", "add64 dst, src"];
    check_signatures("add64 |", &both, "dst");
    check_signatures("f: add64 r1, |", &both, "imm");
    check_signatures("add64 r1, r|2", &["add64 dst, src", "add64 dst, imm"], "src");
    check_signatures("ldxdw r1, [r2 + |8]", &["ldxdw dst, [src + off]"], "[src + off]");
    check_signatures("stxb |[r1], r2", &["stxb [dst + off], src"], "[dst + off]");
    let [imm, src] = ["jeq dst, imm, target", "jeq dst, src, target"];
    check_signatures("jeq r1, 5, |", &[imm, src], "target");
    check_signatures("jeq r1, r5, |", &[src, imm], "target");
    check_signatures("lddw r1, |", &["lddw dst, imm64"], "imm64");
    check_signatures("callx |", &["callx register"], "register");
    check_signatures("exit |", &[], "");
    check_signatures("add64| r1", &[], "");
    check_signatures("add64 r1, 2 ; a comm|ent, too", &[], "");
    check_signatures("r1 = |", &[], "");
}

#[test]
fn the_signature_of_a_syscall_names_registers_and_arguments() {
    let log = "sol_log_64_(r1: a, r2: b, r3: c, r4: d, r5: e)";
    check_signatures("call sol_log_64_|", &[log], "");
    check_signatures("syscall sol_log_64_|", &[log], "");
    check_signatures("call |", &["call function or syscall"], "");
    check_signatures("call sol_log_64_|\nsol_log_64_:\nexit", &["call function or syscall"], "");
    let (text, place) = cursor("call sol_memcpy_|");
    let help = Client::open(&text).at("textDocument/signatureHelp", place);
    let found = &help["signatures"][0];
    let text = found["documentation"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("Cost: ") && text.contains("Available: always"), "{text}");
    assert_eq!(
        found["parameters"][0]["documentation"].as_str().map(|it| it.contains("argument")),
        Some(true)
    );
}

#[test]
fn directives_and_macros_have_signatures() {
    check_signatures(".fill 3, |", &[".fill count, size, value"], "size");
    check_signatures(".quad 1, 2, 3|", &[".quad value, …"], "value");
    check_signatures(".text |", &[], "");
    let text = ".macro fail register, code=1\nexit\n.endm\n fail r1, |";
    check_signatures(text, &["fail register, code=1"], "code=1");
}

/// Sources in a folder with C are linked with it, so that another object may define functions.
#[test]
fn a_source_beside_c_is_analysed_as_an_object() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/exchange/src");
    let mut client = Client::with(json!({ "capabilities": {} }));
    let mut published = |name: &str, text: &str| {
        client.open_at(&format!("file://{folder}/{name}"), text);
        client.diagnostics()["diagnostics"].clone()
    };
    let text = ".globl scale\nscale:\n    call of_c\n    exit\n";
    assert_eq!(published("scale.s", text), json!([]));
    let found = published("other.s", ".globl f\nf:\n    mov64 r1, SIZE\n    exit\n");
    let message = found[0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("undefined symbol `SIZE`"), "{found}");
}

#[test]
fn a_diagnostic_in_a_macro_is_at_its_call() {
    let client = Client::open(".macro m\n    mov64 r0\n.endm\nentrypoint:\n    m\n    exit\n");
    let found = client.diagnostics();
    let diagnostic = &found["diagnostics"][0];
    assert_eq!(diagnostic["range"]["start"], json!({ "line": 4, "character": 4 }));
}

#[test]
fn included_files_share_names_and_diagnostics() {
    let part = "file:///project/part.inc";
    let mut client = Client::with(json!({ "capabilities": {} }));
    // An included file alone has only syntax errors.
    client.open_at(
        part,
        ".equ SIZE, 8\n.macro twice x\n    add64 \\x, \\x\n.endm\nmov64 r1, UNKNOWN\n",
    );
    let found = client.diagnostics();
    assert_eq!((&found["uri"], &found["diagnostics"]), (&json!(part), &json!([])));
    client.open_at(
        URI,
        "entrypoint:\n.include \"part.inc\"\n    mov64 r0, SIZE\n    twice r0\n    exit\n",
    );
    let published = [client.diagnostics(), client.diagnostics()];
    let of = |uri: &str| {
        published.iter().find(|it| it["uri"] == uri).expect("its diagnostics were published")
    };
    assert_eq!(of(URI)["diagnostics"], json!([]));
    let wrong = &of(part)["diagnostics"][0]["message"];
    assert!(wrong.as_str().unwrap().starts_with("undefined symbol `UNKNOWN`"), "{wrong}");

    let found = client.at("textDocument/definition", (2, 15));
    assert_eq!(found[0]["uri"], part);
    let found = client.at("textDocument/definition", (3, 5));
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 7 }));
    let found = client.at("textDocument/definition", (1, 12));
    assert_eq!(found["uri"], part);
    let mut params = place(2, 15);
    params["newName"] = json!("LENGTH");
    let edit = client.ask("textDocument/rename", params);
    assert_eq!(edit["changes"][part].as_array().unwrap().len(), 1);
    assert_eq!(edit["changes"][URI].as_array().unwrap().len(), 1);
    // The other way around, too.
    let params = json!({
        "textDocument": { "uri": part },
        "position": { "line": 0, "character": 6 },
        "context": { "includeDeclaration": true },
    });
    let found = client.ask("textDocument/references", params);
    assert_eq!(found.as_array().unwrap().len(), 2);
}

#[test]
fn fields_are_children_of_their_structure() {
    let found = Client::open(PROGRAM).at("textDocument/documentSymbol", (0, 0));
    let names: Vec<(&str, u64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["kind"].as_u64().unwrap()))
        .collect();
    let (constant, method, structure, function, key) = (14, 6, 23, 12, 20);
    assert_eq!(
        names,
        [
            ("SIZE", constant),
            ("fail_unless", method),
            ("Vault", structure),
            ("entrypoint", function),
            ("out", key),
            ("helper", key),
        ]
    );
    assert_eq!(found[2]["children"].as_array().unwrap().len(), 2);
}

#[test]
fn folding_ranges_and_semantic_tokens_are_those_of_the_source() {
    let mut client = Client::open(PROGRAM);
    let folds = client.at("textDocument/foldingRange", (0, 0));
    let folds: Vec<(u64, u64)> = folds
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["startLine"].as_u64().unwrap(), it["endLine"].as_u64().unwrap()))
        .collect();
    for fold in [(3, 8), (9, 12), (13, 14), (25, 27)] {
        assert!(folds.contains(&fold), "{fold:?} is not among {folds:?}");
    }
    let tokens = client.at("textDocument/semanticTokens/full", (0, 0));
    // `.equ SIZE`: a keyword, a constant on the same line.
    assert_eq!(
        tokens["data"].as_array().unwrap()[..10],
        [1, 0, 4, 0, 0, 0, 5, 4, 4, 0].map(|it| json!(it))
    );
}

#[test]
fn documents_are_formatted_unless_they_have_syntax_errors() {
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": URI }, "options": options });
    let ask = |text: &str| Client::open(text).ask("textDocument/formatting", params.clone());
    let found = ask("a:\nmov64 r0,0 ; x\nexit");
    assert_eq!(found[0]["newText"], "a:\n    mov64 r0, 0  ; x\n    exit\n");
    assert_eq!(found[0]["range"]["end"], json!({ "line": 2, "character": 4 }));
    assert_eq!(ask("a:\n    exit\n"), json!([]));
    assert_eq!(ask("mov64 r0 0\n"), Value::Null);
}

#[test]
fn the_configuration_of_the_client_decides_how_sources_are_assembled() {
    let options = json!({ "arch": "v2", "defines": { "LEVEL": 3 } });
    let mut client = Client::with(json!({ "capabilities": {}, "initializationOptions": options }));
    client.open_at(URI, "entrypoint:\n    lmul64 r0, LEVEL\n    exit\n");
    assert_eq!(client.diagnostics()["diagnostics"], json!([]));
    client.notify(
        "workspace/didChangeConfiguration",
        json!({
            "settings": { "selkie": { "arch": "v0" } },
        }),
    );
    let found = client.diagnostics();
    let message = found["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("v0 has no `lmul64`"), "{message}");
}
