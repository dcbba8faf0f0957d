//! Graphs: blocks, edges, dominators, functions.

mod support;

use std::{collections::BTreeSet, time::Instant};

use proptest::prelude::*;
use selkie_inspect::{DotOptions, Graph, Labels, NamedProgram, Style};
use selkie_isa::{Version, symbol::pc_key};
use support::{EXIT, program, word};

const NOP: u64 = 0xbf;

fn ja(off: i16) -> u64 {
    word(0x05, 0, off, 0)
}

fn jeq(off: i16) -> u64 {
    word(0x15, 1, off, 0)
}

/// One line for each block: slot, label, sources, destinations, dominator.
fn check(style: Style, program: &NamedProgram, expected: &[&str]) {
    let graph = Graph::new(program, style);
    let line = |it: &selkie_inspect::Block| {
        format!("{} {} {:?} {:?} {}", it.pc, it.label, it.sources, it.destinations, it.idom)
    };
    assert_eq!(graph.blocks.iter().map(line).collect::<Vec<_>>(), expected);
}

#[test]
fn branch_splits_into_two_blocks_that_join() {
    let words = [jeq(2), NOP, ja(1), NOP, EXIT];
    let program = program(Version::V0, &words, &[(0, "entrypoint")]);
    let expected = [
        "0 entrypoint [5] [1, 3] 5",
        "1 lbb_1 [0] [4] 0",
        "3 lbb_3 [0] [4] 0",
        "4 lbb_4 [1, 3] [] 0",
        "5 super_root [] [0] 5",
    ];
    check(Style::Anza, &program, &expected);
    check(Style::Selkie, &program, &expected);
}

#[test]
fn first_block_of_a_function_falls_through_except_in_anza_style() {
    let words = [NOP, jeq(-1), EXIT];
    let program = program(Version::V0, &words, &[(0, "entrypoint")]);
    check(
        Style::Selkie,
        &program,
        &[
            "0 entrypoint [3] [1] 3",
            "1 lbb_1 [0, 1] [2, 1] 0",
            "2 lbb_2 [1] [] 1",
            "3 super_root [] [0] 3",
        ],
    );
    check(
        Style::Anza,
        &program,
        &[
            "0 entrypoint [3] [] 3",
            "1 function_1 [1, 3] [2, 1] 3",
            "2 lbb_2 [1] [] 1",
            "3 super_root [] [1, 0] 3",
        ],
    );
}

#[test]
fn calls_are_not_edges() {
    let hashed = word(0x85, 0x10, 0, pc_key(2).cast_signed());
    let expected = [
        "0 entrypoint [3] [1] 3",
        "1 lbb_1 [0] [] 0",
        "2 callee [3] [] 3",
        "3 super_root [] [0, 2] 3",
    ];
    let functions = [(0, "entrypoint"), (2, "callee")];
    check(Style::Selkie, &program(Version::V0, &[hashed, EXIT, EXIT], &functions), &expected);
    let relative = word(0x85, 0x10, 0, 1);
    check(Style::Selkie, &program(Version::V3, &[relative, EXIT, EXIT], &functions), &expected);
}

#[test]
fn functions_are_found_by_name_mangled_or_not_and_by_slot() {
    let mangled = "_ZN5vault7deposit17h0123456789abcdefE";
    let functions = [(0, "entrypoint"), (1, mangled)];
    let program = program(Version::V3, &[word(0x85, 0x10, 0, 0), EXIT, EXIT], &functions);
    let graph = Graph::new(&program, Style::Selkie);
    for name in [mangled, "vault::deposit", "1"] {
        assert_eq!(graph.function(name), Some(1), "{name}");
    }
    assert_eq!([graph.function("entrypoint"), graph.function("2")], [Some(0), None]);
}

#[test]
fn jumps_out_of_the_program_have_no_edge() {
    let words = [jeq(100), ja(-100), 0x18, 0, ja(-2)];
    let program = program(Version::V0, &words, &[]);
    // The last jump leads to the second half of the `lddw`, where no block can start.
    let expected = [
        "0 entrypoint [5] [1] 5",
        "1 lbb_1 [0] [] 0",
        "2 lbb_2 [5] [] 5",
        "5 super_root [] [0, 2] 5",
    ];
    check(Style::Selkie, &program, &expected);
}

