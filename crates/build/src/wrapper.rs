//! The stand-in for rustc that cargo starts: rustc with a few other arguments for a program's crates.
//!
//! - Crates that are both `cdylib` and `lib` are only compiled as `lib` where another crate depends
//!   on them, and crates that are to be optimized while linking are not compiled to machine code
//!   first. Cargo cannot be told so; it would build a program of each such dependency.
//! - `getrandom` before 0.3 compiles for an unknown system only with its features `custom` or `dummy`.
//! - Crates that treat the architecture `bpf` specially, since another linker needs it, are compiled
//!   from a copy without that. `solana-address` would decode addresses from base58 at run time.
//! - Lints of compilers that are newer than the program are warnings, also where it denies warnings.
//! - Programs are the same whichever machine compiled them, and smaller: panics name the files of
//!   packages without the folders above, and what tells crates apart is where they are from instead of
//!   where they are. Debug information keeps whole paths.
//! - rustc loads the copy of LLVM that aligns 128-bit integers as the official toolchain does ([`llvm`]).
//! - A crash of rustc becomes a diagnostic, by which [`crate::rust`] recognizes it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use selkie_isa::input;
use serde_json::{Value, json};

use crate::{llvm, system::write_if_changed, target};

/// The code of the diagnostic about a crash of rustc.
const CRASH: &str = "selkie::crash";

/// The code of the diagnostic about an operation that LLVM has no instructions for. Other debug
/// information cannot help there.
const UNSELECTED: &str = "selkie::unselected";

/// The exit code of rustc after a mistake of its own. After errors of the program it is 1.
const INTERNAL_ERROR: i32 = 101;

/// What LLVM writes in front of its last words.
const LLVM_ERROR: &str = "LLVM ERROR: ";

/// Features that let crates compile for a system that they do not know: crate, feature.
const FEATURES: &[(&str, &str)] = &[("getrandom", "custom"), ("getrandom", "dummy")];

/// Crates that are compiled from a copy in which a text is replaced: crate, text, replacement.
const REPLACED: &[(&str, &str, &str)] = &[
    // They have code for the architecture `bpf` that this linker does not need.
    ("solana_address", FOR_BPF, "any()"),
    ("solana_nullable", FOR_BPF, "any()"),
    // Until 0.9.2 its macro names the panic handler, which newer compilers do themselves, and refuse.
    ("pinocchio", "#[no_mangle]\n        #[panic_handler]", "\n        #[panic_handler]"),
    // Its way to end a program is inline assembly in the dialect of Solana's compiler.
    ("quasar_lang", "\"lddw r0, 0x100000000\"", "\"r0 = 0x100000000 ll\""),
];

/// The condition by which crates choose code for the architecture `bpf`.
const FOR_BPF: &str = "target_arch = \"bpf\"";

/// The folder of copies, in that of cargo's output.
const COPIES: &str = "selkie/copies";

/// Returns whether these are the arguments of a wrapper, without the program's own name: cargo puts
/// the path of rustc first.
pub(crate) fn is_started_by_cargo(arguments: &[OsString]) -> bool {
    let rustc = arguments.first().map(Path::new);
    rustc.is_some_and(|it| it.is_absolute() && it.file_stem() == Some(OsStr::new("rustc")))
}

