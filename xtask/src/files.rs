//! Lists files: the tracked text files of a repository, and those of a folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::output;

/// Every tracked file, by its path: of text files the text.
pub(crate) struct Files(BTreeMap<String, Option<String>>);

impl Files {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listed = output(Command::new("git").args(["ls-files"]).current_dir(root))?.stdout;
        let listed = String::from_utf8(listed)?;
        // Those that were removed and are still tracked are no files.
        let files = listed.lines().filter(|path| root.join(path).is_file());
        let files = files.map(|path| (path.to_owned(), fs::read_to_string(root.join(path)).ok()));
        Ok(Self(files.collect()))
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a file is below the path.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let mut rest = self.0.range(folder.clone()..);
        rest.next().is_some_and(|(it, _)| it.starts_with(&folder))
    }

    /// Returns the text files.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }
}

/// Lists the files of a folder that have this extension, by name.
pub(crate) fn with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|it| it.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension().is_some_and(|it| it == extension));
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Files {
    fn from(files: [(&str, &str); N]) -> Self {
        Self(
            files
                .into_iter()
                .map(|(path, text)| (path.to_owned(), Some(text.to_owned())))
                .collect(),
        )
    }
}
