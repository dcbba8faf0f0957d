//! `selkie build` and `selkie new` with the installed compilers.
//!
//! Tests that need a compiler are reported as ignored where it is missing, which only a harness of
//! its own can find out; with `SELKIE_REQUIRE_TOOLCHAINS` set they run and fail.

mod common;
#[cfg(unix)]
#[path = "build/manifests.rs"]
mod manifests;
#[path = "build/own_lines.rs"]
mod own_lines;
#[cfg(unix)]
#[path = "build/toolchains.rs"]
mod toolchains;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::LazyLock,
};

use libtest_mimic::{Arguments, Trial};
use selkie_build::{c, in_path, rust};

use common::{Output, copy, folder, repository, selkie_with};

/// What a test needs besides Selkie.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    C,
    Rust,
}

impl Needs {
    /// What is missing of it.
    fn missing(self) -> Option<&'static str> {
        let (found, missing) = match self {
            Self::Nothing => return None,
            Self::C => (c::compiler(None, &env::temp_dir()).is_ok(), "no compiler for C"),
            Self::Rust => (rust::compiler(None).is_ok(), "no toolchain for Rust"),
        };
        (!found).then_some(missing)
    }
}

/// Rows of tests: what each needs, and its function.
macro_rules! tests {
    ($($needs:ident $test:path)*) => {
        &[$((stringify!($test), Needs::$needs, $test)),*]
    };
}

const TESTS: &[(&str, Needs, fn())] = tests! {
    C c_programs_build_with_every_installed_clang
    Rust rust_programs_build_with_and_without_std
    Rust programs_for_the_official_toolchain_build_or_get_advice
    Rust frames_that_are_too_large_are_tried_again_with_less_inlining
    Rust other_layouts_are_refused_where_the_compiler_keeps_its_own
    Rust optimised_programs_are_debugged_backwards
    Rust own_lines::a_new_project_is_shown_by_its_own_lines
    C programs_for_solanas_c_sdk_build_as_they_are
    C arguments_are_those_of_the_compiler_for_c
    C programs_in_c_are_debugged_backwards
    C unchanged_projects_are_not_rebuilt
    C a_project_may_mix_c_and_assembly
    C objects_of_c_and_assembly_are_linked
    Nothing a_new_project_in_assembly_builds_and_runs
    Nothing packages_with_tests_of_assembly_build_the_assembly
    Nothing a_new_project_contains_no_local_paths_or_secrets
    Rust missing_dev_dependencies_do_not_prevent_a_build
    C c_compilers_give_no_warnings_and_floats_get_advice
    Nothing errors_say_how_to_fix_what_cannot_be_built
    C errors_of_compiler_and_linker_are_shown
    Rust manifests::git_and_path_dependencies_profiles_features_and_lock_files_are_honoured
    Rust toolchains::crashes_of_rustc_are_tried_again_with_full_debug_information
    Nothing toolchains::official_tools_are_run_where_they_are_installed
};

