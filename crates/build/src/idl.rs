//! Anchor's IDL: the instructions, accounts, types and errors of a program, as clients read them.
//!
//! With its feature `idl-build`, an Anchor program contains tests that print the parts of its IDL. They
//! are compiled for this machine and run, and the parts are put together.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use selkie_isa::input;
use serde_json::{Map, Value, json};

use crate::{
    BuildError, Options, Progress, Project,
    metadata::{library, metadata},
    official,
    project::Language,
    system::typed,
    toolchain::Toolchain,
};

/// The feature that makes programs print their IDL, and how the names of the tests that do so begin.
const FEATURE: &str = "idl-build";
const TESTS: &str = "__anchor_private_print_idl";

/// The lists of an IDL whose entries have names.
const LISTS: &[&str] = &["accounts", "constants", "events", "instructions", "types"];

/// The fields of an IDL, in the order in which they are written.
const FIELDS: &[&str] = &[
    "address",
    "metadata",
    "docs",
    "instructions",
    "accounts",
    "events",
    "errors",
    "types",
    "constants",
];

/// The IDL of a program.
#[derive(Debug)]
pub struct Idl {
    /// The name of the file without `.json`.
    pub name: String,
    /// The content of the file.
    pub json: String,
    /// The `target` folder of the project.
    pub target: PathBuf,
}

/// Builds the IDL of an Anchor program.
///
/// # Errors
///
/// [`BuildError::Setup`] if the project is not an Anchor program, or prints no IDL,
/// [`BuildError::Compiler`] if it cannot be compiled for this machine.
pub fn build(
    project: &Project,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Idl, BuildError> {
    let manifest = match &project.language {
        Language::Rust(manifest) if has_feature(manifest) => manifest,
        _ => {
            let message = format!("{} has no IDL: it lacks the feature `{FEATURE}`", project.name);
            let help = "an IDL is made of Anchor programs; their manifests have \
                        idl-build = [\"anchor-lang/idl-build\"] in [features]";
            return Err(BuildError::setup(message, help));
        }
    };
    let named = options.toolchain.as_deref().filter(|it| *it != official::NAME);
    let toolchain = Toolchain::find(named)?;
    let metadata = metadata(toolchain.cargo(), manifest)?;
    let name = library(&metadata, manifest)?;
    let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target"));
    let target = options.target.clone().unwrap_or(target);
    let mut command = toolchain.cargo();
    command.args(["test", "--lib", TESTS, "--features", FEATURE, "--manifest-path"]).arg(manifest);
    command.arg("--target-dir").arg(target.join("selkie").join("idl")).args(&options.arguments);
    command.args(["--", "--show-output", "--quiet"]);
    command.env("ANCHOR_IDL_BUILD_PROGRAM_PATH", &project.root);
    let settings = [("NO_DOCS", "FALSE"), ("RESOLUTION", "TRUE"), ("SKIP_LINT", "FALSE")];
    command.envs(settings.map(|(name, value)| (format!("ANCHOR_IDL_BUILD_{name}"), value)));
    command.env("RUSTFLAGS", "-A warnings");
    let said = run(&mut command, progress)?;
    let idl = Parts::read(&said).and_then(Parts::join).ok_or_else(|| {
        let message = format!("{} prints no IDL", project.name);
        BuildError::setup(message, "`#[program]` of anchor-lang 0.30 or newer makes it print one")
    })?;
    Ok(Idl { name, json: written(&idl), target })
}

fn has_feature(manifest: &Path) -> bool {
    let text = input::text(manifest, input::TEXT_BYTES_MAX).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    table.get("features").is_some_and(|it| it.get(FEATURE).is_some())
}

/// Runs the tests, and returns what they print.
fn run(command: &mut Command, progress: &mut dyn Progress) -> Result<String, BuildError> {
    let shown = typed(command);
    progress.command(&shown);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| {
        let message = format!("cannot run {shown}: {error}");
        BuildError::setup(message, "check that the toolchain is complete")
    })?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        progress.output(&said);
        return Err(BuildError::Compiler(shown));
    }
    Ok(said)
}

/// The parts of an IDL, as the tests print them.
#[derive(Default)]
struct Parts {
    address: String,
    program: Option<Map<String, Value>>,
    constants: Vec<Value>,
    events: Vec<Value>,
    errors: Vec<Value>,
    /// The types that events use, by name.
    types: BTreeMap<String, Value>,
}

impl Parts {
    /// Reads the parts from between their marks; `None` if one of them is not JSON.
    fn read(said: &str) -> Option<Self> {
        let mut parts = Self::default();
        let mut lines = said.lines();
        while let Some(line) = lines.next() {
            let mark = line.strip_prefix("--- IDL begin ").and_then(|it| it.strip_suffix(" ---"));
            let Some(kind) = mark else { continue };
            let end = format!("--- IDL end {kind} ---");
            let part: Vec<&str> = lines.by_ref().take_while(|it| *it != end).collect();
            parts.add(kind, &part.join("\n"))?;
        }
        Some(parts)
    }

