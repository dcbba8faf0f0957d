//! The format of `pprof`: protocol buffers, compressed by gzip.

use std::{collections::BTreeMap, io::Write as _};

use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::{FrameKind, Node, Profile, ProfileFrame};

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

/// A program.
#[derive(Clone, Copy, PartialEq, Message)]
#[allow(clippy::struct_excessive_bools, reason = "the format has them")]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    has_inline_frames: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// The index of the empty string.
const NO_NAME: i64 = 0;

#[derive(Default)]
struct Strings {
    indexes: BTreeMap<String, i64>,
    all: Vec<String>,
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(known) = self.indexes.get(text) {
            return *known;
        }
        let index = signed(self.all.len() as u64);
        self.indexes.insert(text.to_owned(), index);
        self.all.push(text.to_owned());
        index
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Renders a profile with three values for each stack: compute units, instructions, and compute
/// units of syscalls.
pub(super) fn pprof(profile: &Profile) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.strings.index("");
    let names = ["compute_units", "instructions", "syscall_compute_units"];
    let unit = writer.strings.index("count");
    let kinds = names.map(|name| writer.strings.index(name));
    writer.file.sample_type = kinds.map(|kind| ValueType { kind, unit }).to_vec();
    writer.file.default_sample_type = kinds[0];
    for (index, node) in profile.nodes().iter().enumerate().filter(|(_, it)| it.units > 0) {
        let stack = profile.stack(index);
        for (line, units) in lines(node) {
            let location_id = writer.locations(&stack, line);
            let instructions = if node.instructions == 0 { 0 } else { units };
            let syscall = if node.frame.kind == FrameKind::Syscall { units } else { 0 };
            let value = [units, instructions, syscall].map(signed).to_vec();
            writer.file.sample.push(Sample { location_id, value });
        }
    }
    gzip(&writer.finish())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// Returns the compute units of a node by line; line 0 has those of unknown lines.
fn lines(node: &Node) -> Vec<(u32, u64)> {
    let mut lines: BTreeMap<u32, u64> = BTreeMap::new();
    for (line, units) in &node.lines {
        *lines.entry(line.line).or_default() += units;
    }
    let known: u64 = lines.values().sum();
    *lines.entry(0).or_default() += node.units - known;
    lines.into_iter().filter(|(_, units)| *units > 0).collect()
}

/// The tables of a file, which its parts refer to by number.
#[derive(Default)]
struct Writer {
    strings: Strings,
    functions: BTreeMap<ProfileFrame, u64>,
    mappings: BTreeMap<String, u64>,
    /// Locations by their mapping and lines.
    locations: BTreeMap<(u64, Vec<(u64, u32)>), u64>,
    file: File,
}

impl Writer {
    /// Returns the locations of a stack, innermost first. A function is one location with all that is
    /// inlined into it; `line` is the innermost one's.
    fn locations(&mut self, stack: &[&ProfileFrame], line: u32) -> Vec<u64> {
        let mut ids = Vec::new();
        let mut rest = stack;
        let mut line = line;
        while let Some(start) = rest.iter().rposition(|it| it.kind != FrameKind::Inlined) {
            let (callers, frames) = rest.split_at(start);
            let program = stack[..=start].iter().rev().find(|it| it.kind == FrameKind::Program);
            let mapping = self.mapping(program.map_or("", |it| &it.name));
            let mut lines = Vec::new();
            for frame in frames.iter().rev() {
                lines.push((self.function(frame), core::mem::take(&mut line)));
            }
            ids.push(self.location(mapping, lines));
            rest = callers;
        }
        ids
    }

    fn location(&mut self, mapping_id: u64, lines: Vec<(u64, u32)>) -> u64 {
        let next = self.locations.len() as u64 + 1;
        let line = |&(function_id, line): &(u64, u32)| Line { function_id, line: line.into() };
        let line: Vec<Line> = lines.iter().map(line).collect();
        let id = *self.locations.entry((mapping_id, lines)).or_insert(next);
        if id == next {
            self.file.location.push(Location { id, mapping_id, line });
        }
        id
    }