fn main() -> ExitCode {
    // This harness runs the rows above and nothing else.
    assert!(!include_str!("build.rs").contains("\n#[test"), "tests here are rows of `TESTS`");
    let required = env::var_os("SELKIE_REQUIRE_TOOLCHAINS").is_some();
    let trial = |&(name, needs, test): &(&str, Needs, fn())| {
        let missing = needs.missing().filter(|_| !required);
        let run = move || {
            test();
            Ok(())
        };
        let trial = Trial::test(name, run).with_ignored_flag(missing.is_some());
        trial.with_kind(missing.unwrap_or_default())
    };
    let trials = TESTS.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A folder with the examples.
struct Place {
    folder: PathBuf,
    /// Where the cache and what cargo builds are.
    built: PathBuf,
}

impl Place {
    /// Makes a place with a cache of its own.
    fn new(name: &str) -> Self {
        let folder = folder(name);
        copy(&repository().join("examples"), &folder.join("examples"));
        Self { built: folder.clone(), folder }
    }

    /// Makes a place for programs in Rust that shares what is built with others, since the standard
    /// library takes much longer than a program. No two tests that share may build a package of one name.
    fn sharing(name: &str) -> Self {
        static SHARED: LazyLock<PathBuf> = LazyLock::new(|| {
            let first = Place::new("build-shared");
            first.build("examples/rust/counter", &[]);
            first.built
        });
        Self { built: SHARED.clone(), ..Self::new(name) }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_in(".", arguments)
    }

    fn run_in(&self, folder: &str, arguments: &[&str]) -> Output {
        let cache = self.built.join("cache");
        let target = self.built.join("cargo");
        let variables = [("XDG_CACHE_HOME", cache.as_path()), ("CARGO_TARGET_DIR", &target)];
        selkie_with(&self.folder.join(folder), arguments, &variables)
    }

    /// Builds one program, and gives what is reported of it.
    fn build(&self, folder: &str, arguments: &[&str]) -> serde_json::Value {
        let arguments = [&["--json", "build"], arguments].concat();
        let output = self.run_in(folder, &arguments);
        assert_eq!(output.code, Some(0), "{arguments:?}\n{}", output.text());
        output.json()["programs"][0].clone()
    }

    /// Runs a program on both engines, which have to agree, and gives what both say.
    fn both(&self, program: &str, arguments: &[&str]) -> Output {
        let run = |engine| {
            let arguments = [&["run", program, "--engine", engine], arguments].concat();
            self.run(&arguments)
        };
        let interpreted = run("interpreter");
        if cfg!(target_arch = "x86_64") {
            assert_eq!(interpreted.text(), run("jit").text(), "{program} on the JIT");
        }
        interpreted
    }

    /// What a counter does, whatever it is written in.
    fn counts(&self, program: &str) {
        let counted = self.both(program, &["--input", "examples/counter/input.json"]);
        assert_eq!(counted.code, Some(0), "{}", counted.text());
        assert!(counted.stdout.contains("u64 41 → 42"), "{}", counted.stdout);
        let input = fs::read_to_string(self.folder.join("examples/counter/input.json"))
            .expect("the example is there");
        let refusals = [
            ("\"is_writable\": true", "\"is_writable\": false"),
            ("[1, 0, 0, 0, 0, 0, 0, 0]", "[1, 0]"),
            ("[41, 0, 0, 0, 0, 0, 0, 0]", "[255, 255, 255, 255, 255, 255, 255, 255]"),
        ];
        for (good, bad) in refusals {
            assert!(input.contains(good), "the example has no {good}");
            fs::write(self.folder.join("bad.json"), input.replace(good, bad))
                .expect("the folder is writable");
            let refused = self.both(program, &["--input", "bad.json"]);
            assert_eq!(refused.code, Some(1), "{bad}: {}", refused.text());
        }
    }
}

const VERSIONS: [&str; 2] = ["v0", "v3"];

fn c_programs_build_with_every_installed_clang() {
    let place = Place::new("build-c");
    let clangs =
        ["clang-16", "clang-19", "clang-22"].into_iter().filter(|name| in_path(name).is_some());
    let mut toolchains: Vec<Option<&str>> = clangs.map(Some).collect();
    toolchains.push(None);
    for toolchain in toolchains {
        for version in VERSIONS {
            let chosen = toolchain.map(|it| vec!["--toolchain", it]).unwrap_or_default();
            let arguments = |source, program| {
                [&[source, "-o", program, "--arch", version], chosen.as_slice()].concat()
            };
            let counter = arguments("examples/c/counter.c", "counter.so");
            let built = place.build(".", &counter);
            assert_eq!(built["version"], version);
            place.counts("counter.so");
            place.build(".", &arguments("examples/c/hello.c", "hello.so"));
            let hello = place.both("hello.so", &[]);
            assert!(hello.stdout.contains("Program log: Hello, Solana!"), "{}", hello.text());
        }
    }
}

fn rust_programs_build_with_and_without_std() {
    let place = Place::sharing("build-rust");
    let source = repository().join("examples/rust/hello/src/lib.rs");
    let source = fs::read_to_string(source).expect("the example is there");
    let panics = source.lines().zip(1..).find(|(line, _)| line.contains("nine is not welcome"));
    let (_, line) = panics.expect("the example panics");
    for version in VERSIONS {
        let arguments = ["--arch", version];
        let counter = place.build("examples/rust/counter", &arguments);
        assert_eq!(counter["version"], version);
        let [counter, heap, hello] = ["counter", "heap", "hello"].map(|name| {
            let built = place.build(&format!("examples/rust/{name}"), &arguments);
            built["program"].as_str().expect("it was built").to_owned()
        });
        place.counts(&counter);

        let heap = place.both(&heap, &["--data", "u8:1,u8:5,u8:1,u64:99"]);
        let expected = [
            "0: 7, 1: 2, 5: 1, 99: 1",
            "106 = 15 * 7 + 1",
            "200316692327625993750703369911490326638 = 28616670332517999107243338558784332376 * 7 + 6",
            "0xfffffffffffffe79",
        ];
        for line in expected {
            assert!(heap.stdout.contains(line), "no `{line}` in\n{}", heap.stdout);
        }

        let said = place.both(&hello, &["--input", "examples/counter/input.json"]);
        let expected = [
            "I am eypgJo3QAz7yopmCotKQmcgQy8CBoo3dk4M4ed7MHb6 (hello), with 1 accounts",
            "7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq has 1000000 lamports",
            "sorted [0, 0, 0, 0, 0, 0, 0, 1], product 2",
            "a third of the largest, below zero: 0",
        ];
        for line in expected {
            assert!(said.stdout.contains(line), "no `{line}` in\n{}", said.stdout);
        }
        let panicked = place.both(&hello, &["--data", "u8:9"]);
        assert_eq!(panicked.code, Some(1));
        assert!(panicked.stdout.contains("nine is not welcome"), "{}", panicked.stdout);
        numbers(&place, version);
        // The source's line is known though the program has been stripped.
        assert!(panicked.text().contains(&format!("src/lib.rs:{line}:5")), "{}", panicked.text());
    }
    programs_are_the_same_wherever_they_are_built(&place);
    own_lines::panics_and_errors_with_the_standard_library_are_at_own_lines(&place);
}

fn programs_for_the_official_toolchain_build_or_get_advice() {
    let place = Place::sharing("build-layouts");
    copy(&repository().join("testdata/build"), &place.folder);
    types_have_the_layout_of_the_official_toolchain(&place);
    let refused = [
        ("#[unsafe(no_mangle)]\n#[panic_handler]", &["remove `#[no_mangle]`"][..]),
        (
            "#[panic_handler]",
            &["lib.rs:6, in `twice`: ", "write `r0 = 2 ll` for `lddw r0, 2`", "write `r0 *= r1`"],
        ),
    ];
    let lib = place.folder.join("dialect/src/lib.rs");
    let source = fs::read_to_string(&lib).expect("it was copied");
    for (handler, expected) in refused {
        let changed = source.replace("#[panic_handler]", handler);
        fs::write(&lib, changed).expect("the folder is writable");
        let output = place.run_in("dialect", &["build"]);
        assert_eq!(output.code, Some(1), "{}", output.text());
        for text in expected {
            assert!(output.text().contains(text), "no `{text}` in\n{}", output.text());
        }
    }
    // What the program denies is only a warning with compilers that are newer than it.
    let spelled = source.replace("lddw r0, 2", "r0 = 2 ll").replace("mul64 r0, r1", "r0 *= r1");
    fs::write(&lib, spelled).expect("the folder is writable");
    let built = place.build("dialect", &[]);
    let program = built["program"].as_str().expect("it was built");
    let ended = place.both(program, &[]);
    assert!(ended.text().contains("custom program error: 0xa"), "{}", ended.text());
}

/// The program asserts sizes, offsets and conditions while it is compiled, and then reads an account.
fn types_have_the_layout_of_the_official_toolchain(place: &Place) {
    for version in VERSIONS {
        let built = place.build("layout", &["--arch", version]);
        let program = built["program"].as_str().expect("it was built");
        let read = place.both(program, &["--data", "u64:1,u64:7,u64:1,u64:3"]);
        assert_eq!(read.code, Some(0), "{}", read.text());
        let refused = place.both(program, &["--data", "u64:1,u64:7,u64:2,u64:3"]);
        assert_eq!(refused.code, Some(1), "{}", refused.text());
        // Fee, price, two ticks of index and liquidity, and the last field.
        let market = "u64:1,u64:7,u64:1,u64:0,u64:0,u64:0,u64:9,u64:7,u64:1,u64:3";
        let read = place.both(program, &["--data", market]);
        assert_eq!(read.code, Some(0), "{}", read.text());
    }
}

/// In V0 a function has one frame. In V3 it has several, and is not compiled again.
fn frames_that_are_too_large_are_tried_again_with_less_inlining() {
    let place = Place::sharing("build-frames");
    copy(&repository().join("testdata/build"), &place.folder);
    for version in VERSIONS {
        let output = place.run_in("frames", &["--json", "build", "--arch", version]);
        assert_eq!(output.code, Some(0), "{}", output.text());
        let is_tried_again = output.stderr.contains("trying again with less inlining");
        assert_eq!(is_tried_again, version == "v0", "{}", output.stderr);
        let built = output.json()["programs"][0]["program"].clone();
        let program = built.as_str().expect("it was built");
        // The second check fails with code 1, to which the number of the check is added.
        let ended = place.both(program, &["--data", "u64:256"]);
        assert!(ended.text().contains("custom program error: 0x3"), "{}", ended.text());
        let ended = place.both(program, &["--data", "u64:0"]);
        assert_eq!(ended.code, Some(0), "{}", ended.text());
    }
}

/// A toolchain whose LLVM is part of its rustc, as on macOS: here one without a library beside it.
#[cfg(unix)]
fn other_layouts_are_refused_where_the_compiler_keeps_its_own() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new("build-own-layout");
    copy(&repository().join("testdata/build"), &place.folder);
    let real = rust::sysroot(None).expect("the test needs it");
    let toolchain = place.folder.join("static-llvm");
    for folder in ["bin", "lib"] {
        fs::create_dir_all(toolchain.join(folder)).expect("the folder is writable");
    }
    symlink(real.join("lib/rustlib"), toolchain.join("lib/rustlib")).expect("it is writable");
    for name in ["cargo", "rustc"] {
        let (program, start) = (real.join("bin").join(name), toolchain.join("bin").join(name));
        fs::write(&start, format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display()))
            .expect("the folder is writable");
        fs::set_permissions(&start, fs::Permissions::from_mode(0o755)).expect("it is there");
    }
    let toolchain = toolchain.to_str().expect("the path is text");
    let output = place.run_in("layout-own", &["build", "--toolchain", toolchain]);
    assert_eq!(output.code, Some(1), "{}", output.text());
    let moved = [
        ("Pool", "liquidity", 16, 8),
        ("Nested", "pool", 16, 8),
        ("Price", "value", 16, 8),
        ("Ticks", "ticks", 16, 8),
        ("Pair", "bump", 32, 24),
        ("Limit", "bump", 32, 24),
        ("Quote", "bump", 32, 24),
        ("Order::Stop", "price", 16, 8),
    ];
    let moved = moved.map(|(of, field, here, official)| {
        format!(
            "field `{field}` of `layout_own::{of}` is at offset {here}, and at {official} with the \
             official toolchain"
        )
    });
    let ways_out = ["use [u8; 16] or two u64", "add padding", "--toolchain official"];
    for text in moved.iter().map(String::as_str).chain(ways_out) {
        assert!(output.text().contains(text), "no `{text}` in\n{}", output.text());
    }
    assert!(!output.text().contains("Same"), "{}", output.text());
    // The toolchain as it is has the official layout.
    let place = Place::sharing("build-official-layout");
    copy(&repository().join("testdata/build"), &place.folder);
    place.build("layout-own", &[]);
}

