//! Kind `elf_load`: an ELF file under an engine configuration, in the format of the suite.
//!
//! The expectation is under `expect.ok`, under `expect`, or at the top level: the innermost object
//! that has any of its fields. All of them are compared, and a vector without any fails.

use std::{collections::BTreeSet, sync::Arc};

use selkie_elf::{ElfError, Executable, Syscalls};
use selkie_vm::VerifyError;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Missing, Verdict,
    config::SuiteConfig,
    context::program,
    vector::{Hex, Hex64, file_name, fnv1a, number, patch},
    verify::anza_debug,
};

/// The fields that can give the program: its bytes in hex, their hash, or a file name.
const PROGRAM: [&str; 8] =
    ["elf", "elf_hex", "elf_fnv", "fnv", "base", "elf_file", "file", "program"];

/// The fields that an expectation can have.
const EXPECTED: [&str; 12] = [
    "err",
    "debug",
    "display",
    "text_vaddr",
    "text_len",
    "text_fnv",
    "entry_pc",
    "ro_vaddr",
    "ro_len",
    "ro_fnv",
    "functions",
    "verify",
];

#[derive(Deserialize)]
struct Vector {
    #[serde(default, alias = "truncate")]
    trunc: Option<usize>,
    #[serde(default, alias = "patch")]
    patches: Vec<(usize, Hex)>,
    config: Option<SuiteConfig>,
    #[serde(default)]
    syscalls: BTreeSet<String>,
}

/// Loads the file and compares the error, or the loaded program.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    let mut bytes = match find_program(line, context)? {
        Ok(bytes) => bytes,
        Err(why) => return Ok(why.into()),
    };
    patch(&mut bytes, vector.trunc, &vector.patches);
    let syscalls = Arc::new(Syscalls::new(vector.syscalls));
    let environment = vector.config.unwrap_or_default().environment(syscalls);
    let expected = Expected::find(line)?;
    let mut check = Check::default();
    match selkie_elf::load(&bytes, &environment) {
        Err(error) => compare_error(&mut check, &expected, &error),
        Ok(executable) => match expected.error() {
            Some(error) => check.differ("err", error, "the program loads"),
            None => compare_loaded(&mut check, &expected, &executable)?,
        },
    }
    check.finish()
}

/// Judges a vector whose file the loader rejects, by the expected error.
pub(crate) fn judge_rejected(line: &Value, error: &ElfError) -> Result<Verdict, BadVector> {
    let mut check = Check::default();
    match Expected::find(line) {
        Ok(expected) => compare_error(&mut check, &expected, error),
        Err(_) => check.differ("load", "a program", error),
    }
    check.finish()
}

