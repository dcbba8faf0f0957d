//! Results as JUnit's XML, in the form that GitLab, Jenkins and others read: a suite for each test
//! executable.

use std::{collections::BTreeMap, fmt::Write as _};

use selkie_report::escaped;

use super::{
    failure::Failure,
    harness::{Outcome, TestResult},
};

/// Renders the results.
pub(super) fn document(results: &[TestResult], failures: &[Failure]) -> String {
    let mut suites: BTreeMap<&str, Vec<&TestResult>> = BTreeMap::new();
    for it in results {
        suites.entry(&it.suite).or_default().push(it);
    }
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    for (suite, tests) in suites {
        let of = |outcome| tests.iter().filter(|it| it.outcome == outcome).count();
        let (failed, ignored) = (of(Outcome::Failed), of(Outcome::Ignored));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" skipped=\"{ignored}\">",
            escaped(suite),
            tests.len()
        );
        for test in tests {
            let failure = failures.iter().find(|it| it.suite == suite && it.name == test.name);
            text.push_str(&case(test, failure));
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(test: &TestResult, failure: Option<&Failure>) -> String {
    let (suite, name) = (escaped(&test.suite), escaped(&test.name));
    let start = format!("    <testcase classname=\"{suite}\" name=\"{name}\"");
    match (test.outcome, failure) {
        (Outcome::Passed, _) => format!("{start}/>\n"),
        (Outcome::Ignored, _) => format!("{start}><skipped/></testcase>\n"),
        (Outcome::Failed, failure) => {
            let message = failure.map(Failure::summary).unwrap_or_default();
            let details = failure.map(Failure::details).unwrap_or_default();
            let (message, details) = (escaped(&message), escaped(&details));
            format!(
                "{start}>\n      <failure message=\"{message}\">{details}</failure>\n    </testcase>\n"
            )
        }
    }
}
