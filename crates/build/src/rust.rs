//! Rust: a toolchain that compiles for BPF and has the standard library's source.
//!
//! LLVM 23 and newer write what the linker needs. The toolchain may be of any channel: what a
//! stable one refuses without being told, it is told. Programs without the standard library get
//! `core` and `alloc`, others all of `std`, compiled with them.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    Compiled, Failure, Options, Project, Watch, c::dependencies_of, collect::Collected, in_path,
    overlay, project::Language, target, typed, view,
};

/// The toolchain that programs are tested with.
pub const TESTED: &str = "1.99.0";

/// What installs it.
pub const INSTALL: &str = "rustup toolchain install 1.99.0 --profile minimal --component rust-src";

/// The oldest LLVM that returns large values and calls helpers as Rust needs it for BPF.
const LLVM_MIN: u32 = 23;

/// A Rust toolchain.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Toolchain {
    name: String,
    /// Where `bin` and `lib` are.
    root: PathBuf,
    /// What rustc says of itself: `1.100.0-nightly (8925ea358 2026-08-20)`.
    release: String,
    llvm: u32,
}

impl Toolchain {
    fn open(root: PathBuf) -> Option<Self> {
        let output = Command::new(root.join("bin/rustc")).arg("-Vv").output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        let llvm = said.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
        Some(Self {
            name: root.file_name()?.to_string_lossy().into_owned(),
            release: said.lines().next()?.strip_prefix("rustc ")?.to_owned(),
            llvm: llvm.split('.').next()?.parse().ok()?,
            root,
        })
    }

    fn library(&self) -> PathBuf {
        self.root.join("lib/rustlib/src/rust/library")
    }

    fn is_usable(&self) -> bool {
        self.llvm >= LLVM_MIN && self.library().join("std/Cargo.toml").is_file()
    }

    fn title(&self) -> String {
        format!("{} (rustc {}, LLVM {})", self.name, self.release, self.llvm)
    }

