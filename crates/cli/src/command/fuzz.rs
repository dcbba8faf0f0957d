//! `selkie fuzz`.

use core::ops::ControlFlow;
use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow};
use selkie::{Instruction, Pubkey, Svm};
use selkie_explore::{
    ActionCount, Case, Example, ExploreError, FailsOn, Finding, Fixture, Idl, Options, Progress,
    Report, explore_watched, folder,
};
use selkie_replay::ReplayFile;
use serde_json::{Value, json};
use signal_hook::{consts::SIGINT, flag};

use crate::{
    args::{
        fuzz::FuzzArgs,
        replay::{NodeArgs, ReplayArgs},
    },
    names::Names,
    program::{ProgramFile, is_source, read},
    recording,
    render::count,
    replays,
    scenario::Scenario,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// How long a search takes if nothing else is said.
const SECONDS: u64 = 60;
/// The exit code of shells for a command that SIGINT has ended.
const INTERRUPTED: i32 = 130;
/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);
/// The most instructions of replays that become actions.
const EXAMPLES_MAX: usize = 64;

pub(crate) fn run(ui: &mut Ui, args: &FuzzArgs) -> Result<Status> {
    let Some((fixture, examples)) = fixture(ui, args)? else { return Ok(Status::Failure) };
    let names: Vec<String> = fixture.action_names().into_iter().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut seeds = examples;
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
    let (report, elapsed) = search(ui, args, &fixture, &options)?;
    if let Some(path) = &args.corpus {
        folder::write(path, &report.corpus, &names)?;
    }
    let mut findings = Vec::new();
    for finding in &report.findings {
        let replay = args.findings.join(format!("{}.replay", finding.name));
        folder::write_finding(&args.findings, finding, Some(&test(args, finding, &replay)))?;
        findings.push((finding, replay));
    }
    if ui.json {
        ui.object(&as_json(&report, &findings, elapsed))?;
    } else {
        show(ui, &report, &findings, elapsed)?;
    }
    Ok(Status::of(findings.is_empty()))
}

/// Returns the fixture that the arguments describe, and cases to begin with; `None` if a program has
/// errors, which were shown.
fn fixture(ui: &mut Ui, args: &FuzzArgs) -> Result<Option<(Fixture, Vec<Case>)>> {
    let names = Names::well_known();
    let id = args.program_id.as_deref().map(|text| names.address(text)).transpose()?;
    let (mut fixture, cases) = if args.replays.is_empty() && args.command.is_empty() {
        let Some(path) = &args.program else { return Err(anyhow!("no program was given")) };
        let mut svm = Svm::new();
        if add_others(ui, args, &names, &mut svm)?.is_none() {
            return Ok(None);
        }
        match &args.idl {
            Some(idl) => {
                let text = String::from_utf8(read(idl)?).context("the description is not text")?;
                let idl = Idl::parse(&text).with_context(|| args_path(idl))?;
                let id = id.or(idl.address).unwrap_or(Scenario::default().instruction.program_id);
                if add(ui, args, path, id, &mut svm)?.is_none() {
                    return Ok(None);
                }
                (idl.fixture(&svm, id), Vec::new())
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
                Fixture::of_examples(&svm, &examples)
            }
        }
    } else {
        let (mut svm, examples) = recorded(args, id)?;
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
        Fixture::of_examples(&svm, &examples)
    };
    let fails_on =
        if args.fails_on.is_empty() { vec![FailsOn::Trap] } else { args.fails_on.clone() };
    for what in fails_on {
        fixture = fixture.fails_on(what);
    }
    Ok(Some((fixture, cases)))
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
    Ok(Some(()))
}

/// Reads the inputs, and adds their accounts to the chain.
fn by_input(args: &FuzzArgs, id: Option<Pubkey>, svm: &mut Svm) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    for path in &args.inputs {
        let Scenario { mut instruction, accounts } = Scenario::read(path)?;
        instruction.program_id = id.unwrap_or(instruction.program_id);
        for (key, account) in accounts {
            svm.set_account(key, account).with_context(|| args_path(path))?;
        }
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        examples.push(Example { name, instruction });
    }
    if examples.is_empty() {
        let mut instruction = Scenario::default().instruction;
        instruction.program_id = id.unwrap_or(instruction.program_id);
        examples.push(Example { name: "instruction".to_owned(), instruction });
    }
    let names: BTreeSet<&str> = examples.iter().map(|it| it.name.as_str()).collect();
    match names.len() == examples.len() {
        true => Ok(examples),
        false => Err(anyhow!("two inputs have the same name, which is that of an action")),
    }
}

