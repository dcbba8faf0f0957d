//! `selkie run`.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    ErrorPlace, ErrorSources, FailedAccount, FailedInstruction, InstructionError, custom_error,
    programs::errors,
};
use selkie_client::instruction_file::InstructionFile;
use selkie_elf::NotSbpf;
use selkie_inspect::{Graph, Labels, SourceMap, Style};
use selkie_report::trace::write_step;
use selkie_svm::{
    Detail, FeatureSet, Inspector, InstructionResult, InvokeContext, LoadError, Loader, Machine,
    Next, Options, Program, Pubkey, Purpose, elf_environment, process_instruction,
};
use serde_json::{Value, json};

use crate::{
    args::RunArgs,
    call::Call,
    changes::{AccountChange, account_json},
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
    let mut environment = call.environment.clone();
    let program = match load(file, call.loader(), environment.features) {
        Ok(program) => Arc::new(program),
        Err(error) => return refuse(ui, args, file, &error),
    };
    environment.programs.insert(input.instruction.program_id, Arc::clone(&program));
    if let Some(path) = &args.save_replay {
        files::write(path, call.replay()?.to_string())?;
    }
    let options = Options { budget: call.budget(), engine: args.engine.into() };
    let InstructionFile { instruction, accounts } = input;
    let process_with = |options: &Options, inspector: Option<&mut dyn Inspector>| {
        process_instruction(instruction, accounts, &environment, options, inspector)
            .advise("omit `--engine`, or use `--engine interpreter`")
    };
    let process = |inspector: Option<&mut dyn Inspector>| process_with(&options, inspector);
    let receipt = match &args.trace {
        None => process(None)?,
        Some(path) => trace(path, file, &program, process)?,
    };
    let map = file.source_map();
    let again = Options { engine: Default::default(), ..options };
    let error_place = trap::error_place(&receipt, &map, |tracer| process_with(&again, tracer));
    let report = Report {
        receipt: &receipt,
        file,
        error_place,
        map,
        input,
        limit: args.call.limit,
        names,
        error_name: error_name(args, file, &input.instruction.program_id, &receipt),
        explanations: explain(args, input, names, &receipt),
    };
    if ui.json {
        ui.object(&report.as_json())?;
    } else {
        report.show(ui)?;
    }
    Ok(Status::of(receipt.result.is_ok()))
}

/// Returns what a custom error means: of the program itself, or of another one that it has called and
/// that failed first.
fn error_name(
    args: &RunArgs,
    file: &ProgramFile,
    program: &Pubkey,
    receipt: &InstructionResult,
) -> Option<String> {
    let Err(InstructionError::Custom(code)) = receipt.result else { return None };
    let logs = &receipt.logs;
    let of = errors::failed_program(logs, code).unwrap_or(*program);
    let is_own = of == *program;
    let elf = is_own.then_some(file.elf.as_slice());
    let path = is_own.then_some(args.program.as_path());
    let name = custom_error(&of, code, &ErrorSources { logs, path, elf });
    name.map(|it| it.to_string())
}

/// Says which accounts an error is about that the program returned itself.
fn explain(
    args: &RunArgs,
    input: &InstructionFile,
    names: &Names,
    receipt: &InstructionResult,
) -> Vec<String> {
    let instruction = &input.instruction;
    let program_id = instruction.program_id;
    let is_own = |line: &String| {
        let failed = line.strip_prefix("Program ").and_then(|it| it.split_once(" failed: "));
        failed.is_none_or(|(id, _)| id == program_id.to_string())
    };
    let Some(error) = receipt.result.as_ref().err().filter(|_| receipt.logs.iter().all(is_own))
    else {
        return Vec::new();
    };
    let accounts = instruction.accounts.iter().map(|meta| {
        let known = receipt.accounts.iter().find(|(key, _)| *key == meta.pubkey);
        let account = known.map(|(_, account)| account.clone()).unwrap_or_default();
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
    let sources = ErrorSources { logs: &receipt.logs, path: Some(&args.program), elf: None };
    failed.explain(&instruction.data, &sources, &|key| names.label(key))
}

fn load(file: &ProgramFile, loader: Loader, features: FeatureSet) -> Result<Program, LoadError> {
    let environment = elf_environment(features, Purpose::Execution);
    Program::load(&file.elf, loader, &environment)
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
    program: &Program,
    process: impl FnOnce(Option<&mut dyn Inspector>) -> Result<InstructionResult>,
) -> Result<InstructionResult> {
    let named = || format!("cannot write {}", path.display());
    let inspected = crate::program::open_to_inspect(file, None)?;
    let graph = Graph::new(&inspected, Style::Selkie);
    let mut tracer = Tracer {
        out: BufWriter::new(File::create(path).with_context(named)?),
        program,
        names: Labels::new(&inspected, &graph),
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
    index: u64,
    error: Option<io::Error>,
}

impl Tracer<'_> {
    fn line(&mut self, pc: usize, registers: &[u64; 11]) -> io::Result<()> {
        let text = instruction_text(self.program.executable(), &self.names, pc);
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
}

/// The report of a run.
struct Report<'a> {
    receipt: &'a InstructionResult,
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
    /// Returns the accounts that changed.
    fn account_changes(&self) -> Vec<AccountChange<'_>> {
        let before = |key: &Pubkey| {
            let given = self.input.accounts.iter().find(|(known, _)| known == key);
            given.map(|(_, account)| account.clone())
        };
        let changed = self.receipt.accounts.iter().filter_map(|(key, after)| {
            let before = before(key)?;
            (before != *after).then(|| AccountChange { key, before, after: after.clone() })
        });
        changed.collect()
    }

    fn r0(&self) -> Option<u64> {
        self.receipt.run.as_ref().and_then(|run| run.result.as_ref().ok().copied())
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        let InstructionResult { result, compute_units, logs, return_data, run, .. } = self.receipt;
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
            trap::show(ui, run, self.file, &self.map, &self.receipt.logs)?;
        }
        for note in self.receipt.notes.iter().chain(&self.explanations) {
            let note = self.names.annotate(note);
            let note = ui.line(&note);
            writeln!(ui.out, "{NOTE}note{NOTE:#}: {note}")?;
        }
        Ok(())
    }

    fn as_json(&self) -> Value {
        let InstructionResult { result, compute_units, logs, return_data, run, engine, .. } =
            self.receipt;
        let accounts =
            self.receipt.accounts.iter().map(|(key, account)| account_json(key, account));
        let changed = self.account_changes();
        let changed = changed.iter().map(AccountChange::json);
        let trap = run
            .as_ref()
            .and_then(|run| trap::as_json(run, self.file, &self.map, &self.receipt.logs));
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
            "notes": self.receipt.notes.iter().chain(&self.explanations).collect::<Vec<_>>(),
        })
    }
}
