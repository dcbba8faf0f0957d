//! `cargo xtask tidy`: rules on the repository as a whole that no compiler checks.
//!
//! One function per rule, which returns its findings. Rules read files from [`Repository`], so that
//! all see the same ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    figures::{self, Part},
    files::Files,
    links, locks, names, output, ratchets, repository, say,
    source::Function,
    workspaces::WORKSPACES,
};

/// Source files may have this many lines before they must be split.
const LINES_MAX: usize = 900;

/// The files that may contain `unsafe` code, some of them to call the peers' engines or to share memory
/// with other fuzzers.
const UNSAFE_FILES: &[&str] = &[
    "crates/client/src/store/mod.rs",
    "crates/crypto/src/ed25519/x64.rs",
    "crates/vm/src/block_loop.rs",
    "crates/vm/src/decoded.rs",
    "crates/vm/src/fast_path.rs",
    "crates/vm/src/jit/absent.rs",
    "crates/vm/src/jit/native/arm64/calls.rs",
    "crates/vm/src/jit/native/buffer.rs",
    "crates/vm/src/jit/native/context.rs",
    "crates/vm/src/jit/native/entry.rs",
    "crates/vm/src/jit/native/frozen.rs",
    "crates/vm/src/jit/native/instruction_cache.rs",
    "crates/vm/src/jit/native/machine_code.rs",
    "crates/vm/src/jit/native/x64/calls.rs",
    "crates/vm/src/memory/map.rs",
    "crates/vm/src/memory/region.rs",
    "crates/vm/src/memory/window.rs",
    "crates/vm/src/processor.rs",
    "crates/vm/tests/exec/machine.rs",
    "crates/vm/tests/frozen.rs",
    "bench-svm/src/litesvm.rs",
    "bench/src/anza.rs",
    "bindings/python/src/arrow.rs",
    "bindings/wasm/src/abi.rs",
    "examples/rust/heap/src/lib.rs",
    "fuzz/explore/src/bin/libafl.rs",
    "fuzz/explore/src/bin/libfuzzer.rs",
    "oracle/src/anza.rs",
    "testdata/build/dialect/src/lib.rs",
    "testdata/build/frames/src/lib.rs",
    "testdata/build/layout-own/src/lib.rs",
    "testdata/build/layout/src/lib.rs",
    "testdata/matrix/anchor/lib.rs",
    "testdata/matrix/pinocchio/lib.rs",
    "testdata/matrix/solana-program/lib.rs",
];

/// The files of the product that may have thread-local variables.
const THREAD_LOCAL_FILES: &[&str] = &[
    "crates/client/src/store/mod.rs",
    "crates/selkie/src/recording.rs",
    "crates/vm/src/jit/native/code_buffer.rs",
];

/// The files of libraries where a closure of the user's says in words what does not hold.
const TEXT_ERROR_FILES: &[&str] = &["crates/explore/src/target.rs"];

/// The documents in which every path, and every name given with a file, must exist.
const DOCUMENTS: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "STYLE.md",
    "docs/jit.md",
];

/// Folders at the root of a machine, whose paths must not occur in the repository. (The slashes are
/// added later, so that this file does not break the rule.)
const MACHINE_FOLDERS: &[&str] = &["work", "tmp", "home", "root", "Users"];

/// The prefix of package names, which documents omit.
const PREFIX: &str = "selkie-";

type Rule = fn(&Repository) -> Vec<String>;

const RULES: &[Rule] = &[
    arrows,
    lints_are_inherited,
    surroundings_are_arguments,
    versions_are_shared,
    unsafe_stays,
    state_is_passed,
    errors_are_types,
    names_are_one_concept,
    lock_files_are_current,
    paths_exist,
    names_exist,
    chores_exist,
    links_lead_somewhere,
    pages_are_in_the_book,
    no_machine_paths,
    files_are_short,
    layers_point_down,
    figures_do_not_get_worse,
];

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut repository = Repository::read(repository())?;
    match arguments[..] {
        [] => {}
        ["--tighten"] => {
            ratchets::tighten(&repository.files, &repository.parts)?;
            repository = Repository::read(crate::repository())?;
        }
        _ => bail!("usage: cargo xtask tidy [--tighten]"),
    }
    let findings: Vec<String> = RULES.iter().flat_map(|rule| rule(&repository)).collect();
    if findings.is_empty() {
        return Ok(());
    }
    bail!("the repository is not tidy\n  {}", findings.join("\n  "))
}

