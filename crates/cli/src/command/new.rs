//! `selkie new`.

use std::{
    fs,
    io::Write as _,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueEnum, ValueHint};
use selkie_isa::input;
use serde_json::json;

use crate::{
    files,
    ui::{Advise as _, DIM, GOOD, STRONG, Status, Ui},
};

/// Create a project: a program that builds and runs, with a test
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie new counter              in assembly
  selkie new counter --lang c     in C; same as --c
  selkie new counter --lang rust  in Rust with pinocchio; same as --rust
  cd counter && selkie build && cargo test

The program increments a counter in an account; input.json is an instruction for `selkie run`.

The tests use the library `selkie`: that of the clone in which this command was built, if it is still there.
--library says where else it is:
  --library ../selkie              the folder of a clone; a relative one is written relative to the project
  --library https://HOST/selkie    the Git repository at an address, here or as ssh://, git@HOST: or file://
  --library crates.io              a release, once there is one")]
pub(crate) struct NewArgs {
    /// The folder to create; its last component is the program's name
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,

    /// The language [default: asm]
    #[arg(long, value_enum, value_name = "LANGUAGE", group = "language")]
    lang: Option<Language>,

    /// Use assembly
    #[arg(long, group = "language")]
    asm: bool,

    /// Use C
    #[arg(long, group = "language")]
    c: bool,

    /// Use Rust
    #[arg(long, group = "language")]
    rust: bool,

    /// Where tests find the library `selkie`: the folder of a clone, the address of a Git repository, or
    /// `crates.io` [default: the clone in which this command was built]
    #[arg(long, value_name = "DIR|URL", value_hint = ValueHint::DirPath)]
    library: Option<String>,
}

/// The library in the clone in which this command was built.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../selkie");

/// The value of --library that stands for the registry.
const CRATES_IO: &str = "crates.io";

/// A programming language.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Language {
    Asm,
    C,
    Rust,
}

impl NewArgs {
    fn language(&self) -> Language {
        match (self.lang, self.c, self.rust) {
            (Some(language), ..) => language,
            (None, true, _) => Language::C,
            (None, _, true) => Language::Rust,
            (None, ..) => Language::Asm,
        }
    }
}

/// The files of a project in one language.
struct Template {
    language: &'static str,
    /// The path of the source, with `NAME` for the program's name, and its text.
    source: (&'static str, &'static str),
    manifest: &'static str,
    /// The file that `selkie run` takes in the README.
    run: &'static str,
}

const ASSEMBLY: Template = Template {
    language: "assembly",
    source: ("src/NAME.s", include_str!("new/counter.s.txt")),
    manifest: include_str!("new/tests.toml.txt"),
    run: "src/NAME.s",
};

const C: Template = Template {
    language: "C",
    source: ("src/NAME.c", include_str!("new/counter.c.txt")),
    manifest: include_str!("new/tests.toml.txt"),
    run: "target/deploy/NAME.so",
};

const RUST: Template = Template {
    language: "Rust",
    source: ("src/lib.rs", include_str!("new/counter.rs.txt")),
    manifest: include_str!("new/rust.toml.txt"),
    run: "target/deploy/LIB.so",
};

const INPUT: &str = include_str!("new/input.json.txt");
const TEST: &str = include_str!("new/test.rs.txt");
const README: &str = include_str!("new/README.md.txt");
/// Build output and secrets: private keys, and saved clusters.
const IGNORED: &str = "/target/\n*-keypair.json\n*.payer.json\n*.state\n*.state.lock\n";

pub(crate) fn run(ui: &mut Ui, args: &NewArgs) -> Result<Status> {
    let project = Project::new(args)?;
    let files = project.write(&args.folder)?;
    if ui.json {
        let language = project.template.language;
        ui.object(&json!({ "name": project.name, "language": language, "files": files }))?;
    } else {
        project.show(ui, args)?;
    }
    Ok(Status::Success)
}

/// A template and what its placeholders stand for.
struct Project<'a> {
    template: &'static Template,
    name: &'a str,
    /// The stem of the program's file.
    program: String,
    /// The value of the manifest's dependency on the library.
    dependency: String,
}

impl<'a> Project<'a> {
    fn new(args: &'a NewArgs) -> Result<Self> {
        let name = name(&args.folder)?;
        if args.folder.exists() {
            let message = format!("{} already exists", args.folder.display());
            return Err(anyhow!(message)).advise("name a folder that does not exist");
        }
        let (template, program) = match args.language() {
            Language::Asm => (&ASSEMBLY, name.to_owned()),
            Language::C => (&C, name.to_owned()),
            // Cargo replaces dashes in library names.
            Language::Rust => (&RUST, name.replace('-', "_")),
        };
        Ok(Self { template, name, program, dependency: dependency(args)? })
    }

    /// Replaces the placeholders of a text, and the commands that the examples' sources show.
    fn fill(&self, text: &str) -> String {
        let (name, program) = (self.name, &self.program);
        text.replace("NAME", name)
            .replace("LIB", program)
            .replace("LANGUAGE", self.template.language)
            .replace("DEPENDENCY", &self.dependency)
            .replace("selkie build examples/c/counter.c -o counter.so", "selkie build")
            .replace("selkie run counter.so", &format!("selkie run target/deploy/{program}.so"))
            .replace("examples/counter/counter.s", &format!("src/{name}.s"))
            .replace("examples/counter/input.json", "input.json")
    }

