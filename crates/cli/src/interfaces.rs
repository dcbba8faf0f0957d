//! The descriptions of programs' interfaces on this machine, for the explorer.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use selkie::{Pubkey, interface_file, interface_folders};
use selkie_isa::input;
use selkie_replay::DebugFiles;
use selkie_rpc::Interface;

/// The most bytes of a description that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// The most programs whose descriptions are kept.
const PROGRAMS_MAX: usize = 256;

/// What was found, for as long as folders and files stay as they are.
#[derive(Default, Debug)]
pub(crate) struct Interfaces {
    found: Mutex<BTreeMap<Pubkey, Found>>,
}

/// What was found for a program.
#[derive(Debug)]
struct Found {
    /// When the folders and the file were changed.
    stamps: Vec<Option<SystemTime>>,
    file: Option<PathBuf>,
    interface: Option<Arc<Interface>>,
}

impl Interfaces {
    /// Returns the description of a program: by the name of the file that has the program's code, or by the
    /// address that the description has.
    pub(crate) fn find(
        &self,
        program: &Pubkey,
        elf: &dyn Fn() -> Option<Vec<u8>>,
    ) -> Option<Arc<Interface>> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.get(program)
            && found.stamps == stamps(found.file.as_deref())
        {
            return found.interface.clone();
        }
        let is_there = interface_folders().iter().any(|it| it.is_dir());
        let file = is_there.then(|| look_for(program, elf)).flatten();
        let interface = file.as_deref().and_then(read);
        if all.len() >= PROGRAMS_MAX {
            all.clear();
        }
        let stamps = stamps(file.as_deref());
        all.insert(*program, Found { stamps, file, interface: interface.clone() });
        interface
    }
}

fn look_for(program: &Pubkey, elf: &dyn Fn() -> Option<Vec<u8>>) -> Option<PathBuf> {
    let mut built = DebugFiles::default();
    built.add_usual(Path::new(""));
    let elf = elf();
    let file = elf.as_deref().and_then(|elf| built.path_of(elf));
    interface_file(program, file)
}

fn read(path: &Path) -> Option<Arc<Interface>> {
    let text = input::text(path, FILE_BYTES_MAX).ok()?;
    Interface::read(path.display().to_string(), &text).ok().map(Arc::new)
}

/// Returns when the folders and a file were changed.
fn stamps(file: Option<&Path>) -> Vec<Option<SystemTime>> {
    let folders = interface_folders();
    let paths = folders.iter().map(PathBuf::as_path).chain(file);
    paths.map(|path| fs::metadata(path).and_then(|it| it.modified()).ok()).collect()
}
