//! Headers: lines `//! key: value` at the start of a program.
//!
//! A `versions` line starts a case; lines before the first one apply to all cases.
//!
//! | setting | meaning |
//! |---|---|
//! | `versions: v0 v3` | run for each of these versions, with the same expectations |
//! | `budget: 10` | compute units; 10,000 if not given |
//! | `config: gaps=off aligned=off depth=4 frame=512 metered=off` | instead of mainnet's |
//! | `heap: 64`, `input: 0102 ff*6` | contents of these regions; empty if not given |
//! | `region: 0x400000010 r 00*8` | one more region, `r` or `rw` |
//! | `unverified` | run it even if the verifier refuses it |
//!
//! | expectation | meaning |
//! |---|---|
//! | `r0: 7, cu 3` | it returns |
//! | `trap: DivideByZero, pc 2, cu 3` | it traps |
//! | `verify: CannotWriteR10, pc 0` | the verdict of the verifier |
//! | `pc: 4`, `depth: 1`, `returns to: [3]` | where it ended |
//! | `steps: 5` | instructions that an observer saw |
//! | `registers: r6=1 r10=0x200001000` | registers at the end |
//! | `memory: 0x300000000 = 2a00` | memory at the end, without gaps |

use core::ops::Range;

use selkie_isa::Version;
use selkie_vm::{Config, VerifyError};

/// The settings of a run, besides the version.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) budget: u64,
    pub(crate) config: Config,
    pub(crate) heap: usize,
    pub(crate) input: Vec<u8>,
    pub(crate) regions: Vec<ExtraRegion>,
    pub(crate) unverified: bool,
}

#[derive(Clone)]
pub(crate) struct ExtraRegion {
    pub(crate) vaddr: u64,
    pub(crate) writable: bool,
    pub(crate) bytes: Vec<u8>,
}

/// An expectation.
#[derive(Clone, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl Expectation {
    pub(crate) fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }

    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.key, self.value)
    }
}

/// A run and its expectations.
pub(crate) struct Case {
    /// The line of the source that starts the case, from 1.
    pub(crate) line: usize,
    pub(crate) versions: Vec<Version>,
    pub(crate) setup: Setup,
    pub(crate) expectations: Vec<Expectation>,
    /// The actual results.
    pub(crate) updated: Vec<Expectation>,
    /// The lines of the source with the expectations, from 0.
    lines: Vec<usize>,
}

pub(crate) struct Header {
    pub(crate) cases: Vec<Case>,
}

const SETTINGS: [&str; 6] = ["budget", "config", "heap", "input", "region", "unverified"];

impl Header {
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let mut common = Setup {
            budget: 10_000,
            config: Config::default(),
            heap: 0,
            input: Vec::new(),
            regions: Vec::new(),
            unverified: false,
        };
        let mut cases: Vec<Case> = Vec::new();
        for (index, line) in source.lines().enumerate() {
            let Some(line) = line.strip_prefix("//!").map(str::trim) else { continue };
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.trim();
            let failed = |error: String| format!("  line {}: {error}", index + 1);
            if key == "versions" {
                let versions: Result<_, _> = value.split(' ').map(str::parse).collect();
                let versions = versions.map_err(|_| failed("not a list of versions".to_owned()))?;
                cases.push(Case {
                    line: index + 1,
                    versions,
                    setup: common.clone(),
                    expectations: Vec::new(),
                    updated: Vec::new(),
                    lines: Vec::new(),
                });
            } else if SETTINGS.contains(&key) {
                let setup = cases.last_mut().map_or(&mut common, |case| &mut case.setup);
                setup.set(key, value).map_err(failed)?;
            } else if !key.is_empty() {
                let case = cases.last_mut().ok_or_else(|| failed("there is no case".to_owned()))?;
                case.expectations.push(Expectation::new(key, value));
                case.lines.push(index);
            }
        }
        if cases.is_empty() { Err("  there is no case".to_owned()) } else { Ok(Self { cases }) }
    }

    /// Returns the source with the actual results in place of the expectations.
    pub(crate) fn rewrite(&self, source: &str) -> String {
        let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
        for case in self.cases.iter().rev() {
            for (index, actual) in case.lines.iter().zip(&case.updated) {
                lines[*index] = format!("//! {}", actual.text());
            }
            for actual in case.updated.iter().skip(case.lines.len()) {
                let end = (case.line..lines.len()).find(|&at| !is_setting(&lines[at]));
                lines.insert(end.unwrap_or(lines.len()), format!("//! {}", actual.text()));
            }
        }
        lines.join("\n") + "\n"
    }
}

