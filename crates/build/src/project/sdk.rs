//! Projects of Solana's C SDK: a makefile includes the SDK's `sbf.mk`, and each folder of `src` has the sources of a
//! program. The rules are those of `platform-tools-sdk/sbf/c/sbf.mk`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::input;

use super::{CPP, Language, Project, files};
use crate::BuildError;

/// Returns the programs of a project of the SDK; `None` if the folder has no makefile that includes the SDK's, or has
/// a manifest of Cargo, too.
pub(super) fn programs(folder: &Path) -> Option<Vec<Project>> {
    let root = &folder.canonicalize().ok().filter(|it| !it.join("Cargo.toml").exists())?;
    let mut makefiles = ["GNUmakefile", "makefile", "Makefile"].into_iter();
    let text = makefiles.find_map(|it| input::text(&root.join(it), input::TEXT_BYTES_MAX).ok())?;
    let source = source_folder(&text)?;
    let mut programs: Vec<_> = fs::read_dir(root.join(source))
        .ok()?
        .flatten()
        .filter_map(|it| {
            let name = it.file_name().into_string().ok()?;
            let of = |extension: &&str| files(&it.path(), extension);
            let mut sources: Vec<PathBuf> = ["c"].iter().chain(&CPP).flat_map(of).collect();
            sources.retain(|it| !is_host_test(it));
            sources.sort();
            let is_program = !sources.is_empty();
            is_program.then(|| Project { root: root.clone(), name, language: Language::C(sources) })
        })
        .collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    (!programs.is_empty()).then_some(programs)
}

/// Returns the program of this name, or all.
pub(super) fn named(
    mut programs: Vec<Project>,
    name: Option<&str>,
) -> Result<Vec<Project>, BuildError> {
    let Some(name) = name else { return Ok(programs) };
    let names: Vec<_> = programs.iter().map(|it| it.name.clone()).collect();
    programs.retain(|it| it.name == name);
    if programs.is_empty() {
        return Err(BuildError::setup(
            format!("the makefile builds no program called {name}"),
            format!("the folders of its sources name {}", names.join(", ")),
        ));
    }
    Ok(programs)
}

/// Returns the folder of the sources by a makefile that includes the SDK's, whose older name was `bpf.mk`.
fn source_folder(makefile: &str) -> Option<&str> {
    let is_of_sdk = |line: &str| {
        let included = line.trim().strip_prefix("include ").map(str::trim_end);
        included.is_some_and(|it| it.ends_with("/sbf.mk") || it.ends_with("/bpf.mk"))
    };
    let own = |line| {
        let (name, value) = str::split_once(line, '=')?;
        let name = name.trim_end_matches([':', '?']).trim();
        (name == "SRC_DIR").then_some(value.trim())
    };
    let chosen = makefile.lines().find_map(own).unwrap_or("src");
    makefile.lines().any(is_of_sdk).then_some(chosen)
}

/// Returns whether a source is a test for the machine of the developer, with the library Criterion: the SDK compiles
/// `test_*` apart from the program beside them.
pub(super) fn is_host_test(source: &Path) -> bool {
    source.file_name().is_some_and(|it| it.to_string_lossy().starts_with("test_"))
        && input::text(source, input::TEXT_BYTES_MAX)
            .is_ok_and(|it| it.contains("<criterion/criterion.h>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefiles_of_the_sdk_name_the_folder_of_the_sources() {
        let include = "include ~/.local/share/solana/install/active_release/bin/sdk/sbf/c/sbf.mk\n";
        assert_eq!(source_folder(include), Some("src"));
        assert_eq!(source_folder(&format!("SRC_DIR := c/src\n{include}")), Some("c/src"));
        assert_eq!(source_folder("include ../sdk/bpf/c/bpf.mk"), Some("src"));
        assert_eq!(source_folder("all:\n\tcc -o a a.c\n"), None);
    }

    #[test]
    fn each_folder_is_a_program_without_its_tests() {
        let root = std::env::temp_dir().join(format!("selkie-{}-sdk", std::process::id()));
        let add = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        };
        add("src/greet/greet.c", "");
        add("src/greet/test_greet.c", "#include <criterion/criterion.h>\n");
        add("src/greet/test_vectors.c", "");
        add("src/notes/README.md", "");
        add("src/count/count.cc", "");
        assert_eq!(programs(&root), None, "there is no makefile");
        add("makefile", "OUT_DIR := dist\ninclude ../sdk/sbf.mk\n");
        let found = Project::find(&root, None).expect("there are programs");
        let names: Vec<_> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["count", "greet"]);
        let Language::C(sources) = &found[1].language else { panic!("it is in C") };
        let ends = ["src/greet/greet.c", "src/greet/test_vectors.c"];
        assert!(sources.len() == 2 && sources.iter().zip(ends).all(|(it, end)| it.ends_with(end)));
        let one = Project::find(&root, Some("greet")).expect("it is there");
        assert_eq!(one, &found[1..]);
        assert!(Project::find(&root, Some("greeting")).is_err());
        fs::remove_dir_all(root).expect("it can be removed");
    }
}
