//! `selkie run`.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_builtins::{builtins, precompiles};
use selkie_elf::Foreign;
use selkie_inspect::{Graph, Labels, SourceMap, Style};
use selkie_svm::{
    Account, ComputeBudget, Environment, FeatureSet, LoadError, Loader, Options, Program, Pubkey,
    Purpose, Receipt, elf_environment, process_instruction,
};
use selkie_vm::Observer;
use serde_json::{Value, json};

use crate::{
    args::RunArgs,
    data,
    program::ProgramFile,
    render::{changes, instruction_text, show_change, show_instruction},
    scenario::{Scenario, parse_key},
    ui::{Advise as _, BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

mod heap;
mod trap;

pub(crate) fn run(ui: &mut Ui, args: &RunArgs) -> Result<Status> {
    let scenario = scenario(args)?;
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let program = match load(&file, args.loader.into()) {
        Ok(program) => Arc::new(program),
        Err(error) => return refuse(ui, args, &file, &error),
    };
    let features = FeatureSet::mainnet();
    let mut environment = Environment {
        features,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..Environment::default()
    };
    environment.programs.insert(scenario.instruction.program_id, Arc::clone(&program));
    let options = Options {
        budget: ComputeBudget { units: args.limit, heap_bytes: args.heap },
        engine: args.engine.into(),
    };
    let Scenario { instruction, accounts } = &scenario;
    let process = |observer: Option<&mut dyn Observer>| {
        process_instruction(instruction, accounts, &environment, &options, observer)
            .advise("leave `--engine` out, or say `--engine interpreter`")
    };
    let receipt = match &args.trace {
        None => process(None)?,
        Some(path) => trace(path, &file, &program, process)?,
    };
    let report = Report {
        receipt: &receipt,
        file: &file,
        map: file.source_map(),
        scenario: &scenario,
        limit: args.limit,
        heap_bytes: args.heap.into(),
    };
    if ui.json {
        ui.object(&report.as_json())?;
    } else {
        report.show(ui)?;
    }
    Ok(Status::of(receipt.result.is_ok()))
}

fn scenario(args: &RunArgs) -> Result<Scenario> {
    let mut scenario = match &args.input {
        Some(path) => Scenario::read(path)?,
        None => Scenario::default(),
    };
    for account in &args.accounts {
        scenario.add_account_file(account)?;
    }
    if let Some(data) = &args.data {
        scenario.instruction.data = data::parse(data)?;
    }
    if let Some(key) = &args.program_id {
        scenario.instruction.program_id = parse_key(key)?;
    }
    Ok(scenario)
}

fn load(file: &ProgramFile, loader: Loader) -> Result<Program, LoadError> {
    let environment = elf_environment(FeatureSet::mainnet(), Purpose::Execution);
    Program::load(&file.elf, loader, &environment)
}

fn refuse(ui: &mut Ui, args: &RunArgs, file: &ProgramFile, error: &LoadError) -> Result<Status> {
    let name = args.program.display();
    let foreign = Foreign::of(&file.elf);
    let message = foreign.map_or_else(|| error.to_string(), |it| it.to_string());
    if ui.json {
        let help = format!("`selkie check {name} --execution` says more");
        ui.object(&json!({ "error": format!("{name} cannot be run: {message}"), "help": help }))?;
        return Ok(Status::Failure);
    }
    writeln!(
        ui.out,
        "{BAD}refused{BAD:#} {STRONG}{name}{STRONG:#} cannot be run: {STRONG}{message}{STRONG:#}"
    )?;
    if let LoadError::Verify(error) = error
        && let Some(pc) = error.pc()
    {
        let environment = elf_environment(FeatureSet::mainnet(), Purpose::Execution);
        if let Ok(executable) = selkie_elf::load(&file.elf, &environment) {
            show_instruction(ui, &executable, &file.source_map(), pc)?;
        }
    }
    writeln!(ui.out, "{NOTE}help{NOTE:#}: `selkie check {name} --execution` says more")?;
    Ok(Status::Failure)
}

/// Processes the instruction and writes a line before each of the program's instructions, in the
/// layout of agave's ledger tool.
fn trace(
    path: &Path,
    file: &ProgramFile,
    program: &Program,
    process: impl FnOnce(Option<&mut dyn Observer>) -> Result<Receipt>,
) -> Result<Receipt> {
    let named = || format!("cannot write {}", path.display());
    let looked_into = crate::program::open_to_inspect(file.whole(), None)?;
    let graph = Graph::new(&looked_into, Style::Selkie);
    let mut tracer = Tracer {
        out: BufWriter::new(File::create(path).with_context(named)?),
        program,
        names: Labels::new(&looked_into, &graph),
        index: 0,
        error: None,
    };
    writeln!(tracer.out, "Frame 0").with_context(named)?;
    let receipt = process(Some(&mut tracer))?;
    match tracer.error {
        None => tracer.out.flush().with_context(named)?,
        Some(error) => return Err(error).with_context(named),
    }
    Ok(receipt)
}

struct Tracer<'a> {
    out: BufWriter<File>,
    program: &'a Program,
    names: Labels<'a>,
    index: usize,
    error: Option<io::Error>,
}

impl Tracer<'_> {
    fn line(&mut self, pc: usize, registers: &[u64; 11]) -> io::Result<()> {
        write!(self.out, "{:5} [", self.index)?;
        for (index, register) in registers.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(self.out, "{separator}{register:016X}")?;
        }
        let text = instruction_text(self.program.executable(), &self.names, pc);
        writeln!(self.out, "] {pc:5}: {text}")
    }
}

impl Observer for Tracer<'_> {
    fn instruction(&mut self, pc: usize, registers: &[u64; 11]) {
        if self.error.is_none() {
            self.error = self.line(pc, registers).err();
            self.index += 1;
        }
    }
}