/// Returns the program from the first field that gives one, or the reason to skip the vector.
fn find_program(line: &Value, context: &Context) -> Result<Result<Vec<u8>, Missing>, BadVector> {
    let named = PROGRAM.iter().filter_map(|field| Some((*field, file_name(line.get(field)?)?)));
    let find = |(field, name): (&str, String)| match field.ends_with("fnv") {
        true => context.elf(&name).map(|bytes| bytes.to_vec()),
        false => program(&name, context),
    };
    let mut why = None;
    for program in named.map(find) {
        match program {
            Ok(bytes) => return Ok(Ok(bytes)),
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    why.map(Err).ok_or_else(|| BadVector("it has no program".to_owned()))
}

/// The object of a vector that has the expected fields.
struct Expected<'a>(&'a Value);

impl<'a> Expected<'a> {
    fn find(line: &'a Value) -> Result<Self, BadVector> {
        let expect = line.get("expect").or_else(|| line.get("exp"));
        let ok = expect.and_then(|expect| expect.get("ok"));
        let mut objects = [ok, expect, Some(line)].into_iter().flatten().map(Self);
        let expected = objects.find(|it| EXPECTED.iter().any(|field| it.field(field).is_some()));
        expected.ok_or_else(|| BadVector("it expects no field that is supported".to_owned()))
    }

    fn field(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn number(&self, name: &str) -> Result<Option<Hex64>, BadVector> {
        let unreadable = || BadVector(format!("`{name}` is not a number"));
        self.field(name).map(|value| number(value).map(Hex64).ok_or_else(unreadable)).transpose()
    }

    fn error(&self) -> Option<&'a Value> {
        ["err", "debug", "display"].iter().find_map(|name| self.field(name)).filter(|it| **it != 0)
    }
}

/// Compares name, `Debug` and `Display` of an error, either plain or wrapped in the virtual machine's
/// error.
fn compare_error(check: &mut Check, expected: &Expected<'_>, error: &ElfError) {
    if expected.error().is_none() {
        check.differ("err", "a program that loads", error);
        return;
    }
    let debug = format!("{error:?}");
    let name = debug.split('(').next().unwrap_or_default().to_owned();
    let texts = [
        ("err", vec![name, "ElfError".to_owned(), (error.discriminant() + 1).to_string()]),
        ("debug", vec![debug.clone(), format!("ElfError({debug})")]),
        ("display", vec![error.to_string(), format!("ELF error: {error}")]),
    ];
    for (field, got) in texts {
        let Some(expected) = expected.field(field) else { continue };
        let expected = expected.as_str().map_or_else(|| expected.to_string(), str::to_owned);
        match got.contains(&expected) {
            true => check.same(field, &expected, &expected),
            false => check.differ(field, expected, got.join(" or ")),
        }
    }
}

fn compare_loaded(
    check: &mut Check,
    expected: &Expected<'_>,
    executable: &Executable,
) -> Result<(), BadVector> {
    let (text, read_only) = (executable.text(), executable.read_only());
    let fields = [
        ("text_vaddr", executable.text_vaddr()),
        ("text_len", text.len() as u64),
        ("text_fnv", fnv1a(text)),
        ("entry_pc", u64::from(executable.entry_pc())),
        ("ro_vaddr", read_only.vaddr),
        ("ro_len", read_only.bytes.len() as u64),
        ("ro_fnv", fnv1a(&read_only.bytes)),
    ];
    for (name, got) in fields {
        check.equal(name, expected.number(name)?, Hex64(got));
    }
    if let Some(verify) = expected.field("verify") {
        compare_verified(check, verify, selkie_vm::verify(executable));
    }
    if let Some(functions) = expected.field("functions") {
        compare_functions(check, functions, executable)?;
    }
    Ok(())
}

/// Compares the verifier's result: `true`, 0 or `"ok"`, or the error's name, number or texts.
fn compare_verified(check: &mut Check, expected: &Value, verified: Result<(), VerifyError>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let name_of = |debug: &str| debug.split('(').next().unwrap_or_default().to_owned();
    let (debug, display, number) = match verified {
        Ok(()) => ("ok".to_owned(), "ok".to_owned(), 0),
        Err(error) => (anza_debug(&error), error.to_string(), error.discriminant() + 1),
    };
    let got = [name_of(&debug), debug, display, number.to_string(), (number == 0).to_string()];
    let expected = ["debug", "display", "err"]
        .iter()
        .find_map(|it| expected.get(it))
        .unwrap_or(if expected.get("ok").is_some() { &Value::Bool(true) } else { expected });
    match got.contains(&text(expected)) {
        true => check.same("verify", 0, 0),
        false => check.differ("verify", expected, got.join(" or ")),
    }
}

/// Compares functions in any order; a missing name is not compared.
fn compare_functions(
    check: &mut Check,
    expected: &Value,
    executable: &Executable,
) -> Result<(), BadVector> {
    let unreadable = || BadVector("`functions` is not a list of [key, pc, name]".to_owned());
    let mut seen = 0;
    for function in expected.as_array().ok_or_else(unreadable)? {
        let field = |index| function.get(index).and_then(number);
        let (key, pc) = field(0).zip(field(1)).ok_or_else(unreadable)?;
        let got = u32::try_from(key).ok().and_then(|key| executable.functions().get(key));
        let name = function.get(2).and_then(Value::as_str);
        let matches = got
            .is_some_and(|got| u64::from(got.pc) == pc && name.is_none_or(|name| name == got.name));
        match matches {
            true => seen += 1,
            false => check.differ("functions", function, format_args!("{got:?}")),
        }
    }
    check.same("number of functions", &seen, &executable.functions().iter().len());
    Ok(())
}