#[cfg(not(unix))]
fn other_layouts_are_refused_where_the_compiler_keeps_its_own() {}

/// Builds a program once more, with the standard library, in a folder with another name.
fn programs_are_the_same_wherever_they_are_built(place: &Place) {
    let build = |place: &Place| {
        let built = place.build("examples/rust/heap", &[]);
        let program = built["program"].as_str().expect("it was built");
        fs::read(place.folder.join("examples/rust/heap").join(program)).expect("it is there")
    };
    let here = build(place);
    let elsewhere = build(&Place::new("build-elsewhere/with/a/long/name"));
    assert!(here == elsewhere, "{} and {} bytes differ", here.len(), elsewhere.len());
    let folder = repository();
    let folder = folder.to_str().expect("the path is text").as_bytes();
    assert!(!here.windows(folder.len()).any(|it| it == folder), "it names folders");
}

/// What the same source says where processors have such numbers.
const NUMBERS: [&str; 12] = [
    "float 7.575520833333334 0 7575520833",
    "signed -3000000096000001020000003600 None -2999991096026712939861",
    "rest -184017 -22888184326171882781983",
    "checked Some(2029141848108050676) None",
    "counts [(5, 1), (3, 2)]",
    "wide -7000063150189901000000000000 -7000063000000000000000000000 7000063150189901000000000000",
    "whole -7000063150189901134279064126935269376 1000009021455700228590010368",
    "shift -939532571875011316514253454713028608 52154534684046367305",
    "atomic [false, true, true] 79 -259 fffffffffffffffc 1",
    "io failed to fill whole buffer UnexpectedEof Some(2)",
    // There is no randomness, of which programs learn when they ask for it.
    "older Err(2147483648)",
    "newer true",
];

