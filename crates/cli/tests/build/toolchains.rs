//! Toolchains that crash, and the official one: scripts stand in for them.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use selkie_build::rust;

use super::Place;
use crate::common::selkie_with;

/// Writes a shell script.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is writable");
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("the folder is writable");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is there");
}

/// A rustc that crashes on the program unless it is to write full debug information.
pub(super) fn crashes_of_rustc_are_tried_again_with_full_debug_information() {
    let place = Place::new("build-crash");
    let real = rust::sysroot(None).expect("there is a toolchain");
    let toolchain = place.folder.join("toolchain");
    let text = format!(
        "case \" $* \" in\n\
         *' --crate-name counter '*' debuginfo=2 '*) ;;\n\
         *' --crate-name counter '*) kill -SEGV $$ ;;\n\
         esac\n\
         exec '{}' \"$@\"",
        real.join("bin/rustc").display(),
    );
    script(&toolchain.join("bin/rustc"), &text);
    symlink(real.join("lib"), toolchain.join("lib")).expect("the folder is writable");
    symlink(real.join("bin/cargo"), toolchain.join("bin/cargo")).expect("the folder is writable");
    let manifest = place.folder.join("examples/rust/counter/Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the example is there");
    // Of what is compiled, only the program differs after the crash.
    let profile = "\n[profile.release]\ndebug = 1\n[profile.release.package.\"*\"]\ndebug = 2\n";
    fs::write(manifest, text + profile).expect("it is writable");

    let toolchain = toolchain.to_str().expect("the path is text");
    let build = ["--json", "build", "examples/rust/counter", "--toolchain", toolchain];
    let built = place.run(&build);
    assert_eq!(built.code, Some(0), "{}", built.text());
    for expected in [
        "rustc crashed while it compiled `counter` (signal: 11",
        "this is a mistake of the compiler",
        "trying again with full debug information",
    ] {
        assert!(built.stderr.contains(expected), "no `{expected}` in\n{}", built.stderr);
    }
    assert!(!built.stderr.contains("--crate-name"), "rustc's command line is for -v");
    let program = built.json()["programs"][0]["program"].clone();
    place.counts(program.as_str().expect("it was built"));

    let sized = place.run(&[&build[..], &["--sizes"]].concat()).json()["programs"][0].clone();
    let items = sized["sizes"]["items"].as_array().expect("the sizes are known").clone();
    let total: u64 = items.iter().filter_map(|it| it["bytes"].as_u64()).sum();
    let other = sized["sizes"]["other"].as_u64();
    assert_eq!(other.map(|it| it + total), sized["bytes"].as_u64());
    let entry = items.iter().find(|it| it["name"] == "entrypoint").expect("it is in the program");
    assert_eq!(entry["kept_by"], serde_json::json!([]));
}

/// Runs `selkie` with programs of these folders.
fn run_with_path(place: &Place, path: &[PathBuf], arguments: &[&str]) -> crate::common::Output {
    let path: OsString = env::join_paths(path).expect("the paths have no colon");
    let cache = place.folder.join("cache");
    let variables = [("XDG_CACHE_HOME", cache.as_path()), ("PATH", Path::new(&path))];
    selkie_with(&place.folder, arguments, &variables)
}

pub(super) fn official_tools_are_run_where_they_are_installed() {
    let place = Place::new("build-official");
    let hello = place.run(&["build", "examples/hello.s", "-o", "hello.so", "--strip"]);
    assert_eq!(hello.code, Some(0), "{}", hello.text());
    let bin = place.folder.join("bin");
    let [notes, program] = ["notes", "hello.so"].map(|it| place.folder.join(it));
    let text = format!(
        "case \"$*\" in *--version*) echo 'solana-cargo-build-sbf 9.9.9'; exit ;; esac\n\
         echo \"$@\" > '{}'\n\
         while [ \"$1\" != --sbf-out-dir ]; do shift; done\n\
         mkdir -p \"$2\" && cp '{}' \"$2/hello.so\"\n\
         echo compiled",
        notes.display(),
        program.display(),
    );
    script(&bin.join("cargo-build-sbf"), &text);
    let path = env::var_os("PATH").expect("there is a path");
    let path: Vec<PathBuf> = [bin].into_iter().chain(env::split_paths(&path)).collect();
    let project = "examples/rust/hello";
    let arguments = ["--json", "build", project, "--toolchain", "official", "--", "--locked"];
    let built = run_with_path(&place, &path, &arguments);
    assert_eq!(built.code, Some(0), "{}", built.text());
    let report = built.json()["programs"][0].clone();
    assert_eq!(report["toolchain"], "solana-cargo-build-sbf 9.9.9");
    let said = fs::read_to_string(notes).expect("it was run");
    for expected in ["build-sbf --arch v3 --manifest-path", "hello/Cargo.toml", " -- --locked"] {
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
    let deployed = place.folder.join(project).join("target/deploy/hello.so");
    assert_eq!(fs::read(deployed).ok(), fs::read(program).ok());
    assert!(built.stderr.contains("compiled"), "{}", built.stderr);

    let missing = run_with_path(&place, &[place.folder.join("nowhere")], &arguments);
    assert_eq!(missing.code, Some(2));
    assert!(missing.text().contains("the official toolchain is not installed"), "{missing:?}");
}
