//! Any text as a replay file, and any transaction and account data in a well-formed one: what can be
//! read is run, and looked at in every way.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Coverage, Profile, Programs, agave::RegisterTrace, coverage, diff, profile};
use serde_json::json;

/// The most compute units of a run, so that each input takes milliseconds.
const COMPUTE_UNITS: u64 = 10_000;

fuzz_target!(|input: (u8, &str, &[u8], &[u8])| {
    let (kind, text, program, data) = input;
    match kind % 3 {
        0 => look_at_all(text),
        1 => look_at_all(&instruction(program, data)),
        _ => {
            let _ = RegisterTrace::read(data, text);
        }
    }
});

/// Returns a replay of an instruction whose program and data are given.
fn instruction(program: &[u8], data: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|it| format!("{it:02x}")).collect::<String>();
    let (id, data) = ("SysvarC1ock11111111111111111111111111111112", hex(data));
    let loader = "BPFLoader2111111111111111111111111111111111";
    let account =
        json!({ "k": id, "l": 1, "o": loader, "x": true, "r": "0", "d": base64(program) });
    let line = json!({
        "features": "mainnet-2026-09-27",
        "lamports_per_signature": 5000,
        "blockhash_queue": [],
        "accounts": [account],
        "instructions": [{ "program": id, "accounts": [[id, "w"]], "data": data }],
        "given": [],
        "compute_unit_limit": COMPUTE_UNITS,
        "heap_bytes": 32_768,
    });
    line.to_string()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = [0, 1, 2].map(|index| u32::from(chunk.get(index).copied().unwrap_or(0)));
        let bits = word[0] << 16 | word[1] << 8 | word[2];
        for index in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index > chunk.len() as u32 { '=' } else { digit.into() });
        }
    }
    text
}

fn look_at_all(text: &str) {
    let Ok(file) = ReplayFile::parse(text) else { return };
    for index in 0..file.len() {
        // A file may ask for more compute units than there is time for.
        if let Ok(timeline) = file.timeline(index)
            && timeline.receipt().compute_units <= COMPUTE_UNITS
        {
            look_at(&timeline);
        }
    }
}

fn look_at(timeline: &Timeline) {
    report(timeline);
    for step in [0, timeline.steps() / 2, timeline.steps().saturating_sub(1)] {
        let state = timeline.state_at(step);
        assert_eq!(state.step, step.min(timeline.steps()));
        if let Some(level) = state.levels.last() {
            let _ = timeline.last_write(step, level.invocation, level.registers[1], 8);
        }
    }
    assert_eq!(diff::parting(timeline, timeline), None);
}

fn report(timeline: &Timeline) {
    let (mut programs, mut units) = (Programs::default(), Profile::default());
    units.add(timeline, &mut programs);
    let sum: u64 = units.nodes().iter().map(|node| node.units).sum();
    assert_eq!(sum, timeline.receipt().compute_units);
    for format in profile::format::FORMATS {
        let _ = format.render(&units);
    }
    let mut executed = Coverage::default();
    executed.add(timeline, &mut programs);
    let files = executed.files(&mut programs);
    for format in coverage::format::FORMATS {
        let _ = format.render(&files, &|_| None);
    }
}
