//! Rust programs are shown by the user's own lines, whatever of libraries was inlined there.

use std::fs;

use crate::{Place, common::Output};

/// A project that `selkie new --rust` has made, built.
struct Project {
    place: Place,
    source: String,
    input: String,
}

const PROGRAM: &str = "target/deploy/fresh.so";

impl Project {
    fn new(name: &str) -> Self {
        let place = Place::sharing(name);
        let made = place.run(&["new", "fresh", "--rust", "--library", "crates.io"]);
        assert_eq!(made.code, Some(0), "{}", made.text());
        place.build("fresh", &[".", "--output", PROGRAM]);
        let read = |path: &str| {
            fs::read_to_string(place.folder.join("fresh").join(path)).expect("it was made")
        };
        let (source, input) = (read("src/lib.rs"), read("input.json"));
        Self { place, source, input }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.place.run_in("fresh", arguments)
    }

    /// Runs the program with an input in which a text is replaced, and saves the replay.
    fn call(&self, good: &str, bad: &str) -> Output {
        assert!(self.input.contains(good), "the input has no {good}");
        let path = self.place.folder.join("fresh/changed.json");
        fs::write(path, self.input.replace(good, bad)).expect("the folder is writable");
        self.run(&["run", PROGRAM, "--input", "changed.json", "--save-replay", "call.replay"])
    }

    /// Returns the number of the line that contains a text.
    fn line(&self, text: &str) -> usize {
        let found = self.source.lines().position(|line| line.contains(text));
        found.expect("the template has the line") + 1
    }
}

const AMOUNT: &str = "[1, 0, 0, 0, 0, 0, 0, 0]";
const COUNT: &str = "[41, 0, 0, 0, 0, 0, 0, 0]";
const MOST: &str = "[255, 255, 255, 255, 255, 255, 255, 255]";

pub(crate) fn a_new_project_is_shown_by_its_own_lines() {
    let project = Project::new("build-own");
    fails_at_own_lines(&project);
    steps_by_own_lines(&project);
    is_reported_by_own_lines(&project);
}

/// Looks at profile and coverage of the call that `steps_by_own_lines` has saved.
fn is_reported_by_own_lines(project: &Project) {
    let profile = |arguments: &[&str]| {
        project.run(&[&["--json", "profile", "call.replay"], arguments].concat()).json()
    };
    let (own, all) = (profile(&[]), profile(&["--libraries"]));
    let units = |profile: &serde_json::Value| profile["functions"][0]["own"].as_u64();
    for profile in [&own, &all] {
        assert_eq!(profile["functions"][0]["name"], "fresh::process", "{profile}");
        let functions = profile["functions"].as_array().expect("it is a list");
        let sum: u64 = functions.iter().filter_map(|it| it["own"].as_u64()).sum();
        let syscalls = profile["syscalls"].as_array().expect("it is a list");
        let rest: u64 = syscalls.iter().filter_map(|it| it["own"].as_u64()).sum();
        assert_eq!(Some(sum + rest), profile["compute_units"].as_u64(), "{profile}");
    }
    assert!(units(&own) > units(&all), "libraries are not rolled up\n{own}\n{all}");
    let busiest = own["lines"][0]["name"].as_str().expect("it has a name");
    assert_eq!(busiest, format!("src/lib.rs:{}", project.line("owned_by")));
    assert!(all["lines"].to_string().contains("\"core/src/"), "{all}");

    let covered = project.run(&["coverage", "call.replay"]);
    let files = covered.stdout.lines().filter(|it| it.contains(".rs"));
    let files: Vec<_> = files.filter(|it| it.contains('%')).collect();
    assert!(matches!(files[..], [only] if only.ends_with("  src/lib.rs")), "{files:#?}");
}