#[test]
fn program_without_instructions_has_an_empty_graph() {
    for style in [Style::Selkie, Style::Anza] {
        check(style, &program(Version::V0, &[], &[]), &[]);
    }
    check(Style::Anza, &program(Version::V0, &[0x18], &[]), &[]);
}

#[test]
fn dot_draws_a_cluster_for_each_function() {
    let words = [jeq(1), EXIT, EXIT];
    let program = program(Version::V3, &words, &[(0, "entry\"point"), (2, "b")]);
    let graph = Graph::new(&program, Style::Selkie);
    let labels = Labels::new(&program, &graph);
    let text = graph.dot(&labels, &DotOptions { dominators: true, function: None });
    for part in [
        "subgraph cluster_0 {\n    label=\"entry\\\"point\";",
        "b0 [label=\"entry\\\"point:\\l     0  jeq r1, 0, b\\l\"];",
        "b0 -> b1 [color=\"#c62828\", weight=4];",
        "b0 -> b2 [color=\"#2e7d32\", weight=1];",
        "b0 -> b1 [style=dotted",
        "subgraph cluster_2 {",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let text = graph.dot(&labels, &DotOptions { function: Some(2), dominators: false });
    assert!(text.contains("cluster_2") && !text.contains("cluster_0"));
}

/// The blocks that are reached from the super root without passing `without`.
fn reached(graph: &Graph, without: u32) -> BTreeSet<u32> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![graph.super_root().unwrap().pc];
    while let Some(pc) = pending.pop() {
        if pc != without && reached.insert(pc) {
            pending.extend(&graph.block_at(pc).unwrap().destinations);
        }
    }
    reached
}

proptest! {
    #[test]
    fn immediate_dominator_is_the_last_block_on_every_path_from_the_root(
        jumps in prop::collection::vec((0..4_u8, 0..24_i16), 1..24)
    ) {
        let words: Vec<u64> = (0..).zip(&jumps).map(|(pc, &(kind, target))| match kind {
            0 => NOP,
            1 => EXIT,
            2 => ja(target - pc - 1),
            _ => jeq(target - pc - 1),
        }).collect();
        let graph = Graph::new(&program(Version::V0, &words, &[]), Style::Selkie);
        let root = graph.super_root().unwrap().pc;
        prop_assert_eq!(reached(&graph, u32::MAX).len(), graph.blocks.len());
        for block in graph.blocks.iter().filter(|block| block.pc != root) {
            let avoids = |pc: u32| reached(&graph, pc).contains(&block.pc);
            prop_assert!(block.idom == root || !avoids(block.idom));
            for other in graph.blocks.iter().filter(|it| it.pc != block.pc && it.pc != root) {
                if !avoids(other.pc) {
                    let above = other.pc == block.idom || !reached(&graph, other.pc).contains(&block.idom);
                    prop_assert!(above, "{} is a dominator of {} below {}", other.pc, block.pc, block.idom);
                }
            }
        }
    }
}

#[test]
fn graph_of_a_large_program_takes_linear_time() {
    const SLOTS: i16 = 32_000;
    let mut to_the_end: Vec<u64> = (0..SLOTS).map(|pc| jeq(SLOTS - pc - 1)).collect();
    to_the_end.push(EXIT);
    let mut to_the_start: Vec<u64> = (0..SLOTS).map(|pc| jeq(-pc - 1)).collect();
    to_the_start.push(EXIT);
    let mut both_ways: Vec<u64> = (0..SLOTS)
        .map(|pc| if pc % 2 == 0 { jeq(SLOTS - pc - 1) } else { jeq(-pc / 2 - 1) })
        .collect();
    both_ways.push(EXIT);
    let start = Instant::now();
    for words in [to_the_end, to_the_start, both_ways] {
        let program = program(Version::V0, &words, &[]);
        for style in [Style::Selkie, Style::Anza] {
            let graph = Graph::new(&program, style);
            assert_eq!(graph.blocks.len(), words.len() + 1);
        }
    }
    assert!(start.elapsed().as_secs() < 20, "took {:?}", start.elapsed());
}
