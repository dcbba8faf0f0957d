//! Results as JUnit's XML, in the form that GitLab, Jenkins and others read: a suite for each test
//! executable.

use std::{collections::BTreeMap, fmt::Write as _};

use super::harness::{Outcome, TestResult};
use crate::text::escaped;

/// What is shown of a test that failed: the first line of its message, and everything.
pub type Shown = (String, String);

/// Renders the results. `failure` tells of a test that failed.
#[must_use]
pub fn document(results: &[TestResult], failure: &dyn Fn(&TestResult) -> Option<Shown>) -> String {
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
            text.push_str(&case(test, failure(test)));
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(test: &TestResult, failure: Option<Shown>) -> String {
    let (suite, name) = (escaped(&test.suite), escaped(&test.name));
    let start = format!("    <testcase classname=\"{suite}\" name=\"{name}\"");
    match (test.outcome, failure) {
        (Outcome::Passed, _) => format!("{start}/>\n"),
        (Outcome::Ignored, _) => format!("{start}><skipped/></testcase>\n"),
        (Outcome::Failed, failure) => {
            let (message, details) = failure.unwrap_or_default();
            let (message, details) = (escaped(&message), escaped(&details));
            format!(
                "{start}>\n      <failure message=\"{message}\">{details}</failure>\n    </testcase>\n"
            )
        }
    }
}
