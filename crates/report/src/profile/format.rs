//! The formats that profiles are written in.

use serde_json::{Value, json};

use super::{FrameKind, Profile, speedscope::speedscope, svg::svg};

/// A format.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// The usual end of file names.
    pub extension: &'static str,
    /// What reads it.
    pub about: &'static str,
    write: fn(&Profile) -> Vec<u8>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "speedscope",
        extension: ".speedscope.json",
        about: "for https://www.speedscope.app",
        write: |profile| speedscope(profile).to_string().into_bytes(),
    },
    Format {
        name: "pprof",
        extension: ".pb",
        about: "for `go tool pprof`, Pyroscope and Perfetto",
        write: pprof::pprof,
    },
    Format {
        name: "collapsed",
        extension: ".folded",
        about: "a line for each stack: for flame graph tools",
        write: |profile| collapsed(profile).into_bytes(),
    },
    Format {
        name: "cpuprofile",
        extension: ".cpuprofile",
        about: "for VS Code and browsers; a microsecond is a compute unit",
        write: |profile| cpuprofile(profile).to_string().into_bytes(),
    },
    Format {
        name: "svg",
        extension: ".svg",
        about: "a flame graph, for browsers",
        write: |profile| svg(profile).into_bytes(),
    },
];

impl Format {
    /// Returns the format with a name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns the format that a file's name ends with.
    #[must_use]
    pub fn of_file(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| name.ends_with(format.extension))
    }

    /// Renders a profile.
    #[must_use]
    pub fn render(&self, profile: &Profile) -> Vec<u8> {
        (self.write)(profile)
    }
}

impl FrameKind {
    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Function => "function",
            Self::Inlined => "inlined",
            Self::Syscall => "syscall",
            Self::Runtime => "runtime",
        }
    }
}

/// Renders a line for each stack: its frames, outermost first, and its compute units.
#[must_use]
pub fn collapsed(profile: &Profile) -> String {
    let mut text = String::new();
    for (index, node) in profile.nodes().iter().enumerate().filter(|(_, node)| node.units > 0) {
        let names = profile.stack(index).into_iter().map(|it| it.name.replace([';', '\n'], ":"));
        let stack: Vec<String> = names.collect();
        text += &format!("{} {}\n", stack.join(";"), node.units);
    }
    text
}

/// Renders Chrome's format for processor profiles.
fn cpuprofile(profile: &Profile) -> Value {
    let nodes = profile.nodes().iter().enumerate().map(|(index, node)| {
        let line = node.lines.keys().next();
        let children: Vec<usize> = node.children.values().map(|child| child + 2).collect();
        json!({
            "id": index + 2,
            "callFrame": {
                "functionName": &*node.frame.name,
                "scriptId": "0",
                "url": line.map_or("", |line| &*line.file),
                "lineNumber": line.map_or(-1, |line| i64::from(line.line) - 1),
                "columnNumber": -1,
            },
            "hitCount": node.units,
            "children": children,
        })
    });
    let root = json!({
        "id": 1,
        "callFrame": {
            "functionName": "(root)",
            "scriptId": "0",
            "url": "",
            "lineNumber": -1,
            "columnNumber": -1,
        },
        "hitCount": 0,
        "children": profile.roots.values().map(|root| root + 2).collect::<Vec<_>>(),
    });
    let spent = profile.nodes().iter().enumerate().filter(|(_, node)| node.units > 0);
    let samples: Vec<usize> = spent.clone().map(|(index, _)| index + 2).collect();
    // Each delta is the time before its sample, so a sample's units precede the next one.
    let deltas: Vec<u64> = core::iter::once(0).chain(spent.map(|(_, node)| node.units)).collect();
    json!({
        "nodes": core::iter::once(root).chain(nodes).collect::<Vec<_>>(),
        "startTime": 0,
        "endTime": profile.units,
        "samples": samples.iter().copied().chain([1]).collect::<Vec<_>>(),
        "timeDeltas": deltas,
    })
}

/// The format of `pprof`: protocol buffers, not compressed.
mod pprof {
    use std::{collections::BTreeMap, rc::Rc};

    use prost::Message;

    use super::Profile;
    use crate::profile::{Frame, Node};

    #[derive(Clone, PartialEq, Message)]
    struct File {
        #[prost(message, repeated, tag = "1")]
        sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        sample: Vec<Sample>,
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

    #[derive(Clone, PartialEq, Message)]
    struct Location {
        #[prost(uint64, tag = "1")]
        id: u64,
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
        let mut strings = Strings::default();
        strings.index("");
        let names = ["compute_units", "instructions", "syscall_compute_units"];
        let unit = strings.index("count");
        let kinds: Vec<i64> = names.iter().map(|name| strings.index(name)).collect();
        let mut file = File {
            sample_type: kinds.iter().map(|kind| ValueType { kind: *kind, unit }).collect(),
            default_sample_type: kinds.first().copied().unwrap_or_default(),
            ..File::default()
        };
        let mut functions: BTreeMap<Frame, u64> = BTreeMap::new();
        let mut locations: BTreeMap<(u64, u32), u64> = BTreeMap::new();
        for (index, node) in profile.nodes().iter().enumerate().filter(|(_, it)| it.units > 0) {
            for (line, units) in lines(node) {
                let callers = profile.stack(index);
                let mut ids = Vec::new();
                for (depth, frame) in callers.iter().rev().enumerate() {
                    let line = if depth == 0 { line } else { 0 };
                    let function = function(frame, &mut functions, &mut strings, &mut file);
                    let next = locations.len() as u64 + 1;
                    let id = *locations.entry((function, line)).or_insert(next);
                    if id == next {
                        let line = Line { function_id: function, line: line.into() };
                        file.location.push(Location { id, line: vec![line] });
                    }
                    ids.push(id);
                }
                let syscall = if node.instructions == 0 { units } else { 0 };
                let instructions = if node.instructions == 0 { 0 } else { units };
                let value = [units, instructions, syscall].map(signed).to_vec();
                file.sample.push(Sample { location_id: ids, value });
            }
        }
        file.string_table = strings.all;
        file.encode_to_vec()
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

    fn function(
        frame: &Frame,
        functions: &mut BTreeMap<Frame, u64>,
        strings: &mut Strings,
        file: &mut File,
    ) -> u64 {
        let next = functions.len() as u64 + 1;
        let id = *functions.entry(frame.clone()).or_insert(next);
        if id == next {
            let name = strings.index(&frame.name);
            let filename = frame.file.as_ref().map(Rc::clone).unwrap_or_default();
            let filename = strings.index(&filename);
            file.function.push(Function { id, name, system_name: name, filename });
        }
        id
    }
}
