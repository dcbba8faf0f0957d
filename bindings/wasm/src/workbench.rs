//! The methods: their names, parameters and results.

use core::cell::Cell;

use selkie::{Pubkey, Svm};
use selkie_asm::format;
use selkie_debug::explorer::Debugger;
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_report::explain;
use serde_json::{Value, json};

use crate::{input::Input, program, run::Run};

/// A chain with the well-known programs, and the runs that are looked at.
pub struct Workbench {
    svm: Svm,
    debugger: Debugger,
    runs: u64,
}

impl Default for Workbench {
    fn default() -> Self {
        Self { svm: Svm::new(), debugger: Debugger::default(), runs: 0 }
    }
}

impl core::fmt::Debug for Workbench {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Workbench").field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Workbench {
    /// Answers `{"method": NAME, "params": […]}`:
    ///
    /// | method | parameters | result |
    /// |---|---|---|
    /// | `assemble` | `{source, version}` | diagnostics, and what the program consists of |
    /// | `elf` | `{source, version}` | the program's file in base64, with debug information |
    /// | `format` | text | the text as `selkie fmt` writes it |
    /// | `disassemble` | `{elf, from, count}` | functions and instructions |
    /// | `run` | `{source, version}` or `{elf}`, and the instruction | diagnostics, and the run |
    /// | `selkie_debugTransaction` | the name of a run, and a question | as of the node's method |
    ///
    /// An instruction has the form that `selkie run --input` takes; ELF files are in base64.
    pub fn answer(&mut self, question: &str) -> String {
        let answer = self.try_answer(question);
        let answer = answer.map_or_else(
            |failure| json!({ "error": { "message": message(&failure) } }),
            |result| json!({ "result": result }),
        );
        answer.to_string()
    }

    fn try_answer(&mut self, question: &str) -> Result<Value, Failure> {
        let question: Value = serde_json::from_str(question).or_failure()?;
        let method = question["method"].as_str().ok_or("`method` is not text")?;
        let (params, second) = (&question["params"][0], &question["params"][1]);
        match method {
            "assemble" => Ok(program::assemble(params)?.as_json()),
            "elf" => program::file(params),
            "format" => {
                let source = params.as_str().ok_or("the source is not text")?;
                format(source, program::NAME)
                    .map(Value::from)
                    .map_err(|output| output.render(false).trim_end().to_owned().into())
            }
            "disassemble" => disassemble(params),
            "run" => self.run(params),
            "selkie_debugTransaction" => {
                let name = params.as_str().ok_or("the name of the run is not text")?;
                self.debugger.ask(name, &|| Ok(None), second)
            }
            other => Err(format!("there is no method `{other}`").into()),
        }
    }

    /// Assembles and runs a program. Of a source with errors there are only the diagnostics.
    fn run(&mut self, params: &Value) -> Result<Value, Failure> {
        let program = program::open(params)?;
        let mut answer = program.as_json();
        let Some(elf) = &program.elf else { return Ok(answer) };
        let input = Input::read(params)?;
        let run = Run::new(&self.svm, elf, &input)?;
        answer["run"] = run.as_json(&input);
        self.runs = self.runs.wrapping_add(1);
        let name = format!("run {}", self.runs);
        let session = Cell::new(Some(run.into_session(program.source.as_deref())));
        answer["steps"] =
            self.debugger.ask(&name, &|| Ok(session.take()), &json!({ "ask": "run" }))?;
        answer["name"] = name.into();
        Ok(answer)
    }
}

fn disassemble(params: &Value) -> Result<Value, Failure> {
    let number = |name: &str| params[name].as_u64().and_then(|it| usize::try_from(it).ok());
    let elf = program::bytes(&params["elf"])?;
    let listing = explain::disassemble_program(
        Pubkey::default(),
        elf,
        number("from").unwrap_or(0),
        number("count"),
    );
    listing.ok_or_else(|| "this is no program: no loader takes the file".into())
}

/// A failure with its causes and what helps.
fn message(failure: &Failure) -> String {
    let help = failure.help().map(|it| format!("; {it}")).unwrap_or_default();
    format!("{}{help}", failure.chain())
}