    fn add(&mut self, kind: &str, text: &str) -> Option<()> {
        if kind == "address" {
            self.address = text.chars().filter(char::is_ascii_alphanumeric).collect();
            return Some(());
        }
        let mut part: Value = serde_json::from_str(text).ok()?;
        match kind {
            "const" => self.constants.push(part),
            "errors" => self.errors = part.as_array()?.clone(),
            "program" => self.program = Some(part.as_object()?.clone()),
            "event" => {
                self.events.push(part["event"].take());
                let types = part["types"].as_array().cloned().unwrap_or_default();
                self.types.extend(types.into_iter().map(|it| (name_of(&it), it)));
            }
            _ => {}
        }
        Some(())
    }

    /// Puts the parts together; `None` if there is no program among them.
    fn join(mut self) -> Option<Value> {
        let mut idl = self.program?;
        let own = idl.remove("types").and_then(|it| it.as_array().cloned()).unwrap_or_default();
        self.types.extend(own.into_iter().map(|it| (name_of(&it), it)));
        let types: Vec<Value> = self.types.into_values().collect();
        idl.insert("address".to_owned(), json!(self.address));
        let lists = [self.constants, self.events, self.errors, types];
        for (name, list) in ["constants", "events", "errors", "types"].into_iter().zip(lists) {
            idl.remove(name);
            if !list.is_empty() {
                idl.insert(name.to_owned(), json!(list));
            }
        }
        let mut idl = Value::Object(idl);
        shorten_paths(&mut idl);
        for list in LISTS {
            if let Some(list) = idl.get_mut(list).and_then(Value::as_array_mut) {
                list.sort_by_key(name_of);
            }
        }
        Some(idl)
    }
}

fn name_of(item: &Value) -> String {
    item["name"].as_str().unwrap_or_default().to_owned()
}

/// Replaces the paths of types, `vault::state::Vault`, by their names, unless two paths have the same.
fn shorten_paths(idl: &mut Value) {
    let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
    each_text(idl, &mut |text| {
        if let Some(name) = last_of_path(text) {
            let path = names.entry(name.to_owned()).or_insert_with(|| Some(text.clone()));
            *path = path.take().filter(|it| it == text);
        }
    });
    each_text(idl, &mut |text| {
        let name = last_of_path(text).map(str::to_owned);
        if let Some(name) = name.filter(|it| names[it].is_some()) {
            *text = name;
        }
    });
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|it| each_text(it, change)),
        Value::Object(fields) => fields.values_mut().for_each(|it| each_text(it, change)),
        _ => {}
    }
}

/// Returns the last name of a path that consists of names alone.
fn last_of_path(text: &str) -> Option<&str> {
    let is_name =
        |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let (before, name) = text.rsplit_once("::")?;
    (is_name(name) && before.split("::").all(is_name)).then_some(name)
}

/// Writes an IDL with its fields in the usual order.
fn written(idl: &Value) -> String {
    let mut text = "{".to_owned();
    for field in FIELDS.iter().filter(|it| !idl[**it].is_null()) {
        let value = format!("{:#}", idl[*field]).replace('\n', "\n  ");
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}\n  \"{field}\": {value}");
    }
    text + "\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_tests_print_become_an_idl() {
        let said = r#"
running 3 tests
--- IDL begin address ---
"Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS"
--- IDL end address ---
--- IDL begin event ---
{"event": {"name": "vault::Opened", "discriminator": [1]},
 "types": [{"name": "vault::Opened", "type": {"kind": "struct"}}]}
--- IDL end event ---
--- IDL begin errors ---
[{"code": 6000, "name": "Full", "msg": "the vault is full::stop"}]
--- IDL end errors ---
--- IDL begin const ---
{"name": "SEED", "type": "bytes", "value": "[1]"}
--- IDL end const ---
--- IDL begin program ---
{"address": "", "metadata": {"name": "vault"}, "instructions": [{"name": "open"}, {"name": "close"}],
 "accounts": [{"name": "vault::state::Vault"}],
 "types": [{"name": "vault::state::Vault", "type": {}}, {"name": "a::Side"}, {"name": "b::Side"}]}
--- IDL end program ---
test result: ok. 3 passed
"#;
        let idl = Parts::read(said).and_then(Parts::join).expect("there is a program");
        assert_eq!(idl["address"], "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS");
        assert_eq!(idl["accounts"], json!([{ "name": "Vault" }]));
        assert_eq!(idl["events"][0]["name"], "Opened");
        assert_eq!(idl["errors"][0]["msg"], "the vault is full::stop");
        assert_eq!(idl["constants"][0]["name"], "SEED");
        let names = |list: &str| {
            let list = idl[list].as_array().expect("it is a list");
            list.iter().map(name_of).collect::<Vec<_>>()
        };
        assert_eq!(names("instructions"), ["close", "open"]);
        assert_eq!(names("types"), ["Opened", "Vault", "a::Side", "b::Side"]);
        let text = written(&idl);
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(idl));
        assert!(text.starts_with("{\n  \"address\""), "{text}");
    }

    #[test]
    fn output_without_a_program_is_no_idl() {
        assert!(Parts::read("test result: ok. 0 passed").and_then(Parts::join).is_none());
        assert!(
            Parts::read("--- IDL begin program ---\nno JSON\n").and_then(Parts::join).is_none()
        );
    }
}
