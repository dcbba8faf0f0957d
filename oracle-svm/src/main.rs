mod agave;
mod case;
mod observed;
mod vector;

use std::{env, fs, io, path::{Path, PathBuf}, process::ExitCode};

fn vectors(files: &[String], blobs: &[PathBuf]) -> io::Result<bool> {
    let folders: Vec<&Path> = blobs.iter().map(PathBuf::as_path).collect();
    let mut blobs = vector::Blobs::new(&folders);
    let mut agave = agave::Agave::default();
    let (mut count, mut differing) = (0, 0);
    for file in files {
        for line in fs::read_to_string(file)?.lines() {
            let (case, expected) = vector::read(line, &mut blobs)?;
            let observed = agave.run(&case);
            let difference = expected.difference(&observed[0]);
            count += 1;
            if !difference.is_empty() {
                differing += 1;
                println!("{}: expected | agave\n{difference}", case.id);
            }
        }
    }
    println!("{count} vectors, {differing} differ");
    Ok(differing == 0)
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let r = vectors(&args[..1], &args[1..].iter().map(PathBuf::from).collect::<Vec<_>>());
    match r { Ok(true) => ExitCode::SUCCESS, Ok(false) => ExitCode::from(1), Err(e) => { eprintln!("error: {e}"); ExitCode::from(2) } }
}
