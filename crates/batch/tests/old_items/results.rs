//! Results of an older version are compared with later ones.

use std::{
    env,
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use selkie_batch::folder::diff;

use super::{path, read, run_old_items};

/// Results as version 1 wrote them: those of the items above, and that of a search.
const RESULTS_1: &str = "results_1.parquet";
const FINDINGS: &str = r#"[{"seed":3,"defect":"error:7"}]"#;
const EFFORT: &str = r#"{"seeds":4}"#;

fn write(path: &Path, tables: &[RecordBatch]) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, tables[0].schema(), None).unwrap();
    tables.iter().for_each(|table| writer.write(table).unwrap());
    writer.close().unwrap();
}

/// Replaces columns.
fn with(table: &RecordBatch, columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let mut all = table.columns().to_vec();
    for (name, column) in columns {
        all[table.schema().index_of(name).unwrap()] = column;
    }
    RecordBatch::try_new(table.schema(), all).unwrap()
}

fn texts(text: Option<&str>) -> ArrayRef {
    Arc::new(StringArray::from(vec![text]))
}

/// Returns the result of a search, from another row, in today's form.
fn search(row: &RecordBatch) -> RecordBatch {
    with(
        row,
        vec![
            ("item_id", Arc::new(BinaryArray::from(vec![&[7; 32][..]]))),
            ("status", texts(Some("Found"))),
            ("compute_units", Arc::new(Int64Array::from(vec![Some(5000)]))),
            ("effort", texts(Some(EFFORT))),
            ("findings", texts(Some(FINDINGS))),
        ],
    )
}

/// Returns results in the form of version 1, which had neither of the last two columns: a search had its
/// findings as the error, and what it took as return data.
fn in_version_1(results: &RecordBatch) -> RecordBatch {
    let columns: Vec<usize> = (0..results.num_columns() - 2).collect();
    let fields = results.schema();
    let left_out: Vec<_> = fields.fields().iter().skip(columns.len()).map(|it| it.name()).collect();
    assert_eq!(left_out, ["effort", "findings"]);
    results.project(&columns).unwrap()
}

#[test]
fn results_of_version_1_are_compared_with_later_ones() {
    let (_, results) = run_old_items();
    let found = search(&results.slice(0, 1));
    if env::var_os("UPDATE").is_some() {
        let return_data: ArrayRef = Arc::new(BinaryArray::from(vec![Some(EFFORT.as_bytes())]));
        let old = [("error", texts(Some(FINDINGS))), ("return_data", return_data)];
        let old = with(&in_version_1(&found), old.into());
        write(&path(RESULTS_1), &[in_version_1(&results), old]);
    }
    let folder = env::temp_dir().join(format!("selkie-old-results-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let after = folder.join("after.parquet");
    write(&after, &[results.clone(), found.clone()]);
    let compared = diff(&path(RESULTS_1), &after, 10).unwrap();
    assert!(compared.is_same(), "{compared:?}");
    assert_eq!(read(RESULTS_1).num_rows(), 6);

    let other = with(&found, vec![("findings", texts(Some("[]")))]);
    write(&after, &[results, other]);
    let compared = diff(&path(RESULTS_1), &after, 10).unwrap();
    assert_eq!(compared.changed, 1, "{compared:?}");
    assert_eq!(compared.shown[0].before.result(), format!("Found {FINDINGS}"));
    fs::remove_dir_all(&folder).unwrap();
}
