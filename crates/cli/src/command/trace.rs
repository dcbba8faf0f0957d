//! `selkie trace` and `selkie diff-trace`.

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context as _, Result, anyhow};
use selkie::{names::annotate, programs::errors::ErrorName};
use selkie_inspect::Backtrace;
use selkie_replay::{State, Timeline};
use selkie_report::{
    Programs, agave,
    diff::{Parting, parting},
    trace::{self, Filter},
};
use selkie_svm::{Account, Pubkey};
use serde_json::{Value, json};

use crate::{
    args::replay::{DiffTraceArgs, TraceArgs},
    changes::AccountChange,
    names::Names,
    recording,
    render::count,
    replays,
    sent::show_place,
    ui::{Advise as _, BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &TraceArgs) -> Result<Status> {
    ui.show_raw(args.raw);
    let mut programs = replays::programs(&args.replay.symbols)?;
    let filter = filter(args)?;
    let (mut transactions, mut all, mut has_failed) = (0, Vec::new(), false);
    let mut replay = args.replay.clone();
    if let Some(file) = &args.save_replay {
        replay.paths = replays::save(&replay.paths, replay.node.url.as_deref(), file)?;
    }
    let opened = recording::open_or_record(ui, &replay, &args.call, &[], "trace")?;
    let Ok(mut recordings) = opened else { return Ok(Status::Failure) };
    recording::each(&mut recordings, |index, timeline| {
        transactions = index + 1;
        if args.transaction.is_some_and(|wanted| wanted != index) {
            return Ok(());
        }
        programs.add(&timeline);
        has_failed |= timeline.receipt().failed_instruction.is_some();
        if let Some(folder) = &args.agave {
            write_agave(folder, &timeline, &mut programs)?;
        }
        if ui.json {
            let mut value = as_json(&timeline, &programs);
            if args.registers {
                let records = trace::register_records(&timeline, &mut programs, &filter);
                let help = "take a part of them: --steps 0..1000, --function or --only-program";
                value["instructions"] = records.advise(help)?.into();
            }
            all.push(value);
        } else if args.registers {
            trace::registers(&timeline, &mut programs, &filter, &mut ui.out)?;
        } else {
            show(ui, index, &timeline, &programs)?;
        }
        Ok(())
    })?;
    replays::warn(ui, &programs)?;
    if has_failed {
        replays::warn_without_lines(ui, &programs)?;
    }
    if let Some(wanted) = args.transaction.filter(|wanted| *wanted >= transactions) {
        let found = count(transactions, "transaction");
        return Err(anyhow!(
            "there is no transaction {wanted}: {found} can be read, counted from 0"
        ));
    }
    if ui.json {
        ui.object(&json!({ "success": true, "transactions": all }))?;
    }
    Ok(Status::Success)
}

fn filter(args: &TraceArgs) -> Result<Filter> {
    let names = Names::well_known();
    let program = args.only_program.as_ref().map(|it| names.address(it)).transpose()?;
    Ok(Filter { program, function: args.function.clone(), steps: args.steps.clone() })
}

fn write_agave(folder: &Path, timeline: &Timeline, programs: &mut Programs) -> Result<()> {
    let named = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(named)?;
    for (name, bytes) in agave::files(timeline, programs) {
        fs::write(folder.join(name), bytes).with_context(named)?;
    }
    Ok(())
}

/// Returns the accounts that the transaction changed, before and after.
fn changes(timeline: &Timeline) -> Vec<(Pubkey, Account, Account)> {
    let changed = timeline.receipt().changes().map(|change| {
        let before = change.before.clone().map(Account::from).unwrap_or_default();
        (change.key, before, change.after().cloned().map(Account::from).unwrap_or_default())
    });
    changed.collect()
}

/// Returns what the custom error means that made the transaction fail, if that is known.
fn failure(timeline: &Timeline, programs: &Programs) -> Option<ErrorName> {
    let failed = timeline.receipt().failed_instruction.as_ref()?;
    programs.error_name(&failed.program_id, &failed.error, &timeline.receipt().logs)
}

/// Renders a transaction: its calls, its logs, and the accounts that it changed.
pub(super) fn as_json(timeline: &Timeline, programs: &Programs) -> Value {
    let changes = changes(timeline);
    let changes = changes.iter().map(|(key, before, after)| {
        let (before, after) = (before.clone(), after.clone());
        AccountChange { key, before, after }.json()
    });
    let mut value = trace::to_json(timeline, programs);
    value["changed"] = json!(changes.collect::<Vec<_>>());
    value["error_name"] = failure(timeline, programs).map(|it| it.to_string()).into();
    value["failure_place"] = json!(trace::failure_place(timeline, programs));
    value["logs"] = json!(timeline.receipt().logs);
    value
}

fn show(ui: &mut Ui, index: usize, timeline: &Timeline, programs: &Programs) -> Result<()> {
    let id = ui.line(timeline.id());
    writeln!(ui.out, "{STRONG}transaction {index}{STRONG:#} {id}")?;
    for line in trace::call_tree(timeline, programs).lines() {
        writeln!(ui.out, "  {}", ui.line(line))?;
    }
    for (key, before, after) in changes(timeline) {
        let change = AccountChange { key: &key, before, after };
        let svm = timeline.svm();
        change.show(ui, &svm.show(&key), &|key| svm.show(key))?;
    }
    let receipt = timeline.receipt();
    match &receipt.result {
        Ok(()) => write!(ui.out, "{GOOD}success{GOOD:#}")?,
        Err(error) => {
            write!(ui.out, "{BAD}failed{BAD:#}  {STRONG}{error}{STRONG:#}")?;
            if let Some(name) = failure(timeline, programs) {
                let name = name.to_string();
                write!(ui.out, " {}", ui.line(&name))?;
            }
        }
    }
    let (units, limit) = (receipt.compute_units, receipt.compute_unit_limit);
    let steps = count(timeline.steps(), "step");
    writeln!(ui.out, "  {units} of {limit} compute units, {steps}")?;
    show_place(ui, &trace::failure_place(timeline, programs))?;
    let notes = receipt.notes.iter().map(|it| annotate(it, |key| timeline.svm().name_of(key)));
    for note in notes.chain(receipt.explanations().into_iter().map(Into::into)) {
        writeln!(ui.out, "{NOTE}note{NOTE:#}: {}", ui.line(&note))?;
    }
    for difference in timeline.differences() {
        writeln!(ui.out, "{NOTE}note{NOTE:#}: the recorded result differs: {difference}")?;
    }
    Ok(())
}

pub(crate) fn diff(ui: &mut Ui, args: &DiffTraceArgs) -> Result<Status> {
    let url = args.node.url.as_deref();
    let (left, right) = (replays::first(&args.left, url)?, replays::first(&args.right, url)?);
    let mut programs = replays::programs(&args.symbols)?;
    programs.add(&left);
    programs.add(&right);
    let Some(parting) = parting(&left, &right) else {
        if ui.json {
            ui.object(&json!({ "success": true, "steps": left.steps(), "parting": null }))?;
        } else {
            writeln!(ui.out, "{GOOD}same{GOOD:#}  all {} steps are equal", left.steps())?;
        }
        return Ok(Status::Success);
    };
    if ui.json {
        let states = [&left, &right].map(|it| it.state_at(parting.step).to_json());
        let error = format!("they part at step {}", parting.step);
        let parting = parting.to_json();
        ui.object(&json!({ "error": error, "parting": parting, "states": states }))?;
    } else {
        show_parting(ui, &parting, [&left, &right], &programs)?;
    }
    Ok(Status::Failure)
}

fn show_parting(
    ui: &mut Ui,
    parting: &Parting,
    timelines: [&Timeline; 2],
    programs: &Programs,
) -> Result<()> {
    writeln!(ui.out, "{BAD}differ{BAD:#}  from step {} on", parting.step)?;
    if let Some(cause) = parting.cause {
        let state = timelines[0].state_at(cause);
        writeln!(ui.out, "{STRONG}after{STRONG:#} step {cause}{}", place(&state, programs))?;
    }
    let states = timelines.map(|timeline| timeline.state_at(parting.step));
    for (name, state) in ["left", "right"].iter().zip(&states) {
        let place = match state.levels.is_empty() {
            true => " has ended".to_owned(),
            false => place(state, programs),
        };
        writeln!(ui.out, "{STRONG}{name}{STRONG:#}{place}")?;
    }
    let [Some(left), Some(right)] = states.each_ref().map(|state| state.levels.last()) else {
        return Ok(());
    };
    for (number, (left, right)) in left.registers.iter().zip(&right.registers).enumerate() {
        if left != right {
            writeln!(ui.out, "  r{number}  {DIM}{left:#x}{DIM:#} → {STRONG}{right:#x}{STRONG:#}")?;
        }
    }
    Ok(())
}

/// Renders where a state is: program, slot, function, line and instruction.
fn place(state: &State, programs: &Programs) -> String {
    let Some(level) = state.levels.last() else { return String::new() };
    let name = programs.name(&level.program);
    let Some(symbols) = programs.get(&level.program) else {
        return format!(" in {name}, pc {}", level.pc);
    };
    let location = Backtrace::new(&symbols.view.map, [level.pc]).instruction_line();
    let text = symbols.view.instruction(level.pc);
    format!(" in {name}: {location}: {text}")
}