/// Runs rustc as cargo asks, and returns its exit code.
///
/// # Errors
///
/// If rustc cannot be started.
pub(crate) fn run(arguments: &[OsString]) -> io::Result<u8> {
    let (rustc, arguments) = arguments.split_first().expect("the first one names rustc");
    let mut command = Command::new(rustc);
    let Some(name) = program_crate(arguments) else {
        return Ok(exit_code(command.args(arguments).status()?));
    };
    let left_out = left_out(arguments, name);
    let mut arguments = adjusted(arguments, name);
    cap_lints(&mut arguments);
    let (package, generated) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    let package = package.as_deref().filter(|_| is_outside_workspace(&arguments));
    identify(&mut arguments, package);
    shorten_paths(&mut arguments, package, generated.as_deref());
    for &(_, from, to) in REPLACED.iter().filter(|it| it.0 == name) {
        take_copy(&mut arguments, from, to)?;
    }
    llvm::use_in(&mut command);
    let mut child = command.args(arguments).stderr(Stdio::piped()).spawn()?;
    let output = child.stderr.take().expect("it was asked for");
    let mut plain = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        // Diagnostics are JSON. Of other text it is not known yet whether a crash wrote it.
        if line.starts_with(b"{") { forward(&line)? } else { plain.push(line) }
    }
    let status = child.wait()?;
    match crash(name, status, &plain) {
        Some(diagnostic) => forward(diagnostic.to_string().as_bytes())?,
        None => plain.iter().try_for_each(|line| forward(line))?,
    }
    if let Some(file) = left_out.filter(|_| status.success()) {
        File::options().create(true).append(true).open(file)?;
    }
    Ok(exit_code(status))
}

/// Returns a folder that cargo names in the environment.
#[allow(clippy::disallowed_methods, reason = "cargo's own variables")]
fn folder(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}

fn forward(line: &[u8]) -> io::Result<()> {
    io::stderr().write_all(&[line, b"\n"].concat())
}

/// Returns rustc's exit code, or that of its other failures if a signal ended it.
fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|it| u8::try_from(it).ok()).unwrap_or(101)
}

/// Returns the name of the crate if it is compiled for our target.
fn program_crate(arguments: &[OsString]) -> Option<&str> {
    let target = Path::new(value(arguments, "--target")?).file_stem()?;
    // Cargo asks for the target's settings with a crate of this name.
    value(arguments, "--crate-name").filter(|&it| target == target::NAME && it != "___")
}

/// Returns the argument that follows `name`.
fn value<'a>(arguments: &'a [OsString], name: &str) -> Option<&'a str> {
    let at = arguments.iter().position(|it| it == name)?;
    arguments.get(at + 1)?.to_str()
}

/// Lets panics name files from a package's folder on, and generated files without the path of
/// `OUT_DIR`. `package` is the folder if it is outside of the workspace; from a workspace on, cargo
/// gives short paths itself.
fn shorten_paths(arguments: &mut Vec<OsString>, package: Option<&Path>, generated: Option<&Path>) {
    let copies = value(arguments, "--out-dir").map(|it| Path::new(it).join(COPIES));
    // Of the standard library, the name of its folder is kept: `library/core`.
    let above = package.and_then(Path::parent);
    let above =
        above.map(|it| if it.ends_with("library") { it.parent().unwrap_or(it) } else { it });
    let folders = [(above, ""), (generated, "out"), (copies.as_deref(), "")];
    for (from, to) in folders.into_iter().filter_map(|(from, to)| Some((from?, to))) {
        let from_and_to = [from.as_os_str(), "=".as_ref(), to.as_ref()];
        arguments.extend(["--remap-path-prefix".into(), from_and_to.into_iter().collect()]);
    }
    arguments.push("--remap-path-scope=macro".into());
}

/// Replaces what tells a crate from others of its name, which for cargo depends on the paths of all
/// that it depends on. Names of types, and with them the order of functions, depend on it.
fn identify(arguments: &mut [OsString], package: Option<&Path>) {
    const ORIGINS: [&str; 3] = ["/registry/src/", "/git/checkouts/", "/library/"];
    // In a workspace, the path of the root is from its folder on.
    let root = arguments.iter().find(|it| is_source(it)).map(Path::new);
    let path = package.or(root).map(Path::to_string_lossy).unwrap_or_default().replace('\\', "/");
    let origin = ORIGINS.iter().find_map(|it| path.find(it)).map_or(&*path, |at| &path[at..]);
    let settings = arguments.windows(2).filter(|it| it[0] == "--cfg").map(|it| &it[1]);
    let features: Vec<_> = settings.map(|it| it.to_string_lossy()).collect();
    let identity = format!("metadata={origin}:{}", features.join(","));
    let is_metadata = |it: &&mut OsString| it.to_string_lossy().starts_with("metadata=");
    if let Some(metadata) = arguments.iter_mut().find(is_metadata) {
        *metadata = identity.into();
    }
}

