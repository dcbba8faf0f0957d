//! `selkie coverage`.

use std::{
    env,
    io::Write as _,
    path::{Component, Path},
    rc::Rc,
};

use anyhow::{Result, anyhow};
use selkie_debug::debuggee::find_source;
use selkie_inspect::is_source_file;
use selkie_isa::input;
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
    pages::{self, Pages},
    recording,
    render::count,
    replays,
    ui::{Advise as _, BAD, DIM, STRONG, Status, Ui},
};

/// How many functions that were never called are named.
const FUNCTIONS_SHOWN: usize = 20;

/// The longest source that a page shows.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

pub(crate) fn run(ui: &mut Ui, args: &CoverageArgs) -> Result<Status> {
    let output = args.output.as_ref().map(|path| Ok::<_, anyhow::Error>((path, format(path)?)));
    let output = output.transpose()?;
    let mut programs = replays::programs(&args.replay.symbols)?;
    let opened =
        recording::open_or_record(ui, &args.replay, &args.call, &args.command, "coverage")?;
    let Ok(mut recordings) = opened else { return Ok(Status::Failure) };
    if args.open {
        let (path, symbols) = ("coverage", &args.replay.symbols);
        return pages::serve(ui, recordings, &Pages { path, symbols, port: None, opens: true });
    }
    let mut coverage = Coverage::default();
    recording::each(&mut recordings, |_, timeline| {
        coverage.add(&timeline, &mut programs);
        Ok(())
    })?;
    replays::warn(ui, &programs)?;
    let unknown = coverage.without_lines(&mut programs);
    let unknown: Vec<String> = unknown.iter().map(|id| programs.name_of(*id)).collect();
    let all = coverage.files(&mut programs);
    let found = all.len();
    if found == 0 && !unknown.is_empty() {
        let why = anyhow!("no debug information was found of {}", unknown.join(", "));
        return Err(why).advise(replays::searched(programs.searched()));
    }
    let sources = if args.all_sources { all } else { own_sources(all)? };
    if let Some((path, format)) = output {
        let here = env::current_dir()?;
        let report = format.render(&sources, &|file| source(&here, Path::new(file)));
        files::write(path, report)?;
    }
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
        writeln!(ui.out, "{DIM}{files} of libraries left out: --all-sources{DIM:#}")?;
    }
    for name in &unknown {
        writeln!(ui.out, "{DIM}no lines are known of {name}{DIM:#}")?;
    }
    if !unknown.is_empty() {
        writeln!(ui.out, "{DIM}{}{DIM:#}", replays::searched(programs.searched()))?;
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

/// Returns the user's own sources, those below the current folder under their paths in it.
fn own_sources(files: Files) -> Result<Files> {
    let here = env::current_dir()?;
    let own = files.into_iter().filter(|(_, file)| file.is_own);
    let named = own.map(|(path, file)| {
        let found = find_source(&here, &path);
        let inside = found.as_deref().and_then(|it| it.strip_prefix(&here).ok());
        let inside = inside.filter(|it| is_inside(&here, it));
        (inside.map_or(path, |it| Rc::from(it.display().to_string())), file)
    });
    Ok(named.collect())
}

/// Returns whether a path leads to a file in the folder. It is from debug information, which may say
/// anything.
fn is_inside(folder: &Path, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let file = real(&folder.join(path)).filter(|it| it.is_file());
    file.zip(real(folder)).is_some_and(|(file, folder)| file.starts_with(folder))
}

/// Returns the text of a file that debug information names, for a page that shows it. Outside of the
/// folder, only files that are named as sources are, and without detours, are read.
fn source(folder: &Path, path: &Path) -> Option<String> {
    let is_source = is_source_file(path);
    let is_plain = path.is_file() && !path.components().any(|it| it == Component::ParentDir);
    let is_readable = is_inside(folder, path) || is_source && is_plain;
    is_readable.then(|| input::text(&folder.join(path), SOURCE_BYTES_MAX).ok()).flatten()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_inside, source};

    #[test]
    fn debug_information_names_no_files_but_sources() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = package.join("src");
        let text = |path: &Path| source(&folder, path).is_some();
        assert!(is_inside(&folder, Path::new("main.rs")) && text(Path::new("main.rs")));
        assert!(is_inside(&folder, Path::new("command/../main.rs")));
        for outside in ["../Cargo.toml", "../build.rs", "command/../../Cargo.toml", "missing.rs"] {
            assert!(!is_inside(&folder, Path::new(outside)), "{outside}");
            assert!(!text(Path::new(outside)), "{outside}");
        }
        assert!(text(&package.join("tests/documents.rs")));
        assert!(!text(&package.join("Cargo.toml")) && !text(&folder.join("../tests/build.rs")));
    }
}
