//! Tables that are files: `items`, `contents` and `results`, read by DataFusion's own scan.

use std::{
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use anyhow::{Context as _, Result, anyhow};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::{
    catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider},
    datasource::{
        file_format::parquet::ParquetFormat,
        listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl},
    },
    error::Result as SqlResult,
    logical_expr::Expr,
    prelude::SessionContext,
};
use selkie_batch::{check_columns, schema};
use url::Url;

use super::{
    super::{
        shards::{self, CONTENTS, ITEMS},
        table::Table,
    },
    failure::passed,
    ipc,
};
use crate::ui::Advise as _;

/// The rows that a query reads at once.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// The tables, each with the part of its folder that has the files, and with its columns.
const TABLES: [Files; 3] = [
    Files { name: "items", part: ITEMS, columns: schema::items },
    Files { name: "contents", part: CONTENTS, columns: schema::contents },
    Files { name: "results", part: "", columns: schema::results },
];

pub(super) fn register(context: &SessionContext) {
    for table in TABLES {
        context.register_udtf(table.name, Arc::new(table));
    }
}

/// A table of files: a function of a folder.
#[derive(Debug)]
struct Files {
    name: &'static str,
    part: &'static str,
    columns: fn() -> SchemaRef,
}

impl TableFunctionImpl for Files {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> SqlResult<Arc<dyn TableProvider>> {
        Ok(Arc::new(self.table(args.exprs()).map_err(passed)?))
    }
}

impl Files {
    fn table(&self, arguments: &[Expr]) -> Result<ListingTable> {
        let files = files(&folder(self.name, arguments)?, self.part)?;
        let schema = columns(&files, &(self.columns)())?;
        let urls = files.iter().map(|it| url(it)).collect::<Result<_>>()?;
        let format = ListingOptions::new(Arc::new(ParquetFormat::default()));
        // A file that is named may end in anything.
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(format.with_file_extension(""))
            .with_schema(ipc::schema(&schema)?);
        Ok(ListingTable::try_new(config)?)
    }
}

/// Returns the folder that a table function is called with.
pub(super) fn folder(function: &str, arguments: &[Expr]) -> Result<PathBuf> {
    let text = match arguments {
        [Expr::Literal(value, _)] => value.try_as_str().flatten(),
        _ => None,
    };
    text.map(PathBuf::from).with_context(|| {
        format!("{function} is a table of one folder in single quotes: {function}('folder')")
    })
}

/// Returns the Parquet files in a part of a folder.
pub(super) fn files(folder: &Path, part: &str) -> Result<Vec<PathBuf>> {
    let whole = folder.join(part);
    // A path with nothing joined would end in a slash, which no file does.
    let whole = if part.is_empty() { folder } else { &whole };
    if whole.exists() {
        return shards::required(whole);
    }
    let help = if part.is_empty() {
        "it is the folder that `selkie batch run --out` has written"
    } else {
        "a folder of items has `items/*.parquet` and `contents/*.parquet`"
    };
    Err(anyhow!("{} does not exist", whole.display())).advise(help)
}

/// Returns the columns of the first file, after those that are expected were found in each: what some
/// tool has added to them can be asked for.
fn columns(files: &[PathBuf], expected: &SchemaRef) -> Result<SchemaRef> {
    let mut first = None;
    for path in files {
        let table = Table::open(path, None, 1)?;
        table.check_for_sql(ROWS_AT_ONCE)?;
        let columns = table.schema;
        check_columns(&RecordBatch::new_empty(Arc::clone(&columns)), expected)
            .with_context(|| format!("cannot use {}", path.display()))
            .advise("docs/scale.md has the columns of each table")?;
        first.get_or_insert(columns);
    }
    Ok(first.unwrap_or_else(|| Arc::clone(expected)))
}

fn url(path: &Path) -> Result<ListingTableUrl> {
    let path = absolute(path).with_context(|| format!("cannot find {}", path.display()))?;
    let url = Url::from_file_path(&path).map_err(|()| anyhow!("cannot use {}", path.display()))?;
    Ok(ListingTableUrl::try_new(url, None)?)
}
