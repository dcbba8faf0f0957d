//! A project that uses other tools, and the edits that put Selkie behind their names.
//!
//! An edit adds lines that end with [`MARK`], or is one line of its own in `package.json`, so that it is
//! taken back without a look at what else has changed since.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::{
    failure::{Context as _, Failure, Result},
    input,
};

use crate::anchor::table;

/// The end of every line that an edit adds.
pub const MARK: &str = "# selkie switch";

/// The last number in the version of our packages, with which cargo prefers them to the registry's.
const PATCH_NUMBER: u32 = 99;

/// Our packages: name, beginning of the version, folder in `compat`, further features, enabled ones.
const PACKAGES: &str = include_str!("packages.tsv");

/// Where the stand-ins are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A clone of Selkie.
    Folder(PathBuf),
    /// A repository, and a commit of it.
    Git {
        /// The address.
        url: String,
        /// The commit.
        commit: Option<String>,
    },
}

impl Source {
    /// Reads `FOLDER`, `URL` or `URL#COMMIT`.
    ///
    /// # Errors
    ///
    /// If a folder has no packages of ours.
    pub fn parse(text: &str) -> Result<Self> {
        if text.contains("://") {
            let (url, commit) = match text.split_once('#') {
                Some((url, commit)) => (url, Some(commit.to_owned())),
                None => (text, None),
            };
            return Ok(Self::Git { url: url.to_owned(), commit });
        }
        let folder =
            Path::new(text).canonicalize().with_context(|| format!("cannot find {text}"))?;
        if !folder.join("patch").is_dir() {
            let help = "name the folder of a clone, or its address as in ssh://HOST/PATH#COMMIT";
            return Err(Failure::new(format!("{text} is no clone of Selkie")).with_help(help));
        }
        Ok(Self::Folder(folder))
    }

    /// Finds the clone in which a program was built.
    #[must_use]
    pub fn of_program(program: &Path) -> Option<Self> {
        let folder =
            program.ancestors().find(|it| it.join("patch/litesvm-0.18/Cargo.toml").is_file());
        folder.map(|it| Self::Folder(it.to_owned()))
    }

    /// The value of a package in a patch table.
    fn value(&self, name: &str, version: &str, is_renamed: bool) -> String {
        let package = if is_renamed { format!("package = \"{name}\", ") } else { String::new() };
        match self {
            Self::Folder(folder) => {
                let path = folder.join("patch").join(format!("{name}-{version}"));
                format!("{{ {package}path = {:?} }}", path.display().to_string())
            }
            Self::Git { url, commit } => {
                let commit =
                    commit.as_ref().map(|it| format!(", rev = \"{it}\"")).unwrap_or_default();
                let version = format!("version = \"={version}.{PATCH_NUMBER}\"");
                format!("{{ {package}git = \"{url}\"{commit}, {version} }}")
            }
        }
    }
}

/// A change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// The lines that are added, as they are shown.
    pub lines: Vec<String>,
    /// The whole text after the change.
    pub text: String,
}

/// What puts Selkie behind a project's names.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// The changes of files.
    pub edits: Vec<Edit>,
    /// Commands that follow while they are [due](is_due), each by its words: they bring the lock file up to date.
    /// If one fails, [`crate::lock::conflicts`] says what stands in its way.
    pub commands: Vec<Vec<String>>,
    /// What else holds or is to be done, a sentence each.
    pub notes: Vec<String>,
}

/// Looks at the project of a folder, or of one above it.
///
/// # Errors
///
/// If there is no project, or one of its files cannot be read.
pub fn plan(folder: &Path, source: &Source) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut found = false;
    if let Some(lock) = above(folder, "Cargo.lock") {
        found = true;
        plan.add_cargo(lock.parent().unwrap_or(folder), &lock, source)?;
    } else if let Some(manifest) = without_lock(folder) {
        found = true;
        let shown = manifest.display();
        plan.notes.push(format!(
            "{shown} has no lock file, which says what is pinned: `cargo generate-lockfile` makes it, and so does --write"
        ));
    }
    if let Some(manifest) = above(folder, "package.json") {
        found = true;
        plan.add_npm(&manifest, source)?;
    }
    if let Some(anchor) = above(folder, "Anchor.toml") {
        found = true;
        plan.add_anchor(&anchor)?;
    }
    if !found {
        let what =
            format!("found no Cargo.toml, package.json or Anchor.toml in {}", folder.display());
        return Err(Failure::new(what).with_help("go to the project's folder, or name it"));
    }
    Ok(plan)
}

/// Finds a file in a folder or one above it.
fn above(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.ancestors().map(|it| it.join(name)).find(|it| it.is_file())
}

