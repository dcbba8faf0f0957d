//! What is read of Rust sources that rustfmt has formatted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// The files and folders of a folder, with the modules that they are.
pub(super) fn entries(folder: &Path, module: &str) -> Result<Vec<(PathBuf, String)>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let with_module = |path: PathBuf| {
        let inner = match path.file_stem().unwrap_or_default().to_string_lossy().as_ref() {
            "lib" | "mod" => module.to_owned(),
            name => format!("{module}{name}::"),
        };
        (path, inner)
    };
    Ok(paths.into_iter().map(with_module).collect())
}

/// A file without its tests.
pub(super) fn public_part(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

/// The type of an `impl` that implements no trait.
pub(super) fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let end = rest.find(|it: char| !is_ident(it))?;
    (!line.contains(" for ")).then(|| &rest[..end])
}

/// The kind and the name of a public item.
pub(super) fn declared(line: &str) -> Option<(&str, &str)> {
    let mut words = line.strip_prefix("pub ")?.split_whitespace().peekable();
    words.next_if(|it| ["const", "unsafe", "async"].contains(it) && line.contains(" fn "));
    let kind = words.next()?;
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "mod", "static"];
    let name = words.next()?;
    let end = name.find(|it: char| !is_ident(it)).unwrap_or(name.len());
    kinds.contains(&kind).then(|| (kind, &name[..end]))
}

pub(super) fn is_ident(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}