/// Floating point, 128 bits, hashing, atomic accesses, errors of the system, randomness.
fn numbers(place: &Place, version: &str) {
    copy(&repository().join("testdata/build"), &place.folder);
    let built = place.build("numbers", &["--arch", version]);
    let program = built["program"].as_str().expect("it was built");
    assert!(program.ends_with("deploy/soft_numbers.so"), "{program}");
    let said = place.both(program, &["--data", "u8:3,u8:5,u8:3"]);
    for line in NUMBERS {
        assert!(said.stdout.contains(line), "no `{line}` in\n{}", said.stdout);
    }
}

fn optimised_programs_are_debugged_backwards() {
    let place = Place::sharing("build-payout");
    let folder = "examples/rust/payout";
    let program = "target/deploy/payout.so";
    place.build(folder, &[".", "--output", program]);
    let saved = ["run", program, "--input", "input.json", "--save-replay", "call.replay"];
    let failed = place.run_in(folder, &saved);
    assert_eq!(failed.code, Some(1), "{}", failed.text());
    let commands =
        ["bt", "up", "p pool", "who *first", "break share", "rc", "p pool as u32 * points"];
    let commands = commands.iter().flat_map(|it| ["-x", *it]);
    let arguments: Vec<&str> = ["debug", "call.replay"].into_iter().chain(commands).collect();
    let output = place.run_in(folder, &arguments);
    assert_eq!(output.code, Some(0), "{}", output.text());
    let found = output.stdout;
    for expected in ["pool", "1000000", "*first = share(pool, points)", "lib.rs:30", "705032704"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    ask_malformed(&place.folder.join(folder).join("target/deploy/payout.so.debug"));
}

fn programs_for_solanas_c_sdk_build_as_they_are() {
    let build = |name: &str| {
        let place = Place::new(name);
        copy(&repository().join("testdata/build/sdk"), &place.folder);
        let built = |source: &str, version| {
            let built = place.build(".", &[source, "--arch", version]);
            built["program"].as_str().expect("it was built").to_owned()
        };
        for version in VERSIONS {
            let program = built("wide.c", version);
            let said = place.both(&program, &[]);
            let expected = [
                "0x692142bba591b822, 0x427985e147cb79b8, 0x30bc28f96f370000, 0x3490a15dd2c8d, \
                 0xc11213cc2f0a3e5b",
                "0x2659bb0f1, 0x1aaa416e, 0x968f6ec94fb6904e, 0x1, 0x7fffffffffffffff",
                "0xfffffffffffffffc, 0x8e, 0x6, 0x0, 0x0",
            ];
            for text in expected {
                assert!(said.stdout.contains(text), "no `{text}` in\n{}", said.stdout);
            }
            let said = place.both(&built("plus.cc", version), &[]);
            assert_eq!(said.code, Some(0), "{}", said.text());
            let said = place.both(&built("sdk.c", version), &["--data", "u8:5"]);
            let expected = [
                "Program log: sdk.c",
                "Program log: - Instruction data\nProgram log: 0x0, 0x0, 0x0, 0x0, 0x5",
                // Of the SHA-256 of "abc".
                "Program log: 0x0, 0x0, 0x0, 0x0, 0xba\nProgram log: 0x0, 0x0, 0x0, 0x1, 0x78",
                "0707070707070707",
            ];
            for text in expected {
                assert!(said.stdout.contains(text), "no `{text}` in\n{}", said.stdout);
            }
        }
        fs::read(place.folder.join("sdk.so")).expect("it was built")
    };
    let [here, elsewhere] = ["build-sdk", "build-sdk-elsewhere/with/a/long/name"].map(build);
    assert!(here == elsewhere, "`__FILE__` depends on the folder");
}

fn arguments_are_those_of_the_compiler_for_c() {
    let place = Place::new("build-c-arguments");
    let build = |arguments: &[&str]| {
        let source = ["build", "examples/c/hello.c", "-o", "hello.so", "--"];
        let built = place.run(&[&source, arguments].concat());
        let bytes = fs::read(place.folder.join("hello.so")).unwrap_or_default().len();
        (built, bytes)
    };
    let (built, bytes) = build(&[]);
    assert_eq!(built.code, Some(0), "{}", built.text());
    let (built, without_optimization) = build(&["-O0"]);
    assert_eq!(built.code, Some(0), "{}", built.text());
    assert!(!built.stderr.contains("no effect"), "{}", built.text());
    assert!(without_optimization > bytes, "{bytes} bytes, and {without_optimization} with -O0");
    let (built, _) = build(&["--nonsense"]);
    assert_eq!(built.code, Some(1), "{}", built.text());
    assert!(built.stderr.contains("--nonsense"), "{}", built.text());
}

fn programs_in_c_are_debugged_backwards() {
    let place = Place::new("build-payout-c");
    let built = place.run(&["build", "examples/c/payout.c", "-o", "payout.so"]);
    assert_eq!(built.code, Some(0), "{}", built.text());
    let input = ["--input", "examples/rust/payout/input.json"];
    let save = ["--save-replay", "failed.replay"];
    let failed = place.run(&[&["run", "payout.so"], &input[..], &save].concat());
    assert_eq!(failed.code, Some(1), "{}", failed.text());
    let debug = ["debug", "failed.replay", "--symbols", "."];
    let commands = ["break check", "rc", "who held->first", "p (*held).total", "b share"];
    let commands = commands.into_iter().chain(["rc", "p total * points"]);
    let commands = commands.flat_map(|it| ["-x", it]);
    let output = place.run(&debug.into_iter().chain(commands).collect::<Vec<&str>>());
    assert_eq!(output.code, Some(0), "{}", output.text());
    let found = output.stdout;
    for expected in ["held->first: 0 → 70503", "payout.c:41", "1000000", "5000000000"] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

/// Asks all there is to ask of debug information that is cut or changed.
fn ask_malformed(path: &Path) {
    let whole = fs::read(path).expect("it was built");
    let ask = |bytes: Vec<u8>| {
        let info = selkie_debug::DebugInfo::load(&bytes.into());
        for pc in (0..100).step_by(9) {
            let scopes = info.scopes_at(pc);
            let variables: Vec<_> = scopes.iter().flat_map(|it| info.variables(it)).collect();
            variables.iter().for_each(|it| drop(info.type_of(&it.ty)));
        }
        let _ = (info.line_places("lib.rs", 20), info.function_places("process"));
    };
    for len in (0..whole.len()).step_by(1009) {
        ask(whole[..len].to_vec());
    }
    for at in (64..whole.len()).step_by(211) {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        ask(broken);
    }
}

fn unchanged_projects_are_not_rebuilt() {
    let place = Place::new("build-fresh");
    let made = place.run(&["new", "fresh", "--c"]);
    assert_eq!(made.code, Some(0), "{}", made.text());
    let first = place.build("fresh", &[]);
    assert_eq!(first["fresh"], false);
    // The stamp tells times apart by what the file system tells.
    let again = place.build("fresh", &[]);
    assert_eq!((&again["fresh"], &again["address"]), (&true.into(), &first["address"]));
    let other = place.build("fresh", &["--arch", "v0"]);
    assert_eq!(other["fresh"], false, "another version is another program");
    let forced = place.build("fresh", &["--force"]);
    assert_eq!(forced["fresh"], false);
    let source = place.folder.join("fresh/src/fresh.c");
    let text = fs::read_to_string(&source).expect("it was made");
    fs::write(&source, text.replace("+= amount", "+= 2 * amount")).expect("it is writable");
    let changed = place.build("fresh", &[]);
    assert_eq!(changed["fresh"], false);
    let program = changed["program"].as_str().expect("it was built");
    let run = place.run(&["run", program, "--input", "fresh/input.json"]);
    assert!(run.stdout.contains("u64 41 → 43"), "{}", run.text());
}

fn a_project_may_mix_c_and_assembly() {
    let place = Place::new("build-mixed");
    let project = "examples/exchange";
    let data = "u64:1000,u64:9223372036854775808,u64:123456789012345678,u64:9141386507638288912";
    for version in VERSIONS {
        let arguments = [project, "--arch", version];
        let built = place.build(".", &arguments);
        let names = built["functions"].as_array().expect("a list").iter();
        let names: Vec<_> = names.filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["entrypoint", "scale"]);
        let program = built["program"].as_str().expect("it was built");
        let run = place.both(program, &["--data", data]);
        for line in ["0x3e8, 0x8000000000000000, 0x1f4, 0x0, 0x1f4", "0xd95a9c62dad151, 0x1"] {
            assert!(run.stdout.contains(line), "no `{line}` in\n{}", run.stdout);
        }
        let again = place.build(".", &arguments);
        assert_eq!(again["fresh"], true);
        // The loader would refuse the file with debug information beside a program for V0.
        for command in ["disasm", "cfg"] {
            let shown = place.run(&[command, program]);
            assert!(!shown.text().contains("loader") && shown.text().contains("scale"));
        }
    }

    let write = |name: &str, text: &str| {
        fs::write(place.folder.join(project).join("src").join(name), text).expect("it is writable");
    };
    let source = place.folder.join(project).join("src/scale.s");
    let source = fs::read_to_string(source).expect("the example is there");
    // What a source includes counts as much as the source, and is no source of its own.
    let (head, body) = source.split_once("scale:").expect("the function has a label");
    write("scale.s", &format!("{head}scale:\n.include \"body.s\"\n"));
    write("body.s", body);
    let changed = place.build(".", &[project]);
    assert_eq!(changed["fresh"], false);
    let again = place.build(".", &[project]);
    assert_eq!(again["fresh"], true);
    write("body.s", &body.replace("    exit", "    add64 r0, 1\n    exit"));
    let changed = place.build(".", &[project]);
    assert_eq!(changed["fresh"], false);
    let program = changed["program"].as_str().expect("it was built");
    let run = place.both(program, &["--data", "u64:1000,u64:9223372036854775808"]);
    assert!(run.stdout.contains("0x8000000000000000, 0x1f5"), "{}", run.text());

    // A trap in the assembly has its line.
    write("body.s", "    ldxdw r0, [r1 + 0]\n    exit\n");
    place.build(".", &[project]);
    let trap = place.both(program, &["--data", "u64:1000,u64:1"]);
    assert_eq!(trap.code, Some(1));
    assert!(trap.text().contains("src/body.s:1:5"), "{}", trap.text());

    // The program may start in either.
    write("start.s", ".globl entrypoint\nentrypoint:\n    call start\n    exit\n");
    write("body.s", "    bogus r0\n");
    let c = fs::read_to_string(place.folder.join(project).join("src/exchange.c"));
    write("exchange.c", &c.expect("it is there").replace("entrypoint(", "start("));
    let refused = place.run(&["build", project]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("src/body.s:1:5"), "{}", refused.text());
    let refused = place.run(&["--json", "build", project]);
    let stage = &refused.json()["programs"][0]["stage"];
    assert_eq!(stage, "assemble", "{}", refused.text());
    write("body.s", body);
    let built = place.build(".", &[project]);
    let run = place.both(built["program"].as_str().expect("it was built"), &["--data", data]);
    assert!(run.stdout.contains("0xd95a9c62dad151, 0x1"), "{}", run.text());
}

fn objects_of_c_and_assembly_are_linked() {
    let place = Place::new("build-objects");
    for version in VERSIONS {
        let scale = ["-c", "examples/exchange/src/scale.s", "--arch", version, "-o", "scale.o"];
        let made = place.run(&[&["build"], &scale[..]].concat());
        assert_eq!(made.code, Some(0), "{}", made.text());
        let exchange = ["-c", "examples/exchange/src/exchange.c", "--out-dir", "."];
        place.build(".", &exchange);
        for part in ["scale.o", "examples/exchange/src/scale.s"] {
            let link = ["link", "exchange.o", part, "-o", "linked.so", "--arch", version];
            let linked = place.run(&link);
            assert_eq!(linked.code, Some(0), "{}", linked.text());
            let run = place.both("linked.so", &["--data", "u64:1000,u64:9223372036854775808"]);
            assert!(run.stdout.contains("0x1f4, 0x0, 0x1f4"), "{}", run.text());
        }
    }
}

fn a_new_project_in_assembly_builds_and_runs() {
    let place = Place::new("build-new");
    let made = place.run(&["new", "my-counter"]);
    assert_eq!(made.code, Some(0), "{}", made.text());
    let built = place.build("my-counter", &[]);
    assert_eq!(built["project"], "my-counter");
    // Programs are where cargo puts what it builds.
    place.counts("cargo/deploy/my-counter.so");
    assert!(place.folder.join("cargo/deploy/my-counter-keypair.json").is_file());
    assert!(!place.folder.join("my-counter/target").exists());

    // Other options are another build, and names of sections change nothing else.
    let named = place.build("my-counter", &["--section-names"]);
    let bytes = |it: &serde_json::Value| it["bytes"].as_u64().unwrap();
    assert!((144..152).contains(&(bytes(&named) - bytes(&built))), "{built} {named}");
    let file = fs::read(place.folder.join("cargo/deploy/my-counter.so")).unwrap();
    assert_eq!([file[60], file[62]], [2, 1], "the count of sections, and the one with names");
    place.counts("cargo/deploy/my-counter.so");

    assert_eq!(place.run(&["new", "my-counter"]).code, Some(2), "it is there already");
    assert_eq!(place.run(&["new", "9lives"]).code, Some(2), "no crate has such a name");
}

fn packages_with_tests_of_assembly_build_the_assembly() {
    let place = Place::new("build-assembly-package");
    let write = |path: &str, text: &str| {
        let path = place.folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is new");
        fs::write(path, text).expect("the file is new");
    };
    write("Cargo.toml", "[workspace]\nmembers = [\"greeting\"]\nresolver = \"3\"\n");
    write("greeting/Cargo.toml", "[package]\nname = \"greet\"\nversion = \"0.1.0\"\n");
    write("greeting/src/lib.rs", "#[cfg(test)]\nmod tests {}\n");
    write("greeting/src/greet/greet.s", "entrypoint:\n    mov64 r0, 0\n    exit\n");
    assert_eq!(place.build("greeting", &[])["project"], "greet");
    // The toolchain that a workspace asks for need not be installed: another one compiles programs.
    write("rust-toolchain.toml", "[toolchain]\npath = \"/nowhere\"\n");
    let mut build = common::command(&place.folder, &["build", ".", "--force"]);
    let built = build.env_remove("RUSTUP_TOOLCHAIN").output().expect("selkie starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = place.both("cargo/deploy/greet.so", &[]);
    assert!(run.stdout.contains("consumed 2 of"), "{}", run.text());
    // A package that is a program in Rust is one, whatever else it contains.
    write(
        "greeting/Cargo.toml",
        "[package]\nname = \"greet\"\nversion = \"0.1.0\"\n[lib]\ncrate-type = [\"cdylib\"]\n",
    );
    let built = place.run(&["build", "greeting", "--toolchain", "none"]);
    assert!(built.text().contains("toolchain"), "{}", built.text());
}

fn a_new_project_contains_no_local_paths_or_secrets() {
    let place = Place::new("build-share");
    let read = |path: &str| fs::read_to_string(place.folder.join(path)).expect("the file was made");
    for language in ["asm", "c", "rust"] {
        let made = place.run(&["new", language, "--lang", language, "--library", "crates.io"]);
        assert_eq!(made.code, Some(0), "{}", made.text());
        let expected = format!("selkie = {:?}\n", env!("CARGO_PKG_VERSION"));
        assert!(read(&format!("{language}/Cargo.toml")).contains(&expected));
        for entry in ["Cargo.toml", "README.md", "tests/program.rs"] {
            let text = read(&format!("{language}/{entry}"));
            let root = repository();
            assert!(!text.contains(root.to_str().expect("the path is text")), "{text}");
        }
        let ignored = read(&format!("{language}/.gitignore"));
        for secret in ["/target/", "*-keypair.json", "*.payer.json", "*.state"] {
            assert!(ignored.lines().any(|line| line == secret), "{ignored}");
        }
    }

    let library = repository().join("crates/selkie");
    let library = library.to_str().expect("the path is text");
    assert_eq!(place.run(&["new", "here", "--library", library]).code, Some(0));
    assert_eq!(place.run(&["new", "built"]).code, Some(0));
    for project in ["here", "built"] {
        let manifest = read(&format!("{project}/Cargo.toml"));
        assert!(manifest.contains(&format!("path = {library:?}")), "{manifest}");
    }
    std::os::unix::fs::symlink(repository(), place.folder.join("selkie")).expect("it is writable");
    assert_eq!(place.run(&["new", "near", "--library", "selkie"]).code, Some(0));
    let manifest = read("near/Cargo.toml");
    let (_, path) = manifest.split_once("path = \"").expect("the library is a folder");
    let path = path.split('"').next().expect("paths are quoted");
    assert!(path.starts_with("../"), "{path}");
    assert!(place.folder.join("near").join(path).join("Cargo.toml").is_file(), "{path}");

    for wrong in ["examples", "missing"] {
        let refused = place.run(&["new", "wrong", "--library", wrong]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains(&format!("{wrong} is not the folder")), "{refused:?}");
        assert!(!place.folder.join("wrong").exists(), "nothing was made");
    }
}

fn missing_dev_dependencies_do_not_prevent_a_build() {
    let place = Place::sharing("build-unresolved");
    let made = place.run(&["new", "vault", "--rust", "--library", "crates.io"]);
    assert_eq!(made.code, Some(0), "{}", made.text());
    let manifest = place.folder.join("vault/Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("it was made");
    let version = format!("selkie = {:?}", env!("CARGO_PKG_VERSION"));
    let missing = text.replace(&version, "selkie = { path = \"missing/selkie\" }");
    fs::write(&manifest, missing).expect("it is writable");
    let first = place.run_in("vault", &["--json", "build"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let built = first.json()["programs"][0].clone();
    place.counts(built["program"].as_str().expect("it was built"));
    let again = place.build("vault", &[]);
    assert_eq!(again["fresh"], true);
    assert!(!place.folder.join("vault/target").exists(), "there is one folder for what is built");
}

fn c_compilers_give_no_warnings_and_floats_get_advice() {
    let place = Place::new("build-advice");
    let float = "#include \"selkie.h\"\n\
                 uint64_t entrypoint(const uint8_t *it) { return (uint64_t)((float)it[0] / 3.0f); }\n";
    fs::write(place.folder.join("float.c"), float).expect("the folder is writable");
    let toolchains = ["clang-14", "clang-16", "clang-19", "clang-22", "zig", "ziglang"];
    let mut builds = 0;
    for toolchain in toolchains {
        let arguments = ["build", "examples/c/counter.c", "-o", "counter.so", "-t", toolchain];
        let built = place.run(&arguments);
        if built.code == Some(2) {
            assert!(built.stderr.contains("cannot be started, or is not clang"), "{built:?}");
            continue;
        }
        assert_eq!(built.code, Some(0), "{built:?}");
        let said = built.stderr.lines().filter(|line| !line.starts_with("note: clang 22 and zig"));
        assert_eq!(said.count(), 1, "more than the compiler's name: {built:?}");
        let refused = place.run(&["build", "float.c", "-t", toolchain]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("help: programs in C have no floating"), "{refused:?}");
        builds += 1;
    }
    assert!(builds > 0, "none of {toolchains:?} is here");
}

fn errors_say_how_to_fix_what_cannot_be_built() {
    let place = Place::new("build-bad");
    let write = |path: &str, text: &str| {
        let path = place.folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("it is writable");
        fs::write(path, text).expect("it is writable");
    };
    write("empty/notes.txt", "");
    write("two/src/a.s", "exit\n");
    write("two/src/b.s", "exit\n");
    write("broken/Cargo.toml", "[package\n");
    write("workspace/Cargo.toml", "[workspace]\nmembers = []\nresolver = \"3\"\n");
    let expected = [
        ("empty", "there is nothing to build", "selkie new"),
        ("two", "there are several sources", "src/two.s"),
        ("broken", "broken/Cargo.toml", "cargo"),
        ("workspace", "no package", "cdylib"),
        ("missing", "neither a folder nor a source", ".cc or .cpp"),
    ];
    for (path, message, help) in expected {
        let refused = place.run(&["build", path]);
        assert_eq!(refused.code, Some(2), "{path}: {}", refused.text());
        assert!(refused.stderr.contains(message), "{path}: {}", refused.stderr);
        assert!(refused.stderr.contains(help), "{path}: {}", refused.stderr);
    }
    let no_clang = ["build", "examples/c/hello.c", "--toolchain", "no-such-clang"];
    let unknown = place.run(&no_clang);
    assert_eq!(unknown.code, Some(2), "{}", unknown.text());
    let rust = place.run(&["build", "examples/rust/counter", "--toolchain", "no-such-rust"]);
    assert_eq!(rust.code, Some(2), "{}", rust.text());
    assert!(rust.stderr.contains("rustup toolchain install"), "{}", rust.stderr);
}

fn errors_of_compiler_and_linker_are_shown() {
    let place = Place::new("build-refused");
    let write = |path: &str, text: &str| {
        fs::write(place.folder.join(path), text).expect("it is writable");
    };
    write("bad.c", "int entrypoint(void) { return missing; }\n");
    write(
        "deep.c",
        "#include <selkie.h>\nextern void use(void *);\nuint64_t entrypoint(const uint8_t *in) {\n  volatile char big[9000];\n  big[in[0]] = 1;\n  return big[in[1]];\n}\n",
    );
    let bad = place.run(&["build", "bad.c"]);
    assert_eq!(bad.code, Some(1), "{}", bad.text());
    assert!(bad.stderr.contains("missing"), "{}", bad.stderr);
    let deep = place.run(&["build", "deep.c", "--arch", "v0"]);
    assert_eq!(deep.code, Some(1), "{}", deep.text());
    assert!(deep.stderr.contains("exceeded max offset of -4096"), "{}", deep.stderr);
    assert!(deep.stderr.contains("deep.c:"), "{}", deep.stderr);
}