fn is_setting(line: &str) -> bool {
    let key = line.strip_prefix("//! ").and_then(|line| line.split(':').next());
    key.is_some_and(|key| SETTINGS.contains(&key))
}

impl Setup {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "budget" => self.budget = parse_number(value)?,
            "heap" => self.heap = parse_size(value)?,
            "input" => self.input = parse_bytes(value)?,
            "region" => {
                let mut words = value.splitn(3, ' ');
                let mut word = || words.next().ok_or("a region is ADDRESS ACCESS BYTES");
                let (vaddr, access, bytes) = (word()?, word()?, word()?);
                self.regions.push(ExtraRegion {
                    vaddr: parse_number(vaddr)?,
                    writable: access == "rw",
                    bytes: parse_bytes(bytes)?,
                });
            }
            "unverified" => self.unverified = true,
            _ => {
                for setting in value.split(' ') {
                    self.configure(setting)?;
                }
            }
        }
        Ok(())
    }

    fn configure(&mut self, setting: &str) -> Result<(), String> {
        match setting.split_once('=') {
            Some(("gaps", "off")) => self.config.stack_frame_gaps = false,
            Some(("aligned", "off")) => self.config.aligned_memory = false,
            Some(("metered", "off")) => self.config.metered = false,
            Some(("depth", depth)) => self.config.call_depth_max = parse_size(depth)?,
            Some(("frame", bytes)) => self.config.stack_frame_bytes = parse_number(bytes)?,
            _ => return Err(format!("`{setting}` is no setting")),
        }
        Ok(())
    }
}

fn parse_number(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| format!("`{text}` is no number"))
}

fn parse_size(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no size"))
}

/// Parses words of hex digits; `00*8` is eight times the word `00`.
fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for word in text.split_whitespace() {
        let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
        let byte = |range: Range<usize>| u8::from_str_radix(digits.get(range)?, 16).ok();
        let word: Option<Vec<u8>> =
            (0..digits.len()).step_by(2).map(|at| byte(at..at + 2)).collect();
        let word = word.ok_or_else(|| format!("`{digits}` is no string of hex bytes"))?;
        bytes.extend(word.repeat(parse_size(times)?));
    }
    Ok(bytes)
}

/// Parses the address and the length of a `memory` line.
pub(crate) fn span(value: &str) -> Result<(u64, usize), String> {
    let (vaddr, bytes) = value.split_once(" = ").ok_or("it is `ADDRESS = BYTES`")?;
    Ok((parse_number(vaddr)?, parse_bytes(bytes)?.len()))
}

pub(crate) fn memory(vaddr: u64, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{vaddr:#x} = {hex}")
}

/// Returns the values of the registers in `asked`.
pub(crate) fn registers(asked: &str, registers: &[u64; 11]) -> Result<String, String> {
    let render = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        let index = name.strip_prefix('r').and_then(|digits| digits.parse::<usize>().ok());
        let value = index.and_then(|index| registers.get(index));
        let value = value.ok_or_else(|| format!("`{name}` is no register"))?;
        Ok(format!("{name}={}", number(*value)))
    };
    let words: Result<Vec<String>, String> = asked.split(' ').map(render).collect();
    Ok(words?.join(" "))
}

/// Formats small numbers in decimal, others in hex.
pub(crate) fn number(value: u64) -> String {
    if value < 0x1_0000 { value.to_string() } else { format!("{value:#x}") }
}

/// Formats the verdict of the verifier: the name of the error and its fields.
pub(crate) fn verdict(verdict: &Result<(), VerifyError>) -> String {
    match verdict {
        Ok(()) => "ok".to_owned(),
        Err(error) => {
            format!("{error:?}").replace(" { ", ", ").replace(": ", " ").replace(" }", "")
        }
    }
}
