//! `selkie disasm --native`: instructions with the machine code of each.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
};

use anyhow::Result;
use selkie_inspect::{Line, Listing, NamedProgram};
use selkie_isa::layout::SLOT_BYTES;
use selkie_vm::{Config, JitError, JitOptions, MachineCode, jit::Span};
use serde_json::{Value, json};

#[cfg_attr(target_arch = "aarch64", path = "native/arm64.rs")]
#[cfg_attr(not(target_arch = "aarch64"), path = "native/x64.rs")]
mod processor;

use crate::{
    args::SwitchArg,
    ui::{Advise as _, DIM, NOTE, STRONG, Ui},
};

/// Compiles a program as for execution, but reproducibly.
pub(super) fn compile(
    ui: &mut Ui,
    program: &NamedProgram,
    hardening: SwitchArg,
) -> Result<MachineCode> {
    if let Err(error) = selkie_vm::verify(program.executable()) {
        ui.warning(&format!("the verifier rejects this program: {error}"))?;
    }
    let options = match hardening {
        SwitchArg::On => JitOptions::default(),
        SwitchArg::Off => JitOptions::plain(),
    };
    let options = JitOptions { seed: Some(0), slots_at_once: usize::MAX, spans: true, ..options };
    let compiled = if MachineCode::SUPPORTED {
        let program = selkie_vm::Program::new(program.executable().clone());
        MachineCode::compile(&program, &Config::default(), &options)
    } else {
        Err(JitError::NoBackEnd)
    };
    compiled
        .map_err(|error| anyhow::anyhow!("cannot list machine code: {error}"))
        .advise("omit `--native` to list only sBPF instructions")
}

/// A listing, and the machine code of its instructions.
pub(super) struct Native<'a> {
    listing: &'a Listing,
    code: Code<'a>,
    /// Also list code that belongs to no instruction.
    is_whole: bool,
}

/// Machine code, grouped by instruction slot.
struct Code<'a> {
    bytes: &'a [u8],
    /// In the order of the code.
    spans: &'a [Span],
    by_slot: BTreeMap<usize, Vec<Span>>,
    shared: Vec<Span>,
}

/// A machine instruction as a disassembler returns it, or data.
struct Decoded {
    len: usize,
    mnemonic: String,
    operands: String,
    /// The offset to which it jumps, if that is a constant.
    target: Option<u64>,
}

/// A machine instruction, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step<'a> {
    offset: usize,
    bytes: &'a [u8],
    mnemonic: String,
    operands: String,
    /// The span that a jump or call to another span targets.
    target: Option<Span>,
}

impl<'a> Native<'a> {
    pub(super) fn new(
        listing: &'a Listing,
        bytes: &'a [u8],
        spans: &'a [Span],
        is_whole: bool,
    ) -> Self {
        let mut by_slot: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
        let mut shared = vec![];
        for span in spans {
            match span.slot {
                Some(slot) => by_slot.entry(slot).or_default().push(*span),
                None => shared.push(*span),
            }
        }
        // Cold code comes last, as in memory.
        by_slot.values_mut().for_each(|spans| spans.sort_by_key(|span| span.cold));
        Self { listing, code: Code { bytes, spans, by_slot, shared }, is_whole }
    }

    /// Returns the spans of an instruction. An `lddw` has two slots.
    fn of(&self, line: &Line) -> impl Iterator<Item = &Span> {
        let start = line.pc as usize;
        let slots = (line.bytes.len() / SLOT_BYTES).max(1);
        self.code.by_slot.range(start..start + slots).flat_map(|(_, spans)| spans)
    }

