//! `selkie cfg`.

use std::io::Write as _;

use anyhow::Result;
use selkie_inspect::{DotOptions, Graph, Labels, Program, Style, demangle};
use serde_json::json;

use crate::{
    args::CfgArgs,
    program::{ProgramFile, find_function, open_to_inspect},
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CfgArgs) -> Result<Status> {
    let Ok(file) = ProgramFile::open(ui, &args.program, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let program = open_to_inspect(file.whole(), args.raw.then_some(args.assembler.arch))?;
    if let Some(refusal) = program.refusal() {
        ui.warning(&format!("the loader refuses this file: {refusal}"))?;
    }
    let graph = Graph::new(&program, Style::Selkie);
    let function = args.function.as_deref().map(|name| find_function(&graph, name)).transpose()?;
    let text = if ui.json {
        format!("{}\n", as_json(&program, &graph, function))
    } else {
        let options = DotOptions { dominators: args.dominators, function };
        graph.dot(&Labels::new(&program, &graph), &options)
    };
    match &args.output {
        Some(path) => std::fs::write(path, text)?,
        None => ui.out.write_all(text.as_bytes())?,
    }
    Ok(Status::Success)
}

fn as_json(program: &Program, graph: &Graph, function: Option<u32>) -> serde_json::Value {
    let labels = Labels::new(program, graph);
    let functions =
        graph.by_function().filter(|(range, _)| function.is_none_or(|it| it == range.start));
    let functions = functions.map(|(range, blocks)| {
        let blocks = blocks.iter().map(|block| {
            let instructions = graph.instructions[block.instructions.clone()]
                .iter()
                .map(|it| json!({ "pc": it.pc, "text": it.text(&labels).to_string() }));
            json!({
                "pc": block.pc,
                "label": block.label,
                "sources": block.sources,
                "destinations": block.destinations,
                "idom": block.idom,
                "instructions": instructions.collect::<Vec<_>>(),
            })
        });
        json!({
            "name": graph.functions.get(&range.start).map(|it| demangle(it)),
            "start": range.start,
            "end": range.end,
            "blocks": blocks.collect::<Vec<_>>(),
        })
    });
    json!({ "functions": functions.collect::<Vec<_>>() })
}
