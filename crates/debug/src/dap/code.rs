//! Requests about code: disassembly, sources, modules.

use core::fmt;

use serde_json::{Value, json};

use super::{
    arguments::{Memory, SourceRequest, read},
    server::{Answer, Server},
};

/// The instructions of one request.
const INSTRUCTIONS_MAX: usize = 10_000;

/// The slots of a listing.
const LISTING_SLOTS_MAX: u32 = 1 << 20;

/// The address of an instruction as editors see it. All programs are at the same guest address, so
/// each has a range of its own here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CodeAddress {
    pub(super) program: usize,
    pub(super) pc: u32,
}

/// The first bit of the program's number in an address.
const PROGRAM_SHIFT: u32 = 40;

impl CodeAddress {
    /// Parses a reference, moved by so many bytes.
    pub(super) fn parse(reference: &str, offset: i64) -> Option<Self> {
        let address = parse_address(reference)?.checked_add_signed(offset)?;
        let program = usize::try_from(address >> PROGRAM_SHIFT).ok()?.checked_sub(1)?;
        let pc = u32::try_from((address & ((1 << PROGRAM_SHIFT) - 1)) / 8).ok()?;
        Some(Self { program, pc })
    }

    fn number(self) -> u64 {
        ((self.program as u64 + 1) << PROGRAM_SHIFT) + u64::from(self.pc) * 8
    }
}

impl fmt::Display for CodeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.number())
    }
}

impl Server {
    pub(super) fn disassemble(&mut self, arguments: &Value) -> Answer {
        let arguments: Memory = read(arguments)?;
        let start = CodeAddress::parse(&arguments.memory_reference, arguments.offset)
            .ok_or_else(|| format!("no instruction at {}", arguments.memory_reference))?;
        let first = i64::from(start.pc).saturating_add(arguments.instruction_offset);
        let count = arguments.instruction_count.min(INSTRUCTIONS_MAX);
        let last = first.saturating_add_unsigned(count as u64);
        let slot = |pc: i64| u32::try_from(pc.max(0)).unwrap_or(u32::MAX);
        let texts = self.session()?.instructions(start.program, slot(first)..slot(last));
        let mut texts = texts.into_iter();
        // Editors ask for a fixed number, also before the first one and after the last.
        let instruction = |pc: i64| match (pc >= 0).then(|| texts.next()).flatten() {
            Some(text) => self.instruction(start.program, slot(pc), text),
            None => Ok(no_instruction(start.program, pc)),
        };
        let instructions: Answer = (first..last).map(instruction).collect();
        Ok(json!({ "instructions": instructions? }))
    }

    fn instruction(&mut self, program: usize, pc: u32, text: String) -> Answer {
        let session = self.session()?;
        let location = session.location(program, pc);
        let symbol = session.function_start(program, pc);
        let mut answer = json!({
            "address": CodeAddress { program, pc }.to_string(),
            "instruction": text,
        });
        if let Some(name) = symbol {
            answer["symbol"] = name.into();
        }
        if let Some(location) = location {
            answer["location"] = self.source_of(&location.file, program);
            answer["line"] = self.editor_line(location.line).into();
        }
        Ok(answer)
    }

    /// Returns a source as editors know it: a file, or a listing if the file is not here.
    pub(super) fn source_of(&self, path: &str, program: usize) -> Value {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        match self.find_source(path) {
            Some(path) => json!({ "name": name, "path": path }),
            None => json!({
                "name": format!("{name} (not here)"),
                "sourceReference": program + 1,
                "presentationHint": "deemphasize",
            }),
        }
    }

    pub(super) fn source(&mut self, arguments: &Value) -> Answer {
        let arguments: SourceRequest = read(arguments)?;
        let reference = arguments.source.source_reference.unwrap_or(arguments.source_reference);
        let program = usize::try_from(reference).ok().and_then(|it| it.checked_sub(1));
        let session = self.session()?;
        let program = program.filter(|&it| it < session.programs().len());
        let program = program.ok_or_else(|| format!("there is no source {reference}"))?;
        let slots = session.slots(program).min(LISTING_SLOTS_MAX);
        let lines = session.instructions(program, 0..slots);
        Ok(json!({ "content": lines.join("\n"), "mimeType": "text/x-sbpf-assembly" }))
    }

    pub(super) fn loaded_sources(&mut self, _: &Value) -> Answer {
        let session = self.session()?;
        let paths = session.paths().clone();
        let files = session.programs().iter().flat_map(|it| it.info.files());
        let files: Vec<String> = files.map(|it| paths.local(it)).collect();
        let here = files.iter().filter(|it| self.find_source(it).is_some());
        let sources: Vec<Value> = here.map(|it| self.source_of(it, 0)).collect();
        Ok(json!({ "sources": sources }))
    }

    pub(super) fn modules(&mut self, _: &Value) -> Answer {
        let programs = self.session()?.programs().iter().enumerate();
        let module = |(index, it): (usize, &crate::session::DebuggedProgram)| {
            let status =
                if it.info.has_lines() { "debug information" } else { "no debug information" };
            json!({
                "id": index,
                "name": it.file.name,
                "symbolStatus": status,
                "addressRange": CodeAddress { program: index, pc: 0 }.to_string(),
            })
        };
        let modules: Vec<Value> = programs.map(module).collect();
        Ok(json!({ "totalModules": modules.len(), "modules": modules }))
    }
}

/// Describes an address without an instruction.
fn no_instruction(program: usize, pc: i64) -> Value {
    let first = CodeAddress { program, pc: 0 }.number();
    let address = first.wrapping_add_signed(pc.saturating_mul(8));
    json!({ "address": format!("{address:#x}"), "instruction": "", "presentationHint": "invalid" })
}

/// The address of data. Programs that wait for one that they have invoked have memory of their own at
/// the same addresses, so those are `ADDRESS@INSTRUCTION`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataAddress {
    pub(super) number: u64,
    /// The instruction whose memory it is; `None` for the one that runs.
    pub(super) instruction: Option<u32>,
}

impl DataAddress {
    pub(super) fn parse(reference: &str, offset: i64) -> Option<Self> {
        let (number, instruction) = match reference.split_once('@') {
            Some((number, instruction)) => (number, Some(instruction.trim().parse().ok()?)),
            None => (reference, None),
        };
        let number = parse_address(number)?.checked_add_signed(offset)?;
        Some(Self { number, instruction })
    }
}

impl fmt::Display for DataAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.number)?;
        self.instruction.map_or(Ok(()), |it| write!(f, "@{it}"))
    }
}

/// Parses an address in hexadecimal with `0x`, or in decimal.
pub(super) fn parse_address(text: &str) -> Option<u64> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.trim().parse().ok(),
    }
}