    /// Returns the spans after the last instruction.
    fn after_last(&self) -> impl Iterator<Item = &Span> {
        let last = self.listing.lines.last();
        let end = last.map_or(0, |line| line.pc as usize + line.bytes.len() / SLOT_BYTES);
        self.code.by_slot.range(end..).flat_map(|(_, spans)| spans)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to a string does not fail");
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let Self { listing, code, .. } = self;
        let (version, bytes) = (listing.version, code.bytes.len());
        writeln!(out, "{DIM}; sBPF {version}; {}, {bytes} bytes in all{DIM:#}", processor::NAME)?;
        for line in &listing.lines {
            write_line(out, line)?;
            code.write(out, self.of(line))?;
        }
        if !self.is_whole {
            return Ok(());
        }
        if self.after_last().next().is_some() {
            writeln!(out, "\n{NOTE}; after the last instruction{NOTE:#}")?;
            code.write(out, self.after_last())?;
        }
        if !code.shared.is_empty() {
            writeln!(out, "\n{NOTE}; shared by all instructions{NOTE:#}")?;
            code.write(out, &code.shared)?;
        }
        Ok(())
    }

    pub(super) fn as_json(&self) -> Value {
        let Self { listing, code, is_whole } = self;
        let lines = listing.lines.iter().map(|line| {
            json!({
                "pc": line.pc,
                "label": line.label,
                "function": line.function.as_deref(),
                "mnemonic": line.mnemonic,
                "operands": line.operands,
                "native": code.as_json(self.of(line)),
            })
        });
        json!({
            "version": listing.version.to_string(),
            "architecture": processor::NAME,
            "native_bytes": code.bytes.len(),
            "instructions": lines.collect::<Vec<_>>(),
            "after_last": is_whole.then(|| code.as_json(self.after_last())),
            "shared": is_whole.then(|| code.as_json(&code.shared)),
        })
    }
}

fn write_line(out: &mut String, line: &Line) -> fmt::Result {
    if line.is_function {
        writeln!(out)?;
    }
    if let Some(label) = &line.label {
        writeln!(out, "{STRONG}{}:{STRONG:#}", label.replace(char::is_control, " "))?;
    }
    let statement = format!("{} {}", line.mnemonic, line.operands.join(", "));
    write!(out, "{:6}  {STRONG}{}{STRONG:#}", line.pc, statement.trim_end())?;
    match &line.comment {
        Some(comment) => writeln!(out, "  {DIM}; {comment}{DIM:#}"),
        None => writeln!(out),
    }
}

impl<'a> Code<'a> {
    /// Decodes the machine instructions of a span. Undecodable bytes are listed as data.
    fn steps(&self, span: &Span) -> Vec<Step<'a>> {
        let bytes = self.bytes.get(span.start..span.end).unwrap_or_default();
        let mut steps = vec![];
        let mut at = 0;
        for insn in processor::decode(bytes, span.start as u64) {
            let reached = insn.target.and_then(|target| self.span_at(target));
            let target = reached.filter(|reached| reached.start != span.start);
            let Decoded { len, mnemonic, operands, .. } = insn;
            let bytes = &bytes[at..at + len];
            steps.push(Step { offset: span.start + at, bytes, mnemonic, operands, target });
            at += len;
        }
        steps
    }

    /// Returns the span that contains an offset.
    fn span_at(&self, offset: u64) -> Option<Span> {
        let offset = usize::try_from(offset).ok()?;
        let count = self.spans.partition_point(|span| span.start <= offset);
        self.spans[..count].last().filter(|span| offset < span.end).copied()
    }

    fn write<'s>(
        &self,
        out: &mut String,
        spans: impl IntoIterator<Item = &'s Span>,
    ) -> fmt::Result {
        // As wide as the last offset, to align columns.
        let digits = format!("{:x}", self.bytes.len()).len().max(4);
        for span in spans {
            let cold = if span.cold { "cold" } else { "" };
            for Step { offset, bytes, mnemonic, operands, target } in self.steps(span) {
                let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let prefix = format!("{cold:>10}  {offset:0digits$x}  {:30}", hex.join(" "));
                let statement = format!("{mnemonic:7} {operands}");
                write!(out, "{DIM}{prefix}{DIM:#}  {}", statement.trim_end())?;
                if let Some(target) = target {
                    write!(out, "  {DIM}; {}{DIM:#}", Target(target))?;
                }
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn as_json<'s>(&self, spans: impl IntoIterator<Item = &'s Span>) -> Vec<Value> {
        let steps = spans.into_iter().flat_map(|span| {
            self.steps(span).into_iter().map(|step| {
                json!({
                    "offset": step.offset,
                    "bytes": hex::encode(step.bytes),
                    "mnemonic": step.mnemonic,
                    "operands": step.operands,
                    "cold": span.cold,
                    "target_pc": step.target.and_then(|target| target.slot),
                })
            })
        });
        steps.collect()
    }
}

/// The target of a jump or call; displays as its pc, or `shared`.
struct Target(Span);

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.slot {
            Some(slot) => write!(f, "pc {slot}")?,
            None => f.write_str("shared")?,
        }
        if self.0.cold && self.0.slot.is_some() { f.write_str(", cold") } else { Ok(()) }
    }
}