/// The repository, read once for all rules.
struct Repository {
    files: Files,
    /// The crates that each crate of the workspace uses.
    crates: BTreeMap<String, Vec<String>>,
    parts: Vec<Part>,
}

impl Repository {
    fn read(root: &Path) -> Result<Self> {
        let files = Files::read(root)?;
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["metadata", "--no-deps", "--format-version=1", "--locked"];
        let command = || Command::new(&cargo);
        let metadata = output(command().args(arguments).current_dir(root))?;
        let mut crates = uses(&serde_json::from_slice(&metadata.stdout)?)?;
        let compat = ["--manifest-path", "compat/Cargo.toml"];
        let compat = output(command().args(arguments).args(compat).current_dir(root))?;
        crates.extend(uses_of_compat(&serde_json::from_slice(&compat.stdout)?)?);
        Ok(Self { parts: figures::parts(&files), files, crates })
    }
}

/// The crates of the workspace and those among them that each uses, development apart.
fn uses(metadata: &Value) -> Result<BTreeMap<String, Vec<String>>> {
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let short = |value: &Value| {
        value.as_str().map(|name| name.strip_prefix(PREFIX).unwrap_or(name).to_owned())
    };
    let is_ours = |name: &Value| packages.iter().any(|package| package["name"] == *name);
    let package = |package: &Value| {
        let dependencies = package["dependencies"].as_array()?;
        let used = dependencies.iter().filter(|it| it["kind"].is_null() && is_ours(&it["name"]));
        let mut used: Vec<String> = used.filter_map(|it| short(&it["name"])).collect();
        used.sort();
        Some((short(&package["name"])?, used))
    };
    packages.iter().map(|it| package(it).context("cargo describes a package oddly")).collect()
}

/// The crates in the folder `compat`, as `compat/NAME`, and those of ours that each uses.
fn uses_of_compat(metadata: &Value) -> Result<BTreeMap<String, Vec<String>>> {
    let packages = metadata["packages"].as_array().context("cargo names no packages")?;
    let is_here =
        |it: &&Value| it["manifest_path"].as_str().is_some_and(|it| it.contains("/compat/"));
    let packages: Vec<&Value> = packages.iter().filter(is_here).collect();
    let short = |value: &Value| {
        let name = value.as_str()?;
        let is_here = packages.iter().any(|package| package["name"] == *value);
        let short = name.strip_prefix(PREFIX).unwrap_or(name);
        let is_ours = is_here || name.starts_with(PREFIX) || name == "selkie";
        is_ours.then(|| if is_here { format!("compat/{short}") } else { short.to_owned() })
    };
    let package = |package: &Value| {
        let used = package["dependencies"].as_array()?.iter().filter(|it| it["kind"].is_null());
        let mut used: Vec<String> = used.filter_map(|it| short(&it["name"])).collect();
        used.sort();
        Some((short(&package["name"])?, used))
    };
    packages.iter().map(|it| package(it).context("cargo describes a package oddly")).collect()
}

/// The arrows between crates are those that ARCHITECTURE.md draws, as `cli -> asm elf`.
fn arrows(repository: &Repository) -> Vec<String> {
    let drawn = repository.files.get("ARCHITECTURE.md").unwrap_or_default();
    let drawn = drawn.lines().filter_map(|line| {
        let (name, used) = line.split_once(" -> ")?;
        let mut used: Vec<String> = used.split_whitespace().map(str::to_owned).collect();
        used.sort();
        Some((name.trim().to_owned(), used))
    });
    let drawn: BTreeMap<String, Vec<String>> = drawn.collect();
    let names: BTreeSet<&String> = drawn.keys().chain(repository.crates.keys()).collect();
    let none = Vec::new();
    let differs = |name: &&String| {
        let used = repository.crates.get(*name);
        used.is_none() || drawn.get(*name).unwrap_or(&none) != used.unwrap_or(&none)
    };
    let finding = |name: &String| {
        let (drawn, used) = (drawn.get(name), repository.crates.get(name));
        format!("{name} uses {used:?}, but ARCHITECTURE.md draws {drawn:?}")
    };
    names.into_iter().filter(differs).map(finding).collect()
}

