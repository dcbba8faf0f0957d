//! The rows of `xtask/wild.tsv`, and the sources of their programs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};

use crate::{checkouts, output, repository, say};

/// A program to build.
pub(super) struct Row {
    /// A package of crates.io; `FOLDER` or `FOLDER/PACKAGE` of `testdata/wild`; or `OWNER/NAME/FOLDER`
    /// of a repository.
    pub(super) package: String,
    /// The package's version, `-`, or the repository's commit.
    pub(super) version: String,
    pub(super) kind: String,
    /// Arguments of `selkie run`, if it can be run alone.
    pub(super) call: Option<String>,
    /// The official binary that runs the same call, if one can be had.
    pub(super) official: Option<Official>,
    /// Features of the package that are on, with commas between them.
    pub(super) features: String,
}

/// A program in a package of crates.io that the official toolchain built.
pub(super) struct Official {
    package: String,
    version: String,
    pub(super) path: PathBuf,
}

impl Official {
    /// Parses a package, a version and a path, with spaces between them.
    fn parse(text: &str) -> Option<Self> {
        let [package, version, path] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
        let (package, version) = (package.to_owned(), version.to_owned());
        Some(Self { package, version, path: path.into() })
    }

    /// Returns its file, which cargo downloads if necessary.
    pub(super) fn file(&self) -> Result<PathBuf> {
        let folder = selkie_testdata::package(&self.package, &self.version, &say)?;
        Ok(folder.join(&self.path))
    }
}

/// Who keeps a program's source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    CratesIo,
    /// `testdata/wild`.
    Ours,
    /// A repository of its authors.
    Repository,
}

/// The digits of a commit that name it to people.
const SHORT: usize = 7;

impl Row {
    pub(super) fn keeper(&self) -> Keeper {
        let is_commit = |it: &str| it.len() == 40 && it.bytes().all(|it| it.is_ascii_hexdigit());
        match self.version.as_str() {
            "-" => Keeper::Ours,
            version if is_commit(version) => Keeper::Repository,
            _ => Keeper::CratesIo,
        }
    }

    /// Returns the version for people.
    pub(super) fn short_version(&self) -> &str {
        match self.keeper() {
            Keeper::Repository => &self.version[..SHORT],
            _ => &self.version,
        }
    }

    /// Returns the folder in `testdata/wild`, or the package.
    pub(super) fn folder(&self) -> &str {
        self.package.split('/').next().unwrap_or_default()
    }

    /// Returns the program's name in the table.
    pub(super) fn name(&self) -> String {
        match self.keeper() {
            Keeper::Ours => format!("`testdata/wild/{}`", self.package),
            _ => format!("{} {}", self.package, self.short_version()),
        }
    }

    /// Returns the name of the program's files among those of others.
    pub(super) fn file_stem(&self) -> String {
        format!("{}-{}", self.package.replace('/', "-"), self.short_version())
    }

    /// Whether an argument names the program: its package, of any version or of `@VERSION`.
    pub(super) fn is_named(&self, argument: &str) -> bool {
        let (package, version) = argument.split_once('@').unwrap_or((argument, &self.version));
        package == self.package && [&self.version, self.short_version()].contains(&version)
    }

    /// Returns the program's package, if it is the member of a workspace of ours.
    pub(super) fn member(&self) -> Option<&str> {
        let is_ours = self.keeper() == Keeper::Ours;
        self.package.split_once('/').filter(|_| is_ours).map(|it| it.1)
    }

