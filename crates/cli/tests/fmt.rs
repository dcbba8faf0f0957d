//! `selkie fmt` on listings of real programs and on standard input.

mod common;

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use common::{folder, selkie};

#[test]
fn formatting_a_listing_does_not_change_the_program() {
    const BYTES_MAX: u64 = 200_000;
    let folder = folder("fmt-listings");
    let mut count = 0;
    for path in selkie_testdata::elfs() {
        if path.metadata().expect("it is a file").len() >= BYTES_MAX {
            continue;
        }
        let program = path.to_str().expect("the path is text");
        let listed = selkie(&folder, &["disasm", program, "-o", "listing.s"]);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let listing = fs::read_to_string(folder.join("listing.s")).expect("it was written");
        let build = |arch: &str, output: &str| {
            let built = selkie(&folder, &["build", "listing.s", "--arch", arch, "-o", output]);
            (built.code == Some(0)).then(|| fs::read(folder.join(output)).expect("it was written"))
        };
        let before = ["v0", "v2", "v3"].map(|arch| build(arch, "before.so"));
        let formatted = selkie(&folder, &["fmt", "listing.s"]);
        assert_eq!(formatted.code, Some(0), "{formatted:?}");
        let after = ["v0", "v2", "v3"].map(|arch| build(arch, "after.so"));
        assert!(before == after, "{program}");
        assert!(before.iter().any(Option::is_some), "{program}: {listing:.300}");
        let again = selkie(&folder, &["fmt", "listing.s", "--check"]);
        assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{program}");
        count += 1;
    }
    assert!(count > 3, "only {count} programs are small");
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    for arguments in [&["fmt"][..], &["fmt", "-"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selkie"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command is built");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        stdin.write_all(b"a:exit ;x").expect("the command reads");
        drop(stdin);
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(output.stdout, b"a:\n    exit  ;x\n");
        assert!(output.status.success());
    }
}
