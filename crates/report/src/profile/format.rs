//! The formats that profiles are written in.

use serde_json::{Value, json};

use super::{FrameKind, Profile, pprof::pprof, speedscope::speedscope, svg::svg};

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
        write: pprof,
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
