//! `selkie fuzz`.

mod output;

use core::ops::ControlFlow;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Pubkey, Svm};
use selkie_client::instruction_file::InstructionFile;
use selkie_explore::{
    CallSequence, Example, ExploreError, FailsOn, FindingTest, Idl, Options, Outcome, Progress,
    Recorded, Report, Target, explore_watched, folder, line, program_files, refusal,
};
use signal_hook::{consts::SIGINT, flag};

use crate::{
    args::{
        fuzz::FuzzArgs,
        replay::{NodeArgs, ReplayArgs},
    },
    names::Names,
    program::{ProgramFile, read},
    recording, replays,
    ui::{Advise as _, Status, Ui},
};

use self::output::show;

/// How long a search takes if nothing else is said.
const SECONDS: u64 = 60;
/// The exit code of shells for a command that SIGINT has ended.
const INTERRUPTED: i32 = 130;
/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// What a search begins with.
struct Start {
    target: Target,
    cases: Vec<CallSequence>,
    /// The files of programs that are known.
    files: BTreeMap<Pubkey, PathBuf>,
    /// The results of the recorded transactions, if there are any.
    recorded: Option<BTreeSet<String>>,
}

pub(crate) fn run(ui: &mut Ui, args: &FuzzArgs) -> Result<Status> {
    let Some(start) = start(ui, args)? else { return Ok(Status::Failure) };
    let Start { target, cases, files, recorded } = start;
    let names: Vec<String> = target.action_names().into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut seeds = cases;
    if let Some(path) = &args.corpus {
        let old = folder::read(path, &names);
        seeds.extend(old.advise("a corpus belongs to the actions that it was found with")?);
    }
    let options = Options {
        seed: args.seed,
        runs: args.runs,
        threads: args.threads.get(),
        findings_max: args.findings_max.get(),
        seeds,
    };
    let (report, elapsed) = search(ui, args, &target, &options)?;
    if let Some(path) = &args.corpus {
        folder::write(path, &report.corpus, &names)?;
    }
    let mut findings = Vec::new();
    for finding in &report.findings {
        let test = FindingTest::new(finding, &args.fails_on, &files, &args.findings);
        let replay = folder::write_finding(&args.findings, finding, Some(&test.source()))?;
        findings.push((finding, test, replay));
    }
    let success = findings.is_empty();
    let outcome = Outcome::new(&target, &report, findings, recorded.as_ref(), elapsed);
    if ui.json {
        ui.object(&outcome.as_json())?;
    } else {
        show(ui, &outcome)?;
    }
    Ok(Status::of(success))
}

/// Returns what the arguments describe; `None` if a program has errors, which were shown.
fn start(ui: &mut Ui, args: &FuzzArgs) -> Result<Option<Start>> {
    let names = Names::well_known();
    let id = args.program_id.as_deref().map(|text| names.address(text)).transpose()?;
    let mut results = None;
    let (chain, (mut target, cases)) = if args.replays.is_empty() && args.command.is_empty() {
        let Some(path) = &args.program else { return Err(anyhow!("no program was given")) };
        let mut svm = Svm::new();
        if add_others(ui, args, &names, &mut svm)?.is_none() {
            return Ok(None);
        }
        match &args.idl {
            Some(idl) => {
                let text = String::from_utf8(read(idl)?).context("the description is not text")?;
                let idl = Idl::parse(&text).with_context(|| args_path(idl))?;
                let id =
                    id.or(idl.address).unwrap_or(InstructionFile::default().instruction.program_id);
                if add(ui, args, path, id, &mut svm)?.is_none() {
                    return Ok(None);
                }
                let target = idl.target(&svm, id);
                (svm, (target, Vec::new()))
            }
            None => {
                let examples = by_input(args, id, &mut svm)?;
                for id in
                    examples.iter().map(|it| it.instruction.program_id).collect::<BTreeSet<_>>()
                {
                    if add(ui, args, path, id, &mut svm)?.is_none() {
                        return Ok(None);
                    }
                }
                let target = Target::of_examples(&svm, &examples);
                (svm, target)
            }
        }
    } else {
        let Recorded { mut svm, examples, results: recorded } = recorded(args, id)?;
        results = Some(recorded);
        if add_others(ui, args, &names, &mut svm)?.is_none() {
            return Ok(None);
        }
        if let Some(path) = &args.program {
            let id = id.ok_or_else(|| anyhow!("which of the programs is {}?", args_path(path)));
            let id = id.advise("name it by --program-id KEY")?;
            if add(ui, args, path, id, &mut svm)?.is_none() {
                return Ok(None);
            }
        }
        let target = Target::of_examples(&svm, &examples);
        (svm, target)
    };
    let fails_on =
        if args.fails_on.is_empty() { vec![FailsOn::Trap] } else { args.fails_on.clone() };
    for what in fails_on {
        target = target.fails_on(what);
    }
    let files = program_files(&chain);
    Ok(Some(Start { target, cases, files, recorded: results }))
}

