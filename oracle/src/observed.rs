//! The observable outcome of a run, in terms that both sides share.

use core::fmt::Write as _;

use crate::case::{Case, hex, quoted};

/// The end of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// r0.
    Ok(u64),
    /// The error's `Debug` text and its message.
    Err { debug: String, display: String },
}

/// FNV-1a, 64 bits, of bytes that follow those that hashed to `hash`.
fn fnv1a_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const FNV1A_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits: the hash that conformance vectors use.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    fnv1a_on(FNV1A_START, bytes)
}

/// Events: their number and a hash of them. For instructions, the registers before each are hashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Trace {
    pub(crate) len: u64,
    pub(crate) fnv: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Self { len: 0, fnv: FNV1A_START }
    }
}

impl Trace {
    pub(crate) fn push(&mut self, registers: &[u64], pc: u64) {
        self.note(registers);
        self.fnv = fnv1a_on(self.fnv, &pc.to_le_bytes());
    }

    /// Adds an event, described by these numbers.
    pub(crate) fn note(&mut self, numbers: &[u64]) {
        self.len += 1;
        for value in numbers {
            self.fnv = fnv1a_on(self.fnv, &value.to_le_bytes());
        }
    }
}

/// The state after a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub(crate) end: End,
    pub(crate) consumed: u64,
    pub(crate) pc: u64,
    pub(crate) registers: [u64; 11],
    pub(crate) depth: u64,
    /// The return addresses of active calls.
    pub(crate) return_pcs: Vec<u64>,
    /// The remaining compute units.
    pub(crate) remaining: u64,
    /// All bytes of each region's buffer, then the guest's view of regions whose buffer a hook may have
    /// replaced.
    pub(crate) memory: Vec<Vec<u8>>,
    pub(crate) trace: Trace,
    /// The calls of the host, in order: syscalls and access violations.
    pub(crate) asked: Trace,
}

/// The result of a case on one side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Observed {
    /// The verifier's verdict.
    pub(crate) verdict: Result<(), String>,
    /// `None` if the program was not run; or why memory could not be mapped.
    pub(crate) run: Option<Result<Run, String>>,
}

impl Observed {
    /// The name of the outcome, for counting.
    pub(crate) fn outcome(&self) -> String {
        match &self.run {
            None => "not run".into(),
            Some(Err(error)) => format!("not mapped: {}", variant(error)),
            Some(Ok(run)) => run.outcome(),
        }
    }
}

impl Run {
    /// The name of the outcome, for counting.
    pub(crate) fn outcome(&self) -> String {
        match &self.end {
            End::Ok(_) => "ok".into(),
            End::Err { debug, .. } => variant(debug),
        }
    }
}

/// The variant's name, with the access and the region where there are any.
fn variant(debug: &str) -> String {
    let name = debug.split(['(', ' ']).next().unwrap_or_default();
    match name {
        "AccessViolation" => {
            let access = if debug.contains("Store") { "store" } else { "load" };
            let region = debug.split('"').nth(1).unwrap_or_default();
            format!("{name} {access} {region}")
        }
        "StackAccessViolation" => {
            format!("{name} {}", if debug.contains("Store") { "store" } else { "load" })
        }
        "SyscallError" => debug
            .split([' ', '"'])
            .next()
            .unwrap_or_default()
            .split('(')
            .take(2)
            .collect::<Vec<_>>()
            .join("("),
        _ => name.into(),
    }
}

/// Returns all differences between two sides, which have these names.
pub(crate) fn differences(
    case: &Case,
    names: [&str; 2],
    first: &Observed,
    second: &Observed,
) -> String {
    let mut text = String::new();
    let [first_name, second_name] = names;
    let mut differ = |what: &str, a: &dyn core::fmt::Debug, b: &dyn core::fmt::Debug| {
        let _ = writeln!(text, "{what}: {first_name} {a:?}, {second_name} {b:?}");
    };
    if first.verdict != second.verdict {
        differ("verdict", &first.verdict, &second.verdict);
    }
    let (a, b) = match (&first.run, &second.run) {
        (Some(Ok(a)), Some(Ok(b))) => (a, b),
        (a, b) => {
            let failure = |it: &Option<Result<Run, String>>| {
                it.as_ref().map(|run| run.as_ref().map(|run| run.end.clone()).map_err(Clone::clone))
            };
            if failure(a) != failure(b) {
                differ("run", &failure(a), &failure(b));
            }
            return text;
        }
    };
    if a.end != b.end {
        differ("end", &a.end, &b.end);
    }
    // Past the end of the program the pc does not matter.
    let slots = case.slots() as u64;
    if a.pc != b.pc && a.pc.min(b.pc) < slots {
        differ("pc", &a.pc, &b.pc);
    }
    let numbers = [
        ("consumed", a.consumed, b.consumed),
        ("remaining", a.remaining, b.remaining),
        ("call depth", a.depth, b.depth),
    ];
    for (what, a, b) in numbers.into_iter().filter(|(_, a, b)| a != b) {
        differ(what, &a, &b);
    }
    if a.return_pcs != b.return_pcs {
        differ("return pcs", &a.return_pcs, &b.return_pcs);
    }
    for (index, (a, b)) in a.registers.iter().zip(&b.registers).enumerate() {
        if a != b {
            differ(&format!("r{index}"), &format_args!("{a:#x}"), &format_args!("{b:#x}"));
        }
    }
    for (index, (a, b)) in a.memory.iter().zip(&b.memory).enumerate() {
        if a.len() != b.len() {
            differ(&format!("length of buffer {index}"), &a.len(), &b.len());
        }
        if a != b
            && let Some(at) = a.iter().zip(b).position(|(a, b)| a != b)
        {
            differ(&format!("buffer {index} at {at:#x}"), &a[at], &b[at]);
        }
    }
    if a.trace != b.trace {
        differ("trace", &a.trace, &b.trace);
    }
    if a.asked != b.asked {
        differ("questions to the host", &a.asked, &b.asked);
    }
    text
}

/// An error as conformance vectors expect it.
pub(crate) fn error_expectation(debug: &str, display: &str) -> String {
    let name = quoted(debug.split('(').next().unwrap_or_default());
    let (debug, display) = (quoted(debug), quoted(display));
    format!("{{\"err\":{name},\"debug\":{debug},\"display\":{display}}}")
}

/// The expectations of a conformance vector.
pub(crate) fn expectations(case: &Case, run: &Run) -> String {
    let end = match &run.end {
        End::Ok(r0) => format!("{{\"ok\":{r0}}}"),
        End::Err { debug, display } => error_expectation(debug, display),
    };
    let changed: Vec<String> = case
        .regions
        .iter()
        .zip(&run.memory)
        .filter_map(|(region, after)| {
            let len = region.len;
            let differs = |(a, b): (&u8, &u8)| a != b;
            let from = region.bytes[..len].iter().zip(after).position(differs)?;
            let last = region.bytes[..len].iter().zip(&after[..len]).rposition(differs)?;
            let bytes = hex(&after[from..=last]);
            let vaddr = region.vaddr;
            Some(format!("{{\"vaddr\":{vaddr},\"len\":{len},\"from\":{from},\"hex\":\"{bytes}\"}}"))
        })
        .collect();
    format!(
        ",\"expect\":{end},\"insn_count\":{},\"final_pc\":{},\"mem_after\":[{}],\
         \"trace_len\":{},\"trace_fnv\":\"{:016x}\"",
        run.consumed,
        run.pc,
        changed.join(","),
        run.trace.len,
        run.trace.fnv,
    )
}
