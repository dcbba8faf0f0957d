//! `cargo build-sbf` and `cargo test-sbf` (crate `cargo-build-sbf` 4.5.0, `src/bin/build_sbf.rs`,
//! `test_sbf.rs`, `post_processing.rs`): their flags, and where they leave their files.

use std::path::{Path, PathBuf};

use selkie_isa::failure::{Failure, Result};

use crate::flags::{self, Flag, Given, Takes, flag, short};

/// The version of the tools whose flags these are.
pub const VERSION: &str = "4.5.0";

/// What `cargo build-sbf --version` prints; scripts look for the second line.
#[must_use]
pub fn version(tool: &str) -> String {
    format!(
        "{tool} {VERSION}\nDefault platform-tools: v1.57\nDefault Rust: 1.95.0\n\
         (selkie {} stands for it: {} builds)\n",
        env!("CARGO_PKG_VERSION"),
        "a stock Rust toolchain"
    )
}

const ACCEPTED: &str = "accepted; there is no such step here";

/// The flags of `cargo build-sbf`.
pub const BUILD: &[Flag] = &[
    flag("sbf-out-dir", Takes::One, "write programs to this folder [env: SBF_OUT_PATH]"),
    flag("sbf-sdk", Takes::One, ACCEPTED),
    flag("disable-remap-cwd", Takes::Nothing, ACCEPTED),
    flag("debug", Takes::Nothing, "also write deploy/debug/NAME.so and NAME.so.debug"),
    flag(
        "dump",
        Takes::Nothing,
        "also write NAME-dump.txt: the instructions, as `selkie disasm` lists them",
    ),
    flag("features", Takes::Many, "features of cargo"),
    flag("no-default-features", Takes::Nothing, "leave out the default features"),
    flag("force-tools-install", Takes::Nothing, ACCEPTED),
    flag("skip-tools-install", Takes::Nothing, ACCEPTED),
    flag("install-only", Takes::Nothing, "end at once: there are no tools to install"),
    flag("no-rustup-override", Takes::Nothing, ACCEPTED),
    flag("generate-child-script-on-failure", Takes::Nothing, ACCEPTED),
    flag("manifest-path", Takes::One, "the manifest of the program or workspace"),
    flag("offline", Takes::Nothing, "without the network"),
    flag("tools-version", Takes::One, ACCEPTED),
    short("verbose", 'v', Takes::Nothing, "print the commands being run"),
    short("quiet", 'q', Takes::Nothing, "print errors alone"),
    flag("workspace", Takes::Nothing, "all programs of the workspace"),
    flag("all", Takes::Nothing, "the same"),
    short("jobs", 'j', Takes::One, "how many compilers at once"),
    flag("arch", Takes::One, "v0, v1, v3 or v4 [default: v3]"),
    flag("optimize-size", Takes::Nothing, "smaller programs, with more compute units"),
    flag("sbf-stack-size", Takes::One, "accepted; frames have the size of the version"),
    flag("lto", Takes::Nothing, "link-time optimization"),
    flag("patch-binaries-for-nix", Takes::Nothing, ACCEPTED),
    flag("abi-v2", Takes::Nothing, "refused: mainnet does not have this interface"),
    short("help", 'h', Takes::Nothing, "print this page"),
    short("version", 'V', Takes::Nothing, "print the version"),
];

