//! `selkie conform`.

use std::{io::Write as _, path::Path, sync::Mutex};

use anyhow::{Context as _, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use selkie_conform::{Engine, FileReport, KindReport, Options, Progress, Report, Tally};
use selkie_report::thousands;
use serde_json::json;

pub(crate) use crate::args::ConformArgs;
use crate::{
    args::EngineArg,
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &ConformArgs) -> Result<Status> {
    selkie_svm::Engine::from(args.engine).resolve()?;
    for path in &args.paths {
        path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    }
    let engine = match args.engine {
        EngineArg::Auto => Engine::default(),
        EngineArg::Interpreter => Engine::Interpreter,
        EngineArg::Jit => Engine::Jit,
    };
    let release = args.rules.map(|it| it.release);
    let options = Options { elfs: args.elfs.clone(), threads: args.threads, engine, release };
    let bar = Bar::new(ui.is_watched());
    let report = selkie_conform::run(&args.paths, &options, &|progress| bar.show(&progress));
    bar.clear();
    let total = report.total();
    if total.is_empty() {
        let named: Vec<_> = args.paths.iter().map(|it| it.display().to_string()).collect();
        return Err(anyhow!("there are no vectors in {}", named.join(", "))).advise(
            "vectors are in files ending in .jsonl or .jsonl.zst, fixtures in .fix, .tar or .tar.zst",
        );
    }
    if ui.json {
        let mut json = as_json(&report, total);
        if total.failed > 0 {
            json["error"] = json!(format!("{} failed", count(total.failed, "vector")));
        }
        ui.object(&json)?;
    } else if args.table {
        write!(ui.out, "{}", table(&report.kinds()))?;
    } else {
        show(ui, &report, total, args.show)?;
    }
    Ok(Status::of(total.failed == 0))
}

/// A progress bar, shown on a terminal.
struct Bar(Option<Mutex<(ProgressBar, std::path::PathBuf)>>);

impl Bar {
    fn new(is_watched: bool) -> Self {
        Self(is_watched.then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("{bar:30.cyan} {pos}/{len} {msg}");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            Mutex::new((bar, std::path::PathBuf::new()))
        }))
    }

    fn show(&self, progress: &Progress<'_>) {
        let Some(mut bar) = self.0.as_ref().and_then(|bar| bar.lock().ok()) else { return };
        if bar.1 != progress.file {
            bar.1 = progress.file.to_owned();
            bar.0.set_length(progress.total as u64);
            bar.0.set_message(name_of(progress.file));
        }
        bar.0.set_position(progress.done as u64);
    }

    fn clear(&self) {
        if let Some(bar) = self.0.as_ref().and_then(|bar| bar.lock().ok()) {
            bar.0.finish_and_clear();
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn show(ui: &mut Ui, report: &Report, total: Tally, shown: usize) -> Result<()> {
    for file in &report.files {
        show_file(ui, file, shown)?;
    }
    let style = if total.failed == 0 { GOOD } else { BAD };
    writeln!(ui.out, "{style}{total}{style:#}")?;
    Ok(())
}

fn show_file(ui: &mut Ui, file: &FileReport, shown: usize) -> Result<()> {
    for failure in file.failures.iter().take(shown) {
        writeln!(ui.out, "{BAD}failed{BAD:#} {}: {failure}", name_of(&file.path))?;
    }
    if let Some(more @ 1..) = file.failures.len().checked_sub(shown) {
        writeln!(ui.out, "{DIM}… and {more} more of {}{DIM:#}", name_of(&file.path))?;
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#}  {}", file.path.display(), outcome(file))?;
    for (reason, count) in &file.skips {
        writeln!(ui.out, "  {DIM}skipped {count}: {reason}{DIM:#}")?;
    }
    Ok(())
}

/// The results of a file's vectors. A file without any says why, since zeros look like a result.
fn outcome(file: &FileReport) -> String {
    let tally = file.tally;
    let style = if tally.failed == 0 { GOOD } else { BAD };
    match (tally.is_empty(), file.judged_by_vectors) {
        (false, 0) => format!("{style}{tally}{style:#}"),
        (false, left) => {
            format!("{style}{tally}{style:#}, {left} more are judged by the vectors that name them")
        }
        (true, 0) => format!("{DIM}holds no vectors{DIM:#}"),
        (true, left) => {
            format!("{DIM}{left} fixtures are judged by the vectors that name them{DIM:#}")
        }
    }
}

/// A table in Markdown, a row for each kind.
fn table(kinds: &[KindReport]) -> String {
    let mut table = String::from(
        "| kind | what is compared | passed | failed | skipped |\n|---|---|---|---|---|\n",
    );
    for KindReport { name, compared, tally: Tally { passed, failed, skipped } } in kinds {
        let counts = [passed, failed, skipped].map(|count| thousands(*count as u64)).join(" | ");
        table += &format!("| {name} | {compared} | {counts} |\n");
    }
    table
}

fn as_json(report: &Report, total: Tally) -> serde_json::Value {
    json!({
        "files": report.files,
        "kinds": report.kinds(),
        "passed": total.passed,
        "failed": total.failed,
        "skipped": total.skipped,
    })
}
