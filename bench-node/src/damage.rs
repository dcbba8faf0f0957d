//! Ledgers that are damaged, and disks that are full.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    client::Client,
    process::{Launch, Started},
    transfers::Payers,
};

/// Bits that are flipped, one for each start.
const FLIPS: u64 = 60;
/// Lengths that a ledger is cut to.
const CUTS: u64 = 12;
/// The size of the disk that fills up.
const DISK_OPTIONS: &str = "size=4m";
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Transfers that fill it.
const TRANSFERS: usize = 20_000;

type Case = (&'static str, fn(&Launch, &Path) -> Result<()>);

/// What is done to ledgers, each with a folder of its own.
pub(crate) const CASES: &[Case] = &[
    ("truncated ledgers", truncated),
    ("ledgers with a flipped bit", flipped),
    ("ledgers of random bytes", random),
    ("a folder that cannot be made", unwritable),
    ("a full disk", full_disk),
    ("a disk that is read-only", read_only),
];

fn with_ledger(launch: &Launch, ledger: &Path) -> Launch {
    Launch { ledger: Some(ledger.to_owned()), ..launch.clone() }
}

/// Makes a ledger with some transactions, and returns the path of its file and the content.
fn ledger(launch: &Launch, folder: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let process = with_ledger(launch, folder).start()?;
    let mut client = Client::connect(&process.addresses.rpc)?;
    for signed in Payers::fund(&mut client, 4)?.sign(&mut client, 200)? {
        client.post(&signed.body(true), "")?;
    }
    process.stop()?;
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|it| it.map(|it| it.path())).collect::<std::io::Result<_>>()?;
    files.sort_by_key(|it| fs::metadata(it).map_or(0, |it| it.len()));
    let file = files.pop().context("the ledger has a file")?;
    let bytes = fs::read(&file)?;
    Ok((file, bytes))
}

/// Starts a node with a ledger that may be damaged: it works or explains itself.
fn start(launch: &Launch, ledger: &Path) -> Result<bool> {
    match with_ledger(launch, ledger).try_start()? {
        Started::Ready(process) => {
            process.answers(PATIENCE)?;
            process.stop()?;
            Ok(true)
        }
        Started::Refused { code, text } => {
            explains(code, &text)?;
            Ok(false)
        }
    }
}

/// Checks that a node ends with an error, not with a panic, and names the ledger.
fn explains(code: Option<i32>, text: &str) -> Result<()> {
    let is_error = code.is_some_and(|code| code != 101) && !text.contains("panicked");
    ensure!(is_error && text.contains("ledger"), "exit code {code:?}: {text}");
    Ok(())
}

fn truncated(launch: &Launch, folder: &Path) -> Result<()> {
    let (file, bytes) = ledger(launch, folder)?;
    for cut in 0..CUTS {
        let len = bytes.len() * usize::try_from(cut)? / usize::try_from(CUTS)?;
        fs::write(&file, &bytes[..len])?;
        start(launch, folder).with_context(|| format!("cut to {len} of {} bytes", bytes.len()))?;
    }
    Ok(())
}

fn flipped(launch: &Launch, folder: &Path) -> Result<()> {
    let (file, bytes) = ledger(launch, folder)?;
    let mut noticed = 0;
    for flip in 0..FLIPS {
        let mut bytes = bytes.clone();
        // The first bits, which every ledger has, and others all over the file.
        let place = match flip {
            0..30 => flip * 5,
            _ => flip.wrapping_mul(0x9e37_79b9_7f4a_7c15) % bytes.len() as u64,
        };
        let place = usize::try_from(place)?;
        bytes[place] ^= 1 << (flip % 8);
        fs::write(&file, &bytes)?;
        let works =
            start(launch, folder).with_context(|| format!("bit {} of byte {place}", flip % 8))?;
        noticed += u64::from(!works);
    }
    ensure!(noticed > 0, "no flipped bit was noticed");
    Ok(())
}

fn random(launch: &Launch, folder: &Path) -> Result<()> {
    let (file, bytes) = ledger(launch, folder)?;
    let noise = |it: usize| (it.wrapping_mul(0x9e37_79b9) >> 13).to_le_bytes()[0];
    for keep in [0, 9, 64, 320, 4096] {
        let mixed: Vec<u8> = bytes
            .iter()
            .enumerate()
            .map(|(place, byte)| if place < keep { *byte } else { noise(place) })
            .collect();
        fs::write(&file, &mixed)?;
        start(launch, folder).with_context(|| format!("noise behind {keep} bytes"))?;
    }
    Ok(())
}

fn unwritable(launch: &Launch, folder: &Path) -> Result<()> {
    let file = folder.join("file");
    fs::write(&file, "not a ledger")?;
    for ledger in [Path::new("/proc/selkie-ledger"), &file, &file.join("below")] {
        ensure!(!start(launch, ledger)?, "a node starts with {}", ledger.display());
    }
    Ok(())
}

/// A file system of its own, if the system allows one.
struct Mount(PathBuf);

impl Mount {
    fn new(folder: &Path) -> Option<Self> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", DISK_OPTIONS, "selkie"]).arg(folder);
        let is_mounted = command.output().is_ok_and(|it| it.status.success());
        if !is_mounted {
            println!("        skipped: file systems may not be mounted");
        }
        is_mounted.then(|| Self(folder.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // What stays mounted is in a folder for temporary files.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The node says that it cannot write, goes on answering, and what was finalized is still there
/// when there is space again.
fn full_disk(launch: &Launch, folder: &Path) -> Result<()> {
    let Some(mount) = Mount::new(folder) else { return Ok(()) };
    let arguments = vec!["--history".into(), "all".into()];
    let launch = Launch { arguments, ..with_ledger(launch, &mount.0.join("ledger")) };
    let process = launch.start()?;
    let mut client = Client::connect(&process.addresses.rpc)?;
    let mut refusal = String::new();
    let signed = Payers::fund(&mut client, 8)?.sign(&mut client, TRANSFERS)?;
    // Signing takes long, and the node closes connections that are silent.
    let mut client = Client::connect(&process.addresses.rpc)?;
    for signed in signed {
        let answer = client.post(&signed.body(true), "")?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if text.contains("error") {
            refusal = text;
            break;
        }
    }
    ensure!(refusal.contains("ledger"), "the refusal on a full disk is {refusal:?}");
    let health = client.post(&Client::body("getHealth", "[]"), "")?;
    let health = String::from_utf8_lossy(&health.body).into_owned();
    ensure!(health.contains("error"), "on a full disk the node is healthy: {health}");
    client.transaction_count().context("reads go on")?;
    process.kill()?;
    let remount = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&mount.0).status()?;
    ensure!(remount.success(), "the disk cannot be made larger");
    launch.start().context("with space again")?.stop()?;
    Ok(())
}

fn read_only(launch: &Launch, folder: &Path) -> Result<()> {
    let Some(mount) = Mount::new(folder) else { return Ok(()) };
    let path = mount.0.join("ledger");
    ledger(launch, &path)?;
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(&mount.0).status()?;
    ensure!(remount.success(), "the disk cannot be made read-only");
    ensure!(!start(launch, &path)?, "a node starts on a read-only disk");
    ensure!(!start(launch, &mount.0.join("new"))?, "a new ledger on a read-only disk");
    Ok(())
}
