//! Kind `cfg`: a program, and the nodes of its control-flow graph according to anza sbpf.

use selkie_inspect::{Block, Graph, Style};
use serde::Deserialize;
use serde_json::Value;

use crate::{BadVector, Context, Verdict, check::Check, disasm};

#[derive(Deserialize)]
struct Case {
    expect: Vec<Node>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Node {
    pc: u32,
    label: String,
    src: Vec<u32>,
    dst: Vec<u32>,
    insns: [usize; 2],
    idom: u32,
}

impl From<Block> for Node {
    fn from(block: Block) -> Self {
        let Block { pc, label, sources: src, destinations: dst, instructions, idom } = block;
        Self { pc, label, src, dst, insns: [instructions.start, instructions.end], idom }
    }
}

/// Builds the graph and compares it node by node.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let Case { expect } = Case::deserialize(line)?;
    let program = match disasm::program(line, context)? {
        Ok(program) => program,
        Err(verdict) => return Ok(verdict),
    };
    let blocks = Graph::new(&program, Style::Anza).blocks;
    let mut check = Check::default();
    check.same("nodes", expect.len(), blocks.len());
    for (expected, block) in expect.into_iter().zip(blocks) {
        check.same(&format!("node {}", expected.pc), expected, block.into());
    }
    check.finish()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use serde_json::json;

    use super::*;

    fn check(change: impl FnOnce(&mut Value), passes: bool) {
        let mut line = json!({
            "kind": "cfg", "sbpf_version": 3, "text": "9500000000000000",
            "functions": [[0, 0, "entrypoint"]],
            "expect": [
                {"pc": 0, "label": "entrypoint", "src": [1], "dst": [], "insns": [0, 1], "idom": 1},
                {"pc": 1, "label": "super_root", "src": [], "dst": [0], "insns": [1, 1], "idom": 1},
            ],
        });
        change(&mut line);
        let context = Context::new(Path::new("none"), Arc::default()).unwrap();
        assert_eq!(judge(&line, &context).unwrap() == Verdict::Passed, passes, "{line}");
    }

    #[test]
    fn every_field_of_every_node_is_compared() {
        check(|_| (), true);
        check(|line| line["expect"][0]["idom"] = json!(0), false);
        check(|line| line["expect"][1]["dst"] = json!([]), false);
        check(|line| line["expect"][0]["label"] = json!("main"), false);
        check(|line| line["expect"].as_array_mut().unwrap().truncate(1), false);
    }
}