fn args_path(path: &Path) -> String {
    path.display().to_string()
}

/// Adds the other programs of the command line.
fn add_others(ui: &mut Ui, args: &FuzzArgs, names: &Names, svm: &mut Svm) -> Result<Option<()>> {
    for text in &args.programs {
        let pair = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=FILE, not `{text}`"));
        let (key, path) = pair.advise("for example --program token=my_token.so")?;
        if add(ui, args, Path::new(path), names.address(key)?, svm)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

fn add(ui: &mut Ui, args: &FuzzArgs, path: &Path, id: Pubkey, svm: &mut Svm) -> Result<Option<()>> {
    let Ok(file) = ProgramFile::open(ui, path, &args.assembler)? else { return Ok(None) };
    svm.add_program(id, file.elf.as_slice())
        .with_context(|| args_path(path))
        .advise(format!("`selkie check {}` says more", path.display()))?;
    // Of a source, the program itself has the lines.
    svm.set_program_path(id, path);
    Ok(Some(()))
}

/// Reads the inputs, and adds their accounts to the chain.
fn by_input(args: &FuzzArgs, id: Option<Pubkey>, svm: &mut Svm) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for path in &args.inputs {
        let InstructionFile { mut instruction, accounts } = InstructionFile::read(path)?;
        instruction.program_id = id.unwrap_or(instruction.program_id);
        for (key, account) in accounts {
            svm.set_account(key, account).with_context(|| args_path(path))?;
        }
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        examples.push(Example { name, instruction });
    }
    if examples.is_empty() {
        let mut instruction = InstructionFile::default().instruction;
        instruction.program_id = id.unwrap_or(instruction.program_id);
        examples.push(Example { name: "instruction".to_owned(), instruction });
    }
    let names: BTreeSet<&str> = examples.iter().map(|it| it.name.as_str()).collect();
    match names.len() == examples.len() {
        true => Ok(examples),
        false => Err(anyhow!("two inputs have the same name, which is that of an action")),
    }
}

/// Reads the replays of the arguments.
fn recorded(args: &FuzzArgs, id: Option<Pubkey>) -> Result<Recorded> {
    let replay =
        ReplayArgs { paths: args.replays.clone(), node: NodeArgs::default(), symbols: Vec::new() };
    let paths = replays::files(&recording::paths(&replay, &args.command, "fuzz")?)?;
    Ok(Recorded::read(&paths, id)?)
}

/// Searches until there is enough or the user interrupts it, and shows how far it is.
#[expect(clippy::disallowed_methods, reason = "the user limits the time")]
fn search(
    ui: &mut Ui,
    args: &FuzzArgs,
    target: &Target,
    options: &Options,
) -> Result<(Report, Duration)> {
    let is_interrupted = interruption().context("cannot wait for signals")?;
    let seconds = args.seconds.or_else(|| args.runs.is_none().then_some(SECONDS));
    let start = Instant::now();
    let mut shown = Duration::ZERO;
    let is_watched = ui.is_watched();
    let mut watch = |progress: &Progress| {
        let elapsed = start.elapsed();
        if is_watched && elapsed >= shown + SHOWN_EVERY {
            shown = elapsed;
            let _ = ui.aside(&format!("\r\x1b[2K{}", line(progress, elapsed)));
        }
        let is_late = seconds.is_some_and(|seconds| elapsed >= Duration::from_secs(seconds));
        if is_late || is_interrupted.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let report = explore_watched(target, options, &mut watch);
    let elapsed = start.elapsed();
    if is_watched {
        ui.aside("\r\x1b[2K")?;
    }
    let help = match (&args.idl, args.inputs.is_empty() && args.replays.is_empty()) {
        (Some(_), _) => {
            "accounts that the program expects may be missing; \
                         write the target in Rust: docs/fuzzing.md"
        }
        (None, true) => {
            "give an example that succeeds by --input FILE, or an interface by --idl FILE"
        }
        (None, false) => "begin with an example that succeeds: try it by `selkie run`",
    };
    match report {
        Err(ExploreError::NothingSucceeds(actions)) => {
            Err(anyhow!(refusal(target, &actions))).advise(help)
        }
        report => Ok((report?, elapsed)),
    }
}

/// Returns a flag that SIGINT sets, so that what was found is written. A second one ends the process.
fn interruption() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    // Handlers run in this order: the first signal finds the flag not yet set.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&flag))?;
    flag::register(SIGINT, Arc::clone(&flag))?;
    Ok(flag)
}
