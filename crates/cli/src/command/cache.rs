//! `selkie cache`.

use std::{io::Write as _, sync::Arc, time::Instant};

use anyhow::{Context as _, Result};
use selkie::{
    Pubkey,
    runtime::{
        ProgramCache,
        program_cache::{CacheStatistics, CachedProgram},
    },
};
use selkie_client::{StoredFile, StoredPrograms};
use serde_json::{Value, json};

use crate::{
    args::cache::{CacheArgs, CacheCommand, WarmArgs},
    folders::caches,
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CacheArgs) -> Result<Status> {
    let folder = match &args.cache {
        Some(folder) => folder.clone(),
        None => caches().advise("--cache names a folder")?.join("ready"),
    };
    let store = StoredPrograms::open(&folder).or_else(|error| {
        let help = error.help();
        Err(error).context("cannot use the cache folder").advise(help)
    })?;
    match &args.command {
        None | Some(CacheCommand::Show) => show(ui, &store),
        Some(CacheCommand::Warm(args)) => warm(ui, store, args),
        Some(CacheCommand::Clear) => clear(ui, &store),
    }
}

fn show(ui: &mut Ui, store: &StoredPrograms) -> Result<Status> {
    let files = store.files()?;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let unsound = files.iter().filter(|file| !file.is_sound).count();
    if ui.json {
        let file = |file: &StoredFile| json!({ "name": file.name, "bytes": file.bytes, "sound": file.is_sound });
        let mut report = json!({
            "folder": store.folder().display().to_string(),
            "files": files.iter().map(file).collect::<Vec<_>>(),
            "bytes": bytes,
        });
        if unsound > 0 {
            report["error"] = json!(format!("{} modified since written", count(unsound, "file")));
        }
        ui.object(&report)?;
        return Ok(Status::of(unsound == 0));
    }
    for StoredFile { name, bytes, is_sound, .. } in &files {
        let short = name.get(..16).unwrap_or(name);
        write!(ui.out, "{short}  {bytes:>9} bytes")?;
        if *is_sound {
            writeln!(ui.out)?;
        } else {
            writeln!(ui.out, "  {BAD}modified{BAD:#}, ignored")?;
        }
    }
    let folder = store.folder().display();
    writeln!(ui.out, "{} in {folder}  {bytes} bytes", count(files.len(), "program"))?;
    Ok(Status::of(unsound == 0))
}

fn clear(ui: &mut Ui, store: &StoredPrograms) -> Result<Status> {
    let files = store.clear()?;
    if ui.json {
        ui.object(&json!({ "deleted": files }))?;
    } else {
        writeln!(ui.out, "{GOOD}deleted{GOOD:#} {}", count(files, "file"))?;
    }
    Ok(Status::Success)
}

#[allow(clippy::disallowed_methods, reason = "the time is only shown")]
fn warm(ui: &mut Ui, store: StoredPrograms, args: &WarmArgs) -> Result<Status> {
    let mut cluster = args.state.open()?;
    cluster.fetch_programs()?;
    let svm = cluster.svm;
    let cache = ProgramCache::new().with_store(Arc::new(store));
    let svm = svm.with_program_cache(cache);
    let ids: Vec<Pubkey> = svm.accounts().map(|(id, _)| id).collect();
    let start = Instant::now();
    for id in ids {
        if let Some(program) = svm.program(&id) {
            program.compile()?;
        }
    }
    let duration = start.elapsed();
    let cache = svm.program_cache();
    let (statistics, programs) = (cache.statistics(), cache.programs());
    let kept = cache.persist();
    if ui.json {
        ui.object(&json!({
            "kept": kept,
            "restored": statistics.restored,
            "refused": statistics.refused,
            "milliseconds": duration.as_secs_f64() * 1000.0,
            "programs": programs.iter().map(program_json).collect::<Vec<_>>(),
        }))?;
        return Ok(Status::Success);
    }
    for CachedProgram { id, kind, loaded_bytes, .. } in &programs {
        writeln!(ui.out, "{id:<44}  {loaded_bytes:>9} bytes  {DIM}{kind}{DIM:#}")?;
    }
    let CacheStatistics { restored, refused, .. } = statistics;
    let milliseconds = duration.as_secs_f64() * 1000.0;
    write!(ui.out, "{GOOD}ready{GOOD:#} {} in {milliseconds:.1} ms", count(kept, "program"))?;
    writeln!(ui.out, ", {restored} from disk; {refused} rejected by the verifier")?;
    Ok(Status::Success)
}

fn program_json(program: &CachedProgram) -> Value {
    json!({
        "address": program.id.to_string(),
        "state": program.kind.to_string(),
        "uses": program.uses,
        "file_bytes": program.file_bytes,
        "loaded_bytes": program.loaded_bytes,
    })
}