/// Returns whether a crate's root is given by a whole path.
fn is_outside_workspace(arguments: &[OsString]) -> bool {
    arguments.iter().any(|it| is_source(it) && Path::new(it).is_absolute())
}

fn is_source(argument: &OsString) -> bool {
    Path::new(argument).extension() == Some(OsStr::new("rs"))
}

/// Replaces the crate's root by that of a copy beside cargo's output, in which a text is replaced, if
/// the crate has the text.
fn take_copy(arguments: &mut [OsString], text: &str, by: &str) -> io::Result<()> {
    let out = value(arguments, "--out-dir").map(PathBuf::from);
    let (Some(out), Some(root)) = (out, arguments.iter_mut().find(|it| is_source(it))) else {
        return Ok(());
    };
    let original = PathBuf::from(&*root);
    let (Some(folder), Some(file)) = (original.parent(), original.file_name()) else {
        return Ok(());
    };
    if !contains(folder, text)? {
        return Ok(());
    }
    let package = folder.parent().and_then(Path::file_name).unwrap_or_default();
    let copy = out.join(COPIES).join(package).join("src");
    copy_replaced(folder, &copy, text, by)?;
    *root = copy.join(file).into();
    Ok(())
}

/// Returns whether a source in a folder contains a text.
fn contains(folder: &Path, text: &str) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_there = match path.is_dir() {
            true => contains(&path, text)?,
            false => input::text(&path, input::TEXT_BYTES_MAX).is_ok_and(|it| it.contains(text)),
        };
        if is_there {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies a folder of sources, and replaces a text in them.
fn copy_replaced(from: &Path, to: &Path, text: &str, by: &str) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy_replaced(&from, &to, text, by)?;
        } else {
            let source = input::text(&from, input::TEXT_BYTES_MAX)?.replace(text, by);
            write_if_changed(&to, source.as_bytes())?;
            // Cargo compiles again what is newer than the beginning of its compilation.
            let time = fs::metadata(&from)?.modified()?;
            File::options().append(true).open(&to)?.set_modified(time)?;
        }
    }
    Ok(())
}

/// Returns rustc's arguments for a crate.
fn adjusted(arguments: &[OsString], name: &str) -> Vec<OsString> {
    let mut adjusted = without_cdylib(arguments);
    let is_program = adjusted.windows(2).any(|it| it[0] == "--crate-type" && it[1] == "cdylib");
    let has_lto = adjusted.iter().filter_map(|it| it.to_str()).any(|it| {
        let setting = it.strip_prefix("-C").unwrap_or(it);
        ["lto", "embed-bitcode", "linker-plugin-lto"].iter().any(|it| setting.starts_with(it))
    });
    if !is_program && !has_lto {
        adjusted.push("-Clinker-plugin-lto".into());
    }
    for (_, feature) in FEATURES.iter().filter(|(of, _)| *of == name) {
        adjusted.extend(["--cfg".into(), format!("feature=\"{feature}\"").into()]);
    }
    adjusted
}

/// Makes lints that a crate denies warnings, unless cargo has capped them already.
fn cap_lints(arguments: &mut Vec<OsString>) {
    if !arguments.iter().any(|it| it == "--cap-lints") {
        arguments.extend(["--cap-lints".into(), "warn".into()]);
    }
}

/// Removes the crate type `cdylib` if there are others.
fn without_cdylib(arguments: &[OsString]) -> Vec<OsString> {
    let is_type = |it: &[OsString]| it[0] == "--crate-type";
    let is_only = arguments.windows(2).filter(|it| is_type(it)).all(|it| it[1] == "cdylib");
    let mut kept = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let is_cdylib = rest.peek().is_some_and(|it| *it == "cdylib");
        if argument == "--crate-type" && is_cdylib && !is_only {
            rest.next();
        } else {
            kept.push(argument.clone());
        }
    }
    kept
}