/// Returns our packages for a name: the beginnings of their versions.
fn packages(name: &str) -> Vec<&'static str> {
    let rows = PACKAGES.lines().skip(1).filter_map(|it| {
        let mut columns = it.split('\t');
        Some((columns.next()?, columns.next()?))
    });
    rows.filter(|(it, _)| *it == name).map(|(_, version)| version).collect()
}

/// Whether a command of [`Plan::commands`] is still to be run: its package, which it names with the version, is
/// in the lock file of the folder or of one above it. An earlier command may have changed several.
///
/// # Errors
///
/// If the lock file cannot be read.
pub fn is_due(folder: &Path, command: &[String]) -> Result<bool> {
    let Some(lock) = above(folder, "Cargo.lock") else { return Ok(false) };
    let id = command.iter().find_map(|it| it.split_once('@'));
    let Some((name, version)) = id else { return Ok(true) };
    let package = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    Ok(read(&lock)?.replace('\r', "").contains(&package))
}

/// Returns the manifest of a folder, or of one above it, that has no lock file.
#[must_use]
pub fn without_lock(folder: &Path) -> Option<PathBuf> {
    above(folder, "Cargo.toml").filter(|_| above(folder, "Cargo.lock").is_none())
}

/// Removes our packages that the lock file does not use from the patch table, since cargo warns of them in each build:
/// a peer's package needed them, and the one in its place does not. Returns their names.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn remove_unused(folder: &Path) -> Result<Vec<String>> {
    let Some(lock) = above(folder, "Cargo.lock") else { return Ok(Vec::new()) };
    let locked = table(&lock)?;
    let unused =
        locked.get("patch").and_then(|it| it.get("unused")).and_then(toml::Value::as_array);
    let unused: Vec<(&str, &str)> = unused.into_iter().flatten().filter_map(patched).collect();
    let path = lock.with_file_name("Cargo.toml");
    let old = read(&path)?;
    let mut names = Vec::new();
    let is_used = |line: &&str| {
        let found = unused.iter().find(|(name, minor)| is_patch(line, name, minor));
        names.extend(found.map(|(name, _)| (*name).to_owned()));
        found.is_none()
    };
    let text: String = old.split_inclusive('\n').filter(is_used).collect();
    if text != old {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(names)
}

/// A locked package's name, and the beginning of its version, if it may be ours.
fn patched(package: &toml::Value) -> Option<(&str, &str)> {
    let text = |name: &str| package.get(name).and_then(toml::Value::as_str);
    let (minor, patch) = text("version")?.rsplit_once('.')?;
    (patch == PATCH_NUMBER.to_string()).then_some((text("name")?, minor))
}

/// Whether a line of a patch table is ours, for this package.
fn is_patch(line: &str, name: &str, minor: &str) -> bool {
    let is_named =
        line.starts_with(&format!("{name} = ")) || line.contains(&format!("package = \"{name}\""));
    let has_version = line.contains(&format!("{name}-{minor}\""))
        || line.contains(&format!("\"={minor}.{PATCH_NUMBER}\""));
    line.trim_end().ends_with(MARK) && is_named && has_version
}

/// A locked package's name and version, as cargo's commands take them.
fn id(package: &toml::Value) -> Option<String> {
    let text = |name: &str| package.get(name).and_then(toml::Value::as_str);
    Some(format!("{}@{}", text("name")?, text("version")?))
}

/// Whether a locked package is a peer's: its name and version, if it is from a registry.
fn peer(package: &toml::Value) -> Option<(String, String)> {
    let text = |name: &str| package.get(name).and_then(toml::Value::as_str);
    text("source").filter(|it| it.starts_with("registry+"))?;
    let (name, version) = (text("name")?, text("version")?);
    let is_peer = !packages(name).is_empty();
    is_peer.then(|| (name.to_owned(), version.to_owned()))
}