/// Every crate inherits the workspace's lints.
fn lints_are_inherited(repository: &Repository) -> Vec<String> {
    manifests(repository)
        .filter(|(_, text)| !text.contains("[lints]\nworkspace = true"))
        .map(|(path, _)| format!("{path}: does not inherit the workspace's lints"))
        .collect()
}

/// The product denies to ask for clock, environment and randomness, but where a function says that it owns
/// one. Tests and chores may, which each workspace's manifest says.
fn surroundings_are_arguments(repository: &Repository) -> Vec<String> {
    const LINE: &str = "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]\n";
    const ALLOWED: &str = "disallowed_methods = \"allow\"\n";
    let is_root = |path: &str| {
        let is_product = path.starts_with("crates/") && !path.starts_with("crates/testdata/");
        let mut parts = path.split('/').skip(2);
        is_product
            && parts.next() == Some("src")
            && matches!(parts.next(), Some("lib.rs" | "main.rs"))
            && parts.next().is_none()
    };
    let roots = repository.files.iter().filter(|(path, _)| is_root(path));
    let roots = roots
        .filter(|(_, text)| !text.contains(LINE))
        .map(|(path, _)| format!("{path}: lacks {}", LINE.trim_end()));
    let manifests = WORKSPACES.iter().filter_map(|it| {
        let path = Path::new(it.folder).join("Cargo.toml").display().to_string();
        let is_silent = !repository.files.get(&path)?.contains(ALLOWED);
        is_silent.then(|| format!("{path}: lacks {}", ALLOWED.trim_end()))
    });
    roots.chain(manifests).collect()
}

/// The manifests of the product's crates.
fn manifests(repository: &Repository) -> impl Iterator<Item = (&str, &str)> {
    let is_product =
        |path: &str| ["crates/", "compat/", "xtask/"].iter().any(|it| path.starts_with(it));
    let is_manifest = move |path: &str| {
        path.ends_with("/Cargo.toml") && path != "compat/Cargo.toml" && is_product(path)
    };
    repository.files.iter().filter(move |(path, _)| is_manifest(path))
}

/// Versions of dependencies are only in the workspace's manifest, but for packages that exist for the sake of
/// other versions.
fn versions_are_shared(repository: &Repository) -> Vec<String> {
    let is_of_others = |path: &str| {
        path == "compat/anchor-v2-testing/Cargo.toml"
            || path.starts_with("compat/")
                && ["-2/Cargo.toml", "-3/Cargo.toml"].iter().any(|it| path.ends_with(it))
    };
    find(manifests(repository).filter(|(path, _)| !is_of_others(path)), |line| {
        let (name, value) = line.split_once(" = ")?;
        let value = value.trim_start();
        let is_version = value.starts_with("{ version = ")
            || value.starts_with('"') && value[1..].starts_with(|it: char| it.is_ascii_digit());
        let is_package = ["version", "edition", "rust-version"].contains(&name);
        (is_version && !is_package)
            .then(|| format!("the version of {name} belongs in the workspace's manifest"))
    })
}

/// Modules of a lower layer do not use those of a higher one.
fn layers_point_down(repository: &Repository) -> Vec<String> {
    repository.parts.iter().flat_map(|it| it.upward.clone()).collect()
}

