//! [`Session`]: the requests of a debugger about one invocation.

use core::fmt::Write as _;
use std::{collections::BTreeSet, io};

use selkie_isa::layout::SLOT_BYTES;
use selkie_svm::Machine;
use solana_instruction_error::InstructionError;

use super::{
    Image,
    packets::{PACKET_BYTES_MAX, Packets},
};

/// The registers: r0 to r9, the frame pointer, the address of the instruction, the compute units left.
const REGISTERS: [&str; 13] =
    ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "fp", "pc", "icount_remain"];
const PC: usize = 11;
/// After how many instructions a running program looks whether it is interrupted.
const LOOK_EVERY: u64 = 1024;
/// What does not work: the protocol has numbers, and no texts.
const ERROR: &str = "E01";
/// The instruction that ends a function.
const EXIT: u8 = 0x95;

/// What the program does until the next look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Stopped,
    Steps,
    Runs,
    /// The debugger is gone.
    Alone,
}

/// What follows on a request.
enum Reply {
    Text(String),
    /// What a command prints, and then that it is done.
    Console(String),
    Go(Mode),
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A debugger's view of one invocation.
#[derive(Debug)]
pub(super) struct Session {
    packets: Packets,
    metadata: String,
    mode: Mode,
    breakpoints: BTreeSet<u64>,
    steps: u64,
    /// r0 before the last instruction, if that one ends the program.
    exit_code: Option<u64>,
}

impl Session {
    /// Creates the session of a program that has stopped before its first instruction.
    pub(super) fn new(packets: Packets, metadata: String) -> Self {
        let (breakpoints, mode) = (BTreeSet::new(), Mode::Stopped);
        Self { packets, metadata, mode, breakpoints, steps: 0, exit_code: None }
    }

    /// Serves the debugger if the program stops before its next instruction.
    pub(super) fn step(&mut self, image: &Image, machine: &mut Machine<'_>) {
        let opcode = machine.pc().checked_mul(SLOT_BYTES).and_then(|at| image.text.get(at));
        let ends = machine.call_depth() == 0 && opcode == Some(&EXIT);
        self.exit_code = ends.then(|| machine.registers()[0]);
        if self.try_step(image, machine).is_err() {
            self.mode = Mode::Alone;
        }
    }

    fn try_step(&mut self, image: &Image, machine: &mut Machine<'_>) -> io::Result<()> {
        let is_first = self.steps == 0;
        self.steps = self.steps.wrapping_add(1);
        let stops = match self.mode {
            Mode::Alone => false,
            Mode::Stopped | Mode::Steps => true,
            Mode::Runs => {
                self.breakpoints.contains(&pc(image, machine))
                    || self.steps.is_multiple_of(LOOK_EVERY) && self.packets.is_interrupted()?
            }
        };
        if !stops {
            return Ok(());
        }
        if !is_first {
            self.packets.write("S05")?;
        }
        self.mode = Mode::Stopped;
        while self.mode == Mode::Stopped {
            let packet = self.packets.read()?;
            match self.answer(&String::from_utf8_lossy(&packet), image, machine) {
                Reply::Text(text) => self.packets.write(&text)?,
                Reply::Console(text) => {
                    self.packets.write(&format!("O{}", hex(text.as_bytes())))?;
                    self.packets.write("OK")?;
                }
                Reply::Go(mode) => self.mode = mode,
            }
            if packet == b"QStartNoAckMode" {
                self.packets.acknowledges = false;
            }
            if packet.starts_with(b"D") {
                self.packets.write("OK")?;
            }
        }
        Ok(())
    }

    /// Tells the debugger how the invocation has ended.
    pub(super) fn end(mut self, result: &Result<(), InstructionError>) {
        let code = self.exit_code.or(result.is_ok().then_some(0));
        let text = match code {
            Some(code) => format!("W{:02x}", code & 0xff),
            // The signal that lldb shows as SIGSTOP.
            None => "X11".to_owned(),
        };
        if self.mode != Mode::Alone {
            // The debugger may be gone.
            let _ = self.packets.write(&text);
        }
    }

