//! `selkie batch sql`: queries over items and results, by DataFusion.
//!
//! Its tables are functions of a folder: [`tables`] are files, and [`simulate`] runs items. DataFusion has
//! its own version of Arrow; [`ipc`] takes batches there.

mod base58;
mod failure;
mod ipc;
mod simulate;
mod tables;

use std::{
    fs,
    io::{self, Read as _, Write as _},
    thread,
};

use anyhow::{Context as _, Result, anyhow};
use datafusion::{
    arrow::{
        array::RecordBatch,
        csv,
        json::{LineDelimitedWriter, WriterBuilder, writer::LineDelimited},
        util::pretty::pretty_format_batches,
    },
    execution::SendableRecordBatchStream,
    prelude::{SessionConfig, SessionContext},
};
use futures_util::StreamExt as _;
use selkie_isa::input;
use tokio::runtime::Builder;

use super::work;
use crate::{
    args::batch::BatchSqlArgs,
    render::count,
    ui::{Advise as _, Status, Ui},
};

/// How many rows are shown as a table, which is in memory as a whole.
const ROWS_SHOWN: usize = 1000;
/// The stack of a thread that plans or runs queries: plans are as deep as the text of a query.
const STACK_BYTES: usize = 64 << 20;

pub(super) fn run(ui: &mut Ui, args: &BatchSqlArgs) -> Result<Status> {
    let query = query(args)?;
    let context = context(args)?;
    let threads = work::threads(args.work.threads);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads.get()).thread_stack_size(STACK_BYTES);
    let runtime = builder.build().context("cannot start threads")?;
    let ended = thread::scope(|scope| {
        let answer = || runtime.block_on(answer(ui, args, &context, &query));
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, answer);
        Ok::<_, io::Error>(thread?.join())
    });
    // What a LIMIT has made superfluous may still be at an item that takes long.
    runtime.shutdown_background();
    // The Parquet library may panic if a file lies about its contents.
    ended.context("cannot start threads")?.unwrap_or_else(|_| {
        Err(anyhow!("a file is damaged")).advise("`selkie batch verify` names damaged results")
    })?;
    Ok(Status::Success)
}

/// Returns the text of the query.
fn query(args: &BatchSqlArgs) -> Result<String> {
    let mut text = String::new();
    match (&args.query, &args.file) {
        (_, Some(path)) => {
            text = input::text(path, input::TEXT_BYTES_MAX)
                .with_context(|| format!("cannot read {}", path.display()))?;
        }
        (Some(query), None) if query != "-" => text.clone_from(query),
        _ => {
            let read = io::stdin().read_to_string(&mut text);
            read.context("cannot read the query from the standard input")?;
        }
    }
    Ok(text)
}

/// Returns what knows the tables and functions.
fn context(args: &BatchSqlArgs) -> Result<SessionContext> {
    let threads = work::threads(args.work.threads).get();
    let mut config =
        SessionConfig::new().with_target_partitions(threads).with_batch_size(tables::ROWS_AT_ONCE);
    let parquet = &mut config.options_mut().execution.parquet;
    parquet.pushdown_filters = true;
    // All commands read it.
    parquet.compression = Some("snappy".to_owned());
    let context = SessionContext::new_with_config(config);
    tables::register(&context);
    simulate::register(&context, &args.work)?;
    base58::register(&context);
    Ok(context)
}

/// Runs a query and shows its rows.
async fn answer(
    ui: &mut Ui,
    args: &BatchSqlArgs,
    context: &SessionContext,
    query: &str,
) -> Result<()> {
    let frame = context.sql(query).await.map_err(failure::explained)?;
    let rows = frame.execute_stream().await.map_err(failure::explained)?;
    match (ui.json, args.csv) {
        (true, _) => print(ui, rows, &|batch, _| json(batch)).await,
        (_, true) => print(ui, rows, &csv).await,
        _ => show(ui, rows).await,
    }
}

/// Prints each batch as it comes. `text` takes a batch, and whether it is the first.
async fn print(
    ui: &mut Ui,
    mut rows: SendableRecordBatchStream,
    text: &(dyn Fn(&RecordBatch, bool) -> Result<Vec<u8>> + Sync),
) -> Result<()> {
    let mut is_first = true;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(failure::explained)?;
        ui.out.write_all(&text(&batch, is_first)?)?;
        is_first = false;
    }
    Ok(())
}

/// Returns an object on a line for each row.
fn json(batch: &RecordBatch) -> Result<Vec<u8>> {
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    let mut writer: LineDelimitedWriter<_> = builder.build::<_, LineDelimited>(Vec::new());
    writer.write(batch).and_then(|()| writer.finish()).context("cannot print rows as JSON")?;
    Ok(writer.into_inner())
}

fn csv(batch: &RecordBatch, has_header: bool) -> Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().with_header(has_header).build(Vec::new());
    let written = writer.write(batch).context("cannot print rows as CSV");
    written.advise("print columns that are lists or structs by --json")?;
    Ok(writer.into_inner())
}

/// Shows the first rows as a table, and does not wait for more.
async fn show(ui: &mut Ui, mut rows: SendableRecordBatchStream) -> Result<()> {
    let (mut batches, mut left) = (vec![RecordBatch::new_empty(rows.schema())], ROWS_SHOWN);
    let mut has_more = false;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(failure::explained)?;
        let shown = batch.num_rows().min(left);
        has_more = shown < batch.num_rows();
        left -= shown;
        batches.push(batch.slice(0, shown));
        if has_more {
            break;
        }
    }
    if rows.schema().fields().is_empty() {
        return Ok(());
    }
    writeln!(ui.out, "{}", pretty_format_batches(&batches).context("cannot show the rows")?)?;
    if has_more {
        let shown = count(ROWS_SHOWN as u64, "row");
        ui.warning(&format!("there are more than {shown}; --json, --csv and COPY give all"))?;
    }
    Ok(())
}