/// The recorded figures do not get worse, and better ones are recorded.
fn figures_do_not_get_worse(repository: &Repository) -> Vec<String> {
    let findings = ratchets::findings(&repository.files, &repository.parts);
    for part in &repository.parts {
        let is_worse = |figure: &str| {
            let start = format!("{}: {figure}", part.name);
            findings.iter().any(|it| it.starts_with(&start) && !it.contains("lower the ratchet"))
        };
        if is_worse("functions over") || is_worse("function lines, max") {
            part.long_functions().for_each(|(path, function)| {
                let Function { name, line, code_lines } = function;
                say(&format!("{path}:{line}: {name}: {code_lines} lines"));
            });
        }
        if is_worse("modules in cycles") {
            part.cycles().for_each(|it| say(&format!("cycle of modules in {it}")));
        }
        if is_worse("public items") {
            part.undocumented.iter().for_each(|it| say(&format!("{it}: no documentation")));
        }
    }
    findings
}

/// `unsafe` code is only in the listed files.
fn unsafe_stays(repository: &Repository) -> Vec<String> {
    let others = sources(repository).filter(|(path, _)| !UNSAFE_FILES.contains(path));
    find(others, |line| {
        let code = line.split("//").next().unwrap_or_default();
        ["unsafe {", "unsafe fn ", "unsafe impl ", "unsafe extern "]
            .iter()
            .any(|form| words_before(code, form))
            .then(|| "unsafe code".to_owned())
    })
}

/// State is passed as an argument: thread-local variables are only in the listed files.
fn state_is_passed(repository: &Repository) -> Vec<String> {
    let is_product = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    let others = sources(repository)
        .filter(|(path, _)| is_product(path) && !THREAD_LOCAL_FILES.contains(path));
    find(others, |line| {
        words_before(line, "thread_local!").then(|| "a thread-local variable".to_owned())
    })
}

/// Callers of a library can tell its errors apart: they are types, not text. The command line prints
/// its own.
fn errors_are_types(repository: &Repository) -> Vec<String> {
    let is_library = |path: &str| {
        path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/cli/")
    };
    let libraries = sources(repository)
        .filter(|(path, _)| is_library(path) && !TEXT_ERROR_FILES.contains(path))
        .map(|(path, text)| (path, text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()));
    find(libraries, |line| {
        let mut results = line.split("Result<").skip(1);
        results.any(|it| it.contains(", String>")).then(|| "an error that is text".to_owned())
    })
}

/// Whether `code` contains `form` at the start of a word, not within a string or a name.
fn words_before(code: &str, form: &str) -> bool {
    code.match_indices(form).any(|(at, _)| {
        code[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != '"')
    })
}

/// A type's name is that of one concept.
fn names_are_one_concept(repository: &Repository) -> Vec<String> {
    names::findings(&repository.files)
}

/// Builds do not change lock files.
fn lock_files_are_current(repository: &Repository) -> Vec<String> {
    locks::findings(&repository.files)
}

/// The files and folders that documents name exist.
fn paths_exist(repository: &Repository) -> Vec<String> {
    let documents = repository.files.iter().filter(|(path, _)| DOCUMENTS.contains(path));
    let exists = |path: &str| {
        let path = path.trim_end_matches('/');
        repository.files.contains(path) || repository.files.is_folder(path)
    };
    find(documents, |line| {
        let missing: Vec<&str> = paths(line).filter(|path| !exists(path)).collect();
        (!missing.is_empty()).then(|| format!("no such path: {}", missing.join(" ")))
    })
}

/// Links of documents lead to files, folders and headings that exist.
fn links_lead_somewhere(repository: &Repository) -> Vec<String> {
    links::broken(&repository.files)
}

/// Every page of `docs` is in the book's table of contents.
fn pages_are_in_the_book(repository: &Repository) -> Vec<String> {
    links::missing_pages(&repository.files)
}

/// A name that a document gives with a file, as "`src/a.rs`, `run`", occurs in that file.
fn names_exist(repository: &Repository) -> Vec<String> {
    let documents = repository.files.iter().filter(|(path, _)| DOCUMENTS.contains(path));
    let missing = |(document, text): (&str, &str)| {
        let spans: Vec<&str> = text.split('`').collect();
        let pairs = spans.windows(3).skip(1).step_by(2);
        let named = pairs.filter(|it| it[1].trim() == "," && it[0].ends_with(".rs"));
        let missing = named.filter(|it| {
            let name = it[2].rsplit("::").next().unwrap_or_default();
            let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
            let file = repository.files.get(it[0]);
            is_name && file.is_some_and(|file| !has_word(file, name))
        });
        missing.map(|it| format!("{document}: no `{}` in {}", it[2], it[0])).collect::<Vec<_>>()
    };
    documents.flat_map(missing).collect()
}