impl Plan {
    /// Adds packages of the lock file to the patch table of the workspace's manifest.
    fn add_cargo(&mut self, root: &Path, lock: &Path, source: &Source) -> Result<()> {
        let locked = table(lock)?;
        let all = locked.get("package").and_then(toml::Value::as_array).into_iter().flatten();
        let (mut lines, mut names) = (Vec::new(), Vec::<String>::new());
        for (name, version) in all.filter_map(peer) {
            let minor = version.rsplit_once('.').map_or(version.as_str(), |it| it.0);
            if !packages(&name).contains(&minor) {
                let (least, most) = (packages(&name)[0], packages(&name).pop().unwrap_or_default());
                self.notes.push(format!(
                    "{name} {version}: there are packages for {name} {least} to {most}, so change its \
                     version first; docs/switch.md has the errors that may follow"
                ));
                continue;
            }
            let is_renamed = names.contains(&name);
            let key = if is_renamed {
                format!("{name}-{}", minor.replace('.', "-"))
            } else {
                name.clone()
            };
            lines.push(format!("{key} = {} {MARK}", source.value(&name, minor, is_renamed)));
            let precise = format!("{minor}.{PATCH_NUMBER}");
            let words =
                ["cargo", "update", "-p", &format!("{name}@{version}"), "--precise", &precise];
            self.commands.push(words.map(str::to_owned).to_vec());
            names.push(name);
        }
        if lines.is_empty() {
            return Ok(());
        }
        // The peers' crates switch a feature of it on, without which its errors are none of the standard
        // library's; from 1.0 on they are without it.
        let all = locked.get("package").and_then(toml::Value::as_array).into_iter().flatten();
        let old = all.filter_map(id).filter(|it| it.starts_with("five8_core@0."));
        let update = |it: &str| ["cargo", "update", "-p", it].map(str::to_owned).to_vec();
        self.commands.extend(old.map(|it| update(it.as_str())));
        let path = root.join("Cargo.toml");
        let old = read(&path)?;
        let text = with_patch(&strip(&old), &mut lines);
        self.edits.push(Edit { path, lines, text });
        Ok(())
    }

    /// Overrides the npm package `litesvm`.
    fn add_npm(&mut self, path: &Path, source: &Source) -> Result<()> {
        let text = read(path)?;
        if !text.contains("litesvm") {
            return Ok(());
        }
        let Source::Folder(folder) = source else {
            let what = "package.json: build bindings/js of a clone, and name it in `overrides`";
            self.notes.push(what.to_owned());
            return Ok(());
        };
        let text = strip_npm(&text);
        let json: serde_json::Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is not JSON", path.display()))?;
        let target = format!("file:{}", folder.join("bindings/js").display());
        if json.get("overrides").is_some() {
            let what = format!("package.json: add \"litesvm\": \"{target}\" to its overrides");
            self.notes.push(what);
            return Ok(());
        }
        let line = npm_line(&target);
        let Some((before, after)) = text.split_once('{') else { return Ok(()) };
        let text = format!("{before}{{\n{line}{after}");
        self.edits.push(Edit { path: path.to_owned(), lines: vec![line], text });
        self.notes.push("bindings/js must be built: see its README".to_owned());
        Ok(())
    }

    /// Says how Anchor's commands come to Selkie.
    fn add_anchor(&mut self, path: &Path) -> Result<()> {
        let anchor = table(path)?;
        self.notes.push(
            "Anchor.toml stays as it is: `selkie link-names DIR`, and DIR first in PATH, puts Selkie behind \
             `anchor build`, `anchor test` and `anchor localnet`"
                .to_owned(),
        );
        if anchor.get("toolchain").is_some_and(|it| it.get("solana_version").is_some()) {
            self.notes.push(
                "Anchor.toml: with [toolchain] solana_version, anchor asks for the `solana` command; remove \
                 that line where the Solana CLI is not installed"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Writes the changed files.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self) -> Result<()> {
        self.edits.iter().try_for_each(|it| {
            fs::write(&it.path, &it.text)
                .with_context(|| format!("cannot write {}", it.path.display()))
        })
    }
}

/// Takes back what [`Plan::write`] wrote, and returns the files that were changed.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn undo(folder: &Path) -> Result<Vec<PathBuf>> {
    type Strip = fn(&str) -> String;
    const STRIPS: [(&str, Strip); 2] = [("Cargo.toml", strip), ("package.json", strip_npm)];
    let mut changed = Vec::new();
    for (name, strip) in STRIPS {
        for path in folder.ancestors().map(|it| it.join(name)).filter(|it| it.is_file()) {
            let old = read(&path)?;
            let new = strip(&old);
            if new != old {
                fs::write(&path, new)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                changed.push(path);
            }
        }
    }
    Ok(changed)
}

fn read(path: &Path) -> Result<String> {
    input::text(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))
}

/// A manifest with more lines in its patch table, which is added if it is missing.
fn with_patch(text: &str, lines: &mut Vec<String>) -> String {
    const HEADER: &str = "[patch.crates-io]";
    let at = text.lines().position(|it| it.trim() == HEADER);
    let Some(at) = at else {
        lines.insert(0, format!("{HEADER} {MARK}"));
        let gap = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        return format!("{text}{gap}{}\n", lines.join("\n"));
    };
    let mut all: Vec<&str> = text.lines().collect();
    for (more, line) in lines.iter().enumerate() {
        all.insert(at + 1 + more, line);
    }
    all.join("\n") + "\n"
}

/// A manifest without the lines that were added.
fn strip(text: &str) -> String {
    text.split_inclusive('\n').filter(|it| !it.trim_end().ends_with(MARK)).collect()
}