    /// The one that is named, the one that programs are tested with, or the newest that will do.
    fn find(named: Option<&str>) -> Result<Self, Failure> {
        let roots = installed();
        let called = |name: &str| {
            let is_called = |root: &&PathBuf| {
                let base = root.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
                base.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            roots.iter().find(is_called).cloned()
        };
        if let Some(name) = named {
            let root = called(name).unwrap_or_else(|| name.into());
            let toolchain = Self::open(root).ok_or_else(|| {
                Failure::setup(format!("there is no Rust toolchain `{name}`"), install(&roots))
            })?;
            return match toolchain.is_usable() {
                true => Ok(toolchain),
                false => Err(toolchain.lacking()),
            };
        }
        if let Some(tested) = called(TESTED).and_then(Self::open).filter(Self::is_usable) {
            return Ok(tested);
        }
        let all: Vec<Self> = roots.iter().cloned().filter_map(Self::open).collect();
        let usable = all.iter().filter(|it| it.is_usable());
        let newest = usable.max_by_key(|it| (it.llvm, it.release.clone()));
        newest.cloned().ok_or_else(|| {
            let near = all.iter().find(|it| it.llvm >= LLVM_MIN);
            near.map_or_else(
                || {
                    let message = format!("no Rust toolchain here has LLVM {LLVM_MIN} or newer");
                    Failure::setup(message, install(&roots))
                },
                Self::lacking,
            )
        })
    }

    fn lacking(&self) -> Failure {
        let Self { name, llvm, .. } = self;
        if *llvm < LLVM_MIN {
            let message = format!("{name} has LLVM {llvm}, and BPF in Rust needs {LLVM_MIN}");
            return Failure::setup(message, format!("this has it: {INSTALL}"));
        }
        Failure::setup(
            format!("{name} is without the standard library's source"),
            format!("this adds it: rustup component add rust-src --toolchain {name}"),
        )
    }
}

/// The name of the toolchain that programs in Rust are built with, or of the one that is asked for.
///
/// # Errors
///
/// [`Failure::Setup`] where none is found that will do.
pub fn compiler(named: Option<&str>) -> Result<String, Failure> {
    Toolchain::find(named).map(|toolchain| toolchain.title())
}

/// The folders of toolchains: rustup's, and that of the `rustc` that a user would start.
fn installed() -> Vec<PathBuf> {
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| Some(env::home_dir()?.join(".rustup")));
    let folders = rustup.map(|it| it.join("toolchains")).and_then(|it| fs::read_dir(it).ok());
    let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let own = in_path("rustc").and_then(|rustc| {
        let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    });
    let mut roots: Vec<PathBuf> =
        folders.chain(own).filter_map(|it| it.canonicalize().ok()).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// What to do where no toolchain will do.
fn install(roots: &[PathBuf]) -> String {
    let rustup =
        if roots.is_empty() { "after installing rustup (https://rustup.rs): " } else { "" };
    format!("{rustup}{INSTALL}")
}

/// The packages of a workspace that are programs: those with a library that C could link.
///
/// # Errors
///
/// [`Failure::Setup`] where cargo cannot be asked.
pub fn programs(manifest: &Path) -> Result<Vec<Project>, Failure> {
    let metadata = metadata(Command::new("cargo"), manifest)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_program = |package: &&Value| {
        let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let kinds = targets.iter().flat_map(|it| it["crate_types"].as_array()).flatten();
        kinds.into_iter().any(|kind| kind == "cdylib")
    };
    let project = |package: &Value| {
        let manifest = PathBuf::from(package["manifest_path"].as_str()?);
        let name = package["name"].as_str()?.to_owned();
        Some(Project {
            root: manifest.parent()?.to_owned(),
            name,
            language: Language::Rust(manifest),
        })
    };
    Ok(packages.iter().filter(is_program).filter_map(project).collect())
}

fn metadata(mut cargo: Command, manifest: &Path) -> Result<Value, Failure> {
    cargo.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
    let failed = |why: &dyn std::fmt::Display| {
        let message = format!("cargo cannot read {}: {why}", manifest.display());
        Failure::setup(message, "`cargo metadata` there says more")
    };
    let output = cargo.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// A package and how it is compiled.
struct Job<'a> {
    toolchain: &'a Toolchain,
    manifest: &'a Path,
    /// The manifest that cargo gets: that, or a view of it.
    given: PathBuf,
    /// Whether the package is a workspace of its own.
    is_alone: bool,
    /// The folder where cargo puts everything.
    target: PathBuf,
    /// The name of the library.
    library: String,
    /// Settings that the workspace's profile leaves to us.
    profile: Vec<(&'static str, &'static str)>,
    specification: PathBuf,
    options: &'a Options,
}

/// Compiles a project in Rust.
///
/// # Errors
///
/// [`Failure::Setup`] where no toolchain is found, [`Failure::Compiler`] where it refuses a source.
pub fn compile(
    project: &Project,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Compiled, Failure> {
    let Language::Rust(manifest) = &project.language else {
        unreachable!("the caller has a project in Rust")
    };
    let toolchain = Toolchain::find(options.toolchain.as_deref())?;
    let mut job = Job::new(&toolchain, manifest, options)?;
    let source = overlay::make(&toolchain.library(), &toolchain.title(), &options.cache)?;
    let mut std = !job.is_without_std();
    watch.chose(&toolchain.title());
    let output = loop {
        match job.run(std, &source, watch)? {
            Outcome::Done => break job.output(),
            Outcome::NeedsStd if !std => {
                watch.said("a dependency needs the standard library: building that too\n");
                std = true;
            }
            // A failure before anything was compiled may come from a dependency that only tests
            // have and that cannot be found.
            Outcome::Unresolved if job.leave_out_tests()? => {
                watch.said("trying again without the dependencies that only tests have\n");
            }
            Outcome::NeedsStd | Outcome::Refused | Outcome::Unresolved => {
                return Err(Failure::Compiler(typed(&job.command(std, &source))));
            }
        }
    };
    let unreadable = |error| Failure::file(&output, &error);
    let collected = Collected::read(&output).map_err(unreadable)?;
    let objects = collected.objects.iter().map(|path| {
        let bytes = fs::read(path).map_err(|error| Failure::file(path, &error))?;
        Ok((shown(path), bytes))
    });
    let objects = objects.collect::<Result<_, Failure>>()?;
    Ok(Compiled {
        name: job.library.clone(),
        objects,
        sources: job.sources(&output),
        toolchain: toolchain.title(),
        target: job.target,
    })
}

/// An object's name for people: where it lies is of no interest.
fn shown(path: &Path) -> String {
    path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

enum Outcome {
    Done,
    /// The standard library was asked for, and is not there.
    NeedsStd,
    Refused,
    /// The same, before a compiler was started.
    Unresolved,
}

impl<'a> Job<'a> {
    fn new(
        toolchain: &'a Toolchain,
        manifest: &'a Path,
        options: &'a Options,
    ) -> Result<Self, Failure> {
        // A dependency in a folder that does not exist keeps cargo from reading the manifest at all.
        let (given, metadata) = match metadata(cargo(toolchain), manifest) {
            Ok(metadata) => (manifest.to_owned(), metadata),
            Err(unreadable) => {
                let view = view_without_workspace(manifest)?.ok_or(unreadable)?;
                let metadata = metadata(cargo(toolchain), &view)?;
                (view, metadata)
            }
        };
        let mut packages = metadata["packages"].as_array().into_iter().flatten();
        let package =
            packages.find(|it| it["manifest_path"].as_str().map(Path::new) == Some(&*given));
        let targets = package.and_then(|it| it["targets"].as_array()).into_iter().flatten();
        let is_library = |it: &&Value| {
            let kinds = it["kind"].as_array().into_iter().flatten();
            kinds.filter_map(Value::as_str).any(|kind| kind.ends_with("lib"))
        };
        let mut libraries = targets.filter(is_library);
        let library = libraries.next().and_then(|it| it["name"].as_str()).ok_or_else(|| {
            let message = format!("{} has no library", manifest.display());
            Failure::setup(message, "a program is the library of its package: src/lib.rs")
        })?;
        let target = match given == manifest {
            true => PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")),
            false => usual_target(manifest),
        };
        let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or("."));
        let specification = target.join("selkie").join(target::NAME).with_extension("json");
        crate::write_if_changed(&specification, target::specification().as_bytes())
            .map_err(|error| Failure::file(&specification, &error))?;
        Ok(Self {
            toolchain,
            manifest,
            given,
            is_alone: metadata["workspace_members"].as_array().is_some_and(|it| it.len() == 1)
                && root.join("Cargo.toml") == manifest,
            library: library.replace('-', "_"),
            profile: missing_in_profile(&root.join("Cargo.toml")),
            target,
            specification,
            options,
        })
    }

    /// Goes on with a view of the package without what only its tests need, if there is such a view
    /// and it is not the one that cargo has had already. Members of workspaces have none: the
    /// workspace would be another one.
    fn leave_out_tests(&mut self) -> Result<bool, Failure> {
        if !self.is_alone || self.given != self.manifest {
            return Ok(false);
        }
        let view = view_in(self.manifest, &self.target)?;
        let is_there = view.is_some();
        self.given = view.unwrap_or_else(|| self.manifest.to_owned());
        Ok(is_there)
    }

    /// Whether the library says that it does without `std`.
    fn is_without_std(&self) -> bool {
        let source = self.manifest.with_file_name("src").join("lib.rs");
        let text = fs::read_to_string(source).unwrap_or_default();
        let mut attributes = text.lines().map(str::trim).filter(|line| line.starts_with("#!["));
        attributes.any(|line| line.contains("no_std"))
    }

    fn command(&self, std: bool, source: &Path) -> Command {
        let crates = if std { "std,panic_abort" } else { "core,alloc" };
        let mut command = cargo(self.toolchain);
        command.args(["rustc", "--lib", "--crate-type", "cdylib", "--release"]);
        command.arg("--manifest-path").arg(&self.given);
        command.arg("--target-dir").arg(&self.target);
        command.arg("--target").arg(&self.specification).arg("-Zjson-target-spec");
        command.arg(format!("-Zbuild-std={crates}"));
        command.arg("-Zbuild-std-features=optimize_for_size");
        command.args(["--message-format", "json-diagnostic-rendered-ansi"]);
        command.args(&self.options.cargo);
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", source);
        command.env("RUSTC_BOOTSTRAP", "1");
        // Flags for programs of this machine would not fit.
        command.env("RUSTFLAGS", "-Cpasses=lower-atomic");
        command.env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
        command.env(target::LINKER_VARIABLE, &self.options.linker);
        for (name, value) in &self.profile {
            command.env(name, value);
        }
        command
    }

    fn run(&self, std: bool, source: &Path, watch: &mut dyn Watch) -> Result<Outcome, Failure> {
        let mut command = self.command(std, source);
        let shown = typed(&command);
        watch.runs(&shown);
        let failed = |error| {
            let message = format!("cannot run {shown}: {error}");
            Failure::setup(message, "is the toolchain complete?")
        };
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let output = child.stdout.take().expect("it was asked for");
        let (mut needs_std, mut is_started) = (false, false);
        let mut said = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(failed)?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            is_started |= message["reason"] != "build-finished";
            let message = &message["message"];
            needs_std |= is_about_std(message);
            said.extend(message["rendered"].as_str().map(str::to_owned));
            // What asks for the standard library is not shown: it is tried again with that.
            if std || !needs_std {
                said.drain(..).for_each(|text| watch.said(&text));
            }
        }
        let status = child.wait().map_err(failed)?;
        Ok(match (status.success(), needs_std) {
            (true, _) => Outcome::Done,
            (false, true) => Outcome::NeedsStd,
            (false, false) if is_started => Outcome::Refused,
            (false, false) => Outcome::Unresolved,
        })
    }

    /// Where what was collected for the linker is.
    fn output(&self) -> PathBuf {
        let folder = self.target.join(target::NAME).join("release");
        folder.join(format!("lib{}.so", self.library))
    }

    /// What the program was made of: sources, manifests, and the compiler.
    fn sources(&self, output: &Path) -> Vec<PathBuf> {
        let rule = fs::read_to_string(output.with_extension("d")).unwrap_or_default();
        let mut sources: BTreeSet<PathBuf> = dependencies_of(&rule).into_iter().collect();
        let manifests: Vec<PathBuf> = sources
            .iter()
            .flat_map(|it| it.ancestors().skip(1))
            .map(|it| it.join("Cargo.toml"))
            .collect();
        sources.extend(manifests.into_iter().filter(|it| it.is_file()));
        for folder in self.manifest.ancestors().skip(1) {
            let names = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml"];
            sources
                .extend(names.map(|name| folder.join(name)).into_iter().filter(|it| it.is_file()));
        }
        sources.insert(self.toolchain.root.join("bin/rustc"));
        sources.into_iter().collect()
    }
}

/// A view of a package without what only its tests need, in the folder of what is built.
fn view_in(manifest: &Path, target: &Path) -> Result<Option<PathBuf>, Failure> {
    let name = manifest.parent().and_then(Path::file_name).unwrap_or_default();
    let folder = target.join("selkie").join("view").join(name);
    view::make(manifest, &folder).map_err(|error| Failure::file(&folder, &error))
}

/// The same for a manifest that cargo cannot read, if it says itself that it is in no workspace.
fn view_without_workspace(manifest: &Path) -> Result<Option<PathBuf>, Failure> {
    let text = fs::read_to_string(manifest).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    if !table.contains_key("workspace") {
        return Ok(None);
    }
    view_in(manifest, &usual_target(manifest))
}

/// Where cargo puts what it builds of a package, where it cannot be asked.
fn usual_target(manifest: &Path) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").filter(|it| !it.is_empty());
    let here = || env::current_dir().unwrap_or_default();
    named.map_or_else(|| manifest.with_file_name("target"), |it| here().join(it))
}

