//! New projects: a program that builds and runs, with a test, in each language.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use selkie_isa::{
    failure::{Context as _, Failure, OrFailure as _, Result},
    input,
};

/// The language of a new project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Assembly.
    Assembly,
    /// C.
    C,
    /// Rust, with pinocchio.
    Rust,
}

/// The library in the clone in which this command was built.
const BUILT_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../selkie");

/// The library that stands for the registry.
const CRATES_IO: &str = "crates.io";

/// The files of a project in one language.
#[derive(Debug)]
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
    source: ("src/NAME.s", include_str!("counter.s.txt")),
    manifest: include_str!("tests.toml.txt"),
    run: "src/NAME.s",
};

const C: Template = Template {
    language: "C",
    source: ("src/NAME.c", include_str!("counter.c.txt")),
    manifest: include_str!("tests.toml.txt"),
    run: "target/deploy/NAME.so",
};

const RUST: Template = Template {
    language: "Rust",
    source: ("src/lib.rs", include_str!("counter.rs.txt")),
    manifest: include_str!("rust.toml.txt"),
    run: "target/deploy/LIB.so",
};

const INPUT: &str = include_str!("input.json.txt");
const TEST: &str = include_str!("test.rs.txt");
const README: &str = include_str!("README.md.txt");
/// Build output and secrets: private keys, and saved clusters.
const IGNORED: &str = "/target/\n*-keypair.json\n*.payer.json\n*.state\n*.state.lock\n";

/// A project that is to be created: a template, and what its placeholders stand for.
#[derive(Debug)]
pub struct NewProject<'a> {
    folder: &'a Path,
    template: &'static Template,
    name: &'a str,
    /// The stem of the program's file.
    program: String,
    /// The value of the manifest's dependency on the library.
    dependency: String,
}

impl<'a> NewProject<'a> {
    /// Prepares a project in a folder, whose last component is the program's name. Its tests find the
    /// library where `library` says: in the folder of a clone, at the address of a Git repository, or at
    /// `crates.io`; without it, in the clone in which this was built.
    ///
    /// # Errors
    /// If the folder exists, its name is none of a program, or the library is not there.
    pub fn new(folder: &'a Path, language: Language, library: Option<&str>) -> Result<Self> {
        let name = name(folder)?;
        if folder.exists() {
            let message = format!("{} already exists", folder.display());
            return Err(Failure::new(message)).advise("name a folder that does not exist");
        }
        let (template, program) = match language {
            Language::Assembly => (&ASSEMBLY, name.to_owned()),
            Language::C => (&C, name.to_owned()),
            // Cargo replaces dashes in library names.
            Language::Rust => (&RUST, name.replace('-', "_")),
        };
        Ok(Self { folder, template, name, program, dependency: dependency(folder, library)? })
    }

    /// Returns the program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns what the language is called.
    #[must_use]
    pub fn language(&self) -> &'static str {
        self.template.language
    }

    /// Returns the value of the manifest's dependency on the library.
    #[must_use]
    pub fn dependency(&self) -> &str {
        &self.dependency
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

    /// Writes the project's files, and returns their paths.
    ///
    /// # Errors
    /// If a file or folder cannot be written.
    pub fn write(&self) -> Result<Vec<String>> {
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
            let path = self.folder.join(self.fill(path));
            write(&path, &self.fill(text))?;
            Ok(path.display().to_string())
        });
        written.collect()
    }
}

/// Writes a file, and creates its folders.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the program's name, which must be a valid crate name.
fn name(folder: &Path) -> Result<&str> {
    let name = folder.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(Failure::new(format!("`{name}` is not a valid program name")))
        .advise("names start with a letter and contain only letters, digits, - and _")
}

/// Returns the value of the manifest's dependency on the library.
fn dependency(project: &Path, library: Option<&str>) -> Result<String> {
    let Some(given) = library else {
        let built_in = fs::canonicalize(BUILT_IN).ok().filter(|it| is_library(it));
        let built_in = built_in
            .ok_or_else(|| Failure::new("the clone in which this command was built is not here"))
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
    let library = library
        .ok_or_else(|| Failure::new(format!("{given} is not the folder of the library selkie")))
        .advise(
            "--library takes Selkie's repository or the folder crates/selkie of it, or the address \
             of a Git repository",
        )?;
    let absolute =
        fs::canonicalize(&library).with_context(|| format!("cannot use {}", library.display()))?;
    let path = if folder.is_absolute() { absolute } else { relative(&absolute, project)? };
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
    let from = std::path::absolute(from).or_failure()?;
    // Only the existing part can be canonicalized.
    let existing = from.ancestors().find(|it| it.exists()).unwrap_or(Path::new("/"));
    let rest = from.strip_prefix(existing).or_failure()?;
    let from = fs::canonicalize(existing).or_failure()?.join(rest);
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