    fn answer(&mut self, packet: &str, image: &Image, machine: &mut Machine<'_>) -> Reply {
        let (kind, rest) = packet.split_at_checked(1).unwrap_or_default();
        match kind {
            "?" => "S05".into(),
            "g" => Reply::Text((0..=PC).map(|it| value(it, image, machine)).collect()),
            "G" => set_all(rest, image, machine).into(),
            "p" => match parse(rest).and_then(|it| usize::try_from(it).ok()) {
                Some(index) if index < REGISTERS.len() => Reply::Text(value(index, image, machine)),
                _ => ERROR.into(),
            },
            "P" => set_one(rest, image, machine).into(),
            "m" => read_memory(rest, image, machine).map_or(ERROR.into(), Reply::Text),
            "s" | "S" => Reply::Go(Mode::Steps),
            "c" | "C" => Reply::Go(Mode::Runs),
            "D" | "k" => Reply::Go(Mode::Alone),
            "Z" | "z" => self.change_breakpoint(kind == "Z", rest),
            "H" | "T" => "OK".into(),
            _ if packet.starts_with("vCont;s") => Reply::Go(Mode::Steps),
            _ if packet.starts_with("vCont;c") => Reply::Go(Mode::Runs),
            _ => self.query(packet, image),
        }
    }

    fn query(&self, packet: &str, image: &Image) -> Reply {
        let (name, rest) = packet.split_once([':', ',']).unwrap_or((packet, ""));
        match name {
            "vCont?" => "vCont;c;C;s;S".into(),
            "qSupported" => Reply::Text(format!(
                "PacketSize={PACKET_BYTES_MAX:x};QStartNoAckMode+;vContSupported+;qXfer:features:read+"
            )),
            "QStartNoAckMode" => "OK".into(),
            "qAttached" => "1".into(),
            "qC" => "QC1".into(),
            "qfThreadInfo" => "m1".into(),
            "qsThreadInfo" => "l".into(),
            "qOffsets" => "Text=0;Data=0;Bss=0".into(),
            "qRcmd" => Reply::Console(match unhex(rest).as_deref() {
                Some(b"metadata") => format!("{}\n", self.metadata),
                _ => "unknown monitor command\n".to_owned(),
            }),
            "qXfer" => description(rest, image).map_or(ERROR.into(), Reply::Text),
            _ => match name.strip_prefix("qRegisterInfo").and_then(parse) {
                Some(index) => register_info(index).map_or(ERROR.into(), Reply::Text),
                None => "".into(),
            },
        }
    }

