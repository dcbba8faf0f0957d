//! `selkie run`.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    Account, ErrorPlace, ErrorSources, FailedAccount, FailedInstruction, InstructionError,
    ProgramError, TransactionError, account_json, custom_error, programs::errors,
};
use selkie_case::RunMemory;
use selkie_client::instruction_file::InstructionFile;
use selkie_elf::{Executable, NotSbpf};
use selkie_inspect::{Graph, Labels, SourceMap, Style};
use selkie_report::trace::write_step;
use selkie_svm::{
    Detail, Engine, FeatureSet, Inspector, InvokeContext, LoadError, Machine, Next, Processed,
    Pubkey, Purpose, Run, elf_environment,
};
use serde_json::{Value, json};

use crate::{
    args::RunArgs,
    call::Call,
    changes::AccountChange,
    files,
    names::Names,
    program::ProgramFile,
    render::{instruction_text, show_instruction},
    sent::show_return_data,
    ui::{Advise as _, BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

mod trap;

pub(crate) fn run(ui: &mut Ui, args: &RunArgs) -> Result<Status> {
    ui.show_raw(args.raw);
    let Ok(call) = Call::open(ui, &args.program, &args.call, args.url.as_deref())? else {
        return Ok(Status::Failure);
    };
    let Call { file, input, names, .. } = &call;
    let chain = match call.chain() {
        Ok(chain) => chain,
        Err(ProgramError::Load(error)) => return refuse(ui, args, file, &error),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be run", args.program.display()));
        }
    };
    if let Some(path) = &args.save_replay {
        files::write(path, call.replay()?.to_string())?;
    }
    let case = call.case(&chain);
    let engine = Engine::from(args.engine);
    engine.resolve().advise("omit `--engine`, or use `--engine interpreter`")?;
    let process = |engine: Engine, inspector: &mut dyn Inspector| {
        case.run(chain.program_cache(), engine, Some(inspector), &mut RunMemory::default())
    };
    let map = file.source_map();
    let (processed, run) = match &args.trace {
        None => {
            let mut last = LastRun::default();
            (process(engine, &mut last)?, last.0)
        }
        Some(path) => trace(path, file, |tracer| process(engine, tracer))?,
    };
    let ran = Ran::new(processed, run, input, engine);
    let again = |tracer: &mut dyn Inspector| process(Engine::default(), tracer).map(|_| ());
    let report = Report {
        error_place: trap::error_place(&ran, &map, again),
        ran: &ran,
        file,
        map,
        input,
        limit: args.call.limit,
        names,
        error_name: error_name(args, file, &input.instruction.program_id, &ran),
        explanations: explain(args, input, names, &ran),
    };
    if ui.json {
        ui.object(&report.as_json())?;
    } else {
        report.show(ui)?;
    }
    Ok(Status::of(ran.result.is_ok()))
}

/// What the instruction has resulted in.
struct Ran {
    processed: Box<Processed>,
    result: Result<(), InstructionError>,
    /// The end of the program's run, if it was started.
    run: Option<Run>,
    /// The engine that ran the program; the requested one if it was not started.
    engine: Engine,
    /// The accounts that were passed, in order, then the others that the instruction names: before and
    /// after it.
    accounts: Vec<(Pubkey, [Account; 2])>,
}

impl Ran {
    fn new(
        processed: Box<Processed>,
        run: Option<Run>,
        input: &InstructionFile,
        engine: Engine,
    ) -> Self {
        let result = processed.result.clone().map_err(|error| match error {
            TransactionError::InstructionError(_, error) => error,
            _ => InstructionError::GenericError,
        });
        let mut known = BTreeSet::new();
        let passed = input.accounts.iter().map(|(key, _)| *key);
        let named = input.instruction.accounts.iter().map(|meta| meta.pubkey);
        let keys = passed.chain(named).filter(|key| known.insert(*key));
        let accounts = keys.map(|key| {
            let found = processed.accounts.iter().find(|it| it.key == key);
            let before = found.and_then(|it| it.before.clone()).unwrap_or_default();
            let after = found.and_then(|it| it.write.clone()).unwrap_or_else(|| before.clone());
            (key, [before.into(), after.into()])
        });
        let accounts = accounts.collect();
        let engine = run.as_ref().map_or(engine, |run| run.engine);
        Self { processed, result, run, engine, accounts }
    }
}

/// Returns what a custom error means: of the program itself, or of another one that it has called and
/// that failed first.
fn error_name(args: &RunArgs, file: &ProgramFile, program: &Pubkey, ran: &Ran) -> Option<String> {
    let Err(InstructionError::Custom(code)) = ran.result else { return None };
    let logs = &ran.processed.logs;
    let of = errors::failed_program(logs, code).unwrap_or(*program);
    let is_own = of == *program;
    let elf = is_own.then_some(file.elf.as_slice());
    let path = is_own.then_some(args.program.as_path());
    let name = custom_error(&of, code, &ErrorSources { logs, path, elf });
    name.map(|it| it.to_string())
}

/// Says which accounts an error is about that the program returned itself.
fn explain(args: &RunArgs, input: &InstructionFile, names: &Names, ran: &Ran) -> Vec<String> {
    let instruction = &input.instruction;
    let program_id = instruction.program_id;
    let is_own = |line: &String| {
        let failed = line.strip_prefix("Program ").and_then(|it| it.split_once(" failed: "));
        failed.is_none_or(|(id, _)| id == program_id.to_string())
    };
    let logs = &ran.processed.logs;
    let Some(error) = ran.result.as_ref().err().filter(|_| logs.iter().all(is_own)) else {
        return Vec::new();
    };
    let accounts = instruction.accounts.iter().map(|meta| {
        let known = ran.accounts.iter().find(|(key, _)| *key == meta.pubkey);
        let account = known.map(|(_, [_, after])| after.clone()).unwrap_or_default();
        FailedAccount {
            key: meta.pubkey,
            is_signer: meta.is_signer,
            is_writable: meta.is_writable,
            owner: account.owner,
            lamports: account.lamports,
            data_len: account.data.len(),
            is_executable: account.executable,
        }
    });
    let failed = FailedInstruction {
        instruction_index: 0,
        stack_height: 1,
        program_id,
        error: error.clone(),
        accounts: accounts.collect(),
    };
    let sources = ErrorSources { logs, path: Some(&args.program), elf: None };
    failed.explain(&instruction.data, &sources, &|key| names.label(key))
}

fn refuse(ui: &mut Ui, args: &RunArgs, file: &ProgramFile, error: &LoadError) -> Result<Status> {
    let name = args.program.display();
    let not_sbpf = NotSbpf::detect(&file.elf);
    let message = not_sbpf.map_or_else(|| error.to_string(), |it| it.to_string());
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
    process: impl FnOnce(&mut dyn Inspector) -> Result<Box<Processed>, TransactionError>,
) -> Result<(Box<Processed>, Option<Run>)> {
    let named = || format!("cannot write {}", path.display());
    let inspected = crate::program::open_to_inspect(file, None)?;
    let graph = Graph::new(&inspected, Style::Selkie);
    let mut tracer = Tracer {
        out: BufWriter::new(File::create(path).with_context(named)?),
        executable: inspected.executable(),
        names: Labels::new(&inspected, &graph),
        index: 0,
        error: None,
        last: LastRun::default(),
    };
    writeln!(tracer.out, "Frame 0").with_context(named)?;
    let processed = process(&mut tracer)?;
    match tracer.error {
        None => tracer.out.flush().with_context(named)?,
        Some(error) => return Err(error).with_context(named),
    }
    Ok((processed, tracer.last.0))
}

/// Keeps how the last program ran: the one of the instruction, since it ends after those that it invokes.
#[derive(Default)]
struct LastRun(Option<Run>);

impl Inspector for LastRun {
    fn run_end(&mut self, _: &InvokeContext<'_>, run: &Run, _: &[u8]) {
        self.0 = Some(run.clone());
    }
}

struct Tracer<'a> {
    out: BufWriter<File>,
    executable: &'a Executable,
    names: Labels<'a>,
    index: u64,
    error: Option<io::Error>,
    last: LastRun,
}

