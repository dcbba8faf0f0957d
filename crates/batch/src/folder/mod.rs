//! Folders of items and of results: Parquet files that are run, file by file.
//!
//! A folder of items has `items/*.parquet` and `contents/*.parquet`; results have a file for each file of
//! items, under its name. **A file of results appears when it is complete, and says what it is made of**: a
//! stamp in its metadata names the items, the programs that replace theirs, the options that change
//! results, and the version of Selkie. So a run goes on where one was killed, and never takes results of
//! other items for its own: it ends with an error.
//!
//! | item | what it is |
//! |---|---|
//! | [`FolderRun`] | a folder of items that is run into a folder of results |
//! | [`Job`] | runs files of items, for engines that distribute them |
//! | [`supervise()`] | a run that goes on if the engine ends its process |
//! | [`verify()`] | proves that results are complete |
//! | [`diff()`] | which items end differently in another run |

mod budget;
mod contents;
mod diff;
mod job;
mod parts;
mod run;
mod shards;
mod supervise;
mod table;
mod total;
mod verify;

use core::error::Error;

pub(crate) use selkie_isa::failure::Result;

pub use self::{
    contents::{Programs, programs, read_base, read_contents},
    diff::{Change, Diff, Ended, diff},
    job::{Job, Progress},
    parts::{remove_results, results as results_of, sweep},
    run::{FolderRun, Ready, Work},
    shards::list as files,
    supervise::{Supervised, supervise},
    table::quiet_library_panics,
    total::Total,
    verify::{Verification, verify},
};
#[cfg(feature = "import")]
pub(crate) use self::{
    shards::{CONTENTS, ITEMS},
    table::TableWriter,
};

/// What a library gives that reads or writes a file, whose name is added to its error.
type Tried<T> = core::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Returns whether a status says nothing about what the transaction does.
fn is_unusable(status: &str) -> bool {
    matches!(status, "MalformedItem" | "EngineCrash")
}
