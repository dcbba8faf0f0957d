//! Inputs that cannot be linked, with the errors of the linker: `testdata/link/refused/*.txt`.
//!
//! ```text
//! options v0 refuse-statics entry=NAME       before all else, if not the usual ones
//! object NAME                                an input begins
//! section NAME code|rodata|data|bss|tls|init [SIZE [ALIGN]]
//!   95 00 00 00 00 00 00 00                  its bytes
//!   reloc OFFSET TYPE SYMBOL                 by name or number
//! symbol NAME HOME VALUE SIZE [local|weak] [function|object]
//! patch OFFSET BYTES                         over the bytes of the finished object
//! cut LENGTH                                 of the finished object
//! file NAME BYTES                            an input that is no object
//! ---
//! the output of the linker
//! ```
//! With `UPDATE=1`, the output is written into the file.

use std::{fmt::Write as _, fs};

use selkie_isa::Version;
use selkie_link::{Input, Options, Statics, link};

use crate::{
    object::{Object, Section, Symbol},
    rendered, testdata,
};

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().expect("a number"),
    }
}

fn bytes(words: &[&str]) -> Vec<u8> {
    words.iter().map(|it| u8::from_str_radix(it, 16).expect("bytes")).collect()
}

/// An object under construction, and the corruption to apply to it.
#[derive(Default)]
struct Draft {
    name: String,
    object: Object,
    patches: Vec<(usize, Vec<u8>)>,
    cut: Option<usize>,
}

impl Draft {
    fn finish(self) -> (String, Vec<u8>) {
        let mut file = self.object.write();
        for (at, patch) in self.patches {
            file[at..at + patch.len()].copy_from_slice(&patch);
        }
        file.truncate(self.cut.unwrap_or(usize::MAX));
        (self.name, file)
    }

    /// Takes in a line: its first word, and the rest.
    fn line(&mut self, first: &str, words: &[&str]) {
        let at = |index: usize| usize::try_from(number(words[index])).expect("small");
        let sections = &mut self.object.sections;
        match first {
            "section" => sections.push(section(words)),
            "symbol" => self.object.symbols.push(symbol(words)),
            "reloc" => {
                let kind = u32::try_from(number(words[1])).expect("small");
                let relocation = (number(words[0]), kind, words[2].to_owned());
                sections.last_mut().expect("a section").relocations.push(relocation);
            }
            "patch" => self.patches.push((at(0), bytes(&words[1..]))),
            "cut" => self.cut = Some(at(0)),
            _ => {
                let data = &mut sections.last_mut().expect("a section").data;
                data.extend(bytes(&[first]));
                data.extend(bytes(words));
            }
        }
    }
}

fn section(words: &[&str]) -> Section {
    let (kind, flags) = match words[1] {
        "code" => (1, 6),
        "rodata" => (1, 2),
        "data" => (1, 3),
        "bss" => (8, 3),
        "tls" => (8, 0x403),
        "init" => (14, 3),
        other => panic!("a section of kind {other}"),
    };
    let size = words.get(2).map(|it| number(it));
    let align = words.get(3).map_or(8, |it| number(it));
    Section { name: words[0].to_owned(), kind, flags, align, size, ..Section::default() }
}

fn symbol(words: &[&str]) -> Symbol {
    let is = |word: &str| words[4..].contains(&word);
    let binding = if is("local") { 0 } else { 1 + u8::from(is("weak")) };
    let kind = u8::from(is("object")) + 2 * u8::from(is("function"));
    Symbol {
        name: words[0].to_owned(),
        home: words[1].to_owned(),
        value: number(words[2]),
        size: number(words[3]),
        info: binding << 4 | kind,
    }
}

/// The inputs of a case, by name, and the options.
fn parse(text: &str) -> (Vec<(String, Vec<u8>)>, Options) {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut draft: Option<Draft> = None;
    let mut options = Options::default();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let [first, words @ ..] = &words[..] else { continue };
        match *first {
            "options" => {
                for word in words {
                    match word.split_once('=') {
                        Some((_, name)) => options.entry = name.to_owned(),
                        None if *word == "refuse-statics" => options.statics = Statics::Refuse,
                        None => options.version = word.parse::<Version>().expect("a version"),
                    }
                }
            }
            "file" => files.push((words[0].to_owned(), bytes(&words[1..]))),
            "object" => {
                files.extend(draft.take().map(Draft::finish));
                draft = Some(Draft { name: words[0].to_owned(), ..Draft::default() });
            }
            _ => draft.as_mut().expect("an object").line(first, words),
        }
    }
    files.extend(draft.take().map(Draft::finish));
    (files, options)
}

/// Returns the linker's output for a case.
fn verdict(text: &str) -> String {
    let (files, options) = parse(text);
    let inputs: Vec<Input<'_>> = files.iter().map(|(name, bytes)| Input { name, bytes }).collect();
    let mut said = String::new();
    match link(&inputs, &options) {
        Ok(linked) => writeln!(said, "linked: {} slots", linked.slots()).unwrap(),
        Err(errors) => said.push_str(&rendered(&errors)),
    }
    said
}

#[test]
fn invalid_inputs_are_refused_with_the_expected_message() {
    let mut paths: Vec<_> = fs::read_dir(testdata().join("refused"))
        .expect("the folder is there")
        .map(|it| it.expect("it can be read").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 30, "cases are missing");
    let mut differing = Vec::new();
    for path in paths {
        let document = fs::read_to_string(&path).expect("it is text");
        let (case, expected) = document.split_once("---\n").expect("a case and an expectation");
        let said = verdict(case);
        assert!(!said.starts_with("linked"), "{} links", path.display());
        if said == expected {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, format!("{case}---\n{said}")).expect("it can be written");
        } else {
            differing.push(format!("{}:\n{said}", path.display()));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