    /// Returns the number of a program.
    fn mapping(&mut self, program: &str) -> u64 {
        let next = self.mappings.len() as u64 + 1;
        let id = *self.mappings.entry(program.to_owned()).or_insert(next);
        if id == next {
            let filename = self.strings.index(program);
            self.file.mapping.push(Mapping {
                id,
                filename,
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            });
        }
        id
    }

    fn function(&mut self, frame: &ProfileFrame) -> u64 {
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry(frame.clone()).or_insert(next);
        if id == next {
            let name = self.strings.index(&frame.name);
            let filename = self.strings.index(frame.file.as_deref().unwrap_or_default());
            // Of a name that is also the linker's, pprof cuts all that is in angle brackets, taking it for
            // an argument of a C++ template: `<*mut u8>::add` would be `::add`.
            self.file.function.push(Function { id, name, system_name: NO_NAME, filename });
        }
        id
    }

    fn finish(mut self) -> Vec<u8> {
        self.file.string_table = self.strings.all;
        self.file.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use selkie::Pubkey;

    use super::*;

    /// Adds a frame with units to a profile.
    fn add(
        profile: &mut Profile,
        parent: Option<usize>,
        kind: FrameKind,
        name: &str,
        units: u64,
    ) -> usize {
        let program = Pubkey::default();
        let frame = ProfileFrame { kind, name: name.into(), program, file: None };
        let node = profile.child(parent, frame);
        let is_code = matches!(kind, FrameKind::Function | FrameKind::Inlined);
        profile.nodes[node].units = units;
        profile.nodes[node].instructions = if is_code { units } else { 0 };
        node
    }

    /// A function with another inlined into it, which makes a syscall, and all that is neither.
    fn written() -> File {
        let mut profile = Profile::default();
        let program = Some(add(&mut profile, None, FrameKind::Program, "pool", 0));
        add(&mut profile, program, FrameKind::Runtime, "[runtime]", 3);
        let function = Some(add(&mut profile, program, FrameKind::Function, "pay", 20));
        add(&mut profile, function, FrameKind::Inlined, "share", 5);
        add(&mut profile, function, FrameKind::Syscall, "sol_log_", 7);
        add(&mut profile, function, FrameKind::Program, "system", 150);
        let mut bytes = Vec::new();
        GzDecoder::new(&pprof(&profile)[..]).read_to_end(&mut bytes).unwrap();
        File::decode(&bytes[..]).unwrap()
    }

    #[test]
    fn syscalls_have_the_units_of_syscalls_alone() {
        let file = written();
        let sum = |index: usize| file.sample.iter().map(|it| it.value[index]).sum::<i64>();
        assert_eq!([0, 1, 2].map(sum), [3 + 20 + 5 + 7 + 150, 20 + 5, 7]);
    }

    #[test]
    fn inlined_functions_are_lines_of_one_location() {
        let file = written();
        let name = |index: i64| file.string_table[usize::try_from(index).unwrap()].as_str();
        let function = |line: &Line| {
            name(file.function.iter().find(|it| it.id == line.function_id).unwrap().name)
        };
        let location = |id: &u64| {
            let found = file.location.iter().find(|it| it.id == *id).unwrap();
            found.line.iter().map(function).collect::<Vec<_>>()
        };
        let stacks: Vec<Vec<_>> =
            file.sample.iter().map(|it| it.location_id.iter().map(location).collect()).collect();
        assert!(stacks.contains(&vec![vec!["share", "pay"], vec!["pool"]]), "{stacks:?}");
        assert!(stacks.contains(&vec![vec!["system"], vec!["pay"], vec!["pool"]]), "{stacks:?}");
        let programs: Vec<_> = file.mapping.iter().map(|it| name(it.filename)).collect();
        assert!(programs.contains(&"pool") && programs.contains(&"system"), "{programs:?}");
        assert!(file.mapping.iter().all(|it| it.has_inline_frames && it.has_functions));
        assert!(file.location.iter().all(|it| it.mapping_id > 0));
    }

    #[test]
    fn names_are_not_those_of_a_linker() {
        let file = written();
        assert_eq!(file.string_table[0], "");
        assert!(file.function.iter().all(|it| it.system_name == 0 && it.name != 0));
    }
}