/// The flags of `cargo test-sbf`.
pub const TEST: &[Flag] = &[
    flag("sbf-sdk", Takes::One, ACCEPTED),
    flag("features", Takes::Many, "features of cargo"),
    flag("no-default-features", Takes::Nothing, "leave out the default features"),
    flag("test", Takes::One, "only this test target"),
    flag("manifest-path", Takes::One, "the manifest of the program or workspace"),
    short("package", 'p', Takes::Many, "only these packages"),
    flag("sbf-out-dir", Takes::One, "write programs to this folder"),
    flag("no-run", Takes::Nothing, "compile the tests without running them"),
    flag("offline", Takes::Nothing, "without the network"),
    flag("generate-child-script-on-failure", Takes::Nothing, ACCEPTED),
    short("verbose", 'v', Takes::Nothing, "print the commands being run"),
    flag("workspace", Takes::Nothing, "all programs of the workspace"),
    short("jobs", 'j', Takes::One, "how many compilers at once"),
    flag("arch", Takes::One, "v0, v1, v3 or v4 [default: v3]"),
    flag("skip-tools-install", Takes::Nothing, ACCEPTED),
    flag("no-rustup-override", Takes::Nothing, ACCEPTED),
    flag("tools-version", Takes::One, ACCEPTED),
    short("help", 'h', Takes::Nothing, "print this page"),
    short("version", 'V', Takes::Nothing, "print the version"),
];

/// A build that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Build {
    /// The manifest; that of the current folder, if none was named.
    pub manifest: PathBuf,
    /// The arguments of `selkie build`.
    pub arguments: Vec<String>,
    /// The folder for programs, if it was named.
    pub out_dir: Option<PathBuf>,
    /// The version of sBPF, as in `v3`.
    pub arch: String,
    /// Whether the files for debuggers were asked for.
    pub debug: bool,
    /// Whether listings were asked for.
    pub dump: bool,
    /// Whether progress is left out.
    pub quiet: bool,
    /// Cargo's target folder, if it was named.
    pub target: Option<PathBuf>,
}

/// What a command line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked<T> {
    /// To print this, and nothing else.
    Text(String),
    /// The work of the tool.
    Work(T),
}

/// Drops the name by which cargo calls its subcommands: `cargo build-sbf` starts
/// `cargo-build-sbf build-sbf`.
fn own<'a>(subcommand: &str, arguments: &'a [String]) -> &'a [String] {
    match arguments {
        [first, rest @ ..] if first == subcommand => rest,
        all => all,
    }
}

/// Reads the command line of `cargo build-sbf`, without the program's name. `out_dir` is the value of
/// `SBF_OUT_PATH`.
///
/// # Errors
///
/// If a flag is unknown, or asks for what Selkie does not do.
pub fn build(arguments: &[String], out_dir: Option<String>) -> Result<Asked<Build>> {
    const TOOL: &str = "cargo build-sbf";
    let given = flags::parse(TOOL, BUILD, own("build-sbf", arguments))?;
    if given.has("help") {
        let about = "Build programs with `selkie build`, by the flags of cargo build-sbf";
        return Ok(Asked::Text(flags::help(TOOL, about, BUILD)));
    }
    if given.has("version") {
        return Ok(Asked::Text(version("cargo-build-sbf")));
    }
    if given.has("install-only") {
        return Ok(Asked::Text("selkie builds without platform-tools\n".to_owned()));
    }
    if given.has("abi-v2") {
        let help = "leave out --abi-v2";
        return Err(Failure::new("mainnet does not have the second ABI").with_help(help));
    }
    if let Some(argument) = given.positional.first() {
        let help = "arguments for cargo stand after `--`";
        return Err(Failure::new(format!("{TOOL} does not know `{argument}`")).with_help(help));
    }
    let out_dir = given.value("sbf-out-dir").map(str::to_owned).or(out_dir);
    Ok(Asked::Work(work(&given, out_dir)))
}

