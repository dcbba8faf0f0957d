//! The description of a program's interface that Anchor, Codama and `selkie build --idl` write.
//!
//! Files are looked for in `target/idl`: that beside the `target/deploy` of a program's file, and those
//! of the current folder and of three above it, which is where tests of a package run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_idl::Idl;
use selkie_isa::{input, plain};
use selkie_layout::{account::Layout, instruction::Instruction};
use solana_pubkey::Pubkey;

/// The most bytes of a description that is read, and the files of a folder that are looked at.
const FILE_BYTES_MAX: u64 = 4 << 20;
const FILES_MAX: usize = 256;

/// The folders in which descriptions are, from the folder in which a test runs.
const FOLDERS: &[&str] =
    &["target/idl", "../target/idl", "../../target/idl", "../../../target/idl"];

/// The description of a program's interface.
pub(crate) struct Interface {
    /// The file.
    pub(crate) path: PathBuf,
    idl: Idl,
}

/// The folders in which descriptions of programs' interfaces are looked for, from the current one.
#[must_use]
pub fn interface_folders() -> Vec<PathBuf> {
    FOLDERS.iter().map(PathBuf::from).collect()
}

/// Returns the file that describes the interface of a program: by the name of the program's file, or else by
/// its address.
#[must_use]
pub fn interface_file(program: &Pubkey, file: Option<&Path>) -> Option<PathBuf> {
    Interface::find(program, file).map(|it| it.path)
}

impl Interface {
    /// Finds the description of a program: by the name of its file, or else by its address.
    pub(crate) fn find(program: &Pubkey, file: Option<&Path>) -> Option<Self> {
        let named = file.and_then(|file| {
            let target = file.parent()?.parent()?;
            Self::read(&target.join("idl").join(file.file_stem()?).with_extension("json"))
        });
        named.or_else(|| {
            let mut all = FOLDERS.iter().flat_map(|folder| files(Path::new(folder)));
            all.find_map(|path| Self::read(&path).filter(|it| it.idl.address == Some(*program)))
        })
    }

    fn read(path: &Path) -> Option<Self> {
        let idl = Idl::read(&input::text(path, FILE_BYTES_MAX).ok()?).ok()?;
        Some(Self { path: path.to_owned(), idl })
    }

    /// Returns the name of the error with a code, and what the program says about it.
    pub(crate) fn error(&self, code: u32) -> Option<(String, Option<String>)> {
        let error = self.idl.error(code)?;
        let line = |text: &String| plain::line(text).into_owned();
        Some((line(&error.name), error.message.as_ref().map(line)))
    }

    /// Returns the layout of an account by its data.
    pub(crate) fn account(&self, data: &[u8]) -> Option<&Layout> {
        self.idl.account(data)
    }

    /// Returns the instruction that has these data.
    pub(crate) fn instruction(&self, data: &[u8]) -> Option<&Instruction> {
        self.idl.instruction(data)
    }
}

/// Lists the files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|it| it.extension().is_some_and(|it| it == "json")).take(FILES_MAX).collect();
    paths.sort_unstable();
    paths
}
