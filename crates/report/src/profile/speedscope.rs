//! The format of speedscope.

use serde_json::{Value, json};

use super::Profile;

/// Renders a profile as stacks with weights.
pub(super) fn speedscope(profile: &Profile) -> Value {
    let mut frames: Vec<Value> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    let mut indexes = Vec::with_capacity(profile.nodes().len());
    for node in profile.nodes() {
        let index = *known.entry(node.frame.clone()).or_insert_with(|| {
            let mut frame = json!({ "name": &*node.frame.name });
            if let Some(line) = node.lines.keys().next() {
                frame["file"] = (*line.file).into();
                frame["line"] = line.line.into();
            }
            frames.push(frame);
            frames.len() - 1
        });
        indexes.push(index);
    }
    let mut stacks: Vec<Vec<usize>> = Vec::with_capacity(indexes.len());
    for (node, index) in profile.nodes().iter().zip(&indexes) {
        let mut stack = node.parent.map(|parent| stacks[parent].clone()).unwrap_or_default();
        stack.push(*index);
        stacks.push(stack);
    }
    let spent = profile.nodes().iter().zip(&stacks).filter(|(node, _)| node.units > 0);
    let (weights, samples): (Vec<u64>, Vec<&Vec<usize>>) =
        spent.map(|(node, stack)| (node.units, stack)).unzip();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("selkie ", env!("CARGO_PKG_VERSION")),
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": "compute units",
            "unit": "none",
            "startValue": 0,
            "endValue": profile.units,
            "samples": samples,
            "weights": weights,
        }],
        "activeProfileIndex": 0,
    })
}
