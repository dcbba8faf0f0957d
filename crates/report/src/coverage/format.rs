//! The formats that coverage is written in.

use core::fmt::Write as _;

use serde_json::{Value, json};

use super::{Files, ReadSource, Share, SourceFile, html::html, shares};
use crate::text::escaped;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// The usual name of the file.
    pub file: &'static str,
    /// What reads it.
    pub about: &'static str,
    write: fn(&Files, ReadSource<'_>) -> String,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "lcov",
        file: "lcov.info",
        about: "for genhtml, Codecov and editors",
        write: |files, _| lcov(files),
    },
    Format {
        name: "cobertura",
        file: "cobertura.xml",
        about: "for GitLab, Jenkins and Azure",
        write: |files, _| cobertura(files),
    },
    Format {
        name: "html",
        file: "coverage.html",
        about: "one page with all sources, for browsers",
        write: html,
    },
];

impl Format {
    /// Returns the format with a name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns the format of a file, by the end of its name.
    #[must_use]
    pub fn of_file(name: &str) -> Option<&'static Self> {
        let extension = |name: &str| name.rsplit_once('.').map(|(_, it)| it.to_owned());
        FORMATS.iter().find(|format| extension(format.file) == extension(name))
    }

    /// Renders coverage. Only pages need the sources.
    #[must_use]
    pub fn render(&self, files: &Files, source: ReadSource<'_>) -> String {
        (self.write)(files, source)
    }
}

/// Renders the shares and the functions that were never called, as JSON.
#[must_use]
pub fn summary(files: &Files) -> Value {
    let share = |share: Share| json!({ "hit": share.hit, "found": share.found });
    let [lines, functions, branches] = shares(files);
    let files = files.iter().map(|(path, file)| {
        let uncalled = file.functions.iter().filter(|(_, it)| it.calls == 0);
        json!({
            "file": &**path,
            "lines": share(file.line_share()),
            "functions": share(file.function_share()),
            "branches": share(file.branch_share()),
            "uncovered_functions": uncalled.map(|(name, _)| &**name).collect::<Vec<_>>(),
        })
    });
    json!({
        "lines": share(lines),
        "functions": share(functions),
        "branches": share(branches),
        "files": files.collect::<Vec<_>>(),
    })
}

/// Renders lcov's tracefile.
fn lcov(files: &Files) -> String {
    let mut text = String::new();
    for (path, file) in files {
        let _ = writeln!(text, "TN:\nSF:{path}");
        for (name, function) in &file.functions {
            let _ = writeln!(text, "FN:{},{name}", function.line);
        }
        for (name, function) in &file.functions {
            let _ = writeln!(text, "FNDA:{},{name}", function.calls);
        }
        let share = file.function_share();
        let _ = writeln!(text, "FNF:{}\nFNH:{}", share.found, share.hit);
        for (line, branches) in &file.branches {
            for (block, branch) in branches.iter().enumerate() {
                for (side, count) in [branch.not_taken, branch.taken].iter().enumerate() {
                    let is_reached = branch.not_taken + branch.taken > 0;
                    let count = if is_reached { count.to_string() } else { "-".to_owned() };
                    let _ = writeln!(text, "BRDA:{line},{block},{side},{count}");
                }
            }
        }
        let share = file.branch_share();
        let _ = writeln!(text, "BRF:{}\nBRH:{}", share.found, share.hit);
        for (line, count) in &file.lines {
            let _ = writeln!(text, "DA:{line},{count}");
        }
        let share = file.line_share();
        let _ = writeln!(text, "LF:{}\nLH:{}\nend_of_record", share.found, share.hit);
    }
    text
}

/// Renders a share as a number from 0 to 1 with four digits.
fn rate(share: Share) -> String {
    let scaled = (share.hit * 10_000).checked_div(share.found).unwrap_or(10_000);
    format!("{}.{:04}", scaled / 10_000, scaled % 10_000)
}

/// Renders Cobertura's XML, with a class for each file.
fn cobertura(files: &Files) -> String {
    let [lines, _, branches] = shares(files);
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE coverage SYSTEM \
         \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\">\n<coverage line-rate=\"{}\" \
         branch-rate=\"{}\" lines-covered=\"{}\" lines-valid=\"{}\" branches-covered=\"{}\" \
         branches-valid=\"{}\" complexity=\"0\" version=\"1\" timestamp=\"0\">\n<sources>\
         <source>.</source></sources>\n<packages><package name=\"\" line-rate=\"{}\" \
         branch-rate=\"{}\" complexity=\"0\"><classes>\n",
        rate(lines),
        rate(branches),
        lines.hit,
        lines.found,
        branches.hit,
        branches.found,
        rate(lines),
        rate(branches),
    );
    for (path, file) in files {
        let (name, lines) = (escaped(path), rate(file.line_share()));
        let _ = writeln!(
            text,
            "<class name=\"{name}\" filename=\"{name}\" line-rate=\"{lines}\" \
             branch-rate=\"{}\" complexity=\"0\">\n<methods/>\n<lines>",
            rate(file.branch_share())
        );
        for (line, hits) in &file.lines {
            let _ = writeln!(text, "{}", cobertura_line(file, *line, *hits));
        }
        text += "</lines></class>\n";
    }
    text += "</classes></package></packages>\n</coverage>\n";
    text
}

fn cobertura_line(file: &SourceFile, line: u32, hits: u64) -> String {
    let Some(branches) = file.branches.get(&line) else {
        return format!("<line number=\"{line}\" hits=\"{hits}\" branch=\"false\"/>");
    };
    let sides = branches.iter().flat_map(|it| [it.not_taken, it.taken]);
    let Share { hit, found } = Share::of(sides);
    let percent = hit * 100 / found.max(1);
    format!(
        "<line number=\"{line}\" hits=\"{hits}\" branch=\"true\" \
         condition-coverage=\"{percent}% ({hit}/{found})\"/>"
    )
}