#[cfg(all(test, not(target_arch = "aarch64")))]
mod tests {
    use std::sync::Arc;

    use anstream::adapter::strip_str;
    use selkie_isa::Version;

    use super::*;

    /// Three instructions of V0 with machine code that stands for theirs, as text and as data.
    fn example() -> (String, Value) {
        let text = [
            [0xb7, 0, 0, 0, 7, 0, 0, 0],       // mov64 r0, 7
            [0x15, 0, 0xfe, 0xff, 0, 0, 0, 0], // jeq r0, 0, -2
            [0x95, 0, 0, 0, 0, 0, 0, 0],       // exit
        ];
        let program = NamedProgram::bare(Version::V0, text.as_flattened(), &Arc::default());
        let pieces: [(Option<usize>, bool, &[u8]); 6] = [
            (Some(0), false, &[0x48, 0x89, 0xd8]), // mov rax, rbx
            (Some(1), false, &[0x0f, 0x84, 0xf7, 0xff, 0xff, 0xff]), // je 0
            (Some(2), false, &[0xeb, 0x01, 0xc3]), // jmp 12; ret
            (Some(1), true, &[0xeb, 0x01]),        // jmp 15
            (Some(3), true, &[0xc3]),              // ret
            (None, false, &[0x06, 0xe8, 0xf7, 0xff, 0xff, 0xff]), // no instruction; call 12
        ];
        let mut bytes = vec![];
        let spans = pieces.map(|(slot, cold, piece)| {
            let start = bytes.len();
            bytes.extend_from_slice(piece);
            Span { start, end: bytes.len(), slot, cold }
        });
        let listing = Listing::new(&program);
        let native = Native::new(&listing, &bytes, &spans, true);
        (strip_str(&native.text()).to_string(), native.as_json())
    }

    #[test]
    fn machine_code_is_beneath_its_instruction() {
        let expected = "\
; sBPF v0; x86-64, 21 bytes in all

entrypoint:
     0  mov64 r0, 7
            0000  48 89 d8                        mov     rax, rbx
     1  jeq r0, 0, entrypoint
            0003  0f 84 f7 ff ff ff               je      0x0  ; pc 0
      cold  000c  eb 01                           jmp     0xf  ; shared
     2  exit
            0009  eb 01                           jmp     0xc  ; pc 1, cold
            000b  c3                              ret

; after the last instruction
      cold  000e  c3                              ret

; shared by all instructions
            000f  06                              db      0x06
            0010  e8 f7 ff ff ff                  call    0xc  ; pc 1, cold
";
        assert_eq!(example().0, expected);
    }

    #[test]
    fn machine_code_as_data() {
        let (_, json) = example();
        let expected = json!({
            "offset": 12,
            "bytes": "eb01",
            "mnemonic": "jmp",
            "operands": "0xf",
            "cold": true,
            "target_pc": null,
        });
        assert_eq!(json["instructions"][1]["native"][1], expected);
        assert_eq!(json["instructions"][1]["native"][0]["target_pc"], 0);
        assert_eq!(json["shared"][0]["mnemonic"], "db");
        assert_eq!(json["native_bytes"], 21);
    }
}