/// What is told of a run.
struct Report<'a> {
    receipt: &'a Receipt,
    file: &'a ProgramFile,
    map: SourceMap,
    scenario: &'a Scenario,
    limit: u64,
    heap_bytes: u64,
}

/// An account before and after.
struct AccountChange<'a> {
    key: &'a Pubkey,
    before: Account,
    after: &'a Account,
}

impl Report<'_> {
    /// The accounts that are not as they were.
    fn account_changes(&self) -> Vec<AccountChange<'_>> {
        let before = |key: &Pubkey| {
            let given = self.scenario.accounts.iter().find(|(known, _)| known == key);
            given.map(|(_, account)| account.clone())
        };
        let changed = self.receipt.accounts.iter().filter_map(|(key, after)| {
            let before = before(key)?;
            (before != *after).then_some(AccountChange { key, before, after })
        });
        changed.collect()
    }

    fn r0(&self) -> Option<u64> {
        self.receipt.run.as_ref().and_then(|run| run.result.as_ref().ok().copied())
    }

    /// What the runtime says besides the log, and what the heap has to do with a trap.
    fn notes(&self) -> Vec<String> {
        let run = self.receipt.run.as_ref();
        let trap = run.and_then(|run| run.result.as_ref().err());
        let heap = trap.map(|trap| heap::notes(trap, self.heap_bytes, &self.receipt.logs));
        self.receipt.notes.iter().cloned().chain(heap.into_iter().flatten()).collect()
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        let Receipt { result, units, logs, return_data, run, .. } = self.receipt;
        for line in logs {
            writeln!(ui.out, "{DIM}{line}{DIM:#}")?;
        }
        if let Some(returned) = return_data {
            let data = &returned.data;
            writeln!(
                ui.out,
                "{STRONG}return data{STRONG:#}  {} bytes  {}  {DIM}base64 {}{DIM:#}",
                data.len(),
                hex::encode(data),
                BASE64_STANDARD.encode(data),
            )?;
        }
        for change in self.account_changes() {
            show_account(ui, &change)?;
        }
        match result {
            Ok(()) => write!(ui.out, "{GOOD}success{GOOD:#}")?,
            Err(error) => write!(ui.out, "{BAD}failed{BAD:#}  {STRONG}{error}{STRONG:#}")?,
        }
        if let Some(r0) = self.r0() {
            write!(ui.out, "  r0 = {r0}")?;
            if r0 > 9 {
                write!(ui.out, " ({r0:#x})")?;
            }
        }
        writeln!(ui.out, "  {units} of {} compute units", self.limit)?;
        if let Some(run) = run
            && let Err(trap) = &run.result
        {
            trap::show(ui, trap, run, self.file, &self.map)?;
        }
        for note in self.notes() {
            writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        let Receipt { result, units, logs, return_data, run, engine, .. } = self.receipt;
        let accounts =
            self.receipt.accounts.iter().map(|(key, account)| account_json(key, account));
        let changed = self.account_changes();
        let changed = changed.iter().map(|change| {
            json!({
                "pubkey": change.key.to_string(),
                "before": account_json(change.key, &change.before),
                "after": account_json(change.key, change.after),
            })
        });
        let trap = run.as_ref().and_then(|run| {
            let trap = run.result.as_ref().err()?;
            Some(trap::as_json(trap, run, self.file, &self.map))
        });
        json!({
            "success": result.is_ok(),
            "error": result.as_ref().err().map(ToString::to_string),
            "r0": self.r0(),
            "compute_units": units,
            "limit": self.limit,
            "engine": format!("{engine:?}").to_lowercase(),
            "program_id": self.scenario.instruction.program_id.to_string(),
            "logs": logs,
            "return_data": return_data.as_ref().map(|it| BASE64_STANDARD.encode(&it.data)),
            "trap": trap,
            "changed": changed.collect::<Vec<_>>(),
            "accounts": accounts.collect::<Vec<_>>(),
            "notes": self.notes(),
        })
    }
}

fn account_json(key: &Pubkey, account: &Account) -> Value {
    json!({
        "pubkey": key.to_string(),
        "account": {
            "lamports": account.lamports,
            "data": [BASE64_STANDARD.encode(&account.data), "base64"],
            "owner": account.owner.to_string(),
            "executable": account.executable,
            "rentEpoch": account.rent_epoch,
            "space": account.data.len(),
        },
    })
}

fn show_account(ui: &mut Ui, change: &AccountChange<'_>) -> Result<()> {
    let AccountChange { key, before, after } = change;
    writeln!(ui.out, "{STRONG}account{STRONG:#} {key}")?;
    if before.lamports != after.lamports {
        let (old, new) = (before.lamports, after.lamports);
        writeln!(ui.out, "    lamports  {DIM}{old}{DIM:#} → {STRONG}{new}{STRONG:#}")?;
    }
    if before.owner != after.owner {
        let (old, new) = (before.owner, after.owner);
        writeln!(ui.out, "    owner  {DIM}{old}{DIM:#} → {STRONG}{new}{STRONG:#}")?;
    }
    if before.data.len() != after.data.len() {
        let (old, new) = (before.data.len(), after.data.len());
        writeln!(ui.out, "    data length  {DIM}{old}{DIM:#} → {STRONG}{new}{STRONG:#}")?;
    }
    for range in changes(&before.data, &after.data) {
        let of = |data: &[u8]| {
            let end = range.end.min(data.len());
            data.get(range.start..end).unwrap_or_default().to_vec()
        };
        show_change(ui, range.start, &of(&before.data), &of(&after.data))?;
    }
    Ok(())
}