/// From flags to a build.
fn work(given: &Given, out_dir: Option<String>) -> Build {
    let manifest = PathBuf::from(given.value("manifest-path").unwrap_or("Cargo.toml"));
    let parent = manifest.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new(".")).display().to_string();
    let arch = given.value("arch").unwrap_or("v3").to_owned();
    let (packages, target, rest) = of_cargo(&given.rest);
    // Anchor shows labels of the deployed file, which needs the names.
    let mut arguments =
        vec![folder, "--arch".to_owned(), arch.clone(), "--section-names".to_owned()];
    if let Some(folder) = &out_dir {
        arguments.extend(["--out-dir".to_owned(), folder.clone()]);
    }
    for package in packages {
        arguments.extend(["--package".to_owned(), package]);
    }
    if given.has("verbose") {
        arguments.push("--verbose".to_owned());
    }
    arguments.push("--".to_owned());
    for feature in given.values("features") {
        arguments.extend(["--features".to_owned(), feature.to_owned()]);
    }
    for name in ["no-default-features", "offline"] {
        if given.has(name) {
            arguments.push(format!("--{name}"));
        }
    }
    if let Some(jobs) = given.value("jobs") {
        arguments.extend(["--jobs".to_owned(), jobs.to_owned()]);
    }
    for (name, value) in [("lto", "lto=true"), ("optimize-size", "opt-level=\"s\"")] {
        if given.has(name) {
            arguments.extend(["--config".to_owned(), format!("profile.release.{value}")]);
        }
    }
    arguments.extend(rest);
    Build {
        manifest,
        arguments,
        out_dir: out_dir.map(PathBuf::from),
        arch,
        debug: given.has("debug"),
        dump: given.has("dump"),
        quiet: given.has("quiet"),
        target: target.map(PathBuf::from),
    }
}

/// Splits the packages off the arguments for cargo, and finds the target folder among them, which stays.
fn of_cargo(arguments: &[String]) -> (Vec<String>, Option<String>, Vec<String>) {
    let (mut packages, mut target, mut rest) = (Vec::new(), None, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        match name {
            "-p" | "--package" => packages.extend(value.or_else(|| arguments.next().cloned())),
            "--target-dir" => {
                target = value.or_else(|| arguments.next().cloned());
                rest.extend(target.clone().map(|it| format!("--target-dir={it}")));
            }
            _ => rest.push(argument.clone()),
        }
    }
    (packages, target, rest)
}

/// Tests that were asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// The manifest of the program or workspace.
    pub manifest: PathBuf,
    /// Whether all programs of the workspace are tested.
    pub workspace: bool,
    /// The packages, if some were named.
    pub packages: Vec<String>,
    given: Given,
}

/// The commands that test one package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commands {
    /// The build before the tests; its folder for programs becomes `SBF_OUT_DIR`.
    pub build: Build,
    /// The arguments of cargo.
    pub cargo: Vec<String>,
}

/// Reads the command line of `cargo test-sbf`, without the program's name.
///
/// # Errors
///
/// As [`build`].
pub fn test(arguments: &[String]) -> Result<Asked<Test>> {
    let given = flags::parse("cargo test-sbf", TEST, own("test-sbf", arguments))?;
    if given.has("help") {
        let about = "Build programs with `selkie build`, and run `cargo test`";
        return Ok(Asked::Text(flags::help("cargo test-sbf", about, TEST)));
    }
    if given.has("version") {
        return Ok(Asked::Text(version("cargo-test-sbf")));
    }
    Ok(Asked::Work(Test {
        manifest: PathBuf::from(given.value("manifest-path").unwrap_or("Cargo.toml")),
        workspace: given.has("workspace"),
        packages: given.values("package").map(str::to_owned).collect(),
        given,
    }))
}