    /// Writes the project's files to a folder, and returns their paths.
    fn write(&self, folder: &Path) -> Result<Vec<String>> {
        let readme = README.replace("PROGRAM", self.template.run);
        let files = [
            self.template.source,
            ("Cargo.toml", self.template.manifest),
            ("tests/program.rs", TEST),
            ("input.json", INPUT),
            ("README.md", &readme),
            (".gitignore", IGNORED),
        ];
        let written = files.into_iter().map(|(path, text)| {
            let path = folder.join(self.fill(path));
            files::write_with_folders(&path, self.fill(text))?;
            Ok(path.display().to_string())
        });
        written.collect()
    }

    /// Shows what was created and what to do next.
    fn show(&self, ui: &mut Ui, args: &NewArgs) -> Result<()> {
        let (folder, language) = (args.folder.display(), self.template.language);
        writeln!(
            ui.out,
            "{GOOD}created{GOOD:#} {STRONG}{folder}{STRONG:#}  {DIM}a counter in {language}{DIM:#}",
        )?;
        writeln!(ui.out, "   {DIM}next: cd {folder} && selkie build && cargo test{DIM:#}")?;
        if args.library.is_none() {
            let dependency = &self.dependency;
            writeln!(
                ui.out,
                "   {DIM}the tests use selkie = {dependency}; --library names another{DIM:#}"
            )?;
        }
        Ok(())
    }
}

/// Returns the program's name, which must be a valid crate name.
fn name(folder: &Path) -> Result<&str> {
    let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(anyhow!("`{name}` is not a valid program name"))
        .advise("names start with a letter and contain only letters, digits, - and _")
}

/// Returns the value of the manifest's dependency on the library.
fn dependency(args: &NewArgs) -> Result<String> {
    let Some(given) = &args.library else {
        let built_in = fs::canonicalize(BUILT_IN).ok().filter(|it| is_library(it));
        let built_in = built_in
            .ok_or_else(|| anyhow!("the clone in which this command was built is not here"))
            .advise(
                "--library takes the folder of a clone, or the address of its Git repository",
            )?;
        return Ok(path_dependency(&built_in));
    };
    if given == CRATES_IO {
        return Ok(format!("{:?}", env!("CARGO_PKG_VERSION")));
    }
    if let Some(address) = git_address(given) {
        return Ok(format!("{{ git = {address:?} }}"));
    }
    let folder = Path::new(given);
    let library =
        [folder.to_owned(), folder.join("crates/selkie")].into_iter().find(|it| is_library(it));
    let library =
        library.ok_or_else(|| anyhow!("{given} is not the folder of the library selkie")).advise(
            "--library takes Selkie's repository or the folder crates/selkie of it, or the address \
             of a Git repository",
        )?;
    let absolute =
        fs::canonicalize(&library).with_context(|| format!("cannot use {}", library.display()))?;
    let path = if folder.is_absolute() { absolute } else { relative(&absolute, &args.folder)? };
    Ok(path_dependency(&path))
}

fn path_dependency(path: &Path) -> String {
    format!("{{ path = {:?} }}", path.display().to_string())
}

/// Returns the address of a Git repository as cargo takes it, which does not know `git@HOST:PATH`.
fn git_address(given: &str) -> Option<String> {
    if given.contains("://") {
        return Some(given.to_owned());
    }
    let (user, rest) = given.split_once('@')?;
    let (host, path) = rest.split_once(':')?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains('/');
    (is_plain(user) && is_plain(host)).then(|| format!("ssh://{user}@{host}/{path}"))
}

/// Whether a folder holds the package of the library.
fn is_library(folder: &Path) -> bool {
    let manifest =
        input::text(&folder.join("Cargo.toml"), input::TEXT_BYTES_MAX).unwrap_or_default();
    manifest.lines().any(|line| line.replace(' ', "") == "name=\"selkie\"")
}

/// Returns the relative path from a folder, which need not exist yet, to another.
fn relative(to: &Path, from: &Path) -> Result<PathBuf> {
    let from = std::path::absolute(from)?;
    // Only the existing part can be canonicalized.
    let existing = from.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
    let rest = from.strip_prefix(existing)?;
    let from = fs::canonicalize(existing)?.join(rest);
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(common)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_repositories_are_told_from_folders() {
        let address = |given| git_address(given);
        for given in ["https://host/selkie", "ssh://git@host/selkie", "file:///srv/selkie"] {
            assert_eq!(address(given).as_deref(), Some(given));
        }
        assert_eq!(
            address("git@host:me/selkie.git").as_deref(),
            Some("ssh://git@host/me/selkie.git")
        );
        for folder in ["../selkie", "selkie", "a@b", "./a@b:c", "C:\\selkie"] {
            assert_eq!(address(folder), None, "{folder}");
        }
    }

    #[test]
    fn a_relative_path_leads_from_the_project_to_the_library() {
        let here = fs::canonicalize(env!("CARGO_MANIFEST_DIR")).expect("it is there");
        let to = here.with_file_name("selkie");
        let path = |from: PathBuf| relative(&to, &from).expect("the folder is absolute");
        assert_eq!(path(here.join("new/counter")), Path::new("../../../selkie"));
        assert_eq!(path(to.join("examples")), Path::new(".."));
    }
}
