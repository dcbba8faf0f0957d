//! Where programs crash: the user's own line, by which findings are grouped.

use std::collections::HashMap;

use selkie::{Crash, Pubkey, Receipt, Svm, TrapReport, runtime::stop::Stop};
use selkie_inspect::{Backtrace, SourceMap, debug_file};

/// The places that are remembered.
const PLACES_MAX: usize = 4096;

/// Where a program crashed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The same text for the same own line.
    pub(crate) group: String,
    /// The own line with its column and function, if it is known.
    pub(crate) own: Option<String>,
}

/// The program, the crash, and the slots of the instruction and of the calls around it.
type Key = (Pubkey, Crash, Vec<usize>);

/// The lines of a chain's programs. Debug information is read when the first crash needs it.
#[derive(Default)]
pub(crate) struct Places {
    programs: HashMap<Pubkey, (Vec<u8>, SourceMap)>,
    known: HashMap<Key, Place>,
}

impl core::fmt::Debug for Places {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Places").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Places {
    /// Returns where the program crashed that stopped a transaction.
    pub(crate) fn of(&mut self, svm: &Svm, receipt: &Receipt, crash: Crash) -> Option<Place> {
        let stopped = receipt.stopped.as_ref()?;
        let stop = stopped.stop();
        let slots = core::iter::once(stop.pc).chain(stop.call_sites()).collect();
        let key = (stopped.program_id, crash, slots);
        if let Some(place) = self.known.get(&key) {
            return Some(place.clone());
        }
        let (_, map) = self.program(svm, &stopped.program_id);
        let backtrace = Backtrace::new(map, key.2.iter().copied());
        let place = place(svm, receipt, &key, &backtrace);
        if self.known.len() >= PLACES_MAX {
            self.known.clear();
        }
        self.known.insert(key, place.clone());
        Some(place)
    }

    /// Explains the crash of a transaction.
    pub(crate) fn explain(&mut self, svm: &Svm, receipt: &Receipt) -> String {
        let Some(stopped) = &receipt.stopped else { return String::new() };
        let (elf, map) = self.program(svm, &stopped.program_id);
        let report = TrapReport::new(&stopped.stop(), elf, map, &receipt.logs);
        // A panic of Rust says in the log what is wrong.
        match receipt.panic_message() {
            Some(message) => format!("{message}\n{report}"),
            None => report.to_string(),
        }
    }

    fn program(&mut self, svm: &Svm, id: &Pubkey) -> &(Vec<u8>, SourceMap) {
        self.programs.entry(*id).or_insert_with(|| {
            let elf = svm.program_elf(id).unwrap_or_default();
            let debug = svm.program_path(id).and_then(|path| debug_file(path, &elf));
            let map = SourceMap::load(debug.map_or_else(|| elf.clone(), |it| it.bytes));
            (elf, map)
        })
    }
}

/// Returns the place of a crash: its own line, or that of the panic's message, or else the function and
/// the slot.
fn place(svm: &Svm, receipt: &Receipt, key: &Key, backtrace: &Backtrace) -> Place {
    let (program, crash, slots) = key;
    let own = backtrace.place_line();
    // Compute units end at any line of a loop: the function is what such crashes have in common.
    if *crash == Crash::ComputeUnits {
        let frame = backtrace.place().or_else(|| backtrace.frames.first());
        let function = frame.and_then(|it| it.function.as_deref());
        let group = match function {
            Some(function) => format!("{crash} in {function}"),
            None => format!("{crash} in {}", named(svm, program)),
        };
        return Place { group, own };
    }
    let group = match (&own, backtrace.place()) {
        (Some(line), Some(frame)) => {
            let column = frame.location.as_ref().and_then(|it| it.column);
            let at = frame.position();
            let row = column.and_then(|column| at.strip_suffix(&format!(":{column}")));
            format!("{crash} at {}", line.replacen(at, row.unwrap_or(at), 1))
        }
        _ => match message_line(receipt).filter(|_| *crash == Crash::Panic) {
            Some(line) => format!("{crash} of {} at {line}", named(svm, program)),
            None => {
                let pc = slots.first().copied().unwrap_or_default();
                let function = backtrace.frames.first().and_then(|it| it.function.as_deref());
                let within = function.map_or_else(String::new, |it| format!(" in {it}"));
                format!("{crash} of {} at pc {pc}{within}", named(svm, program))
            }
        },
    };
    Place { group, own }
}

/// Returns the address of a program, with its name if that is the chain's: others depend on the process.
fn named(svm: &Svm, program: &Pubkey) -> String {
    match svm.program_path(program) {
        Some(_) => svm.show(program),
        None => program.to_string(),
    }
}

/// Returns the line that a panic names in its message: `src/lib.rs:50`.
fn message_line(receipt: &Receipt) -> Option<String> {
    if let Some(message) = receipt.panic_message() {
        let at = message.split_once("panicked at ")?.1;
        let mut parts = at.splitn(3, ':');
        return Some(format!("{}:{}", parts.next()?, parts.next()?));
    }
    // The syscall `sol_panic_` takes the line.
    let stopped = receipt.stopped.as_ref()?;
    let Stop { trap, .. } = stopped.stop();
    let text = trap.to_string();
    let (file, at) = text.split_once("Panicked in ")?.1.rsplit_once(" at ")?;
    Some(format!("{file}:{}", at.split(':').next()?))
}
