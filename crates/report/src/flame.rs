//! Where the compute units of a transaction go, for the explorer's flame graph.

use selkie_isa::failure::Failure;
use selkie_replay::Timeline;
use serde_json::{Value, json};

use crate::{
    explain::debug_files,
    profile::{Profile, format::FORMATS, table::Libraries},
    symbolize::{Line, Programs},
};

/// Frames with less than this part of all compute units are left out: they cannot be seen.
const PART_MIN: u64 = 4_000;
/// The frames of an answer.
const FRAMES_MAX: usize = 6_000;
/// The lines of a frame.
const LINES_MAX: usize = 24;
/// The longest name.
const NAME_CHARS_MAX: usize = 300;

/// Returns the call tree of transactions with compute units, twice: libraries counting for the own functions that
/// call them, and all functions. With the name of a format, returns the text that tools read.
///
/// # Errors
/// If one of the transactions cannot be run, or there is no such format of text.
pub fn flame(
    timelines: impl IntoIterator<Item = Result<Timeline, Failure>>,
    format: Option<&str>,
) -> Result<Value, Failure> {
    let mut programs = Programs::new(debug_files());
    let mut profile = Profile::default();
    for timeline in timelines {
        profile.add(&timeline?, &mut programs);
    }
    let Some(format) = format else {
        return Ok(json!({
            "all": frames(&profile.shown(Libraries::Expanded)),
            "own": frames(&profile.shown(Libraries::RolledUp)),
            "units": profile.units,
        }));
    };
    let known = FORMATS.iter().find(|it| it.name == format);
    let text = known.map(|it| it.render(&profile.shown(Libraries::Expanded)));
    let text = text.and_then(|it| String::from_utf8(it).ok());
    let text = text.ok_or_else(|| format!("there is no format `{format}` of text"))?;
    Ok(json!({ "extension": known.map(|it| it.extension), "text": text }))
}

/// Returns the frames of a profile, each after its caller.
fn frames(profile: &Profile) -> Vec<Value> {
    let totals = profile.total_units();
    let least = profile.units / PART_MIN;
    let mut places: Vec<Option<usize>> = Vec::with_capacity(totals.len());
    let mut shown = Vec::new();
    for (node, total) in profile.nodes().iter().zip(&totals) {
        let parent = node.parent.map(|it| places.get(it).copied().flatten());
        let is_shown = *total > least && parent != Some(None) && shown.len() < FRAMES_MAX;
        places.push(is_shown.then_some(shown.len()));
        if !is_shown {
            continue;
        }
        let short = |line: &Line| {
            let file = profile.file(&line.file).map_or(&line.file, |it| &it.short);
            format!("{file}:{}", line.line)
        };
        let mut lines: Vec<_> = node.lines.iter().collect();
        lines.sort_by_key(|(_, units)| core::cmp::Reverse(**units));
        let lines = lines.into_iter().take(LINES_MAX);
        shown.push(json!({
            "calls": node.calls,
            "isOwn": node.is_own,
            "kind": node.frame.kind.name(),
            "lines": lines.map(|(line, units)| json!([short(line), units])).collect::<Vec<_>>(),
            "name": node.frame.name.chars().take(NAME_CHARS_MAX).collect::<String>(),
            "parent": parent.flatten(),
            "program": node.frame.program.to_string(),
            "self": node.units,
            "total": total,
        }));
    }
    shown
}