fn npm_line(target: &str) -> String {
    format!("  \"overrides\": {{ \"litesvm\": \"{target}\" }},")
}

/// A `package.json` without the line that was added.
fn strip_npm(text: &str) -> String {
    let is_ours = |line: &str| {
        let start = line.trim_end().strip_prefix("  \"overrides\": { \"litesvm\": \"file:");
        start.is_some_and(|it| it.ends_with("/bindings/js\" },"))
    };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.retain(|it| !is_ours(it));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"litesvm\"\nversion = \"0.15.0\"\nsource = \"registry+x\"\n\
                        [[package]]\nname = \"mollusk-svm\"\nversion = \"0.9.3\"\nsource = \"registry+x\"\n\
                        [[package]]\nname = \"five8_core\"\nversion = \"0.1.1\"\n\
                        [[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n";

    fn project(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("selkie-switch-{name}-{}", std::process::id()));
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn git() -> Source {
        Source::parse("ssh://git@example.org/selkie#abc").unwrap()
    }

    #[test]
    fn a_patch_is_added_and_taken_back() {
        for manifest in [
            "[workspace]\nmembers = [\"a\"]\n",
            "[patch.crates-io]\nother = { path = \"o\" }\n\n[workspace]\n",
        ] {
            let files = [("Cargo.toml", manifest), ("Cargo.lock", LOCK), ("a/Cargo.toml", "")];
            let root = project("cargo", &files);
            let plan = plan(&root.join("a"), &git()).unwrap();
            plan.write().unwrap();
            let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
            let patch = &text.parse::<toml::Table>().unwrap()["patch"]["crates-io"];
            assert_eq!(patch["litesvm"]["version"].as_str(), Some("=0.15.99"));
            assert_eq!(patch["litesvm"]["rev"].as_str(), Some("abc"));
            assert_eq!(plan.commands.len(), 2);
            assert_eq!(plan.commands[1].join(" "), "cargo update -p five8_core@0.1.1");
            assert_eq!(
                plan.commands[0].join(" "),
                "cargo update -p litesvm@0.15.0 --precise 0.15.99"
            );
            assert!(is_due(&root.join("a"), &plan.commands[0]).unwrap());
            let lock = LOCK.replace("0.15.0", "0.15.99");
            fs::write(root.join("Cargo.lock"), lock).unwrap();
            assert!(!is_due(&root, &plan.commands[0]).unwrap());
            assert!(remove_unused(&root).unwrap().is_empty());
            assert!(plan.notes[0].starts_with("mollusk-svm 0.9.3"), "{:?}", plan.notes);

            assert_eq!(undo(&root.join("a")).unwrap(), [root.join("Cargo.toml")]);
            assert_eq!(fs::read_to_string(root.join("Cargo.toml")).unwrap(), manifest);
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn a_patch_that_is_not_used_is_removed() {
        let kept = "[patch.crates-io] # selkie switch\nlitesvm = { path = \"s/patch/litesvm-0.15\" } # selkie switch\n";
        let lock = "[[patch.unused]]\nname = \"mollusk-svm-result\"\nversion = \"0.10.99\"\n\
                    [[patch.unused]]\nname = \"other\"\nversion = \"1.0.0\"\n";
        let lines = [
            "mollusk-svm-result = { path = \"s/patch/mollusk-svm-result-0.10\" } # selkie switch\n",
            "r-0-10 = { package = \"mollusk-svm-result\", git = \"ssh://s\", version = \"=0.10.99\" } # selkie switch\n",
        ];
        for line in lines {
            let manifest = format!("{kept}other = {{ path = \"o\" }}\n{line}");
            let root = project("unused", &[("Cargo.toml", &manifest), ("Cargo.lock", lock)]);
            assert_eq!(remove_unused(&root).unwrap(), ["mollusk-svm-result"]);
            let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
            assert_eq!(text, format!("{kept}other = {{ path = \"o\" }}\n"));
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn an_override_is_added_and_taken_back() {
        let json = "{\n  \"name\": \"it\",\n  \"devDependencies\": { \"litesvm\": \"^1\" }\n}\n";
        let root = project("npm", &[("package.json", json), ("selkie/patch/x", "")]);
        let source = Source::parse(&root.join("selkie").display().to_string()).unwrap();
        plan(&root, &source).unwrap().write().unwrap();
        let text = fs::read_to_string(root.join("package.json")).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(read["overrides"]["litesvm"].as_str().unwrap().starts_with("file:/"));
        undo(&root).unwrap();
        assert_eq!(fs::read_to_string(root.join("package.json")).unwrap(), json);
        fs::remove_dir_all(&root).unwrap();
    }
}
