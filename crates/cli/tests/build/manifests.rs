//! What manifests of Rust programs may say, and the files of other tools beside them.

use std::{fs, path::Path, process::Command};

use super::Place;

/// The files of a program and of the packages that it depends on. `FOLDER` is the folder of all.
const FILES: &[(&str, &str)] = &[
    (
        "limits/Cargo.toml",
        "[package]\nname = \"limits\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    ),
    ("limits/src/lib.rs", "#![no_std]\npub const LIMIT: u64 = 7;\n"),
    // A program itself.
    (
        "shared/Cargo.toml",
        "[package]\nname = \"shared\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
         [lib]\ncrate-type = [\"cdylib\", \"lib\"]\n",
    ),
    ("shared/src/lib.rs", "#![no_std]\npub const SHARED: u64 = 20;\n"),
    (
        "vault/Cargo.toml",
        r#"[package]
name = "vault"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib", "lib"]

[features]
loud = []

[dependencies]
limits = { git = "file://FOLDER/limits" }
shared = { path = "../shared" }

[profile.release]
debug-assertions = true

[workspace]
"#,
    ),
    ("vault/Xargo.toml", "[target.bpfel-unknown-unknown.dependencies.std]\nfeatures = []\n"),
    (
        "vault/Anchor.toml",
        "[programs.localnet]\nvault = \"Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS\"\n",
    ),
    (
        "vault/src/lib.rs",
        r#"#![no_std]

macro_rules! declare_id {
    ($id:literal) => {
        pub const ID: &str = $id;
    };
}

declare_id!("8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff");

#[no_mangle]
pub extern "C" fn entrypoint(_input: *mut u8) -> u64 {
    let checked = if cfg!(debug_assertions) { 100 } else { 0 };
    let loud = if cfg!(feature = "loud") { 1000 } else { 0 };
    limits::LIMIT + shared::SHARED + checked + loud
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
"#,
    ),
];

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=tests", "-c", "user.email=tests@localhost"]);
    let output = command.args(arguments).current_dir(folder).output().expect("git starts");
    assert!(output.status.success(), "{output:?}");
}

pub(super) fn git_and_path_dependencies_profiles_features_and_lock_files_are_honoured() {
    let place = Place::new("build-manifests");
    let folder = place.folder.to_str().expect("the path is text");
    for (path, text) in FILES {
        let path = place.folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is writable");
        fs::write(path, text.replace("FOLDER", folder)).expect("it is writable");
    }
    let limits = place.folder.join("limits");
    git(&limits, &["init", "--quiet"]);
    git(&limits, &["add", "."]);
    git(&limits, &["commit", "--quiet", "--message", "Add limits"]);

    let unlocked = place.run(&["build", "vault", "--", "--locked"]);
    assert_eq!(unlocked.code, Some(1), "{}", unlocked.text());
    assert!(unlocked.stderr.contains("--locked was passed"), "{}", unlocked.stderr);
    place.build("vault", &[]);
    let built = place.run(&["build", "vault", "--", "--locked", "--features", "loud"]);
    assert_eq!(built.code, Some(0), "{}", built.text());
    let compiled = ["limits", "shared"].map(|it| built.stderr.contains(&format!("Compiling {it}")));
    assert_eq!(compiled, [false; 2], "dependencies are compiled once: {}", built.stderr);
    let declared = "warning: the program declares 8mTauyRAFNN1cqbZzDbzBHwRzUbVCtD1a9q7DQ7HNaff, \
                    which is not its keypair's address";
    assert!(built.stderr.contains(declared), "{}", built.stderr);
    assert!(built.stderr.contains("help: deploy with the keypair"), "{}", built.stderr);
    let run = place.run(&["--json", "run", "cargo/deploy/vault.so"]);
    assert_eq!(run.json()["r0"], 1127, "{}", run.text());
}
