//! Programs that were built into cargo's target folder.

use std::{
    env,
    path::{Path, PathBuf},
};

use selkie_inspect::target_folders;

use crate::{
    deploy::{ProgramError, ProgramFile},
    origin::staleness,
};

/// Where tools write programs, within the target folder.
const DEPLOY: &str = "deploy";

/// A program that was built into cargo's target folder: [`built`].
#[derive(Clone, Debug)]
pub struct BuiltProgram {
    name: String,
    path: Option<PathBuf>,
    searched: Vec<PathBuf>,
}

/// Returns the program that `selkie build`, `cargo build-sbf` or `anchor build` has written to
/// `target/deploy/NAME.so`: in the folder that the variable `SBF_OUT_DIR` names, in the target folder of the
/// running test, in that of the current folder, or in those of the folders above.
///
/// ```no_run
/// use selkie::{Svm, address, built};
///
/// let mut svm = Svm::new();
/// svm.add_program(address("program"), built("vault"))?;
/// # Ok::<(), selkie::ProgramError>(())
/// ```
///
/// To add it fails if there is no such file, or if it is older than a source of the program.
#[must_use]
pub fn built(name: &str) -> BuiltProgram {
    // Cargo replaces the dashes of packages in Rust.
    let files = [format!("{name}.so"), format!("{}.so", name.replace('-', "_"))];
    let folders = out_folder()
        .into_iter()
        .chain(target_folders(Path::new("")).into_iter().map(|it| it.join(DEPLOY)));
    let mut searched: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let found = files.iter().map(|file| folder.join(file)).find(|it| it.is_file());
        if found.is_some() {
            return BuiltProgram { name: name.to_owned(), path: found, searched };
        }
        if !searched.contains(&folder) {
            searched.push(folder);
        }
    }
    BuiltProgram { name: name.to_owned(), path: None, searched }
}

impl BuiltProgram {
    /// Returns the path of the file, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl ProgramFile for BuiltProgram {
    fn read(self) -> Result<Vec<u8>, ProgramError> {
        let Self { name, path, searched } = self;
        let path = path.ok_or(ProgramError::NotBuilt(name, searched))?;
        match staleness(&path) {
            Some(note) => Err(ProgramError::Stale(note)),
            None => path.as_path().read(),
        }
    }

    fn path(&self) -> Option<&Path> {
        self.file()
    }
}

/// Returns the folder in which `cargo test-sbf` and others put programs, if they tell.
#[allow(clippy::disallowed_methods, reason = "the variable is documented")]
fn out_folder() -> Option<PathBuf> {
    env::var_os("SBF_OUT_DIR").filter(|it| !it.is_empty()).map(PathBuf::from)
}
