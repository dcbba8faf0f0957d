//! `selkie coverage`.

use std::{env, fs, io::Write as _, path::Path, rc::Rc};

use anyhow::{Result, anyhow};
use selkie_report::{
    Coverage,
    coverage::{
        Files, Share,
        format::{FORMATS, Format, summary},
        shares,
    },
};

use crate::{
    args::replay::CoverageArgs,
    files,
    render::count,
    replays,
    ui::{Advise as _, BAD, DIM, STRONG, Status, Ui},
};

/// How many functions that were never called are named.
const FUNCTIONS_SHOWN: usize = 20;

pub(crate) fn run(ui: &mut Ui, args: &CoverageArgs) -> Result<Status> {
    let output = args.output.as_ref().map(|path| Ok::<_, anyhow::Error>((path, format(path)?)));
    let output = output.transpose()?;
    let mut programs = replays::programs(&args.replay.symbols)?;
    let paths = replays::paths(&args.replay, &args.command, "coverage")?;
    let mut coverage = Coverage::default();
    replays::each(&paths, |_, _, timeline| {
        coverage.add(&timeline, &mut programs);
        Ok(())
    })?;
    let all = coverage.files(&mut programs);
    let found = all.len();
    let sources = if args.all_sources { all } else { own_sources(all)? };
    if let Some((path, format)) = output {
        let report = format.render(&sources, &|file| fs::read_to_string(file).ok());
        files::write(path, report)?;
    }
    let unknown = coverage.without_lines(&mut programs);
    let unknown: Vec<String> = unknown.iter().map(|id| programs.name_of(*id)).collect();
    if ui.json {
        let mut report = summary(&sources);
        report["success"] = true.into();
        report["transactions"] = coverage.transactions.into();
        report["programs_without_lines"] = unknown.into();
        ui.object(&report)?;
        return Ok(Status::Success);
    }
    show(ui, &sources)?;
    let left_out = found - sources.len();
    if left_out > 0 {
        let files = count(left_out, "file");
        writeln!(ui.out, "{DIM}{files} outside of this folder left out: --all-sources{DIM:#}")?;
    }
    for name in unknown {
        writeln!(ui.out, "{DIM}no lines are known of {name}{DIM:#}")?;
    }
    Ok(Status::Success)
}

/// Returns the format that a file's name asks for.
fn format(path: &Path) -> Result<&'static Format> {
    let name = path.display().to_string();
    let known: Vec<&str> = FORMATS.iter().map(|format| format.file).collect();
    Format::of_file(&name)
        .ok_or_else(|| anyhow!("which format has {name}?"))
        .advise(format!("name it like one of {}", known.join(", ")))
}

/// Returns the sources below the current folder, under their paths in it.
fn own_sources(files: Files) -> Result<Files> {
    let here = env::current_dir()?;
    let own = files.into_iter().filter_map(|(path, file)| {
        let relative = Path::new(&*path).strip_prefix(&here).unwrap_or(Path::new(&*path));
        let is_own = relative.is_relative() && here.join(relative).is_file();
        is_own.then(|| (Rc::from(relative.display().to_string()), file))
    });
    Ok(own.collect())
}

fn show(ui: &mut Ui, files: &Files) -> Result<()> {
    writeln!(ui.out, "{DIM}        lines     functions      branches{DIM:#}")?;
    let cell = |share: Share| {
        let percent = (share.hit * 100).checked_div(share.found);
        let percent = percent.map_or_else(String::new, |it| format!("{it}%"));
        format!("{:>9} {percent:>4}", format!("{}/{}", share.hit, share.found))
    };
    for (path, file) in files {
        let shares = [file.line_share(), file.function_share(), file.branch_share()].map(cell);
        writeln!(ui.out, "{}  {STRONG}{path}{STRONG:#}", shares.concat())?;
    }
    if files.len() != 1 {
        writeln!(ui.out, "{}  {DIM}all{DIM:#}", shares(files).map(cell).concat())?;
    }
    let uncalled = files.iter().flat_map(|(path, file)| {
        let uncalled = file.functions.iter().filter(|(_, it)| it.calls == 0);
        uncalled.map(move |(name, it)| (path, name, it.line))
    });
    let uncalled: Vec<_> = uncalled.collect();
    for (path, name, line) in uncalled.iter().take(FUNCTIONS_SHOWN) {
        writeln!(ui.out, "{BAD}never called{BAD:#}  {name}  {DIM}{path}:{line}{DIM:#}")?;
    }
    if let Some(more) = uncalled.len().checked_sub(FUNCTIONS_SHOWN + 1) {
        writeln!(ui.out, "{DIM}and {} more{DIM:#}", more + 1)?;
    }
    Ok(())
}