    /// Sets or removes a breakpoint, of which there is one kind.
    fn change_breakpoint(&mut self, sets: bool, arguments: &str) -> Reply {
        let mut words = arguments.split(',');
        let (kind, address) = (words.next(), words.next().and_then(parse));
        match (kind, address) {
            (Some("0"), Some(address)) if sets => {
                self.breakpoints.insert(address);
                "OK".into()
            }
            (Some("0"), Some(address)) => {
                self.breakpoints.remove(&address);
                "OK".into()
            }
            (Some("0"), None) => ERROR.into(),
            _ => "".into(),
        }
    }
}

/// Returns the address of the next instruction.
fn pc(image: &Image, machine: &Machine<'_>) -> u64 {
    image.pc_base.wrapping_add((machine.pc() as u64).wrapping_mul(SLOT_BYTES as u64))
}

fn number(index: usize, image: &Image, machine: &Machine<'_>) -> u64 {
    match machine.registers().get(index) {
        Some(register) => *register,
        None if index == PC => pc(image, machine),
        None => machine.meter.remaining(),
    }
}

/// Returns a register as the protocol writes it: its bytes.
fn value(index: usize, image: &Image, machine: &Machine<'_>) -> String {
    hex(&number(index, image, machine).to_le_bytes())
}

/// Sets r0 to r10. The address of the instruction stays.
fn set_all(text: &str, image: &Image, machine: &mut Machine<'_>) -> &'static str {
    let bytes = unhex(text).unwrap_or_default();
    let (words, rest) = bytes.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|it| u64::from_le_bytes(*it)).collect();
    let is_whole = words.len() == PC + 1 && rest.is_empty();
    if !is_whole || words.get(PC) != Some(&pc(image, machine)) {
        return ERROR;
    }
    machine.registers_mut().copy_from_slice(&words[..PC]);
    "OK"
}

fn set_one(text: &str, image: &Image, machine: &mut Machine<'_>) -> &'static str {
    let read = || {
        let (index, bytes) = text.split_once('=')?;
        let bytes: [u8; 8] = unhex(bytes)?.try_into().ok()?;
        Some((usize::try_from(parse(index)?).ok()?, u64::from_le_bytes(bytes)))
    };
    let Some((index, word)) = read() else { return ERROR };
    match machine.registers_mut().get_mut(index) {
        Some(register) => *register = word,
        None if index == PC => return if word == pc(image, machine) { "OK" } else { ERROR },
        None => return ERROR,
    }
    "OK"
}

/// Reads memory up to the first byte that is not there; `None` if none is.
fn read_memory(text: &str, image: &Image, machine: &Machine<'_>) -> Option<String> {
    let (address, length) = text.split_once(',')?;
    let address = image.guest_address(parse(address)?);
    let length = parse(length)?.min(PACKET_BYTES_MAX as u64 / 2);
    let of_text = |address: u64| {
        let offset = address.checked_sub(image.text_vaddr)?;
        image.text.get(usize::try_from(offset).ok()?).copied()
    };
    let byte = |address: u64| {
        let mapped = machine.memory.slice(address, 1).ok().and_then(|it| it.first().copied());
        mapped.or_else(|| of_text(address))
    };
    let bytes: Vec<u8> = (address..address.saturating_add(length)).map_while(byte).collect();
    (length == 0 || !bytes.is_empty()).then(|| hex(&bytes))
}

/// Returns a part of the description of registers.
fn description(arguments: &str, image: &Image) -> Option<String> {
    let range = arguments.strip_prefix("features:read:target.xml:")?;
    let (offset, length) = range.split_once(',')?;
    let (offset, length) =
        (usize::try_from(parse(offset)?).ok()?, usize::try_from(parse(length)?).ok()?);
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target version=\"1.0\">\n\
         <architecture>{}</architecture>\n<feature name=\"org.gnu.gdb.sbpf.core\">\n",
        image.architecture()
    );
    for (index, name) in REGISTERS.iter().enumerate() {
        let kind = match *name {
            "fp" => "type=\"data_ptr\" encoding=\"uint\" format=\"hex\" generic=\"fp\"",
            "pc" => "type=\"code_ptr\" encoding=\"uint\" format=\"hex\" generic=\"pc\"",
            "icount_remain" => "type=\"uint64\" encoding=\"uint\" format=\"decimal\"",
            _ => "type=\"uint64\" encoding=\"uint\" format=\"hex\"",
        };
        let dwarf = if index <= PC { format!("dwarf_regnum=\"{index}\" ") } else { String::new() };
        let line =
            format!("<reg name=\"{name}\" bitsize=\"64\" regnum=\"{index}\" {dwarf}{kind}/>\n");
        text.push_str(&line);
    }
    text.push_str("</feature>\n</target>\n");
    let rest = text.get(offset.min(text.len())..)?;
    let part = rest.get(..length.min(rest.len()))?;
    let mark = if part.len() == rest.len() { 'l' } else { 'm' };
    Some(format!("{mark}{part}"))
}

/// Returns what lldb asks for each register if it does not read the description.
fn register_info(index: u64) -> Option<String> {
    let index = usize::try_from(index).ok()?;
    let name = REGISTERS.get(index)?;
    let generic = match *name {
        "fp" => "generic:sp;",
        "pc" => "generic:pc;",
        _ => "",
    };
    let offset = index.checked_mul(8)?;
    Some(format!(
        "name:{name};bitsize:64;offset:{offset};encoding:uint;format:hex;set:General Purpose Registers;dwarf:{index};{generic}"
    ))
}

fn parse(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len().saturating_mul(2)), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