/// Reads replays: a chain with the accounts of all of them, in their first state, and their
/// instructions.
fn recorded(args: &FuzzArgs, id: Option<Pubkey>) -> Result<(Svm, Vec<Example>)> {
    let replay =
        ReplayArgs { paths: args.replays.clone(), node: NodeArgs::default(), symbols: Vec::new() };
    let paths = replays::files(&recording::paths(&replay, &args.command, "fuzz")?)?;
    let mut chain: Option<Svm> = None;
    let mut instructions: Vec<Instruction> = Vec::new();
    for path in &paths {
        let file = ReplayFile::open(path)?;
        for index in 0..file.len() {
            let prepared = file.prepared(index).with_context(|| args_path(path))?;
            let is_wanted = |it: &Instruction| match id {
                Some(id) => it.program_id == id,
                None => prepared.svm().program(&it.program_id).is_some(),
            };
            let mut used = false;
            for instruction in prepared.instructions() {
                let is_new = !instructions.contains(&instruction);
                if is_new && is_wanted(&instruction) && instructions.len() < EXAMPLES_MAX {
                    instructions.push(instruction);
                    used = true;
                }
            }
            if used {
                match &mut chain {
                    Some(chain) => add_accounts(chain, prepared.svm()),
                    None => chain = Some(prepared.svm().clone()),
                }
            }
        }
    }
    let chain = chain.ok_or_else(|| anyhow!("the replays have no instructions of the program"));
    let chain = chain.advise("omit --program-id, or record other transactions")?;
    Ok((chain, Example::numbered(instructions)))
}

/// Adds the accounts that a chain lacks.
fn add_accounts(chain: &mut Svm, other: &Svm) {
    for (key, account) in other.accounts() {
        if chain.account(&key).is_none() {
            // Sysvars, which cannot be set, are there already.
            let _ = chain.set_account(key, account.clone());
        }
    }
}

