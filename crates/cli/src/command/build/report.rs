//! Reports a built program: size, address, functions.

use std::{env, io::Write as _, path::Path};

use anyhow::Result;
use selkie::Pubkey;
use selkie_inspect::{NamedProgram, StackUse, stack_use};
use selkie_svm::{FeatureSet, Purpose, elf_environment};
use serde_json::{Value, json};

use crate::{
    render::count,
    ui::{DIM, GOOD, STRONG, Ui},
};

/// Functions shown without `--functions`.
const LARGEST: usize = 5;

pub(super) struct Report<'a> {
    pub(super) project: &'a str,
    pub(super) program: &'a Path,
    pub(super) toolchain: &'a str,
    pub(super) address: Option<Pubkey>,
    /// The program as it is deployed.
    pub(super) elf: &'a [u8],
    /// The program with symbols and line numbers.
    pub(super) debug: &'a [u8],
    pub(super) is_fresh: bool,
}

/// Returns a path relative to the current folder if it is inside.
pub(super) fn relative(path: &Path) -> &Path {
    let here = env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

impl Report<'_> {
    /// Returns the program with symbols, and its functions, largest first.
    fn functions(&self) -> Result<(NamedProgram, Vec<StackUse>)> {
        let program = NamedProgram::open_any(
            self.elf,
            &elf_environment(FeatureSet::all(), Purpose::Execution),
        )?;
        let program = program.with_names_of(self.debug);
        let mut functions = stack_use(&program);
        functions.sort_by_key(|it| std::cmp::Reverse(it.slots));
        Ok((program, functions))
    }

    pub(super) fn show(&self, ui: &mut Ui, all: bool) -> Result<()> {
        let (program, functions) = self.functions()?;
        let slots: u32 = functions.iter().map(|it| it.slots).sum();
        let done = if self.is_fresh { "fresh" } else { "built" };
        writeln!(
            ui.out,
            "{GOOD}{done}{GOOD:#} {STRONG}{}{STRONG:#}  {DIM}{}, {}, {slots} slots, {} \
             bytes{DIM:#}",
            relative(self.program).display(),
            program.version(),
            count(functions.len(), "function"),
            self.elf.len(),
        )?;
        if let Some(address) = self.address {
            writeln!(ui.out, "   {DIM}address {address}{DIM:#}")?;
        }
        if self.is_fresh && !all {
            return Ok(());
        }
        let shown = if all { functions.len() } else { LARGEST };
        writeln!(ui.out, "{DIM}  slots  stack  function{DIM:#}")?;
        for it in functions.iter().take(shown) {
            writeln!(ui.out, "{:>7}  {:>5}  {}", it.slots, it.bytes, it.function)?;
        }
        if functions.len() > shown {
            let rest = functions.len() - shown;
            writeln!(ui.out, "                {DIM}{rest} more: --functions{DIM:#}")?;
        }
        for (it, note) in functions.iter().filter_map(|it| Some((it, it.note()?))) {
            writeln!(ui.out, "{DIM}note: {} {note}{DIM:#}", it.function)?;
        }
        Ok(())
    }

    pub(super) fn to_json(&self) -> Result<Value> {
        let (program, functions) = self.functions()?;
        let function = |it: &StackUse| json!({ "name": it.function, "pc": it.pc, "slots": it.slots, "stack": it.bytes });
        Ok(json!({
            "project": self.project,
            "program": relative(self.program).display().to_string(),
            "toolchain": self.toolchain,
            "fresh": self.is_fresh,
            "version": program.version().to_string(),
            "bytes": self.elf.len(),
            "address": self.address.map(|it| it.to_string()),
            "functions": functions.iter().map(function).collect::<Vec<_>>(),
        }))
    }
}
