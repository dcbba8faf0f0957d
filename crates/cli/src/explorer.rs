//! What the explorer's pages ask of transactions and programs.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use selkie::Pubkey;
use selkie_debug::{History, PathMap, Session, explorer::Debugger};
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_replay::{DebugFiles, Recordings, ReplayFile, Timeline};
use selkie_report::{Usage, explain, flame};
use selkie_rpc::{Asked, Interface};
use serde_json::Value;

use crate::interfaces::Interfaces;

/// Answers by the debug information that is found from the folder of the command.
#[derive(Default, Debug)]
pub(crate) struct Explorer {
    debugger: Debugger,
    /// What was opened instead of a node's transactions.
    opened: Option<Mutex<Recordings>>,
    /// Where debug information is, besides the usual folders.
    symbols: Vec<PathBuf>,
    interfaces: Interfaces,
}

impl Explorer {
    /// Looks into recorded transactions.
    pub(crate) fn of(recordings: Recordings, symbols: &[PathBuf]) -> Self {
        let opened = Some(Mutex::new(recordings));
        Self { opened, symbols: symbols.to_owned(), ..Self::default() }
    }

    /// Runs a transaction once.
    fn timeline(&self, asked: Asked) -> Result<Timeline, Failure> {
        match asked {
            Asked::Replay(replay) => ReplayFile::from(*replay).timeline(0).or_failure(),
            Asked::Opened(number) => {
                let opened = self.opened.as_ref().ok_or("this is a node: nothing was opened")?;
                opened.lock().unwrap_or_else(PoisonError::into_inner).timeline(number)
            }
            Asked::AllOpened => Err("these are several transactions: name one".into()),
        }
    }

    /// Runs each transaction of what is asked about once, when it comes to it.
    fn timelines(&self, asked: Asked) -> impl Iterator<Item = Result<Timeline, Failure>> {
        let all = match asked {
            Asked::AllOpened => {
                let opened = self.opened.as_ref();
                let len = |it: &Mutex<Recordings>| {
                    it.lock().unwrap_or_else(PoisonError::into_inner).len()
                };
                (0..opened.map_or(0, len)).map(Asked::Opened).collect()
            }
            one => vec![one],
        };
        all.into_iter().map(|it| self.timeline(it))
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

    fn graph(&self, id: Pubkey, elf: Vec<u8>, function: u32) -> Option<Value> {
        explain::function_graph(id, elf, function)
    }

    fn flame(&self, asked: Asked, format: Option<&str>) -> Result<Value, Failure> {
        flame::flame(self.timelines(asked), format)
    }

    fn usage(&self, asked: Vec<Asked>, program: Option<&Pubkey>) -> Result<Value, Failure> {
        let mut usage = Usage::default();
        for timeline in asked.into_iter().flat_map(|it| self.timelines(it)) {
            usage.add(&timeline?);
        }
        Ok(usage.to_json(program))
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

    fn interface(
        &self,
        program: &Pubkey,
        elf: &dyn Fn() -> Option<Vec<u8>>,
    ) -> Option<Arc<Interface>> {
        self.interfaces.find(program, elf)
    }

    fn opened(&self) -> Option<Value> {
        let opened = self.opened.as_ref()?;
        Some(opened.lock().unwrap_or_else(PoisonError::into_inner).json())
    }
}