/// Searches until there is enough or the user interrupts it, and shows how far it is.
#[expect(clippy::disallowed_methods, reason = "the user limits the time")]
fn search(
    ui: &mut Ui,
    args: &FuzzArgs,
    fixture: &Fixture,
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
    let report = explore_watched(fixture, options, &mut watch);
    let elapsed = start.elapsed();
    if is_watched {
        ui.aside("\r\x1b[2K")?;
    }
    let help = match (&args.idl, args.inputs.is_empty() && args.replays.is_empty()) {
        (Some(_), _) => {
            "accounts that the program expects may be missing; \
                         write the fixture in Rust: docs/fuzzing.md"
        }
        (None, true) => {
            "give an example that succeeds by --input FILE, or an interface by --idl FILE"
        }
        (None, false) => "begin with an example that succeeds: try it by `selkie run`",
    };
    match report {
        Err(error @ ExploreError::NothingSucceeds(_)) => Err(error).advise(help),
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

fn per_second(executions: u64, elapsed: Duration) -> u64 {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    executions.saturating_mul(1000) / milliseconds
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let Progress { executions, coverage, corpus, findings, actions, .. } = progress;
    let working = actions.iter().filter(|it| it.successes > 0).count();
    format!(
        "{} s  {executions} calls, {}/s  {coverage} branches  {corpus} cases  {working} of {} \
         actions succeed  {findings} found",
        elapsed.as_secs(),
        per_second(*executions, elapsed),
        actions.len(),
    )
}

/// Returns the source of a test that fails as long as the finding does.
fn test(args: &FuzzArgs, finding: &Finding, replay: &Path) -> String {
    let Finding { name, what, transactions, .. } = finding;
    let what = what.replace('\n', " ");
    let last = transactions.last().and_then(|it| it.prepare(&|_| None).ok());
    let id = last.and_then(|it| Some(it.instructions().first()?.program_id));
    let place = id.zip(args.program.as_ref().filter(|it| !is_source(it))).map(|(id, path)| {
        let path = path.display().to_string();
        format!(
            "    let program = std::path::Path::new({path:?});\n    \
                 svm.add_program(\"{id}\".parse().unwrap(), program).unwrap();\n"
        )
    });
    let place = place.unwrap_or_else(|| {
        "    // This runs the recorded program. Put the repaired one in its place:\n    \
             // svm.add_program(id, std::path::Path::new(\"target/deploy/program.so\")).unwrap();\n"
            .to_owned()
    });
    format!(
        "//! Found by `selkie fuzz`: {what}. Needs the crates selkie, selkie-replay and selkie-explore.\n\
         \n\
         #[test]\n\
         fn finding_{name}() {{\n    \
             let replay = selkie_replay::ReplayFile::open({:?}.as_ref()).unwrap();\n    \
             // The last transaction is the one that failed; the others led there.\n    \
             let last = replay.prepared(replay.len() - 1).unwrap();\n    \
             let mut svm = last.svm().clone();\n\
         {place}    \
             let receipt = svm.process_instructions(&last.instructions(), &[]);\n    \
             assert_eq!(selkie_explore::{}.failure(&receipt), None);\n\
         }}\n",
        replay.display().to_string(),
        source_of(&kind_of(args, finding)),
    )
}

/// Returns what the finding is of.
fn kind_of(args: &FuzzArgs, finding: &Finding) -> FailsOn {
    let is_it = |kind: &&FailsOn| match kind {
        FailsOn::Custom(code) => finding.what == format!("custom error {code}"),
        FailsOn::Log(text) => finding.what == format!("log with `{text}`"),
        _ => false,
    };
    args.fails_on.iter().find(is_it).cloned().unwrap_or(FailsOn::Trap)
}

fn source_of(kind: &FailsOn) -> String {
    match kind {
        FailsOn::Log(text) => format!("FailsOn::Log({text:?}.to_owned())"),
        kind => format!("FailsOn::{kind:?}"),
    }
}

fn show(
    ui: &mut Ui,
    report: &Report,
    findings: &[(&Finding, PathBuf)],
    elapsed: Duration,
) -> Result<()> {
    let Progress { executions, coverage, corpus, actions, .. } = &report.progress;
    writeln!(
        ui.out,
        "{STRONG}{executions}{STRONG:#} calls in {:.1} s, {} per second; {coverage} branches, {corpus} cases",
        elapsed.as_secs_f64(),
        per_second(*executions, elapsed),
    )?;
    writeln!(ui.out, "\n{DIM}     calls  succeeded  action{DIM:#}")?;
    for ActionCount { name, calls, successes } in actions {
        let style = if *successes == 0 && *calls > 0 { BAD } else { STRONG };
        writeln!(ui.out, "{calls:>10}  {successes:>9}  {style}{name}{style:#}")?;
    }
    for (Finding { what, detail, text, transactions, .. }, replay) in findings {
        let calls = count(transactions.len(), "call");
        writeln!(ui.out, "\n{BAD}found{BAD:#} {STRONG}{what}{STRONG:#}, after {calls}")?;
        for line in detail.lines() {
            writeln!(ui.out, "  {line}")?;
        }
        writeln!(ui.out, "  {DIM}{text}{DIM:#}")?;
        writeln!(ui.out, "  {} and {}", replay.display(), replay.with_extension("rs").display())?;
    }
    match findings.first() {
        Some((_, replay)) => {
            writeln!(ui.out, "\nlook into it: selkie debug {}", replay.display())?;
        }
        None => writeln!(ui.out, "\n{GOOD}nothing was found{GOOD:#}")?,
    }
    Ok(())
}

fn as_json(report: &Report, findings: &[(&Finding, PathBuf)], elapsed: Duration) -> Value {
    let Progress { executions, coverage, corpus, actions, .. } = &report.progress;
    let action = |ActionCount { name, calls, successes }: &ActionCount| json!({ "name": name, "calls": calls, "successes": successes });
    let finding = |(finding, replay): &(&Finding, PathBuf)| {
        let Finding { name, what, detail, text, .. } = finding;
        let case: Value = serde_json::from_str(text).unwrap_or_default();
        json!({
            "name": name,
            "what": what,
            "detail": detail,
            "case": case,
            "replay": replay.display().to_string(),
            "test": replay.with_extension("rs").display().to_string(),
        })
    };
    let mut json = json!({
        "success": findings.is_empty(),
        "calls": executions,
        "calls_per_second": per_second(*executions, elapsed),
        "branches": coverage,
        "corpus": corpus,
        "actions": actions.iter().map(action).collect::<Vec<_>>(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    });
    if let Some((first, replay)) = findings.first() {
        json["error"] = json!(format!("found {}", first.what));
        json["help"] = json!(format!("look into it: selkie debug {}", replay.display()));
    }
    json
}
