//! `selkie check`.

use std::{collections::BTreeSet, io::Write as _, path::Path};

use anyhow::Result;
use selkie_elf::{ElfError, Environment, Executable};
use selkie_inspect::{SourceMap, StackUse, stack_use};
use selkie_isa::symbol::murmur3;
use selkie_svm::{
    LoadError, Purpose, RefusedFile, Rules, check_file, elf_environment, syscalls::explain_unknown,
};
use selkie_vm::VerifyError;
use serde_json::{Value, json};

use crate::{
    args::CheckArgs,
    program::{PROGRAMS_ARE_BUILT, ProgramFile},
    render::{count, location_of, show_instruction},
    ui::{BAD, DIM, GOOD, NOTE, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CheckArgs) -> Result<Status> {
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let purpose = if args.execution { Purpose::Execution } else { Purpose::Deployment };
    let features = args.features.of(Rules::mainnet()).features;
    let executable = match check_file(&file.elf, features, purpose) {
        Ok(executable) => executable,
        Err(refused) => return refuse(ui, &args.program, &file.source_map(), &refused),
    };
    let accepted = Accepted::new(&file, executable, &elf_environment(features, purpose))?;
    if ui.json {
        ui.object(&accepted.json())?;
    } else {
        accepted.show(ui, args)?;
    }
    Ok(Status::Success)
}

/// What is shown of a program that is accepted.
struct Accepted<'a> {
    file: &'a ProgramFile,
    executable: Executable,
    instructions: usize,
    syscalls: BTreeSet<String>,
    /// Functions whose stack frame is too large.
    overruns: Vec<StackUse>,
}

impl<'a> Accepted<'a> {
    fn new(
        file: &'a ProgramFile,
        executable: Executable,
        environment: &Environment,
    ) -> Result<Self> {
        let program = selkie_inspect::NamedProgram::open(&file.elf, environment)?;
        let program = program.with_names_of(file.with_debug_info());
        let (version, text) = (executable.version(), executable.text());
        let instructions = selkie_isa::insn::instructions(version, text).count();
        let overruns = stack_use(&program).into_iter().filter(|it| it.is_live && it.excess() > 0);
        let overruns = overruns.collect();
        Ok(Self { file, executable, instructions, syscalls: program.called_syscalls(), overruns })
    }

    fn json(&self) -> Value {
        let overruns = self.overruns.iter().map(|it| {
            json!({ "function": it.function, "pc": it.pc, "bytes": it.bytes, "excess": it.excess() })
        });
        json!({
            "accepted": true,
            "version": self.executable.version().to_string(),
            "entry_pc": self.executable.entry_pc(),
            "instructions": self.instructions,
            "text_bytes": self.executable.text().len(),
            "read_only_bytes": self.executable.read_only().bytes.len(),
            "file_bytes": self.file.elf.len(),
            "syscalls": self.syscalls,
            "stack_overruns": overruns.collect::<Vec<_>>(),
        })
    }

    fn show(&self, ui: &mut Ui, args: &CheckArgs) -> Result<()> {
        let rules = if args.execution { "may run" } else { "may be deployed and run" };
        let (program, version) = (args.program.display(), self.executable.version());
        let instructions = count(self.instructions, "instruction");
        let (text, file) = (self.executable.text().len(), self.file.elf.len());
        writeln!(
            ui.out,
            "{GOOD}ok{GOOD:#} {STRONG}{program}{STRONG:#} {rules}  {DIM}sBPF {version}, \
             {instructions}, {text} bytes of code, {file} bytes in all{DIM:#}",
        )?;
        if !self.syscalls.is_empty() {
            let syscalls = Vec::from_iter(self.syscalls.iter().map(String::as_str)).join(" ");
            writeln!(ui.out, "   {DIM}syscalls: {syscalls}{DIM:#}")?;
        }
        self.warn_of_overruns(ui)
    }

    fn warn_of_overruns(&self, ui: &mut Ui) -> Result<()> {
        let map = self.file.source_map();
        for it in &self.overruns {
            let location = map.locate(it.deepest_pc.unwrap_or(it.pc) as usize);
            let warning = it.warning().unwrap_or_default();
            ui.warning(&format!("function {}{location}: {warning}", it.function))?;
        }
        Ok(())
    }
}

