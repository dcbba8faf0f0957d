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

use crate::{
    anchor::table,
    kept,
    pins::{self, Pin},
};

/// The end of every line that an edit adds.
pub const MARK: &str = "# selkie switch";

/// The last number in the version of our packages, with which cargo prefers them to the registry's.
const PATCH_NUMBER: u32 = 99;

/// The header of the patch table for packages of the registry.
const CRATES_IO: &str = "[patch.crates-io]";

/// Our packages: name, beginning of the version, folder in `compat`, further features, enabled ones.
const PACKAGES: &str = include_str!("packages.tsv");

/// The major version of `solana-account` in the interface of packages whose folder ends with no other one.
const NEWEST_TYPES: u64 = 4;

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

    /// The value of a peer's package in a patch table.
    fn value(&self, peer: &Peer, is_renamed: bool) -> String {
        let Peer { name, ours, .. } = peer;
        let package = if is_renamed { format!("package = \"{name}\", ") } else { String::new() };
        match self {
            Self::Folder(folder) => {
                let package_folder = ours.map(|it| it.folder(name)).unwrap_or_default();
                let path = folder.join("patch").join(package_folder);
                format!("{{ {package}path = {:?} }}", path.display().to_string())
            }
            Self::Git { url, commit } => {
                let commit =
                    commit.as_ref().map(|it| format!(", rev = \"{it}\"")).unwrap_or_default();
                let version = format!("version = \"={}\"", peer.patched());
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
    /// The lock file, which the commands change.
    lock: Option<PathBuf>,
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
        plan.lock = Some(lock);
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

/// Returns the `cargo update` that has to follow once ours are in the lock file of the folder, or of one above it,
/// by its words: it changes the packages that [`crate::lock::outdated`] finds there. `None` if there are none.
///
/// # Errors
///
/// If the lock file cannot be read.
pub fn last_update(folder: &Path) -> Result<Option<Vec<String>>> {
    let Some(lock) = above(folder, "Cargo.lock") else { return Ok(None) };
    let outdated = crate::lock::outdated(&read(&lock)?);
    let ids = outdated.iter().flat_map(|it| ["-p", it]);
    let words = ["cargo", "update"].into_iter().chain(ids).map(str::to_owned).collect();
    Ok((!outdated.is_empty()).then_some(words))
}

/// Whether the manifest beside the lock file of the folder, or of one above it, has our lines.
///
/// # Errors
///
/// If the manifest cannot be read.
pub fn is_switched(folder: &Path) -> Result<bool> {
    let Some(lock) = above(folder, "Cargo.lock") else { return Ok(false) };
    let text = read(&lock.with_file_name("Cargo.toml"))?;
    Ok(strip(&text) != text)
}

/// Says of each package of the project's own that encodes by an earlier `wincode` than one that it needs, what is
/// to be done: cargo cannot update it.
///
/// # Errors
///
/// If the lock file cannot be read.
pub fn behind(folder: &Path) -> Result<Vec<String>> {
    let Some(lock) = above(folder, "Cargo.lock") else { return Ok(Vec::new()) };
    let behind = crate::lock::behind(&read(&lock)?);
    let note = |it: &crate::lock::Behind| {
        let crate::lock::Behind { package, wincode, needed, newest } = it;
        format!(
            "{package} encodes by wincode {wincode}, and {needed} by {newest}: write wincode = \"{newest}\" in the \
             manifest of {package}, and repeat `selkie switch --write`"
        )
    };
    Ok(behind.iter().map(note).collect())
}

/// Finds a file in a folder or one above it.
fn above(folder: &Path, name: &str) -> Option<PathBuf> {
    folder.ancestors().map(|it| it.join(name)).find(|it| it.is_file())
}

/// Returns the manifest of a folder, or of one above it, that has no lock file.
#[must_use]
pub fn without_lock(folder: &Path) -> Option<PathBuf> {
    above(folder, "Cargo.toml").filter(|_| above(folder, "Cargo.lock").is_none())
}

/// One of our packages.
#[derive(Clone, Copy)]
struct Ours {
    /// The beginning of its version, or the whole one (`xtask/src/peers/patch.rs`).
    version: &'static str,
    /// The major version of the `solana-account` that its interface has.
    types: u64,
}

impl Ours {
    /// Returns those for a name, by version.
    fn all(name: &str) -> Vec<Self> {
        let rows = PACKAGES.lines().skip(1).map(|it| it.split('\t').collect::<Vec<_>>());
        let ours = |row: Vec<&'static str>| match *row {
            [it, version, shim, ..] if it == name => {
                let (_, suffix) = shim.rsplit_once('-').unwrap_or_default();
                let types = suffix.parse().ok().filter(|it| *it < NEWEST_TYPES);
                Some(Self { version, types: types.unwrap_or(NEWEST_TYPES) })
            }
            _ => None,
        };
        rows.filter_map(ours).collect()
    }

    /// The folder in `patch`.
    fn folder(self, name: &str) -> String {
        let mut numbers = self.version.splitn(3, '.');
        let minor = [numbers.next(), numbers.next()].map(Option::unwrap_or_default).join(".");
        format!("{name}-{minor}")
    }
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

/// A locked package for which there are packages of ours.
struct Peer {
    name: String,
    version: String,
    /// The header of the patch table for where it is from.
    table: String,
    is_of_registry: bool,
    /// What replaces it.
    ours: Option<Ours>,
}

impl Peer {
    /// Reads a locked package, one of `all`.
    fn read(package: &toml::Value, all: &[toml::Value]) -> Option<Self> {
        let text = |name: &str| package.get(name).and_then(toml::Value::as_str);
        let (name, version) = (text("name")?.to_owned(), text("version")?.to_owned());
        let packages = Ours::all(&name);
        let source = text("source").filter(|_| !packages.is_empty())?;
        let is_of_registry = source.starts_with("registry+");
        let table = match source.strip_prefix("git+") {
            // A branch and the commit follow the address.
            Some(git) => format!("[patch.\"{}\"]", git.split(['?', '#']).next()?),
            None if is_of_registry => CRATES_IO.to_owned(),
            None => return None,
        };
        let minor = version.rsplit_once('.').map_or(version.as_str(), |it| it.0);
        let at = packages.iter().position(|it| [minor, &version].contains(&it.version));
        let ours = at.map(|at| match types(package, all) {
            // A branch has the types of a later version before it has that version's number.
            Some(types) if !is_of_registry => {
                packages[at..].iter().find(|it| it.types == types).unwrap_or(&packages[at])
            }
            _ => &packages[at],
        });
        let ours = ours.copied();
        Some(Self { name, version, table, is_of_registry, ours })
    }

    /// The version of our package: where the peer's is in a repository alone, the same.
    fn patched(&self) -> String {
        match self.ours {
            Some(ours) if ours.version != self.version => {
                format!("{}.{PATCH_NUMBER}", ours.version)
            }
            _ => self.version.clone(),
        }
    }

    /// Whether a locked package needs this one.
    fn is_needed_by(&self, package: &toml::Value) -> bool {
        let needed = package.get("dependencies").and_then(toml::Value::as_array);
        needed.into_iter().flatten().filter_map(toml::Value::as_str).any(|it| {
            let mut words = it.split(' ');
            words.next() == Some(&self.name) && words.next().is_none_or(|it| it == self.version)
        })
    }

    /// Whether only packages need it that ours replace, which do without.
    fn goes_with_others(&self, all: &[toml::Value]) -> bool {
        let mut by = all.iter().filter(|it| self.is_needed_by(it)).peekable();
        by.peek().is_some() && by.all(|it| Self::read(it, all).is_some_and(|it| it.ours.is_some()))
    }

    /// The command that brings ours into the lock file.
    fn update(&self) -> Vec<String> {
        let id = format!("{}@{}", self.name, self.version);
        let mut words = ["cargo", "update", "-p", &id].map(str::to_owned).to_vec();
        if self.is_of_registry {
            // For a repository it would be a commit of that.
            words.extend(["--precise".to_owned(), self.patched()]);
        }
        words
    }

    /// Says why there is no package, or none that the project's requirements allow.
    fn hindrance(&self, pins: &[Pin]) -> Option<String> {
        let Self { name, version, .. } = self;
        let Some(replacement) = self.ours else {
            let all = Ours::all(name);
            let [least, most] = [all.first(), all.last()].map(|it| it.map_or("", |it| it.version));
            return Some(format!(
                "{name} {version}: there are packages for {name} {least} to {most}, so change its \
                 version first; docs/switch.md has the errors that may follow"
            ));
        };
        let pin = pins.iter().find(|it| it.package == *name && it.version == *version)?;
        let (manifest, minor, ours) = (pin.manifest.display(), replacement.version, self.patched());
        (ours != *version).then(|| {
            format!(
                "{manifest} asks for {name} \"={version}\", which excludes {ours}, the version of the \
                 patch: write \"{minor}\" there, and repeat `selkie switch`"
            )
        })
    }
}

/// Returns the major version of the `solana-account` that a locked package needs.
fn types(package: &toml::Value, all: &[toml::Value]) -> Option<u64> {
    const ACCOUNT: &str = "solana-account";
    let text =
        |package: &'_ toml::Value, name: &str| package.get(name)?.as_str().map(str::to_owned);
    let needs = package.get("dependencies")?.as_array()?;
    let mut needed = needs.iter().filter_map(|it| it.as_str()?.strip_prefix(ACCOUNT));
    let needed = needed.find(|it| it.is_empty() || it.starts_with(' '))?.trim();
    let version = match needed {
        // There is one version of it alone.
        "" => all.iter().find(|it| text(it, "name").as_deref() == Some(ACCOUNT))?,
        _ => return needed.split('.').next()?.parse().ok(),
    };
    text(version, "version")?.split('.').next()?.parse().ok()
}

impl Plan {
    /// Adds packages of the lock file to the patch tables of the workspace's manifest.
    fn add_cargo(&mut self, root: &Path, lock: &Path, source: &Source) -> Result<()> {
        let locked = table(lock)?;
        let all =
            locked.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut peers: Vec<Peer> = all.iter().filter_map(|it| Peer::read(it, all)).collect();
        peers.retain(|it| !it.goes_with_others(all));
        let pins = if peers.is_empty() { Vec::new() } else { pins::exact(root) };
        peers.retain(|it| {
            let hindrance = it.hindrance(&pins);
            let is_free = hindrance.is_none();
            self.notes.extend(hindrance);
            is_free
        });
        if peers.is_empty() {
            return Ok(());
        }
        let mut tables = Vec::<(&str, Vec<String>)>::new();
        let mut names = Vec::new();
        for peer in &peers {
            let name = peer.name.as_str();
            let is_renamed = names.contains(&(&peer.table, name));
            let key = match peer.ours {
                Some(ours) if is_renamed => ours.folder(name).replace('.', "-"),
                _ => name.to_owned(),
            };
            let line = format!("{key} = {} {MARK}", source.value(peer, is_renamed));
            match tables.iter_mut().find(|it| it.0 == peer.table) {
                Some((_, lines)) => lines.push(line),
                None => tables.push((&peer.table, vec![line])),
            }
            self.commands.push(peer.update());
            names.push((&peer.table, name));
        }
        let path = root.join("Cargo.toml");
        let mut text = strip(&read(&path)?);
        let mut lines = Vec::new();
        for (header, mut more) in tables {
            text = with_patch(&text, header, &mut more);
            lines.extend(more);
        }
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

    /// Writes the changed files, and keeps the lock file as it is before the commands, for [`undo`].
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self) -> Result<()> {
        if let Some(lock) = &self.lock
            && !(self.edits.is_empty() && self.commands.is_empty())
        {
            kept::keep_before(lock)?;
        }
        self.edits.iter().try_for_each(|it| {
            fs::write(&it.path, &it.text)
                .with_context(|| format!("cannot write {}", it.path.display()))
        })
    }

    /// Remembers the lock file that the commands have made, for [`undo`].
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written.
    pub fn finish(&self) -> Result<()> {
        self.lock.as_deref().map_or(Ok(()), kept::keep_after)
    }
}

/// Takes back what [`Plan::write`] wrote, and returns the files that were changed: also the lock file, if it is
/// still that of [`Plan::finish`].
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn undo(folder: &Path) -> Result<Vec<PathBuf>> {
    // Lines are in the manifest beside the lock file; another workspace may be around it.
    let manifests = match above(folder, "Cargo.lock") {
        Some(lock) => vec![lock.with_file_name("Cargo.toml")],
        None => folder.ancestors().map(|it| it.join("Cargo.toml")).collect(),
    };
    let mut changed = Vec::new();
    for path in manifests.iter().filter(|it| it.is_file()) {
        restore(path, strip, &mut changed)?;
    }
    if let Some(path) = above(folder, "package.json") {
        restore(&path, strip_npm, &mut changed)?;
    }
    if let Some(lock) = above(folder, "Cargo.lock")
        && kept::put_back(&lock)?
    {
        changed.push(lock);
    }
    Ok(changed)
}

fn restore(path: &Path, strip: fn(&str) -> String, changed: &mut Vec<PathBuf>) -> Result<()> {
    let old = read(path)?;
    let new = strip(&old);
    if new != old {
        fs::write(path, new).with_context(|| format!("cannot write {}", path.display()))?;
        changed.push(path.to_owned());
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    input::text(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))
}

/// A manifest with more lines in one of its patch tables, which is added if it is missing.
fn with_patch(text: &str, header: &str, lines: &mut Vec<String>) -> String {
    let at = text.lines().position(|it| it.trim() == header);
    let Some(at) = at else {
        lines.insert(0, format!("{header} {MARK}"));
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
    fn the_last_update_names_what_is_outdated() {
        let package = |head: &str, needs: &str| {
            format!(
                "[[package]]\nname = \"{head}\"\nversion = \"3.2.0\"\ndependencies = [{needs}]\n"
            )
        };
        let hash = package("solana-hash", "\"wincode 0.6.3\"");
        let nonce = package("solana-nonce", "\"solana-hash\", \"wincode 0.5.4\"");
        let root = project("last", &[("Cargo.lock", &format!("{hash}{nonce}"))]);
        let words = last_update(&root.join("a")).unwrap().unwrap();
        assert_eq!(words.join(" "), "cargo update -p solana-nonce@3.2.0");
        fs::write(root.join("Cargo.lock"), hash).unwrap();
        assert_eq!(last_update(&root).unwrap(), None);
        fs::remove_dir_all(root).unwrap();
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
            assert_eq!(plan.commands.len(), 1);
            assert_eq!(
                plan.commands[0].join(" "),
                "cargo update -p litesvm@0.15.0 --precise 0.15.99"
            );
            assert!(is_due(&root.join("a"), &plan.commands[0]).unwrap());
            let lock = LOCK.replace("0.15.0", "0.15.99");
            fs::write(root.join("Cargo.lock"), lock).unwrap();
            assert!(!is_due(&root, &plan.commands[0]).unwrap());
            assert!(plan.notes[0].starts_with("mollusk-svm 0.9.3"), "{:?}", plan.notes);

            assert_eq!(undo(&root.join("a")).unwrap(), [root.join("Cargo.toml")]);
            assert_eq!(fs::read_to_string(root.join("Cargo.toml")).unwrap(), manifest);
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn a_workspace_around_another_one_stays_as_it_is() {
        let switched = format!("[workspace]\n[patch.crates-io] {MARK}\n");
        let files = [
            ("Cargo.toml", switched.as_str()),
            ("Cargo.lock", LOCK),
            ("own/Cargo.toml", switched.as_str()),
            ("own/Cargo.lock", LOCK),
        ];
        let root = project("nested", &files);
        assert_eq!(undo(&root.join("own")).unwrap(), [root.join("own/Cargo.toml")]);
        assert_eq!(fs::read_to_string(root.join("Cargo.toml")).unwrap(), switched);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn packages_of_repositories_have_tables_of_their_own() {
        const URL: &str = "https://github.com/otter-sec/anchor.git";
        let lock = format!(
            "[[package]]\nname = \"anchor-v2-testing\"\nversion = \"0.1.0\"\n\
             source = \"git+{URL}?branch=anchor-next#abc\"\ndependencies = [\"litesvm\"]\n\
             [[package]]\nname = \"litesvm\"\nversion = \"0.13.1\"\nsource = \"registry+x\"\n\
             [[package]]\nname = \"mollusk-svm\"\nversion = \"0.16.4\"\nsource = \"registry+x\"\n"
        );
        let manifest = "[package]\nname = \"it\"\n";
        let root = project("git", &[("Cargo.toml", manifest), ("Cargo.lock", &lock)]);
        let plan = plan(&root, &git()).unwrap();
        plan.write().unwrap();
        let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let patch = &text.parse::<toml::Table>().unwrap()["patch"];
        assert_eq!(patch[URL]["anchor-v2-testing"]["version"].as_str(), Some("=0.1.0"));
        assert!(patch["crates-io"].get("litesvm").is_none(), "only what is replaced needs it");
        assert!(patch["crates-io"].get("mollusk-svm").is_some(), "{text}");
        // The version of a package of a repository is a commit.
        assert_eq!(plan.commands[0].join(" "), "cargo update -p anchor-v2-testing@0.1.0");
        undo(&root).unwrap();
        assert_eq!(fs::read_to_string(root.join("Cargo.toml")).unwrap(), manifest);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_branch_has_the_package_with_its_types() {
        for (needs, account, folder) in [
            ("\"solana-account\"", "4.3.0", "mollusk-svm-0.14"),
            ("\"solana-account-info\", \"solana-account 4.3.0\"", "3.1.0", "mollusk-svm-0.14"),
            ("\"solana-account\"", "3.1.0", "mollusk-svm-0.13"),
            ("", "4.3.0", "mollusk-svm-0.13"),
        ] {
            let lock = format!(
                "[[package]]\nname = \"mollusk-svm\"\nversion = \"0.13.1\"\n\
                 source = \"git+https://example.org/mollusk?branch=next#abc\"\ndependencies = [{needs}]\n\
                 [[package]]\nname = \"solana-account\"\nversion = \"{account}\"\n"
            );
            let files = [("Cargo.toml", ""), ("Cargo.lock", &*lock), ("selkie/patch/x", "")];
            let root = project("branch", &files);
            let source = Source::parse(&root.join("selkie").display().to_string()).unwrap();
            let lines = plan(&root, &source).unwrap().edits.remove(0).lines;
            assert!(lines[1].contains(folder), "{needs}, {account}: {lines:?}");
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn exact_requirements_are_named() {
        for (requirement, is_exact) in [
            ("litesvm = \"=0.15.0\"", true),
            ("vm = { package = \"litesvm\", version = \"= 0.15.0\" }", true),
            ("litesvm = \"0.15.0\"", false),
            ("litesvm = \"=0.15\"", false),
        ] {
            let member = format!("[target.'cfg(unix)'.dev-dependencies]\n{requirement}\n");
            // A member, and a package beside the workspace, which another one names.
            let beside = "[dependencies]\nit = { path = \"../a/b\" }\n";
            for workspace in ["", "own"] {
                let of = |name: &str| Path::new(workspace).join(name).display().to_string();
                let files = [
                    (of("Cargo.lock"), LOCK),
                    (of("Cargo.toml"), if workspace.is_empty() { "[workspace]\n" } else { beside }),
                    ("a/b/Cargo.toml".to_owned(), &*member),
                ];
                let files = files.each_ref().map(|(name, text)| (name.as_str(), *text));
                let root = project("pins", &files);
                let plan = plan(&root.join(workspace), &git()).unwrap();
                assert_eq!(plan.edits.is_empty(), is_exact, "{requirement}");
                let note = plan.notes.iter().find(|it| it.contains("write \"0.15\" there"));
                let is_named = note.is_some_and(|it| it.contains("a/b/Cargo.toml"));
                assert_eq!(is_named, is_exact, "{requirement}");
                fs::remove_dir_all(&root).unwrap();
            }
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
