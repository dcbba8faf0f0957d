//! The vectors directly in `testdata/vectors`: regressions found by comparison with mainnet's engine.
//! `cargo xtask test` runs the larger sets in the folders there.

use std::{fs, path::Path};

use selkie_conform::{Options, run};
use selkie_svm::Release;
use serde_json::{Value, json};

#[test]
fn all_regression_vectors_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        entries.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).collect();
    let report = run(&files, &Options::default(), &|_| ());
    let failures: Vec<String> = report
        .files
        .iter()
        .flat_map(|file| {
            let path = file.path.display();
            file.failures.iter().map(move |failure| format!("{path} {failure}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let total = report.total();
    assert_eq!(total.skipped, 0);
    assert!(total.passed >= 35, "there are only {} vectors", total.passed);
}

/// Each difference that agave 4.5 makes to transactions has a line with the answer of 4.4 and one with that of
/// 4.5, for the same transaction and state.
#[test]
fn differences_of_a_release_have_the_answers_of_both() {
    let lines = releases();
    assert_eq!(lines.len(), 26);
    let (pairs, _) = lines.as_chunks::<2>();
    for [old, new] in pairs {
        let [id, new_id] =
            [old, new].map(|it| it["id"].as_str().unwrap().rsplit_once('/').unwrap());
        assert_eq!((id.1, new_id.1, id.0), ("4.4", "4.5", new_id.0));
        assert_eq!((&old["release"], &new["release"]), (&json!("4.4"), &json!("4.5")));
        for same in ["tx", "accounts", "slot", "blockhash_queue"] {
            assert_eq!(old[same], new[same], "{same} of {}", id.0);
        }
        assert_ne!(old["expect"], new["expect"], "{}", id.0);
    }
}

#[test]
fn a_release_overrides_that_of_vectors() {
    let counts = |version: &str, release| {
        let name = format!("selkie-release-{version}-{}.jsonl", std::process::id());
        let file = std::env::temp_dir().join(name);
        let lines = releases();
        let chosen = lines.iter().filter(|it| it["release"] == version);
        fs::write(&file, chosen.map(|it| format!("{it}\n")).collect::<String>()).unwrap();
        let options = Options { release, ..Options::default() };
        let report = run(core::slice::from_ref(&file), &options, &|_| ());
        fs::remove_file(file).unwrap();
        (report.total().passed, report.total().failed)
    };
    assert_eq!(counts("4.4", None), (13, 0));
    // Four of the differences are features, which the lines of 4.5 switch on.
    assert_eq!(counts("4.4", Some(Release::V4_5)), (4, 9));
    assert_eq!(counts("4.5", Some(Release::V4_4)), (4, 9));
}

fn releases() -> Vec<Value> {
    let path = "../../testdata/vectors/releases.jsonl";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