fn fails_at_own_lines(project: &Project) {
    let owner = project.input.lines().find(|it| it.contains("\"owner\"")).expect("it has one");
    for (good, bad, text) in [
        (AMOUNT, "[1, 0]", "let amount = data.try_into()"),
        ("\"is_writable\": true", "\"is_writable\": false", "!counter.is_writable()"),
        (owner, "\"owner\": \"7V1FVd1s3TQfzPVQMtDDoVoMDaR5Lwc4sL3Y9Rza5Jhq\",", "owned_by"),
        (COUNT, "[41]", "let count = held[..].try_into()"),
        (COUNT, MOST, "checked_add"),
    ] {
        let failed = project.call(good, bad);
        assert_eq!(failed.code, Some(1), "{}", failed.text());
        let line = project.line(text);
        let place = format!("  --> src/lib.rs:{line}:");
        let found = failed.stdout.lines().find(|it| it.starts_with(&place));
        let found = found.unwrap_or_else(|| panic!("no {place}\n{}", failed.stdout));
        assert!(found.ends_with("in fresh::process"), "{found}");

        let opened = project.run(&["debug", "call.replay", "-x", "bt"]);
        let frame = opened.stdout.lines().find(|it| it.starts_with('>'));
        let frame = frame.unwrap_or_else(|| panic!("no frame\n{}", opened.text()));
        assert!(frame.contains(&format!("at src/lib.rs:{line}:")), "{text}: {frame}");
    }
}

fn steps_by_own_lines(project: &Project) {
    let called = project.call(AMOUNT, AMOUNT);
    assert_eq!(called.code, Some(0), "{}", called.text());
    let steps = |arguments: &[&str]| {
        let output = project.run(&[&["debug", "call.replay"], arguments].concat());
        assert_eq!(output.code, Some(0), "{}", output.text());
        output.stdout
    };
    let forward = steps(&["-x", "n"].repeat(12));
    let texts = ["owned_by", "is_writable()", "let amount", "let count", "checked_add"];
    let places: Vec<Option<usize>> = texts
        .iter()
        .map(|text| forward.find(&format!("at src/lib.rs:{}:", project.line(text))))
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{forward}");
    assert!(!forward.contains("library/core"), "{forward}");
    assert!(forward.contains("end of the run: success"), "{forward}");

    let backward = steps(&["-x", "goto end", "-x", "rs", "-x", "rs", "-x", "rf"]);
    assert!(backward.contains("in fresh::process at src/lib.rs:"), "{backward}");
    assert!(!backward.contains(".rs:854"), "{backward}");

    // By instructions, and if it is wished, steps lead into libraries.
    let instructions = steps(&["-x", "si"].repeat(40));
    assert!(instructions.contains("at core/src/slice/mod.rs:"), "{instructions}");
    let everywhere = steps(&[&["--libraries"], &["-x", "s"].repeat(40)[..]].concat());
    assert!(everywhere.contains("at core/src/slice/mod.rs:"), "{everywhere}");
}

pub(crate) fn panics_and_errors_with_the_standard_library_are_at_own_lines(place: &Place) {
    let folder = "examples/rust/hello";
    let program = "target/deploy/hello.so";
    place.build(folder, &[".", "--output", program]);
    let source = fs::read_to_string(place.folder.join(folder).join("src/lib.rs"));
    let source = source.expect("the example is there");
    let line = |text: &str| source.lines().position(|it| it.contains(text)).expect("it is") + 1;
    for (data, text) in [("u8:9", "assert!(!data"), ("", "sorted.last()")] {
        let arguments = ["run", program, "--data", data, "--save-replay", "call.replay"];
        let failed = place.run_in(folder, &arguments);
        assert_eq!(failed.code, Some(1), "{}", failed.text());
        let expected = format!("  --> src/lib.rs:{}:", line(text));
        assert!(failed.stdout.contains(&expected), "no {expected}\n{}", failed.stdout);
        assert!(failed.stdout.contains("in hello::process"), "{}", failed.stdout);

        let opened = place.run_in(folder, &["debug", "call.replay", "-x", "bt"]);
        let frame = opened.stdout.lines().find(|it| it.starts_with('>')).unwrap_or_default();
        let expected = format!("at src/lib.rs:{}:", line(text));
        assert!(frame.contains(&expected), "no {expected}\n{}", opened.stdout);
    }
}
