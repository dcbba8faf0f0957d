//! The TextMate grammar that editors highlight sources with, as JSON.
//!
//! Its words come from the tables, so that no instruction, directive or syscall is missing. Words are
//! those of the lexer, which may contain `.` and `$`.

use selkie_asm::{directives, syntax::mnemonics};
use selkie_protocol::syscalls::SYSCALLS;
use serde_json::{Value, json};

/// The boundaries of a word: no character of a longer word comes before, or after.
const BEGIN: &str = r"(?<![\w.$\\])";
const END: &str = r"(?![\w.$])";
const NAME: &str = r"[A-Za-z_.$\x{80}-\x{10ffff}][\w.$\x{80}-\x{10ffff}]*";
const REGISTER: &str = r"(?:[rRwW](?:10|[0-9])|fp)";

/// Returns the text of `editors/sbpf.tmLanguage.json`.
#[must_use]
pub fn textmate() -> String {
    let grammar = json!({
        "name": "sBPF assembly",
        "scopeName": "source.sbpf",
        "fileTypes": ["s", "S", "asm", "inc"],
        "comment": "Made from tables by `cargo xtask codegen`; do not edit.",
        "patterns": ORDER.iter().map(|name| json!({ "include": format!("#{name}") })).collect::<Vec<_>>(),
        "repository": {
            "comments": comments(),
            "texts": texts(),
            "definitions": definitions(),
            "parameters": matches("variable.parameter", r"\\(?:@|\(\)|[A-Za-z_]\w*)"),
            "directives": words("keyword.control.directive", directives::names().filter(|it| !it.ends_with('_'))),
            "unwinding": matches("keyword.control.directive", &format!("{BEGIN}\\.cfi_\\w+")),
            "types": matches("storage.type", r"@(?:function|object|progbits|nobits|note)\b|\b[usi](?:8|16|32|64)(?=\s*\*?\))"),
            "registers": matches("variable.language.register", &format!("{BEGIN}{REGISTER}{END}")),
            "signs": matches("keyword.operator.sign", r"(?<=\s)s(?=\s*(?:>>=|[<>]=?|/=|%=))"),
            "syscalls": words("support.function.syscall", SYSCALLS.iter().map(|it| it.name)),
            "instructions": words("keyword.mnemonic", mnemonics()),
            "pseudo": words("keyword.control", ["if", "goto", "ll", "bswap16", "bswap32", "bswap64"]),
            "labels": matches("constant.other.label", r"(?<![\w.$])\d+[fb](?![\w.$])"),
            "numbers": matches("constant.numeric", r"(?<![\w.$])(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d[\d_]*)(?![\w.$])"),
            "operators": matches("keyword.operator", r"<<=|>>=|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|[-+*/%&|^~!<>=]"),
            "names": matches("variable.other", &format!("{BEGIN}{NAME}")),
        },
    });
    format!("{grammar:#}\n")
}

/// The rules, in the order in which they are tried.
const ORDER: &[&str] = &[
    "comments",
    "texts",
    "definitions",
    "parameters",
    "types",
    "registers",
    "signs",
    "unwinding",
    "directives",
    "syscalls",
    "instructions",
    "pseudo",
    "labels",
    "numbers",
    "operators",
    "names",
];

fn matches(scope: &str, pattern: &str) -> Value {
    json!({ "name": format!("{scope}.sbpf"), "match": pattern })
}

/// A rule that matches any of the words.
fn words(scope: &str, words: impl IntoIterator<Item = &'static str>) -> Value {
    let words: Vec<String> = words.into_iter().map(|it| it.replace('.', "\\.")).collect();
    matches(scope, &format!("{BEGIN}(?:{}){END}", words.join("|")))
}

fn comments() -> Value {
    json!({ "patterns": [
        { "name": "comment.line.sbpf", "match": "(?:;|#|//).*$" },
        { "name": "comment.block.sbpf", "begin": "/\\*", "end": "\\*/" },
    ] })
}

fn texts() -> Value {
    let escape = json!({
        "name": "constant.character.escape.sbpf",
        "match": r#"\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|[ntrbfvae\\"'])"#,
    });
    json!({ "patterns": [
        // A label in quotes is a name.
        { "name": "entity.name.label.sbpf", "match": r#""(?:\\.|[^"\\])*"(?=\s*:)"# },
        {
            "name": "string.quoted.double.sbpf",
            "begin": "\"",
            "end": "\"|$",
            "patterns": [escape],
        },
        {
            "name": "constant.character.sbpf",
            "match": r#"'(?:\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)|[^'\\])'"#,
        },
    ] })
}

/// The rules for definitions of labels, constants and macros.
fn definitions() -> Value {
    let defines = |directives: &str, scope: &str| {
        json!({
            "match": format!(r"{BEGIN}({directives})\s+({NAME})"),
            "captures": {
                "1": { "name": "keyword.control.directive.sbpf" },
                "2": { "name": format!("{scope}.sbpf") },
            },
        })
    };
    json!({ "patterns": [
        {
            "match": format!(r"(?:^|(?<=:))\s*({NAME}|\d+)\s*(:)"),
            "captures": {
                "1": { "name": "entity.name.label.sbpf" },
                "2": { "name": "punctuation.separator.sbpf" },
            },
        },
        {
            "match": format!(r"^\s*(?!{REGISTER}{END})({NAME})\s*(=)(?!=)"),
            "captures": {
                "1": { "name": "variable.other.constant.sbpf" },
                "2": { "name": "keyword.operator.sbpf" },
            },
        },
        defines(r"\.equ|\.equiv|\.set", "variable.other.constant"),
        defines(r"\.macro|\.purgem", "entity.name.function.macro"),
        defines(r"\.struct", "entity.name.type.struct"),
        defines(r"\.field", "variable.other.member"),
    ] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_tables_is_in_the_grammar() {
        let grammar: Value = serde_json::from_str(&textmate()).expect("it is JSON");
        let check = |part: &str, words: &mut dyn Iterator<Item = &'static str>| {
            let pattern = grammar["repository"][part]["match"].as_str().expect("it has a pattern");
            let known = pattern.trim_start_matches(BEGIN).trim_start_matches("(?:");
            let known: Vec<&str> = known.trim_end_matches(&format!("){END}")).split('|').collect();
            for word in words {
                assert!(known.contains(&word.replace('.', "\\.").as_str()), "{word}");
            }
        };
        check("instructions", &mut mnemonics().into_iter());
        check("syscalls", &mut SYSCALLS.iter().map(|it| it.name));
        check("directives", &mut [".equ", ".short", ".hword", ".ifdef"].into_iter());
    }

    #[test]
    fn every_rule_has_its_place_in_the_order() {
        let grammar: Value = serde_json::from_str(&textmate()).expect("it is JSON");
        let parts = grammar["repository"].as_object().expect("there are parts");
        assert_eq!(parts.len(), ORDER.len());
        assert!(ORDER.iter().all(|it| parts.contains_key(*it)));
    }
}
