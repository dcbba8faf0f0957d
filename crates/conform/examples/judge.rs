//! Runs the vectors of files and folders, as `selkie conform` does, and fails if one fails. It needs
//! far fewer crates than the command, so it is what is built for emulated processors.
//!
//! ```sh
//! cargo run -p selkie-conform --example judge -- ELFS PATH…
//! ```

use std::{env, path::PathBuf, process::ExitCode};

use selkie_conform::{Engine, Options, run};

fn main() -> ExitCode {
    let mut paths = env::args_os().skip(1).map(PathBuf::from);
    let elfs = paths.next();
    let paths: Vec<PathBuf> = paths.collect();
    let mut failed = false;
    for engine in [Engine::Interpreter, Engine::Jit] {
        let options = Options { elfs: elfs.clone(), threads: None, engine };
        let report = run(&paths, &options, &|_| ());
        for file in &report.files {
            for failure in &file.failures {
                println!("{}: {failure}", file.path.display());
            }
        }
        let total = report.total();
        println!("{engine:?}: {total}");
        failed |= total.failed > 0 || total.is_empty();
    }
    ExitCode::from(u8::from(failed))
}
