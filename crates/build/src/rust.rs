//! Rust: running cargo with a toolchain that has LLVM 23 or newer.
//!
//! The toolchain may be of any channel: `RUSTC_BOOTSTRAP` enables unstable options on stable. The
//! standard library is compiled with the program: `core` and `alloc` for `no_std` programs, all of
//! `std` for others.

use std::{
    collections::BTreeSet,
    env,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use selkie_isa::input;
use selkie_link::Icf;
use serde_json::Value;

use crate::{
    BuildError, Compiled, Options, Progress, Project,
    c::dependencies_of,
    collect::Collected,
    dependency,
    flags::{self, Flags},
    inline_asm,
    llvm::Llvm,
    metadata::{library, metadata},
    overlay,
    project::Language,
    system::{typed, write_if_changed},
    target,
    toolchain::Toolchain,
    view, wrapper,
};

pub use crate::toolchain::{INSTALL, TESTED};

/// Returns the name of the toolchain for Rust: the one named, or the best one that is installed.
///
/// # Errors
///
/// [`BuildError::Setup`] if there is no usable one.
pub fn compiler(named: Option<&str>) -> Result<String, BuildError> {
    Toolchain::find(named).map(|toolchain| toolchain.title())
}

/// Returns the folder of the toolchain for Rust, which contains its `bin` and `lib`.
///
/// # Errors
///
/// [`BuildError::Setup`] if there is no usable one.
pub fn sysroot(named: Option<&str>) -> Result<PathBuf, BuildError> {
    Toolchain::find(named).map(|toolchain| toolchain.root)
}

/// Flags for all crates: the backend of `getrandom` that the linker provides, the architecture's name in
/// the official toolchain (rustc itself knows the one of its code generator, `bpf`, and has a lint against
/// a second name), and the revision of the wrapper. Cargo compiles again what was compiled with other flags, so the revision has to change
/// with what the wrapper does.
const FLAGS: &str = "--cfg getrandom_backend=\"custom\" --cfg target_arch=\"sbf\" \
    --check-cfg=cfg(target_arch,values(\"sbf\")) -Aexplicit_builtin_cfgs_in_flags --cfg selkie_wrapper=\"2\"";

/// The environment variable that sets the debug information of the release profile.
const DEBUG_VARIABLE: &str = "CARGO_PROFILE_RELEASE_DEBUG";

/// Debug information with types and variables. It does not change the program.
const FULL_DEBUG: &str = "2";

/// A package and how it is compiled.
struct Job<'a> {
    toolchain: &'a Toolchain,
    manifest: &'a Path,
    /// The manifest to pass to cargo: `manifest`, or a view of it.
    given: PathBuf,
    /// Whether the package is a workspace of its own.
    is_alone: bool,
    /// Cargo's target folder.
    target: PathBuf,
    /// The name of the library.
    library: String,
    /// Environment variables for settings that the release profile does not contain.
    profile: Vec<(&'static str, &'static str)>,
    /// The debug information to compile with, if not that of the profile.
    debug: Option<&'static str>,
    specification: PathBuf,
    llvm: Llvm,
    /// The user's flags of rustc.
    flags: Flags,
    options: &'a Options,
}

