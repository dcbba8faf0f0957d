//! What the explorer's pages ask of transactions and programs.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use selkie::Pubkey;
use selkie_debug::{History, PathMap, Session, explorer::Debugger};
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_replay::{DebugFiles, Recordings, ReplayFile, Timeline};
use selkie_report::{explain, flame};
use selkie_rpc::Asked;
use serde_json::Value;

/// Answers by the debug information that is found from the folder of the command.
#[derive(Default, Debug)]
pub(crate) struct Explorer {
    debugger: Debugger,
    /// What was opened instead of a node's transactions.
    opened: Option<Mutex<Recordings>>,
    /// Where debug information is, besides the usual folders.
    symbols: Vec<PathBuf>,
}

impl Explorer {
    /// Looks into recorded transactions.
    pub(crate) fn of(recordings: Recordings, symbols: &[PathBuf]) -> Self {
        let opened = Some(Mutex::new(recordings));
        Self { debugger: Debugger::default(), opened, symbols: symbols.to_owned() }
    }

    /// Runs a transaction once.
    fn timeline(&self, asked: Asked) -> Result<Timeline, Failure> {
        match asked {
            Asked::Replay(replay) => ReplayFile::from(*replay).timeline(0).or_failure(),
            Asked::Opened(number) => {
                let opened = self.opened.as_ref().ok_or("this is a node: nothing was opened")?;
                opened.lock().unwrap_or_else(PoisonError::into_inner).timeline(number)
            }
        }
    }

    /// Opens the session of a transaction.
    fn session(&self, asked: Asked) -> Result<Session, Failure> {
        let timeline = self.timeline(asked)?;
        let mut files = DebugFiles::default();
        self.symbols.iter().for_each(|it| files.add(it));
        files.add_usual(Path::new(""));
        files.add_named(timeline.symbols());
        Ok(Session::new(History::new(timeline, &files), PathMap::default()))
    }
}

impl selkie_rpc::Explainer for Explorer {
    fn explain(&self, asked: Asked) -> Result<Value, Failure> {
        Ok(explain::explain_transaction(&self.timeline(asked)?))
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

    fn flame(&self, asked: Asked, format: Option<&str>) -> Result<Value, Failure> {
        flame::flame_transaction(&self.timeline(asked)?, format)
    }

    fn ask(
        &self,
        name: &str,
        asked: &dyn Fn() -> Result<Option<Asked>, Failure>,
        question: &Value,
    ) -> Result<Value, Failure> {
        let open = || asked()?.map(|it| self.session(it)).transpose();
        self.debugger.ask(name, &open, question)
    }

    fn opened(&self) -> Option<Value> {
        let opened = self.opened.as_ref()?;
        Some(opened.lock().unwrap_or_else(PoisonError::into_inner).json())
    }
}