impl Test {
    /// Returns the commands that test a package: its manifest, its features, and cargo's target folder.
    #[must_use]
    pub fn commands(&self, manifest: &Path, features: &[String], target: &Path) -> Commands {
        let given = &self.given;
        let mut of_build = given.clone();
        of_build.flags.retain(|(name, _)| !["manifest-path", "package"].contains(name));
        of_build.flags.push(("manifest-path", vec![manifest.display().to_string()]));
        of_build.rest = self.of_packages("-p");
        let out_dir = given.value("sbf-out-dir").map(str::to_owned);
        let out_dir = out_dir.unwrap_or_else(|| target.join("deploy").display().to_string());
        let build = work(&of_build, Some(out_dir));
        let mut cargo = ["test", "--manifest-path"].map(str::to_owned).to_vec();
        cargo.push(manifest.display().to_string());
        for name in ["features", "jobs"] {
            let values = given.values(name);
            cargo.extend(values.flat_map(|it| [format!("--{name}"), it.to_owned()]));
        }
        for name in ["no-default-features", "verbose"] {
            cargo.extend(given.has(name).then(|| format!("--{name}")));
        }
        cargo.extend(self.of_packages("-p"));
        cargo.extend(given.value("test").iter().flat_map(|it| ["--test".into(), (*it).to_owned()]));
        cargo.extend(given.has("no-run").then(|| "--no-run".to_owned()));
        // By these, tests of a program tell `cargo test-sbf` from `cargo test`.
        let declared = ["test-sbf", "test-bpf"].into_iter();
        let declared = declared.filter(|it| features.iter().any(|feature| feature == it));
        cargo.extend(declared.flat_map(|it| ["--features".to_owned(), it.to_owned()]));
        cargo.extend(given.positional.iter().cloned());
        if !given.rest.is_empty() {
            cargo.extend((!given.rest.iter().any(|it| it == "--")).then(|| "--".to_owned()));
            cargo.extend(given.rest.iter().cloned());
        }
        Commands { build, cargo }
    }

    fn of_packages(&self, flag: &str) -> Vec<String> {
        self.packages.iter().flat_map(|it| [flag.to_owned(), it.clone()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn asked(line: &str) -> Build {
        match build(&words(line), None).unwrap() {
            Asked::Work(build) => build,
            Asked::Text(text) => panic!("{text}"),
        }
    }

    #[test]
    fn builds_of_anchor_are_understood() {
        let build = asked("build-sbf --tools-version v1.57 --arch v3 -- --features devnet");
        assert_eq!(build.arguments.join(" "), ". --arch v3 --section-names -- --features devnet");
        let build = asked("--manifest-path a/Cargo.toml --arch v0 --features x y --lto --debug");
        let expected = "a --arch v0 --section-names -- --features x --features y --config profile.release.lto=true";
        assert_eq!(build.arguments.join(" "), expected);
        assert!(build.debug);
        let build = asked("-v -- -p two --target-dir out");
        let expected = ". --arch v3 --section-names --package two --verbose -- --target-dir=out";
        assert_eq!(build.arguments.join(" "), expected);
        assert_eq!(build.target, Some("out".into()));
    }

    #[test]
    fn the_folder_of_a_variable_is_overridden() {
        let read = |line: &str| match build(&words(line), Some("var".to_owned())).unwrap() {
            Asked::Work(build) => build.out_dir.unwrap(),
            Asked::Text(text) => panic!("{text}"),
        };
        assert_eq!(read(""), Path::new("var"));
        assert_eq!(read("--sbf-out-dir given"), Path::new("given"));
    }

    #[test]
    fn scripts_find_the_version_of_the_tools() {
        let Asked::Text(text) = build(&words("--version"), None).unwrap() else { panic!() };
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "cargo-build-sbf 4.5.0");
        assert_eq!(lines[1].split_once(": "), Some(("Default platform-tools", "v1.57")));
    }

    #[test]
    fn tests_are_built_before_they_run() {
        let line = "test-sbf --arch v0 -p one --test it --features f -- --nocapture";
        let Asked::Work(test) = test(&words(line)).unwrap() else { panic!() };
        let features = words("default test-sbf");
        let made = test.commands(Path::new("one/Cargo.toml"), &features, Path::new("target"));
        let expected =
            "one --arch v0 --section-names --out-dir target/deploy --package one -- --features f";
        assert_eq!(made.build.arguments.join(" "), expected);
        let expected = "test --manifest-path one/Cargo.toml --features f -p one --test it \
                        --features test-sbf -- --nocapture";
        assert_eq!(made.cargo.join(" "), expected);
    }
}