/// Shows why a program is rejected.
pub(crate) fn refuse(
    ui: &mut Ui,
    program: &Path,
    map: &SourceMap,
    refused: &RefusedFile,
) -> Result<Status> {
    let RefusedFile { error, executable } = refused;
    let (stage, by, pc) = match error {
        LoadError::NotSbpf(_) | LoadError::Truncated => ("file", "", None),
        LoadError::Elf(error) => ("load", " by the loader", elf_pc(error)),
        LoadError::UnknownSyscall(_) => ("load", " by the loader", None),
        LoadError::Verify(error) => ("verify", " by the verifier", error.pc()),
    };
    let message = error.to_string();
    let help = help_for(error);
    if ui.json {
        ui.object(&json!({
            "accepted": false,
            "program": program.display().to_string(),
            "stage": stage,
            "error": message,
            "pc": pc,
            "location": pc.map_or(Value::Null, |pc| location_of(map, pc)),
            "help": help,
        }))?;
        return Ok(Status::Failure);
    }
    let name = program.display();
    writeln!(
        ui.out,
        "{BAD}refused{BAD:#} {STRONG}{name}{STRONG:#}{by}: {STRONG}{message}{STRONG:#}"
    )?;
    if let (Some(executable), Some(pc)) = (executable, pc) {
        show_instruction(ui, executable, map, pc)?;
    }
    help.iter().try_for_each(|help| writeln!(ui.out, "{NOTE}help{NOTE:#}: {help}"))?;
    Ok(Status::Failure)
}

fn elf_pc(error: &ElfError) -> Option<usize> {
    match error {
        ElfError::UnresolvedSymbol(_, pc, _) => usize::try_from(*pc).ok(),
        ElfError::RelativeJumpOutOfBounds(pc) => usize::try_from(*pc).ok(),
        _ => None,
    }
}

/// Explains why a syscall is not there.
fn unknown_syscall(key: u32) -> Option<String> {
    let why = explain_unknown(key)?;
    Some(format!("{why}; --feature of `selkie check` and `selkie build` switches it"))
}

/// Returns what to do about an error, if known.
fn help_for(error: &LoadError) -> Option<String> {
    let text = match error {
        LoadError::NotSbpf(_) => PROGRAMS_ARE_BUILT.to_owned(),
        LoadError::Truncated => {
            "the file may be incomplete: copy or download it again; the loader would accept it"
                .to_owned()
        }
        LoadError::Elf(ElfError::UnresolvedSymbol(name, ..)) => unknown_syscall(murmur3(
            name.as_bytes(),
        ))
        .unwrap_or_else(|| {
            format!(
                "`{name}` is neither defined in the program nor a syscall of mainnet: check its \
                     spelling, and that the object that defines it is linked"
            )
        }),
        LoadError::Elf(ElfError::UnsupportedSBPFVersion) => {
            "mainnet runs sBPF v0 to v3; e_flags of the ELF header holds the version".to_owned()
        }
        LoadError::Elf(ElfError::WritableSectionNotSupported(name)) => format!(
            "programs have no writable globals: make the data in {name} constant, or move it to an \
             account, the stack or the heap"
        ),
        LoadError::Elf(ElfError::NotOneTextSection) => {
            "link the object files with `selkie link` first".to_owned()
        }
        LoadError::Elf(ElfError::FailedToParse(_) | ElfError::InvalidProgramHeader) => {
            "check that this ELF file was built for sBPF".to_owned()
        }
        LoadError::Verify(VerifyError::CannotWriteR10 { .. }) => {
            "r10 is the frame pointer: copy it to another register and change the copy".to_owned()
        }
        LoadError::Verify(VerifyError::UnknownOpcode { .. }) => {
            "check that the program was built for the sBPF version in e_flags of its ELF header"
                .to_owned()
        }
        LoadError::Verify(VerifyError::InvalidFunction { .. }) => {
            "the call targets itself: it was never relocated, or its function only calls itself"
                .to_owned()
        }
        LoadError::Verify(VerifyError::InvalidSyscall { key, .. }) => unknown_syscall(*key)
            .unwrap_or_else(|| "no syscall of mainnet has this hash".to_owned()),
        _ => return None,
    };
    Some(text)
}
