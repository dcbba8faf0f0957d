//! Runs the vectors of files and folders on both engines, as `selkie conform` does, and fails if one
//! fails. It needs far fewer crates than the command, so this is what is built for processors that
//! are emulated.
//!
//! ```sh
//! cargo run -p selkie-conform --example judge -- ELFS PATH…
//! ```

#![allow(clippy::print_stdout, reason = "it prints its results")]

use std::{env, path::PathBuf, process::ExitCode};

use selkie_conform::{Options, run};

fn main() -> ExitCode {
    let mut paths = env::args_os().skip(1).map(PathBuf::from);
    let options = Options { elfs: paths.next(), ..Options::default() };
    let report = run(&paths.collect::<Vec<_>>(), &options, &|_| ());
    for file in &report.files {
        for failure in &file.failures {
            println!("{}: {failure}", file.path.display());
        }
    }
    let total = report.total();
    println!("{total}");
    ExitCode::from(u8::from(total.failed > 0 || total.is_empty()))
}
