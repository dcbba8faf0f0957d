//! Kind `elf_loader`: an ELF file, possibly damaged, under the environment of a feature profile.

use std::collections::BTreeSet;

use selkie_elf::Executable;
use selkie_fixture::{ElfFixture, Fixture, Recorded};
use selkie_isa::layout::{BYTECODE_START, SLOT_BYTES};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Missing, Verdict,
    vector::{Hex, Hex64, is_kind, patch, sha256_prefix, xxh64},
};

#[derive(Deserialize)]
struct Vector {
    base: Option<String>,
    elf: Option<Hex>,
    fixture: Option<String>,
    trunc: Option<usize>,
    #[serde(default)]
    patch: Vec<(usize, Hex)>,
    sha: Option<String>,
    profile: String,
    #[serde(default)]
    deploy: bool,
    exp: Expected,
}

/// The expected result. Missing numbers are 0; missing hashes are not compared.
#[derive(Deserialize)]
struct Expected {
    #[serde(default)]
    err: u32,
    rodata_hash: Option<Hex64>,
    #[serde(default)]
    rodata_len: usize,
    #[serde(default)]
    text_cnt: usize,
    #[serde(default)]
    text_off: u64,
    #[serde(default)]
    entry_pc: u32,
    calldests_hash: Option<Hex64>,
    #[serde(default)]
    sbpf: u8,
    #[serde(default)]
    verify: u32,
    text_hash: Option<Hex64>,
}

/// Returns whether a line is of this kind, whose lines may use the field `kind` for something else.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is_kind(line, "elf_loader") || has("exp") && has("profile") && (has("base") || has("elf"))
}

/// Returns whether a line states the expected result of an ELF loader fixture.
#[must_use]
pub fn is_fixture(line: &Value) -> bool {
    let path = line.get("fixture").and_then(Value::as_str);
    let has = |field| line.get(field).is_some();
    let is_named =
        is_kind(line, "fd_elf_loader") || path.is_some_and(|it| it.starts_with("elf_loader/"));
    path.is_some() && is_named && has("exp") && has("profile")
}

/// Loads the file and compares the error, or the loaded program.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    let mut bytes = match vector.file(context)? {
        Ok(bytes) => bytes,
        Err(why) => return Ok(why.into()),
    };
    patch(&mut bytes, vector.trunc, &vector.patch);
    if vector.sha.as_ref().is_some_and(|sha| *sha != sha256_prefix(&bytes)) {
        return Err(BadVector("the file has another SHA-256 than the vector states".to_owned()));
    }
    let profile = context.profile(&vector.profile, vector.deploy)?;
    let expected = &vector.exp;
    let mut check = Check::default();
    match selkie_elf::load(&bytes, &profile.environment) {
        Err(error) => check.same("err", expected.err, error.discriminant() + 1),
        Ok(executable) => {
            check.same("err", expected.err, 0);
            if expected.err == 0 {
                compare_loaded(&mut check, expected, &executable);
            }
        }
    }
    check.finish()
}

/// Loads a fixture's file and compares the result with the recorded one. Those of December 2024 record whether
/// the file was rejected, but not the error.
pub(crate) fn judge_recorded(
    fixture: &ElfFixture,
    context: &Context,
) -> Result<Verdict, BadVector> {
    let (input, expected) = (&fixture.input, &fixture.output);
    let profile = context.profile("mainnet", input.is_deployed)?;
    let mut check = Check::default();
    let loaded = selkie_elf::load(&input.bytes, &profile.environment);
    match (expected.error, &loaded) {
        (Some(error), Err(found)) => check.same("err", error, found.discriminant() + 1),
        _ => check.same("loads", !expected.is_rejected(), loaded.is_ok()),
    }
    if let (Ok(executable), false) = (&loaded, expected.is_rejected()) {
        let text = executable.text_vaddr() - BYTECODE_START;
        let hash = |it: &Recorded| it.bytes().map_or_else(|| it.hash(), xxh64);
        check.same("rodata", hash(&expected.rodata), xxh64(&executable.read_only().bytes));
        check.same("text_cnt", expected.text_slots, (executable.text().len() / SLOT_BYTES) as u64);
        check.same("text_off", expected.text_offset, text);
        check.same("entry_pc", expected.entry_pc, u64::from(executable.entry_pc()));
        check.same("calldests", hash(&expected.functions), xxh64(&destinations(executable)));
    }
    check.finish()
}

impl Vector {
    /// Returns the undamaged file, or the reason to skip the vector.
    fn file(&self, context: &Context) -> Result<Result<Vec<u8>, Missing>, BadVector> {
        match (&self.elf, &self.base, &self.fixture) {
            (Some(Hex(bytes)), _, _) => Ok(Ok(bytes.clone())),
            (_, Some(base), _) => Ok(context.elf(base).map(|bytes| bytes.to_vec())),
            (_, _, Some(path)) => match context.fixture(path) {
                Ok(fixture) => match Fixture::read(&fixture) {
                    Ok(Fixture::Elf(fixture)) => Ok(Ok(fixture.input.bytes)),
                    Ok(_) => Err(BadVector("the fixture is of another kind".to_owned())),
                    Err(error) => Err(BadVector(error.to_string())),
                },
                Err(why) => Ok(Err(why)),
            },
            (None, None, None) => {
                Err(BadVector("it has neither `elf` nor `base` nor `fixture`".to_owned()))
            }
        }
    }
}

/// Returns the slots where functions begin: ascending, eight little-endian bytes each.
fn destinations(executable: &Executable) -> Vec<u8> {
    let slots: BTreeSet<u32> = executable.functions().iter().map(|(_, it)| it.pc).collect();
    slots.iter().flat_map(|&pc| u64::from(pc).to_le_bytes()).collect()
}

fn compare_loaded(check: &mut Check, expected: &Expected, executable: &Executable) {
    let (text, read_only) = (executable.text(), &executable.read_only().bytes);
    // Unlike the other hashes, that of an empty text is written as 0.
    let text_hash = if text.is_empty() { 0 } else { xxh64(text) };
    check.equal("rodata_hash", expected.rodata_hash, Hex64(xxh64(read_only)));
    check.same("rodata_len", expected.rodata_len, read_only.len());
    check.same("text_cnt", expected.text_cnt, text.len() / SLOT_BYTES);
    check.same("text_off", expected.text_off, executable.text_vaddr() - BYTECODE_START);
    check.same("entry_pc", expected.entry_pc, executable.entry_pc());
    check.equal("calldests_hash", expected.calldests_hash, Hex64(xxh64(&destinations(executable))));
    check.same("sbpf", expected.sbpf, executable.version() as u8);
    let verified = selkie_vm::verify(executable);
    check.same(
        "verify",
        expected.verify,
        verified.map_or_else(|error| error.discriminant() + 1, |()| 0),
    );
    check.equal("text_hash", expected.text_hash, Hex64(text_hash));
}