/// Compiles a Rust project.
///
/// # Errors
///
/// [`BuildError::Setup`] if no toolchain is found, [`BuildError::Compiler`] if cargo fails.
pub fn compile(
    project: &Project,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Compiled, BuildError> {
    let Language::Rust(manifest) = &project.language else {
        unreachable!("the caller has a project in Rust")
    };
    let toolchain = Toolchain::find(options.toolchain.as_deref())?;
    let mut job = Job::new(&toolchain, manifest, options)?;
    let source = overlay::make(&toolchain.library(), &toolchain.title(), &options.cache)?;
    let mut std = !job.is_without_std();
    progress.toolchain(&toolchain.title());
    if let Some(note) = flags::note(&job.flags, job.manifest) {
        progress.output(&note);
    }
    let output = loop {
        match job.run(std, &source, progress)? {
            Outcome::Done => break job.output(),
            Outcome::NeedsStd if !std => {
                progress.output("a dependency needs the standard library: building it too\n");
                std = true;
            }
            // A failure before anything is compiled may be due to a missing dev-dependency.
            Outcome::Unresolved if job.leave_out_tests()? => {
                progress.output("trying again without dev-dependencies\n");
            }
            Outcome::Crashed if job.change_debug() => {
                let kind = if job.debug == Some(FULL_DEBUG) { "with full" } else { "without" };
                progress.output(&format!("trying again {kind} debug information\n"));
            }
            outcome => {
                if let Outcome::Refused(Some(package)) = outcome
                    && let Some(advice) =
                        dependency::advice(toolchain.cargo(), &job.given, &package)
                {
                    progress.output(&format!("help: {advice}\n"));
                }
                return Err(BuildError::Compiler(typed(&job.command(std, &source))));
            }
        }
    };
    let unreadable = |error| BuildError::file(&output, &error);
    let collected = Collected::read(&output).map_err(unreadable)?;
    let objects = collected.objects.iter().map(|path| {
        let bytes = input::read(path, input::FILE_BYTES_MAX)
            .map_err(|error| BuildError::file(path, &error))?;
        Ok((shown(path), bytes))
    });
    let objects = objects.collect::<Result<_, BuildError>>()?;
    Ok(Compiled {
        name: job.library.clone(),
        objects,
        sources: job.sources(&output),
        toolchain: toolchain.title(),
        target: job.target,
        has_other_layout: job.llvm.difference().map(str::to_owned),
        icf: Icf::All,
    })
}

/// Returns the name of an object for messages, without its folder.
fn shown(path: &Path) -> String {
    path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
}

enum Outcome {
    Done,
    /// A crate needs `std`, which was not built.
    NeedsStd,
    /// There are errors. Holds cargo's ID of the first package that has one.
    Refused(Option<String>),
    /// The compiler crashed.
    Crashed,
    /// Cargo failed before it started a compiler.
    Unresolved,
}

impl<'a> Job<'a> {
    fn new(
        toolchain: &'a Toolchain,
        manifest: &'a Path,
        options: &'a Options,
    ) -> Result<Self, BuildError> {
        // Cargo cannot read a manifest that has a dependency in a folder that does not exist.
        let (given, metadata) = match metadata(toolchain.cargo(), manifest) {
            Ok(metadata) => (manifest.to_owned(), metadata),
            Err(unreadable) => {
                let view = view_without_workspace(manifest)?.ok_or(unreadable)?;
                let metadata = metadata(toolchain.cargo(), &view)?;
                (view, metadata)
            }
        };
        let library = library(&metadata, &given)?;
        let target = match given == manifest {
            true => PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")),
            false => usual_target(manifest),
        };
        let target = options.target.clone().unwrap_or(target);
        let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap_or("."));
        let specification = target.join("selkie").join(target::NAME).with_extension("json");
        let llvm = Llvm::of(toolchain, &options.cache)?;
        write_if_changed(&specification, target::specification(&llvm).as_bytes())
            .map_err(|error| BuildError::file(&specification, &error))?;
        Ok(Self {
            toolchain,
            manifest,
            given,
            is_alone: metadata["workspace_members"].as_array().is_some_and(|it| it.len() == 1)
                && root.join("Cargo.toml") == manifest,
            library,
            profile: missing_in_profile(&root.join("Cargo.toml")),
            target,
            debug: None,
            specification,
            llvm,
            flags: Flags::read(toolchain.cargo()),
            options,
        })
    }

    /// Switches to the next kind of debug information to try after a crash, and returns whether
    /// there is one. LLVM crashes on some that lacks types.
    fn change_debug(&mut self) -> bool {
        let is_full = self.profile.contains(&(DEBUG_VARIABLE, FULL_DEBUG));
        let next = match self.debug {
            None if !is_full => Some(FULL_DEBUG),
            None | Some(FULL_DEBUG) => Some("0"),
            Some(_) => None,
        };
        self.debug = next.or(self.debug);
        next.is_some()
    }

    /// Switches to the view without dev-dependencies, and returns whether there is one that was not
    /// tried yet. Members of workspaces have no view, since it would be outside their workspace.
    fn leave_out_tests(&mut self) -> Result<bool, BuildError> {
        if !self.is_alone || self.given != self.manifest {
            return Ok(false);
        }
        let view = view_in(self.manifest, &self.target)?;
        let is_there = view.is_some();
        self.given = view.unwrap_or_else(|| self.manifest.to_owned());
        Ok(is_there)
    }

    /// Returns whether the library is `no_std`.
    fn is_without_std(&self) -> bool {
        let source = self.manifest.with_file_name("src").join("lib.rs");
        let text = input::text(&source, input::TEXT_BYTES_MAX).unwrap_or_default();
        let mut attributes = text.lines().map(str::trim).filter(|line| line.starts_with("#!["));
        attributes.any(|line| line.contains("no_std"))
    }

    fn command(&self, std: bool, source: &Path) -> Command {
        let crates = if std { "std,panic_abort" } else { "core,alloc" };
        let mut command = self.toolchain.cargo();
        command.args(["rustc", "--lib", "--crate-type", "cdylib", "--release"]);
        command.arg("--manifest-path").arg(&self.given);
        command.arg("--target-dir").arg(&self.target);
        command.arg("--target").arg(&self.specification).arg("-Zjson-target-spec");
        command.arg(format!("-Zbuild-std={crates}"));
        command.arg("-Zbuild-std-features=optimize_for_size");
        command.args(["--message-format", "json-diagnostic-rendered-ansi"]);
        command.args(&self.options.arguments);
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", source);
        command.env("RUSTC_BOOTSTRAP", "1");
        let flags = FLAGS.split_whitespace().chain(self.flags.kept.iter().map(String::as_str));
        let flags: Vec<&str> = flags.collect();
        // Flags with white space have another variable, which comes first.
        match flags.iter().any(|it| it.contains(char::is_whitespace)) {
            true => command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")),
            false => {
                command.env_remove("CARGO_ENCODED_RUSTFLAGS").env("RUSTFLAGS", flags.join(" "))
            }
        };
        command.env_remove("CARGO_BUILD_TARGET");
        self.llvm.pass_to(&mut command);
        command.env("RUSTC_WRAPPER", &self.options.linker);
        command.env(target::LINKER_VARIABLE, &self.options.linker);
        command.envs(self.profile.iter().copied());
        command.envs(self.debug.map(|it| (DEBUG_VARIABLE, it)));
        command
    }

    fn run(
        &self,
        std: bool,
        source: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, BuildError> {
        let mut command = self.command(std, source);
        let shown = typed(&command);
        progress.command(&shown);
        let failed = |error| {
            let message = format!("cannot run {shown}: {error}");
            BuildError::setup(message, "check that the toolchain is complete")
        };
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        let output = child.stdout.take().expect("it was asked for");
        let (mut needs_std, mut is_started, mut is_crash) = (false, false, false);
        let (mut said, mut refused, mut libraries) = (Vec::new(), None, Vec::new());
        let mut warnings = BTreeSet::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(failed)?;
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            is_started |= message["reason"] != "build-finished";
            if message["message"]["level"] == "error" {
                refused = refused.or_else(|| message["package_id"].as_str().map(str::to_owned));
            }
            let library = inline_asm::library(&message).filter(|it| !it.starts_with(source));
            if let (Some(_), Some(id)) = (&library, message["package_id"].as_str()) {
                warnings.extend(dependency::warning(id));
            }
            libraries.extend(library);
            let advice =
                inline_asm::advice(&message, &libraries).or_else(|| advice(&message["message"]));
            let message = &message["message"];
            needs_std |= is_about_std(message);
            is_crash |= wrapper::is_about_crash(message);
            said.extend(message["rendered"].as_str().map(str::to_owned));
            said.extend(advice.map(|it| format!("help: {it}\n\n")));
            // Errors about a missing `std` are not shown, since the build is retried with `std`.
            if std || !needs_std {
                said.drain(..).for_each(|text| progress.output(&text));
            }
        }
        let status = child.wait().map_err(failed)?;
        if status.success() {
            warnings.iter().for_each(|it| progress.output(it));
        }
        Ok(match (status.success(), needs_std) {
            (true, _) => Outcome::Done,
            (false, true) => Outcome::NeedsStd,
            (false, false) if is_crash => Outcome::Crashed,
            (false, false) if is_started => Outcome::Refused(refused),
            (false, false) => Outcome::Unresolved,
        })
    }

    /// Returns the path of the list of collected objects.
    fn output(&self) -> PathBuf {
        let folder = self.target.join(target::NAME).join("release");
        folder.join(format!("lib{}.so", self.library))
    }

    /// Returns the files on which the program depends: sources, manifests and the compiler.
    fn sources(&self, output: &Path) -> Vec<PathBuf> {
        let rule =
            input::text(&output.with_extension("d"), input::TEXT_BYTES_MAX).unwrap_or_default();
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

/// Writes the view of a package to a target folder.
fn view_in(manifest: &Path, target: &Path) -> Result<Option<PathBuf>, BuildError> {
    let name = manifest.parent().and_then(Path::file_name).unwrap_or_default();
    let folder = target.join("selkie").join("view").join(name);
    view::make(manifest, &folder).map_err(|error| BuildError::file(&folder, &error))
}

/// Writes the view of a package whose manifest cargo cannot read, if it is its own workspace.
fn view_without_workspace(manifest: &Path) -> Result<Option<PathBuf>, BuildError> {
    let text = input::text(manifest, input::TEXT_BYTES_MAX).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    if !table.contains_key("workspace") {
        return Ok(None);
    }
    view_in(manifest, &usual_target(manifest))
}

/// Returns cargo's target folder for a package whose manifest cargo cannot read.
#[allow(clippy::disallowed_methods, reason = "cargo's own variable")]
fn usual_target(manifest: &Path) -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").filter(|it| !it.is_empty());
    let here = || env::current_dir().unwrap_or_default();
    named.map_or_else(|| manifest.with_file_name("target"), |it| here().join(it))
}

/// Returns what to do about an error that programs for the official toolchain have with newer compilers.
fn advice(message: &Value) -> Option<String> {
    let text = message["message"].as_str().unwrap_or_default();
    let is_named = text.contains("`#[no_mangle]` cannot be used on internal language items");
    is_named.then(|| {
        "remove `#[no_mangle]`: rustc itself names the panic handler (the macro of pinocchio does so since \
         0.9.3)"
            .to_owned()
    })
}

/// Returns whether an error of rustc is about a missing `std`.
fn is_about_std(message: &Value) -> bool {
    let text = message["message"].as_str().unwrap_or_default();
    message["code"]["code"] == "E0463" && text.contains("`std`")
}

/// Returns environment variables for settings that make programs small, unless the release profile
/// contains them.
fn missing_in_profile(manifest: &Path) -> Vec<(&'static str, &'static str)> {
    let usual = [
        ("lto", "CARGO_PROFILE_RELEASE_LTO", "fat"),
        ("codegen-units", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
        ("debug", DEBUG_VARIABLE, FULL_DEBUG),
    ];
    let text = input::text(manifest, input::TEXT_BYTES_MAX).unwrap_or_default();
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
    fn only_a_missing_std_is_reported_as_such() {
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