impl Tracer<'_> {
    fn line(&mut self, pc: usize, registers: &[u64; 11]) -> io::Result<()> {
        let text = instruction_text(self.executable, &self.names, pc);
        write_step(&mut self.out, self.index, registers, pc, &text)
    }
}

impl Inspector for Tracer<'_> {
    fn detail(&self) -> Detail {
        Detail::Instructions
    }

    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        if self.error.is_none() && context.stack_height() == 1 {
            self.error = self.line(machine.pc(), machine.registers()).err();
            self.index += 1;
        }
        Next::Execute
    }

    fn run_end(&mut self, context: &InvokeContext<'_>, run: &Run, input: &[u8]) {
        self.last.run_end(context, run, input);
    }
}

/// The report of a run.
struct Report<'a> {
    ran: &'a Ran,
    file: &'a ProgramFile,
    map: SourceMap,
    /// Where the program decided on the error that it returned.
    error_place: Option<ErrorPlace>,
    input: &'a InstructionFile,
    limit: u64,
    names: &'a Names,
    /// What the custom error means that the program returned, if that is known.
    error_name: Option<String>,
    /// Which accounts the program's error is about.
    explanations: Vec<String>,
}

impl Report<'_> {
    /// Returns the accounts that changed, of those that were passed.
    fn account_changes(&self) -> Vec<AccountChange<'_>> {
        let is_passed = |key: &Pubkey| self.input.accounts.iter().any(|(known, _)| known == key);
        let accounts = self.ran.accounts.iter();
        let changed = accounts.filter(|(key, [before, after])| before != after && is_passed(key));
        changed
            .map(|(key, [before, after])| AccountChange {
                key,
                before: before.clone(),
                after: after.clone(),
            })
            .collect()
    }

    fn r0(&self) -> Option<u64> {
        self.ran.run.as_ref().and_then(|run| run.result.as_ref().ok().copied())
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        let Ran { processed, result, run, .. } = self.ran;
        let Processed { compute_units, logs, return_data, .. } = &**processed;
        for line in logs {
            let line = self.names.annotate(line);
            let line = ui.line(&line);
            writeln!(ui.out, "{DIM}{line}{DIM:#}")?;
        }
        if let Some(returned) = return_data {
            show_return_data(ui, &returned.data)?;
        }
        for change in self.account_changes() {
            change.show(ui, &self.names.show(change.key), &|key| self.names.show(key))?;
        }
        match result {
            Ok(()) => write!(ui.out, "{GOOD}success{GOOD:#}")?,
            Err(error) => write!(ui.out, "{BAD}failed{BAD:#}  {STRONG}{error}{STRONG:#}")?,
        }
        if let Some(name) = &self.error_name {
            write!(ui.out, " {}", ui.line(name))?;
        }
        if let Some(r0) = self.r0() {
            write!(ui.out, "  r0 = {r0}")?;
            if r0 > 9 {
                write!(ui.out, " ({r0:#x})")?;
            }
        }
        writeln!(ui.out, "  {compute_units} of {} compute units", self.limit)?;
        if let Some(place) = &self.error_place {
            trap::show_place(ui, &place.place_line(), &place.other_lines())?;
        }
        if let Some(run) = run {
            trap::show(ui, run, self.file, &self.map, logs)?;
        }
        for note in processed.notes.iter().chain(&self.explanations) {
            let note = self.names.annotate(note);
            let note = ui.line(&note);
            writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        let Ran { processed, result, run, engine, accounts } = self.ran;
        let Processed { compute_units, logs, return_data, .. } = &**processed;
        let accounts = accounts.iter().map(|(key, [_, after])| account_json(key, after));
        let changed = self.account_changes();
        let changed = changed.iter().map(AccountChange::json);
        let trap = run.as_ref().and_then(|run| trap::as_json(run, self.file, &self.map, logs));
        json!({
            "success": result.is_ok(),
            "error": result.as_ref().err().map(ToString::to_string),
            "error_name": self.error_name,
            "r0": self.r0(),
            "compute_units": compute_units,
            "limit": self.limit,
            "engine": format!("{engine:?}").to_lowercase(),
            "program_id": self.input.instruction.program_id.to_string(),
            "logs": logs,
            "return_data": return_data.as_ref().map(|it| BASE64_STANDARD.encode(&it.data)),
            "trap": trap,
            "error_place": self.error_place.as_ref().map(trap::place_json),
            "changed": changed.collect::<Vec<_>>(),
            "accounts": accounts.collect::<Vec<_>>(),
            "notes": processed.notes.iter().chain(&self.explanations).collect::<Vec<_>>(),
        })
    }
}