/// The chores that documents name exist; the changelog tells of former ones.
fn chores_exist(repository: &Repository) -> Vec<String> {
    let documents = repository.files.iter().filter(|(path, _)| {
        path.ends_with(".md") && *path != "CHANGELOG.md" && !path.starts_with("testdata/")
    });
    let is_missing =
        |name: &&str| !name.is_empty() && !crate::CHORES.iter().any(|(chore, ..)| chore == name);
    find(documents, |line| {
        let named = line.split("cargo xtask ").skip(1).map(|rest| {
            let end = rest.find(|it: char| !it.is_ascii_lowercase() && it != '-');
            &rest[..end.unwrap_or(rest.len())]
        });
        let missing: Vec<&str> = named.filter(is_missing).collect();
        (!missing.is_empty()).then(|| format!("no such chore: {}", missing.join(" ")))
    })
}

/// Whether `text` contains `word` as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The paths within the repository that a line of a document names in code spans and links.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').skip(1).step_by(2);
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_path = |text: &&str| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-/".contains(it);
        let is_made = text.starts_with("target/") || text.starts_with("testdata/elfs");
        text.chars().all(is_plain)
            && !is_made
            && (text.ends_with(".md") || (text.contains('/') && !text.starts_with(['/', '.'])))
            || text.starts_with(".ci/")
    };
    spans.chain(links).filter(is_path)
}

/// No file contains paths of a developer's machine.
fn no_machine_paths(repository: &Repository) -> Vec<String> {
    let forms: Vec<String> = MACHINE_FOLDERS.iter().map(|it| format!("/{it}/")).collect();
    find(repository.files.iter(), |line| {
        let is_root = |at: usize| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|it| !it.is_alphanumeric() && !"._-/}".contains(it))
        };
        let form =
            forms.iter().find(|it| line.match_indices(it.as_str()).any(|(at, _)| is_root(at)))?;
        Some(format!("a path of a developer's machine, {form}…"))
    })
}

/// Source files have at most [`LINES_MAX`] lines.
fn files_are_short(repository: &Repository) -> Vec<String> {
    sources(repository)
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|&(_, lines)| lines > LINES_MAX)
        .map(|(path, lines)| format!("{path}: {lines} lines; split it at a seam"))
        .collect()
}

fn sources(repository: &Repository) -> impl Iterator<Item = (&str, &str)> {
    repository.files.iter().filter(|(path, _)| path.ends_with(".rs"))
}

