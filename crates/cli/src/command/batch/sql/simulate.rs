//! The table `simulate`: the results of items, which are run while the table is read.
//!
//! It is a table and no function of a row. DataFusion may evaluate a function that returns a struct once
//! for each of its fields that a query selects, and so run each item several times; what is at the bottom of
//! a plan runs once for each scan.

use core::{fmt, num::NonZeroUsize};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Result, bail};
use datafusion::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider},
    common::{internal_datafusion_err, tree_node::TreeNodeRecursion},
    error::Result as SqlResult,
    execution::{SendableRecordBatchStream, TaskContext},
    logical_expr::{Expr, TableType},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
        execution_plan::{Boundedness, EmissionType},
        metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet},
        stream::RecordBatchReceiverStream,
    },
    prelude::SessionContext,
};
use selkie_batch::{
    Base, RunOptions,
    schema::{self, column},
};
use selkie_svm::Engine;
use tokio::sync::mpsc::Sender;

use super::{
    super::{
        shards::ITEMS,
        table::Table,
        work::{Programs, nanoseconds, programs, read_base, run_batch},
    },
    failure::passed,
    ipc,
    tables::{files, folder},
};
use crate::args::batch::BatchWorkArgs;

const NAME: &str = "simulate";

pub(super) fn register(context: &SessionContext, args: &BatchWorkArgs) -> Result<()> {
    let engine = Engine::from(args.engine);
    engine.resolve()?;
    let options = RunOptions {
        engine,
        keeps_data: args.data,
        clock: Some(nanoseconds),
        ..RunOptions::default()
    };
    let (programs, rows) = (programs(&args.program)?, args.rows);
    let simulate = Simulate { options, rows, programs, bases: Mutex::default() };
    context.register_udtf(NAME, Arc::new(simulate));
    Ok(())
}

/// The table function.
struct Simulate {
    options: RunOptions,
    rows: NonZeroUsize,
    programs: Programs,
    /// The contents of each folder, which are read once.
    bases: Mutex<HashMap<PathBuf, Arc<Base>>>,
}

impl fmt::Debug for Simulate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

impl TableFunctionImpl for Simulate {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> SqlResult<Arc<dyn TableProvider>> {
        let table = folder(NAME, args.exprs()).and_then(|folder| self.table(&folder));
        Ok(Arc::new(table.map_err(passed)?))
    }
}

impl Simulate {
    fn table(&self, folder: &Path) -> Result<Results> {
        let files = files(folder, ITEMS)?;
        let (base, schema) = (self.base(folder)?, ipc::schema(&schema::results())?);
        Ok(Results { files, schema, base, options: self.options, rows: self.rows })
    }

    fn base(&self, folder: &Path) -> Result<Arc<Base>> {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = bases.get(folder) {
            return Ok(Arc::clone(base));
        }
        let base = Arc::new(read_base(folder, &self.programs)?);
        bases.insert(folder.to_owned(), Arc::clone(&base));
        Ok(base)
    }
}

/// The table of a folder.
struct Results {
    files: Vec<PathBuf>,
    schema: SchemaRef,
    base: Arc<Base>,
    options: RunOptions,
    rows: NonZeroUsize,
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} of {} files", self.files.len())
    }
}

#[async_trait::async_trait]
impl TableProvider for Results {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let columns = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let threads = session.config().target_partitions();
        let partitions = divided(&self.files, threads);
        let threads = NonZeroUsize::new(threads / partitions.len().max(1));
        let has = |name| schema.column_with_name(name).is_some();
        let options = RunOptions {
            threads: threads.unwrap_or(NonZeroUsize::MIN),
            keeps_logs: has(column::LOGS),
            keeps_data: self.options.keeps_data && has(column::POST),
            ..self.options
        };
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Ok(Arc::new(SimulateExec {
            partitions,
            base: Arc::clone(&self.base),
            options,
            rows: self.rows,
            columns,
            limit,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

/// Divides files among up to `count` partitions.
fn divided(files: &[PathBuf], count: usize) -> Vec<Vec<PathBuf>> {
    let count = count.min(files.len()).max(1);
    let part = |first| files.iter().skip(first).step_by(count).cloned().collect();
    (0..count).map(part).collect()
}

/// Runs the items of files, each partition its own, and each once.
struct SimulateExec {
    partitions: Vec<Vec<PathBuf>>,
    base: Arc<Base>,
    options: RunOptions,
    rows: NonZeroUsize,
    /// Which columns are asked for.
    columns: Vec<usize>,
    /// How many rows of each partition are enough.
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl fmt::Debug for SimulateExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for SimulateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.partitions.iter().map(Vec::len).sum::<usize>();
        let fields = self.properties.eq_properties.schema().fields().iter();
        let columns: Vec<&str> = fields.map(|it| it.name().as_str()).collect();
        write!(f, "SimulateExec: files={files}, columns=[{}]", columns.join(", "))?;
        self.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for SimulateExec {
    fn name(&self) -> &'static str {
        "SimulateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> SqlResult<TreeNodeRecursion>,
    ) -> SqlResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        _: Arc<TaskContext>,
    ) -> SqlResult<SendableRecordBatchStream> {
        let files = self.partitions.get(partition);
        let files = files.ok_or_else(|| internal_datafusion_err!("no partition {partition}"))?;
        // The channel holds one batch: the items run at most that far ahead of the query.
        let mut stream = RecordBatchReceiverStream::builder(self.schema(), 1);
        let scan = Scan {
            files: files.clone(),
            base: Arc::clone(&self.base),
            options: self.options,
            rows: self.rows.get(),
            columns: self.columns.clone(),
            limit: self.limit.unwrap_or(usize::MAX),
            items_run: MetricBuilder::new(&self.metrics).counter("items_run", partition),
            output_rows: MetricBuilder::new(&self.metrics).output_rows(partition),
            results: stream.tx(),
        };
        stream.spawn_blocking(move || scan.run().map_err(passed));
        Ok(stream.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The work of a partition.
struct Scan {
    files: Vec<PathBuf>,
    base: Arc<Base>,
    options: RunOptions,
    rows: usize,
    columns: Vec<usize>,
    limit: usize,
    items_run: Count,
    output_rows: Count,
    /// The channel to the query.
    results: Sender<SqlResult<RecordBatch>>,
}

impl Scan {
    fn run(&self) -> Result<()> {
        let mut left = self.limit;
        for file in &self.files {
            let mut table = Table::open(file, None, self.rows.min(left).max(1))?;
            while left > 0
                && !self.results.is_closed()
                && let Some(batch) = table.next()?
            {
                let batch = batch.slice(0, batch.num_rows().min(left));
                left -= batch.num_rows();
                self.items_run.add(batch.num_rows());
                run_batch(batch, &self.base, &self.options, file, &mut |it| self.send(it))?;
            }
        }
        Ok(())
    }

    fn send(&self, results: &arrow_array::RecordBatch) -> Result<()> {
        self.output_rows.add(results.num_rows());
        let results = ipc::batch(&results.project(&self.columns)?)?;
        if self.results.blocking_send(Ok(results)).is_err() {
            bail!("the query has ended");
        }
        Ok(())
    }
}
