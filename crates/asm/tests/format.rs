//! The formatter: its output, and that it preserves the program.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use proptest::prelude::*;
use selkie_asm::{
    Assembly, DiskFiles, Options, assemble, format,
    syntax::{File, Statement},
};
use selkie_isa::Version;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(repository().join(folder)).expect("the folder exists") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            paths.extend(sources(path.to_str().expect("the path is text")));
        } else if path.extension().is_some_and(|it| it == "s") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// Returns the program that a source assembles to.
fn program(path: &Path, source: &str, version: Version) -> Option<Vec<u8>> {
    let options = Options {
        version,
        name: path.to_str().expect("the path is text").to_owned(),
        include_paths: path.parent().map(Path::to_owned).into_iter().collect(),
        files: Arc::new(DiskFiles),
        ..Options::default()
    };
    assemble(source, &options).assembly.as_ref().map(Assembly::to_elf)
}

/// Formats a source, and checks that formatting is idempotent and preserves the program.
fn formatted(path: &Path, source: &str) -> String {
    let name = path.display();
    let once =
        format(source, "source.s").unwrap_or_else(|it| panic!("{name}\n{}", it.render(false)));
    let twice = format(&once, "source.s").expect("the formatted source has no syntax errors");
    assert_eq!(once, twice, "{name}: formatting is not idempotent");
    for version in Version::ALL {
        assert!(
            program(path, source, version) == program(path, &once, version),
            "{name}: the program changes for {version}"
        );
    }
    once
}

#[test]
fn backslash_is_part_of_a_label_only_in_bodies_with_parameters() {
    let source = "a\\:*\n.macro again\nl\\@:mov64 r0, 1\n.endm\n.rept 1\nb\\:*\n.endr\n";
    let expected = "a\\: *\n.macro again\nl\\@:\n    mov64 r0, 1\n.endm\n.rept 1\nb\\: *\n.endr\n";
    assert_eq!(formatted(Path::new("labels.s"), source), expected);
}

#[test]
fn sources_of_testdata_format_as_expected() {
    for path in sources("testdata/asm/format") {
        let source = fs::read_to_string(&path).expect("the file is readable");
        let actual = formatted(&path, &source);
        let expected = path.with_extension("formatted");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(expected, actual).expect("the folder is writable");
            continue;
        }
        let expected = fs::read_to_string(expected).unwrap_or_default();
        assert_eq!(actual, expected, "{}", path.display());
    }
}

#[test]
fn formatting_preserves_programs() {
    let mut count = 0;
    for folder in ["testdata/asm/good", "testdata/asm/dialects", "testdata/exec", "examples"] {
        for path in sources(folder) {
            let source = fs::read_to_string(&path).expect("the file is readable");
            formatted(&path, &source);
            count += 1;
        }
    }
    assert!(count > 100, "too few sources were found");
}

#[test]
fn examples_are_formatted() {
    for path in sources("examples") {
        let source = fs::read_to_string(&path).expect("the file is readable");
        assert_eq!(formatted(&path, &source), source, "{}", path.display());
    }
}

/// A source that can be formatted keeps its diagnostics.
#[test]
fn sources_with_errors_are_refused_or_keep_their_diagnostics() {
    for path in sources("testdata/asm/bad") {
        let source = fs::read_to_string(&path).expect("the file is readable");
        let messages = |source: &str| -> Vec<String> {
            let output = assemble(source, &Options::default());
            output.diagnostics.into_iter().map(|it| it.message).collect()
        };
        match format(&source, "bad.s") {
            Ok(formatted) => {
                assert_eq!(messages(&formatted), messages(&source), "{}", path.display());
            }
            Err(output) => assert!(output.diagnostics.iter().all(|it| it.syntax)),
        }
    }
}

#[test]
fn sources_with_syntax_errors_are_refused() {
    let check = |source: &str, message: &str| {
        let output = format(source, "bad.s").expect_err(source);
        assert_eq!(output.diagnostics[0].message, message);
    };
    check("mov64 r1 2", "expected `,` or the end of the line, found `2`");
    check(".if 1\nexit", "this condition has no `.endif`");
    check(".ascii \"a", "expected a string in quotes, found a string without its closing `\"`");
    check("ldxw r1, [8]", "expected a register, found `8`");
}

#[test]
fn undefined_names_and_instructions_of_other_versions_are_formatted() {
    let check = |source: &str| drop(format(source, "part.s").expect(source));
    check("lmul64 r1, 2\njeq32 r1, 2, nowhere");
    check(".include \"macros.inc\"\nassert_eq r1, NOWHERE");
    check(".if NOWHERE\n.endif");
}

/// Replaces insignificant white space within lines, selected by `seeds`: outside of strings,
/// comments and arguments of macros.
fn respaced(source: &str, seeds: &[u8]) -> String {
    let file = File::read(source);
    let mut seeds = seeds.iter().copied().cycle();
    let mut space = |required: bool| {
        let spaces = ["", " ", "\t", "  ", " \t "];
        let index = usize::from(seeds.next().unwrap_or_default()) % spaces.len();
        if required && index == 0 { " " } else { spaces[index] }
    };
    let mut out = String::new();
    for line in file.lines() {
        out.push_str(space(false));
        let mut end = line.range.start;
        let is_free = matches!(
            line.statement,
            Statement::Instruction | Statement::Pseudo | Statement::Constant
        );
        let tokens = file.labels(line).chain(file.word(line)).chain(file.operands(line));
        let tokens: Vec<_> = tokens.collect();
        let has_parameter = tokens.iter().any(|it| file.slice(it) == "\\");
        for token in tokens {
            let between = &source[end..token.range.start];
            let is_white = between.chars().all(|it| matches!(it, ' ' | '\t'));
            out.push_str(match between {
                _ if !is_white => between,
                _ if end == line.range.start => "",
                "" => "",
                _ if is_free && !has_parameter => space(true),
                between => between,
            });
            out.push_str(file.slice(&token));
            end = token.range.end;
        }
        out.push_str(source[end..line.range.end].trim_end());
        out.push_str(space(false));
        out.push('\n');
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn output_is_independent_of_white_space_in_the_source(
        seeds in proptest::collection::vec(any::<u8>(), 1..200),
        which in any::<prop::sample::Index>(),
    ) {
        let mut paths = sources("examples");
        paths.extend(sources("testdata/asm/dialects"));
        let path = &paths[which.index(paths.len())];
        let source = fs::read_to_string(path).expect("the file is readable");
        let other = respaced(&source, &seeds);
        prop_assert_eq!(formatted(path, &other), formatted(path, &source));
    }

    #[test]
    fn formatting_preserves_the_program_of_any_text(source in "(\\PC|[\n\t ;:,.#'\"\\\\@=()\\[\\]]){0,80}") {
        if format(&source, "any.s").is_ok() {
            formatted(Path::new("any.s"), &source);
        }
    }
}