/// Returns the file that rustc would write for the crate type `cdylib` if it is left out. Cargo expects
/// the file, and without an empty one it would compile the crate again in every build.
fn left_out(arguments: &[OsString], name: &str) -> Option<PathBuf> {
    let is_left_out = without_cdylib(arguments).len() < arguments.len();
    let folder = value(arguments, "--out-dir").filter(|_| is_left_out)?;
    let suffix = |it: &OsString| Some(it.to_str()?.strip_prefix("extra-filename=")?.to_owned());
    let suffix = arguments.iter().find_map(suffix).unwrap_or_default();
    Some(Path::new(folder).join(format!("lib{name}{suffix}.so")))
}

/// Returns the diagnostic about a crash, if rustc or LLVM crashed.
fn crash(name: &str, status: ExitStatus, plain: &[Vec<u8>]) -> Option<Value> {
    let text: Vec<_> = plain.iter().map(|it| String::from_utf8_lossy(it)).collect();
    let message = if let Some(at) = text.iter().position(|it| it.contains(LLVM_ERROR)) {
        let (_, error) = text[at].split_once(LLVM_ERROR).expect("it contains the text");
        let function = text[at..].iter().find_map(|it| it.strip_prefix("In function: "));
        let function = function.map(selkie_inspect::demangle);
        let function = function.map(|it| format!(" in `{it}`")).unwrap_or_default();
        let place = place(error);
        format!("LLVM cannot compile `{name}`{function}{place}: {}", first_words(error))
    } else if status.code().is_none() {
        format!("rustc crashed while it compiled `{name}` ({status})")
    } else if status.code() == Some(INTERNAL_ERROR) {
        // The place, and in the next line the message.
        let said = text.iter().skip_while(|it| !it.contains("panicked at")).take(2);
        let said: Vec<&str> = said.map(AsRef::as_ref).collect();
        format!("rustc has an internal error in `{name}`: {}", first_words(&said.join(" ")))
    } else {
        return None;
    };
    let rendered = format!(
        "error: {message}\n  = note: this is a mistake of the compiler, not of the program\n  \
         = help: another `opt-level` in [profile.release], or another version of rustc \
         (--toolchain), may avoid it\n\n"
    );
    let code = if message.contains("Cannot select") { UNSELECTED } else { CRASH };
    Some(json!({
        "$message_type": "diagnostic", "message": message, "code": { "code": code },
        "level": "error", "spans": [], "children": [], "rendered": rendered,
    }))
}

/// Returns where in the source it is, for what LLVM cannot select: the line, and where calls were
/// inlined, also that of the outermost one, which is the program's own.
fn place(error: &str) -> String {
    let mut lines = error.split(" @[ ").skip(1).map(|it| it.trim_end_matches([' ', ']']));
    match (lines.next(), lines.last()) {
        (None, _) => String::new(),
        (Some(line), None) => format!(" at {line}"),
        (Some(line), Some(outermost)) => format!(" at {line}, inlined at {outermost}"),
    }
}

/// Returns what LLVM cannot select, without the addresses and locations that follow.
fn first_words(error: &str) -> &str {
    const WORDS_BYTES_MAX: usize = 200;
    let end = error.find(" @[").unwrap_or(error.len()).min(WORDS_BYTES_MAX);
    error.get(..end).unwrap_or(error)
}