/// Returns the findings of `look` on each line, with file and line number.
fn find<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    look: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    files
        .flat_map(|(path, text)| {
            (1..).zip(text.lines()).map(move |(number, line)| (path, number, line))
        })
        .filter_map(|(path, number, line): (_, u32, _)| {
            Some(format!("{path}:{number}: {}", look(line)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize>(rule: Rule, files: &[(&str, &str); N], findings: &[&str]) {
        let crates = BTreeMap::from([
            ("isa".to_owned(), vec![]),
            ("elf".to_owned(), vec!["isa".to_owned()]),
        ]);
        let files = Files::from(*files);
        let repository = Repository { files, crates, parts: Vec::new() };
        assert_eq!(rule(&repository), findings);
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_found() {
        check(arrows, &[("ARCHITECTURE.md", "elf -> isa")], &[]);
        check(
            arrows,
            &[("ARCHITECTURE.md", "elf -> isa\nisa -> elf")],
            &["isa uses Some([]), but ARCHITECTURE.md draws Some([\"elf\"])"],
        );
        check(
            arrows,
            &[("ARCHITECTURE.md", "")],
            &["elf uses Some([\"isa\"]), but ARCHITECTURE.md draws None"],
        );
    }

    #[test]
    fn a_crate_with_lints_of_its_own_is_found() {
        check(
            lints_are_inherited,
            &[
                ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
                ("crates/b/Cargo.toml", "[lints.rust]"),
                ("oracle/Cargo.toml", ""),
            ],
            &["crates/b/Cargo.toml: does not inherit the workspace's lints"],
        );
    }

    #[test]
    fn sources_that_may_ask_for_the_time_are_named() {
        let denies = "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]\n";
        check(
            surroundings_are_arguments,
            &[
                ("crates/a/src/lib.rs", denies),
                ("crates/b/src/lib.rs", ""),
                ("bench/Cargo.toml", "[lints.clippy]\ndisallowed_methods = \"allow\"\n"),
                ("fuzz/Cargo.toml", "[lints.clippy]\n"),
            ],
            &[
                "crates/b/src/lib.rs: lacks \
                 #![cfg_attr(not(test), deny(clippy::disallowed_methods))]",
                "fuzz/Cargo.toml: lacks disallowed_methods = \"allow\"",
            ],
        );
    }

    #[test]
    fn a_version_in_a_crates_manifest_is_found() {
        let text = "[package]\nversion = \"0.0.0\"\n[dependencies]\na.workspace = true\n\
                    b = { version = \"1\" }\nc = \"2\"\n";
        check(
            versions_are_shared,
            &[("crates/a/Cargo.toml", text), ("oracle/Cargo.toml", text)],
            &[
                "crates/a/Cargo.toml:5: the version of b belongs in the workspace's manifest",
                "crates/a/Cargo.toml:6: the version of c belongs in the workspace's manifest",
            ],
        );
    }

    #[test]
    fn unsafe_code_is_found() {
        let code = "fn f() { UNSAFE { g() } }\n// UNSAFE { }\nlet it = \"UNSAFE { }\";";
        let code = &code.replace("UNSAFE", "unsafe");
        check(
            unsafe_stays,
            &[("crates/vm/src/memory/map.rs", code), ("crates/vm/src/verify.rs", code)],
            &["crates/vm/src/verify.rs:1: unsafe code"],
        );
    }

    #[test]
    fn a_thread_local_variable_is_found() {
        let code = "fn f() {}\nthread_local! {}";
        check(
            state_is_passed,
            &[
                ("crates/a/src/b.rs", code),
                ("crates/a/tests/b.rs", code),
                ("crates/client/src/store/mod.rs", code),
            ],
            &["crates/a/src/b.rs:2: a thread-local variable"],
        );
    }

    #[test]
    fn an_error_that_is_text_is_found() {
        let code = "fn a() -> Result<Vec<u8>, String> {}\nfn b() -> Result<String> {}\n\
                    #[cfg(test)]\nmod tests {\nfn c() -> Result<u8, String> {}\n}\n";
        check(
            errors_are_types,
            &[("crates/a/src/b.rs", code), ("crates/cli/src/b.rs", code)],
            &["crates/a/src/b.rs:1: an error that is text"],
        );
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        let text = "see `src/a.rs`, `src/`, `Kind / Op`, [b](src/b.rs)\n`a/b c` `target/x`";
        check(
            paths_exist,
            &[("README.md", text), ("src/a.rs", "")],
            &["README.md:1: no such path: src/b.rs"],
        );
    }

    #[test]
    fn a_name_that_its_file_lacks_is_found() {
        let text = "`src/a.rs`, `run` and\n`src/a.rs`,\n`A::walk`; see `b` in `src/a.rs`, or `c`";
        check(
            names_exist,
            &[("README.md", text), ("src/a.rs", "fn run() {} fn walker() {}")],
            &["README.md: no `A::walk` in src/a.rs"],
        );
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        let path = ["", "home", "me", "x"].join("/");
        check(
            no_machine_paths,
            &[("a.md", &format!("at {path}\nat ok{path}"))],
            &[&format!("a.md:1: a path of a developer's machine, {}…", &path[..6])],
        );
    }

    #[test]
    fn a_long_file_is_found() {
        check(
            files_are_short,
            &[("a.rs", &"\n".repeat(901)), ("b.rs", &"\n".repeat(900))],
            &["a.rs: 901 lines; split it at a seam"],
        );
    }
}
