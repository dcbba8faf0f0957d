//! The names of other tools, under which `selkie` takes their command lines.

#![cfg(all(unix, feature = "node"))]

mod common;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use common::{folder, selkie};

const PROGRAM: &str = "LbUiWL3xVV8hTFYBVdbTNrpDo41NKS6o3LHHuDzjfcY";
const FUNDED: &str = "11111111111111111111111111111112";

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn print(folder: &Path, line: &str) -> String {
    let mut words = line.split(' ');
    let program = folder.join("names").join(words.next().unwrap());
    let output = Command::new(program).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_name_takes_the_command_line_of_its_tool() {
    let folder = folder("names");
    let made = selkie(&folder, &["link-names", "names"]);
    assert_eq!(made.code, Some(0), "{}", made.text());
    let version = print(&folder, "cargo-build-sbf build-sbf --version");
    assert!(version.contains("\nDefault platform-tools: v1."), "{version}");
    assert!(print(&folder, "cargo-test-sbf test-sbf --help").contains("--no-run"));
    assert!(print(&folder, "surfpool --version").starts_with("surfpool "));
    let unknown =
        Command::new(folder.join("names/cargo-build-sbf")).arg("--arhc").output().unwrap();
    let text = String::from_utf8(unknown.stderr).unwrap();
    assert!(!unknown.status.success() && text.contains("use --arch"), "{text}");
    let undone = selkie(&folder, &["link-names", "names", "--undo"]);
    assert_eq!(undone.stdout.lines().count(), 4, "{}", undone.text());
    assert_eq!(fs::read_dir(folder.join("names")).unwrap().count(), 0);
}

/// Without a lock file, nothing is known of what a project pins.
#[test]
fn a_project_that_cargo_cannot_lock_is_not_switched() {
    // Not below this repository, whose lock file would be taken.
    let folder = std::env::temp_dir().join(format!("selkie-switch-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let manifest = "[package]\nname = \"own\"\nversion = \"0.1.0\"\n\n[dependencies]\nlitesvm = { path = \"gone\" }\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let failed =
        selkie(&folder, &["switch", "--write", "--from", "ssh://git@example.org/selkie#abc"]);
    assert_eq!(failed.code, Some(2), "{}", failed.text());
    assert!(failed.stderr.contains("cargo cannot make the lock file"), "{}", failed.text());
    assert_eq!(fs::read_to_string(folder.join("Cargo.toml")).unwrap(), manifest);
    fs::remove_dir_all(&folder).unwrap();
}

/// As `anchor test` starts surfpool: no program is on the command line.
#[test]
fn programs_of_a_workspace_are_deployed() {
    let folder = folder("names-anchor");
    fs::create_dir_all(folder.join("target/deploy")).unwrap();
    fs::create_dir_all(folder.join("target/idl")).unwrap();
    fs::write(folder.join("Anchor.toml"), "[programs.localnet]\none = \"x\"\n").unwrap();
    fs::write(folder.join("program.s"), "mov64 r0, 0\nexit\n").unwrap();
    fs::write(folder.join("target/idl/one.json"), format!("{{\"address\":\"{PROGRAM}\"}}"))
        .unwrap();
    let account = format!(
        "{{\"{FUNDED}\":{{\"lamports\":77,\"owner\":\"{FUNDED}\",\"executable\":false,\"rentEpoch\":0,\
         \"data\":\"\",\"parsedData\":null}},\"{PROGRAM}\":null}}"
    );
    fs::write(folder.join("snapshot.json"), account).unwrap();
    for line in ["build program.s -o target/deploy/one.so", "link-names names"] {
        let output = selkie(&folder, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, Some(0), "{line}: {}", output.text());
    }
    let line = "start --port 0 --offline --block-production-mode transaction --snapshot snapshot.json \
                --no-tui --disable-instruction-profiling --max-profiles 1 --no-studio \
                --feature deprecate_rent_exemption_threshold --legacy-anchor-compatibility \
                --anchor-test-config-path Anchor.toml";
    let mut command = Command::new(folder.join("names/surfpool"));
    command.args(line.split_whitespace()).current_dir(&folder).stdout(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|it| it.contains("http://")).unwrap();
    let url = format!("http://{}", line.split_once("http://").unwrap().1);
    let program = selkie(&folder, &["program", "show", PROGRAM, "--url", &url]);
    assert_eq!(program.code, Some(0), "{}", program.text());
    let funded = selkie(&folder, &["--json", "account", "show", FUNDED, "--url", &url]);
    assert!(funded.stdout.contains("\"lamports\":77"), "{}", funded.text());
}
