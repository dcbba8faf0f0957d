//! The tracked text files of a repository.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::Result;

use crate::output;

/// Every tracked text file, by its path.
pub(crate) struct Files(BTreeMap<String, String>);

impl Files {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listed = output(Command::new("git").args(["ls-files"]).current_dir(root))?.stdout;
        let listed = String::from_utf8(listed)?;
        let files = listed.lines().filter_map(|path| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some((path.to_owned(), text))
        });
        Ok(Self(files.collect()))
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Files {
    fn from(files: [(&str, &str); N]) -> Self {
        Self(files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect())
    }
}
