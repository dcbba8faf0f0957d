//! The vectors of `testdata/vectors`: what comparing with mainnet's own engine taught. All of them
//! pass.

use std::path::Path;

use selkie_conform::{Options, run};

#[test]
fn vectors_of_the_repository_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors");
    let report = run(&[folder], &Options::default(), &|_| ());
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