/// Returns whether a diagnostic is about a crash of rustc that other debug information may avoid.
pub(crate) fn is_about_crash(message: &Value) -> bool {
    message["code"]["code"] == CRASH
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[track_caller]
    fn check(given: &str, expected: &str) {
        let target = format!(" --target /t/{}.json", target::NAME);
        let given = words(&(given.to_owned() + &target));
        let name = program_crate(&given).expect("it is for the target");
        assert_eq!(adjusted(&given, name), words(&expected.replace(" @", &target)));
    }

    #[test]
    fn dependency_is_compiled_as_a_library_to_be_optimized_while_linking() {
        check(
            "--crate-name spl_token --crate-type cdylib --crate-type lib",
            "--crate-name spl_token --crate-type lib @ -Clinker-plugin-lto",
        );
        check(
            "--crate-name borsh --crate-type lib -C linker-plugin-lto",
            "--crate-name borsh --crate-type lib -C linker-plugin-lto @",
        );
        check(
            "--crate-name borsh --crate-type lib -C embed-bitcode=no",
            "--crate-name borsh --crate-type lib -C embed-bitcode=no @",
        );
        check(
            "--crate-name vault --crate-type cdylib -C lto=fat",
            "--crate-name vault --crate-type cdylib -C lto=fat @",
        );
    }

    #[test]
    fn lints_of_the_program_are_capped_and_those_of_dependencies_are_as_cargo_says() {
        for (given, expected) in [
            ("--crate-name vault", "--crate-name vault --cap-lints warn"),
            ("--crate-name borsh --cap-lints allow", "--crate-name borsh --cap-lints allow"),
        ] {
            let mut arguments = words(given);
            cap_lints(&mut arguments);
            assert_eq!(arguments, words(expected));
        }
    }

    #[test]
    fn file_that_cargo_expects_is_known_where_a_cdylib_is_left_out() {
        let library = "--crate-type lib -C extra-filename=-1a2b --out-dir /deps";
        let both = words(&format!("--crate-type cdylib {library}"));
        assert_eq!(left_out(&both, "spl_memo"), Some("/deps/libspl_memo-1a2b.so".into()));
        assert_eq!(left_out(&words(library), "spl_memo"), None);
    }

    #[test]
    fn getrandom_gets_the_features_for_unknown_systems() {
        check(
            "--crate-name getrandom --crate-type lib -C embed-bitcode=no",
            "--crate-name getrandom --crate-type lib -C embed-bitcode=no @ \
             --cfg feature=\"custom\" --cfg feature=\"dummy\"",
        );
    }

    #[test]
    fn only_crates_for_the_target_are_changed() {
        let others = ["--crate-name build_script_build --crate-type bin", "-vV", ""];
        assert!(others.iter().all(|it| program_crate(&words(it)).is_none()));
        let probe = format!("- --crate-name ___ --target {}.json", target::NAME);
        assert_eq!(program_crate(&words(&probe)), None);
    }

    #[test]
    fn copies_of_sources_have_no_code_for_bpf() {
        let folder = std::env::temp_dir().join(format!("selkie-copy-{}", std::process::id()));
        let source = folder.join("solana-address-2.9.0/src");
        fs::create_dir_all(source.join("inner")).expect("the folder is writable");
        let text = |condition| format!("#[cfg(not({condition}))]\nconst ID: u8 = 1;\n");
        for file in ["lib.rs", "inner/mod.rs"] {
            fs::write(source.join(file), text("target_arch = \"bpf\"")).expect("it is writable");
        }
        let (root, out) = (source.join("lib.rs"), folder.join("out"));
        let mut arguments =
            [root.as_os_str(), "--out-dir".as_ref(), out.as_os_str()].map(OsStr::to_owned).to_vec();
        take_copy(&mut arguments, FOR_BPF, "any()").expect("the folder is writable");
        let copy = out.join("selkie/copies/solana-address-2.9.0/src");
        assert_eq!(arguments[0], copy.join("lib.rs"));
        for file in ["lib.rs", "inner/mod.rs"] {
            let copied = fs::read_to_string(copy.join(file)).expect("it was copied");
            assert_eq!(copied, text("any()"));
            let [from, to] = [&source, &copy].map(|it| fs::metadata(it.join(file)));
            let time = |it: io::Result<fs::Metadata>| it.and_then(|it| it.modified()).ok();
            assert_eq!(time(from), time(to), "cargo would compile it again");
        }
        fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn panics_name_files_without_folders_of_the_machine() {
        let shortened = |root: &str, package: &str| {
            let mut arguments = words(&format!("--out-dir /t/deps {root}"));
            let package = Some(Path::new(package)).filter(|_| is_outside_workspace(&arguments));
            shorten_paths(&mut arguments, package, Some("/t/build/a/out".as_ref()));
            arguments.split_off(3)
        };
        let rest = "--remap-path-prefix /t/build/a/out=out \
                    --remap-path-prefix /t/deps/selkie/copies= --remap-path-scope=macro";
        let registry = "/users/me/.cargo/registry/src/index";
        assert_eq!(
            shortened(&format!("{registry}/a-1.0.0/src/lib.rs"), &format!("{registry}/a-1.0.0")),
            words(&format!("--remap-path-prefix {registry}= {rest}"))
        );
        let sources = "/users/me/.cache/selkie/rust-src/1";
        let core = format!("{sources}/library/core");
        assert_eq!(
            shortened(&format!("{core}/src/lib.rs"), &core),
            words(&format!("--remap-path-prefix {sources}= {rest}"))
        );
        assert_eq!(shortened("src/lib.rs", "/users/me/vault"), words(rest));
    }

    #[test]
    fn crates_are_identified_by_their_origin() {
        let identified = |package: Option<&str>| {
            let mut arguments =
                words("-C metadata=1a2b --cfg feature=\"std\" --cfg fast a/src/lib.rs");
            identify(&mut arguments, package.map(Path::new));
            arguments[1].to_str().map(str::to_owned)
        };
        let expected = |origin: &str| Some(format!("metadata={origin}:feature=\"std\",fast"));
        let registry = "/registry/src/index.crates.io-1949cf8c6b5b557f/borsh-1.6.1";
        assert_eq!(identified(Some(&format!("/users/me/.cargo{registry}"))), expected(registry));
        let git = "/git/checkouts/anchor-1f2e/0a1b2c3/lang";
        assert_eq!(identified(Some(&format!("/users/me/.cargo{git}"))), expected(git));
        let core = "/library/core";
        assert_eq!(identified(Some(&format!("/cache/rust-src/1{core}"))), expected(core));
        assert_eq!(identified(Some("/users/me/shared")), expected("/users/me/shared"));
        assert_eq!(identified(None), expected("a/src/lib.rs"));
    }

    #[test]
    fn wrapper_is_told_by_the_path_of_rustc() {
        assert!(is_started_by_cargo(&words("/toolchain/bin/rustc -vV")));
        assert!(!is_started_by_cargo(&words("build rustc")));
        assert!(!is_started_by_cargo(&[]));
    }

    #[test]
    fn place_of_an_operation_names_the_outermost_call_too() {
        let error =
            "Cannot select: t7 = AtomicSwap @[ sync.rs:9:1 @[ cell.rs:8:2 @[ src/lib.rs:7:3 ] ] ]";
        assert_eq!(place(error), " at sync.rs:9:1, inlined at src/lib.rs:7:3");
        assert_eq!(place("Cannot select: t7 = AtomicSwap"), "");
    }

    #[cfg(unix)]
    #[test]
    fn crashes_are_told_from_errors_in_the_program() {
        use std::os::unix::process::ExitStatusExt as _;
        let crash = |wait_status, text: &str| {
            let lines: Vec<_> = text.lines().map(|it| it.as_bytes().to_vec()).collect();
            crash("vault", ExitStatus::from_raw(wait_status), &lines)
        };
        assert_eq!(crash(0x100, "aborting due to 1 previous error"), None);
        let killed = crash(11, "error: rustc interrupted by SIGSEGV").expect("it is a crash");
        assert!(is_about_crash(&killed));
        let unselected = "rustc-LLVM ERROR: Cannot select: t7: i32 = AtomicSwap @[ a.rs:1 ]\n\
                          In function: _ZN5vault4fill17h0123456789abcdefE";
        let unselected = crash(0x6500, unselected).expect("it is a crash");
        assert_eq!(
            unselected["message"],
            "LLVM cannot compile `vault` in `vault::fill` at a.rs:1: Cannot select: t7: i32 = AtomicSwap"
        );
        assert!(!is_about_crash(&unselected));
        let internal = "\nthread 'rustc' panicked at compiler/a.rs:1:1:\nno entry\nnote: run with";
        let internal = crash(0x6500, internal).expect("it is an internal error");
        assert_eq!(
            internal["message"],
            "rustc has an internal error in `vault`: thread 'rustc' panicked at compiler/a.rs:1:1: no entry"
        );
    }
}