/// A toolchain's cargo, which starts that toolchain's rustc.
fn cargo(toolchain: &Toolchain) -> Command {
    let bin = toolchain.root.join("bin");
    let own = bin.join("cargo");
    let mut command = Command::new(if own.is_file() { own } else { "cargo".into() });
    command.env("RUSTC", bin.join("rustc")).env("RUSTUP_TOOLCHAIN", &toolchain.name);
    command.env_remove("RUSTC_WRAPPER").env_remove("RUSTDOC");
    command
}

/// Whether a message of rustc says that there is no `std`.
fn is_about_std(message: &Value) -> bool {
    let text = message["message"].as_str().unwrap_or_default();
    message["code"]["code"] == "E0463" && text.contains("`std`")
}

/// Settings that make programs small, for a release profile that says nothing of them: variables
/// that cargo takes for settings, and their values.
fn missing_in_profile(manifest: &Path) -> Vec<(&'static str, &'static str)> {
    let usual = [
        ("lto", "CARGO_PROFILE_RELEASE_LTO", "fat"),
        ("codegen-units", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
        ("debug", "CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only"),
    ];
    let text = fs::read_to_string(manifest).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    let profile = table.get("profile").and_then(|it| it.get("release"));
    let is_missing = |name: &str| profile.is_none_or(|it| it.get(name).is_none());
    let missing = usual.into_iter().filter(|(name, ..)| is_missing(name));
    missing.map(|(_, variable, value)| (variable, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_std_asks_for_another_try() {
        let missing = serde_json::json!({
            "message": "can't find crate for `std`", "code": { "code": "E0463" },
        });
        assert!(is_about_std(&missing));
        let other = serde_json::json!({
            "message": "can't find crate for `serde`", "code": { "code": "E0463" },
        });
        assert!(!is_about_std(&other));
    }
}
