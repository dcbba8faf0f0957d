//! What the explorer's pages ask of transactions and programs.

use std::path::Path;

use selkie::{Pubkey, Replay};
use selkie_debug::{History, PathMap, Session, explorer::Debugger};
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_replay::{DebugFiles, ReplayFile};
use selkie_report::{explain, flame};
use serde_json::Value;

/// Answers by the debug information that is found from the folder of the command.
#[derive(Default, Debug)]
pub(crate) struct Explorer {
    debugger: Debugger,
}

impl selkie_rpc::Explainer for Explorer {
    fn explain(&self, replay: Replay) -> Result<Value, Failure> {
        explain::explain_transaction(replay)
    }

    fn disassemble(
        &self,
        id: Pubkey,
        elf: Vec<u8>,
        from: usize,
        count: Option<usize>,
    ) -> Option<Value> {
        explain::disassemble_program(id, elf, from, count)
    }

    fn flame(&self, replay: Replay, format: Option<&str>) -> Result<Value, Failure> {
        flame::flame_transaction(replay, format)
    }

    fn ask(
        &self,
        name: &str,
        replay: &dyn Fn() -> Result<Option<Replay>, Failure>,
        question: &Value,
    ) -> Result<Value, Failure> {
        let open = || Ok(replay()?.map(session).transpose()?);
        self.debugger.ask(name, &open, question)
    }
}

/// Opens the session of a transaction.
fn session(replay: Replay) -> Result<Session, Failure> {
    let mut file = ReplayFile::default();
    file.push(replay);
    let timeline = file.timeline(0).or_failure()?;
    let mut files = DebugFiles::default();
    files.add_usual(Path::new(""));
    files.add_named(timeline.symbols());
    Ok(Session::new(History::new(timeline, &files), PathMap::default()))
}