    /// Copies the program's source to a folder of the chore unless it is there, and returns the program's
    /// own folder. `checkouts` has repositories by their own names.
    pub(super) fn source(&self, folder: &Path, checkouts: Option<&Path>) -> Result<PathBuf> {
        let sources = folder.join("sources");
        let copy = sources.join(format!("{}-{}", self.folder(), self.version));
        let from = match self.keeper() {
            Keeper::Repository => return self.checkout(&sources, checkouts),
            Keeper::Ours => repository().join("testdata/wild").join(self.folder()),
            Keeper::CratesIo if copy.exists() => return Ok(copy),
            Keeper::CratesIo => selkie_testdata::package(&self.package, &self.version, &say)?,
        };
        fs::create_dir_all(&sources)?;
        // Cargo compiles again what is newer.
        let options = ["-r", "--preserve=timestamps", "--no-target-directory"];
        output(Command::new("cp").args(options).arg(from).arg(&copy))?;
        // Without a workspace of its own it would be taken for a member of the repository's.
        let manifest = copy.join("Cargo.toml");
        // Projects in C have none.
        let Ok(text) = fs::read_to_string(&manifest) else { return Ok(copy) };
        if !text.contains("[workspace") {
            fs::write(&manifest, text + "\n[workspace]\n")?;
        }
        Ok(copy)
    }

    /// Clones the program's repository unless it is there, and returns the program's folder in it.
    fn checkout(&self, sources: &Path, checkouts: Option<&Path>) -> Result<PathBuf> {
        let mut parts = self.package.splitn(3, '/');
        let (Some(owner), Some(name), Some(program)) = (parts.next(), parts.next(), parts.next())
        else {
            anyhow::bail!("{} is not OWNER/NAME/FOLDER", self.package)
        };
        let clone = sources.join(format!("{owner}-{name}-{}", self.short_version()));
        checkouts::at_commit(&format!("{owner}/{name}"), &self.version, &clone, checkouts)?;
        Ok(clone.join(program))
    }
}

/// Reads the text of `xtask/wild.tsv`.
pub(super) fn rows(text: &str) -> Result<Vec<Row>> {
    let lines = text.lines().skip(1).filter(|it| !it.is_empty());
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [package, version, kind, call, official, features] = columns[..] else {
                anyhow::bail!("not a row of xtask/wild.tsv: {line}")
            };
            let [package, version, kind, features] =
                [package, version, kind, features].map(str::to_owned);
            let call = Some(call.to_owned()).filter(|it| !it.is_empty());
            let name = official;
            let official = Official::parse(name);
            ensure!(official.is_some() != name.is_empty(), "not PACKAGE VERSION PATH: {name}");
            Ok(Row { package, version, kind, call, official, features })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_with_or_without_version() {
        let rows =
            rows("heading\na\t1.0.0\t\t\t\t\na\t2.0.0\t\t\t\t\n").expect("they are well-formed");
        let named = |name: &str| rows.iter().filter(|it| it.is_named(name)).count();
        assert_eq!(["a", "a@2.0.0", "a@3.0.0", "b"].map(named), [2, 1, 0, 0]);
    }

    #[test]
    fn rows_name_folders_of_repositories_at_commits() {
        let commit = "b0de7db4cd271654a2dcf78807dd865e98e0b339";
        let text = format!("heading\nowner/name/examples/a\t{commit}\t\t\t\t\nb/c\t-\t\t\t\t\n");
        let rows = rows(&text).expect("they are well-formed");
        let [theirs, ours] = rows.as_slice() else { panic!("there are two rows") };
        assert!(theirs.keeper() == Keeper::Repository && ours.keeper() == Keeper::Ours);
        assert_eq!(theirs.name(), "owner/name/examples/a b0de7db");
        assert_eq!(theirs.file_stem(), "owner-name-examples-a-b0de7db");
        assert_eq!((theirs.member(), ours.member()), (None, Some("c")));
        assert!(theirs.is_named("owner/name/examples/a@b0de7db"));
    }

    #[test]
    fn official_binary_without_path_is_refused() {
        let error = rows("heading\na\t1.0.0\t\t\tsvm 0.1.0\t\n").err().expect("it is refused");
        assert_eq!(error.to_string(), "not PACKAGE VERSION PATH: svm 0.1.0");
    }
}
