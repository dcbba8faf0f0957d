//! Kind `elf_load`: a program file under an engine configuration, in the shape of the suite.
//!
//! Where the fields of the expectation stand differs: beside the program, under `expect`, or under
//! `expect.ok`. Whatever is there is compared, and a vector that expects nothing fails.

use std::sync::Arc;

use selkie_elf::{ElfError, Executable, Syscalls};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Comparison, Context, Verdict,
    config::Config,
    context::program,
    vector::{Hex, Hex64, fnv1a, number, patch},
};

#[derive(Deserialize)]
struct Vector {
    #[serde(alias = "base", alias = "elf_fnv", alias = "fnv", alias = "elf_file", alias = "file")]
    elf: String,
    #[serde(default, alias = "truncate")]
    trunc: Option<usize>,
    #[serde(default, alias = "patch")]
    patches: Vec<(usize, Hex)>,
    #[serde(default)]
    config: Config,
    #[serde(default)]
    syscalls: Vec<String>,
}

/// Loads the file and compares the error, or what was loaded.
///
/// # Errors
/// If the vector is unreadable.
pub fn run(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    let mut bytes = match program(&vector.elf, context) {
        Ok(bytes) => bytes,
        Err(why) => return Ok(Verdict::Skipped(why)),
    };
    patch(&mut bytes, vector.trunc, &vector.patches);
    let environment = vector.config.environment(Arc::new(Syscalls::new(vector.syscalls)));
    let expected = Expected(line);
    let mut comparison = Comparison::default();
    match selkie_elf::load(&bytes, &environment) {
        Err(error) => compare_error(&mut comparison, &expected, &error),
        Ok(executable) => match expected.error() {
            Some(error) => comparison.differ("err", error, "the program loads"),
            None => compare_loaded(&mut comparison, &expected, &executable)?,
        },
    }
    Ok(comparison.verdict())
}

/// The fields of an expectation, wherever they stand.
struct Expected<'a>(&'a Value);

impl<'a> Expected<'a> {
    fn field(&self, name: &str) -> Option<&'a Value> {
        let expect = self.0.get("expect").or_else(|| self.0.get("exp"));
        let ok = expect.and_then(|expect| expect.get("ok"));
        let places = [ok, expect, Some(self.0)];
        let mut found = places.iter().flatten().filter_map(|place| place.get(name));
        found.find(|value| !value.is_null())
    }

    fn number(&self, name: &str) -> Result<Option<Hex64>, BadVector> {
        let unreadable = || BadVector(format!("`{name}` is no number"));
        self.field(name).map(|value| number(value).map(Hex64).ok_or_else(unreadable)).transpose()
    }

    fn error(&self) -> Option<&'a Value> {
        ["err", "debug", "display"].iter().find_map(|name| self.field(name))
    }
}

/// Compares name, `Debug` and `Display` of an error, as such or inside of the virtual machine's.
fn compare_error(comparison: &mut Comparison, expected: &Expected<'_>, error: &ElfError) {
    if expected.error().is_none() {
        return comparison.differ("err", "a program that loads", error);
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
        let got = got.iter().find(|got| **got == expected).or(got.first());
        comparison.check_if(field, Some(expected), got.unwrap_or(&String::new()));
    }
}

fn compare_loaded(
    comparison: &mut Comparison,
    expected: &Expected<'_>,
    executable: &Executable,
) -> Result<(), BadVector> {
    let (text, read_only) = (executable.text(), executable.read_only());
    let fields = [
        ("sbpf_version", executable.version() as u64),
        ("text_vaddr", executable.text_vaddr()),
        ("text_len", text.len() as u64),
        ("text_fnv", fnv1a(text)),
        ("entry_pc", u64::from(executable.entry_pc())),
        ("ro_vaddr", read_only.vaddr),
        ("ro_len", read_only.bytes.len() as u64),
        ("ro_fnv", fnv1a(&read_only.bytes)),
    ];
    for (name, got) in fields {
        comparison.check_if(name, expected.number(name)?, &Hex64(got));
    }
    if let Some(functions) = expected.field("functions") {
        compare_functions(comparison, functions, executable)?;
    }
    Ok(())
}

/// Compares functions in any order; a name that is left out is not compared.
fn compare_functions(
    comparison: &mut Comparison,
    expected: &Value,
    executable: &Executable,
) -> Result<(), BadVector> {
    let unreadable = || BadVector("`functions` is no list of [key, pc, name]".to_owned());
    let mut seen = 0;
    for function in expected.as_array().ok_or_else(unreadable)? {
        let field = |index| function.get(index).and_then(number);
        let (key, pc) = field(0).zip(field(1)).ok_or_else(unreadable)?;
        let found = u32::try_from(key).ok().and_then(|key| executable.functions().get(key));
        let name = function.get(2).and_then(Value::as_str);
        let matches = found.is_some_and(|found| {
            u64::from(found.pc) == pc && name.is_none_or(|name| name == found.name)
        });
        match matches {
            true => seen += 1,
            false => comparison.differ("functions", function, format_args!("{found:?}")),
        }
    }
    comparison.check("number of functions", &seen, &executable.functions().iter().len());
    Ok(())
}
