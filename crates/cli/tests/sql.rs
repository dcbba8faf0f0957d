//! `selkie batch sql`: queries over items and results, and over results of items that are run for them.

mod common;
#[path = "common/items.rs"]
mod items;

use std::{fs, path::Path};

use common::{Output, folder, selkie};
use items::{FILES, ROWS, digest, run, write_contents, write_items};
use selkie::{Signer as _, keypair};
use serde_json::{Value, json};

/// How many of the items fail.
const FAILED: u64 = 17;

fn sql(folder: &Path, query: &str, more: &[&str]) -> Output {
    selkie(folder, &[&["batch", "sql", query], more].concat())
}

/// The rows of a query.
fn rows(folder: &Path, query: &str) -> Vec<Value> {
    let output = sql(folder, query, &["--json", "--threads", "2", "--rows", "16"]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let parse = |line| serde_json::from_str(line).expect("each line is an object");
    output.stdout.lines().map(parse).collect()
}

/// A folder of items, and their results in `out`.
fn with_results(name: &str) -> (std::path::PathBuf, Output) {
    let folder = folder(name);
    write_items(&folder, 1_000_000_000);
    let report = run(&folder, "out", &[]);
    assert_eq!(report.code, Some(0), "{report:#?}");
    (folder, report)
}

#[test]
fn results_by_status_are_those_of_the_run() {
    let (folder, report) = with_results("sql-status");
    for table in ["results('out')", "simulate('.')"] {
        let query = format!("SELECT status, count(*) AS items FROM {table} GROUP BY status");
        let statuses = rows(&folder, &query).into_iter();
        let statuses = statuses.map(|it| (it["status"].to_string(), it["items"].clone()));
        let expected = report.json()["statuses"].clone();
        let expected = expected.as_object().expect("it is an object").clone().into_iter();
        let expected = expected.map(|(status, items)| (json!(status).to_string(), items));
        assert_eq!(
            statuses.collect::<std::collections::BTreeMap<_, _>>(),
            expected.collect(),
            "{table}"
        );
    }
}

#[test]
fn simulated_results_are_those_of_the_run() {
    let (folder, report) = with_results("sql-same");
    let query = "SELECT count(*) AS same FROM simulate('.') s JOIN results('out') r USING (item_id)
                 WHERE s.effects_hash = r.effects_hash AND s.logs_hash = r.logs_hash
                   AND s.post = r.post AND s.compute_units = r.compute_units";
    assert_eq!(rows(&folder, query), [json!({ "same": ROWS * FILES })]);
    // All columns, as a file that other commands read.
    fs::create_dir(folder.join("copy")).expect("the folder is writable");
    let copied = rows(&folder, "COPY (SELECT * FROM simulate('.')) TO 'copy/all.parquet'");
    assert_eq!(copied, [json!({ "count": ROWS * FILES })]);
    let verify = ["batch", "verify", "copy", "--items", ".", "--digest", &digest(&report)];
    let verified = selkie(&folder, &verify);
    assert_eq!(verified.code, Some(0), "{verified:#?}");
}

/// How many rows or items an operator states in what `EXPLAIN ANALYZE` shows.
fn metric(analyzed: &str, name: &str) -> u64 {
    let line = analyzed.lines().find(|it| it.contains("SimulateExec"));
    let line = line.unwrap_or_else(|| panic!("no SimulateExec in {analyzed}"));
    let (_, value) = line.split_once(&format!("{name}=")).expect("it states the metric");
    let digits = value.split(|it: char| !it.is_ascii_digit()).next().expect("it has a value");
    digits.parse().expect("the value is a number")
}

#[test]
fn each_item_runs_once_however_many_columns_are_selected() {
    let (folder, _) = with_results("sql-once");
    let query = "EXPLAIN ANALYZE SELECT status, error, compute_units + fee AS cost, base58(effects_hash)
                 FROM (SELECT * FROM simulate('.')) WHERE compute_units > 0 AND status <> 'Dropped'";
    let analyzed = rows(&folder, query)[0]["plan"].as_str().expect("a plan is text").to_owned();
    assert_eq!(metric(&analyzed, "items_run"), ROWS * FILES, "{analyzed}");
    assert_eq!(metric(&analyzed, "output_rows"), ROWS * FILES, "{analyzed}");
}

#[test]
fn a_limit_ends_the_work_early() {
    let (folder, _) = with_results("sql-limit");
    let limited = rows(&folder, "SELECT item_id FROM simulate('.') LIMIT 5");
    assert_eq!(limited.len(), 5);
    let query = "EXPLAIN ANALYZE SELECT item_id FROM simulate('.') LIMIT 5";
    let analyzed = rows(&folder, query)[0]["plan"].as_str().expect("a plan is text").to_owned();
    // Up to as many in each of two partitions.
    assert!(metric(&analyzed, "items_run") <= 10, "{analyzed}");
}

#[test]
fn logs_and_data_are_kept_if_they_are_asked_for() {
    let (folder, _) = with_results("sql-kept");
    let logs = rows(&folder, "SELECT logs[1] AS line FROM simulate('.') LIMIT 1");
    let line = logs[0]["line"].as_str().expect("there are logs");
    assert!(line.ends_with("invoke [1]"), "{line}");
    let query = "SELECT count(post[1]['data']) AS kept FROM simulate('.') WHERE status = 'Success'";
    assert_eq!(rows(&folder, query), [json!({ "kept": 0 })]);
    let output = sql(&folder, query, &["--json", "--data"]);
    assert_eq!(output.json()["kept"], ROWS * FILES - FAILED);
}

#[test]
fn addresses_are_read_and_compared_as_base58() {
    let (folder, _) = with_results("sql-base58");
    let bob = keypair("bob").pubkey();
    let query = format!(
        "SELECT DISTINCT base58(account['pubkey']) AS address FROM
         (SELECT unnest(post) AS account FROM results('out'))
         WHERE account['pubkey'] = unbase58('{bob}')"
    );
    assert_eq!(rows(&folder, &query), [json!({ "address": bob.to_string() })]);
    let none = rows(&folder, "SELECT base58(NULL) AS a, unbase58(NULL) AS b, base58(X'00') AS c");
    assert_eq!(none, [json!({ "a": null, "b": null, "c": "1" })]);
    let wrong = sql(&folder, "SELECT unbase58('0OIl')", &[]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    assert!(wrong.text().contains("`0OIl` is not base58"), "{wrong:#?}");
}

#[test]
fn items_and_contents_are_tables() {
    let (folder, _) = with_results("sql-items");
    let query = "SELECT count(*) AS items, count(DISTINCT hash) AS environments
                 FROM items('.') JOIN contents('.') ON env_ref = hash WHERE kind = 'transaction'";
    assert_eq!(rows(&folder, query), [json!({ "items": ROWS * FILES, "environments": 1 })]);
}

#[test]
fn queries_come_from_files_and_rows_go_to_tables_and_csv() {
    let (folder, _) = with_results("sql-file");
    let query =
        "SELECT status, count(*) AS items FROM results('out') GROUP BY status ORDER BY status";
    fs::write(folder.join("query.sql"), query).expect("the folder is writable");
    let csv = selkie(&folder, &["batch", "sql", "--file", "query.sql", "--csv"]);
    assert_eq!(csv.stdout, "status,items\nFailed,17\nSuccess,103\n", "{csv:#?}");
    let table = sql(&folder, query, &[]);
    assert!(table.stdout.contains("| Success | 103   |"), "{table:#?}");
    let long = sql(&folder, "SELECT * FROM generate_series(1, 5000)", &[]);
    assert!(long.stderr.contains("there are more than 1000 rows"), "{}", long.stderr);
    assert_eq!(rows(&folder, "SELECT * FROM generate_series(1, 5000)").len(), 5000);
}

/// Checks that a query fails, and that the error says each of these.
fn check_error(folder: &Path, query: &str, more: &[&str], expected: &[&str]) {
    let output = sql(folder, query, more);
    assert_eq!(output.code, Some(2), "{output:#?}");
    for part in expected {
        assert!(output.stderr.contains(part), "{part}: {output:#?}");
    }
}

#[test]
fn errors_name_place_cause_and_next_step() {
    let (folder, _) = with_results("sql-errors");
    let count = |table: &str| format!("SELECT count(*) FROM {table}");
    let check = |table, expected: &[&str]| check_error(&folder, &count(table), &[], expected);
    check("results('absent')", &["error: absent does not exist", "help: it is the folder that"]);
    check("simulate('out')", &["out/items does not exist", "help: a folder of items has"]);
    check("results('.')", &["no Parquet files in .", "help: names of Parquet files end"]);
    check(
        "results('items')",
        &["cannot use items/0.parquet", "engine_version", "help: docs/scale.md"],
    );
    check("simulate(5)", &["simulate is a table of one folder", "simulate('folder')"]);
    check("simulate", &["simulate", "help: `selkie batch sql --help`"]);
    check_error(&folder, "SELEC 1", &[], &["SELEC", "help: `selkie batch sql --help`"]);
    let program = format!("{}=items/0.parquet", keypair("p").pubkey());
    check_error(&folder, "SELECT 1", &["--program", &program], &["would not be deployed"]);
    write_contents(&folder, &[0; 32], b"other");
    check("simulate('.')", &["cannot use ./contents/environments.parquet", "the hash is stated"]);
}

#[test]
fn damaged_files_are_errors() {
    let (folder, _) = with_results("sql-damaged");
    let query = "SELECT item_id, message, accounts FROM items('.')";
    let whole = fs::read(folder.join("items/1.parquet")).expect("it exists");
    for place in (4..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.clone();
        damaged[place..].iter_mut().take(9).for_each(|it| *it ^= 0x5a);
        fs::write(folder.join("items/1.parquet"), damaged).expect("the folder is writable");
        for query in [query, "SELECT * FROM simulate('.')"] {
            let output = sql(&folder, query, &["--json"]);
            assert!(matches!(output.code, Some(0 | 2)), "{place}: {output:#?}");
            assert!(!output.stderr.contains("panicked"), "{place}: {output:#?}");
        }
    }
}
