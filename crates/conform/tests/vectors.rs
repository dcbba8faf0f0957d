//! The vectors directly in `testdata/vectors`: regressions found by comparison with mainnet's engine.
//! `cargo xtask test` runs the larger sets in the folders there.

use std::{fs, path::Path};

use selkie_conform::{Options, run};

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
