//! LiteSVM's register trace of the same transaction.
//!
//! LiteSVM looks for the folder in its environment, which a process should not change for itself: so it
//! is measured in a process of its own.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

use selkie::{Hash, Instruction, Signer, address, ids, keypair};
use selkie_bench_seam::{Account, Start};
use selkie_bench_svm::{call::call, litesvm};
use selkie_replay::Timeline;
use selkie_report::{Programs, agave};

use crate::{LONG_TURNS, SORT, measure, program};

/// Where LiteSVM writes its traces.
const FOLDER: &str = "SBF_TRACE_DIR";
/// The limit of the first transaction; those of others differ, which makes them others.
const COMPUTE_UNITS: u32 = 1_400_000;

/// Prints how long it takes to write the same register trace to files, on both sides.
pub(crate) fn measure_both(timeline: &Timeline) {
    let folder = |side| env::temp_dir().join(format!("selkie-traces-{}-{side}", process::id()));
    let (here, there) = (folder("selkie"), folder("litesvm"));
    measure("register trace in agave's files", LONG_TURNS, || {
        let files = agave::files(timeline, &mut Programs::default());
        fs::create_dir_all(&here).expect("the folder can be made");
        for (name, bytes) in &files {
            fs::write(here.join(name), bytes).expect("the file can be written");
        }
        files
    });
    let program = env::current_exe().expect("this program has a file");
    let status = Command::new(program).env(FOLDER, &there).status().expect("it can be run");
    assert!(status.success(), "{status}");
    assert_eq!(largest(&here), largest(&there), "the registers");
    for folder in [here, there] {
        fs::remove_dir_all(folder).expect("it can be removed");
    }
}

/// Returns the name and size of the largest file of a folder: the registers. The name is their hash.
fn largest(folder: &Path) -> (u64, PathBuf) {
    let files = fs::read_dir(folder).expect("it was written").map(|it| it.expect("it can be read"));
    let files = files.map(|it| (it.metadata().expect("it has some").len(), it.file_name().into()));
    files.max().expect("it has files")
}

/// Prints how long LiteSVM takes, if this process is the one that has the folder.
pub(crate) fn measure_peer() -> bool {
    if env::var_os(FOLDER).is_none() {
        return false;
    }
    let side = litesvm::load(&["tracing"]).expect("LiteSVM is built");
    let mut world = side.open(Start::Bare, false).expect("it opens");
    let (id, loader) = (address("sort").to_bytes(), ids::bpf_loader_upgradeable::ID.to_bytes());
    world.add_program(id, &program(SORT), loader).expect("it loads");
    let owner = ids::system_program::ID.to_bytes();
    let wallet = Account { lamports: 1 << 40, data: Vec::new(), owner };
    world.set_account(keypair("payer").pubkey().to_bytes(), wallet).expect("it has one");
    let blockhash = Hash::new_from_array(world.blockhash());
    let sort = Instruction { program_id: address("sort"), accounts: vec![], data: vec![] };
    let limits = (0..LONG_TURNS as u32).map(|number| COMPUTE_UNITS - number);
    let calls: Vec<_> = limits.map(|limit| call(sort.clone(), limit, blockhash)).collect();
    world.queue(&calls).expect("they can be read");
    measure("the same by LiteSVM", LONG_TURNS, || world.send(1).expect("it succeeds"));
    true
}
