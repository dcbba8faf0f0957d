//! `selkie cfg`.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use selkie_inspect::{
    Block, DotOptions, Graph, Instruction, Labels, NamedProgram, Style, demangle,
};
use serde::Serialize;

use crate::{
    args::CfgArgs,
    files,
    program::{find_function, open_to_show},
    render::Seq,
    ui::{Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &CfgArgs) -> Result<Status> {
    let Ok(program) = open_to_show(ui, &args.program, args.raw, &args.assembler)? else {
        return Ok(Status::Failure);
    };
    let graph = Graph::new(&program, Style::Selkie);
    let named = args.function.as_deref().map(|name| find_function(&graph, name));
    let function = named.transpose().with_context(|| args.program.display().to_string())?;
    let text = if ui.json {
        format!("{}\n", as_json(&program, &graph, function)?)
    } else {
        let options = DotOptions { dominators: args.dominators, function };
        graph.dot(&Labels::new(&program, &graph), &options)
    };
    match &args.output {
        Some(path) => files::write(path, text)?,
        None => ui.out.write_all(text.as_bytes())?,
    }
    Ok(Status::Success)
}

/// Returns the graph as JSON. It is serialized piece by piece, because a tree of all values would take
/// hundreds of times the memory of the program. Keys are sorted, as in all JSON output.
fn as_json(program: &NamedProgram, graph: &Graph, function: Option<u32>) -> Result<String> {
    let labels = Labels::new(program, graph);
    let functions = Seq(|| {
        let all = graph.by_function();
        let chosen = all.filter(|(range, _)| function.is_none_or(|it| it == range.start));
        chosen.map(|(range, blocks)| FunctionJson {
            blocks: Seq(move || blocks.iter().map(move |it| block_json(it, graph, labels))),
            end: range.end,
            name: graph.functions.get(&range.start).map(|it| demangle(it)),
            start: range.start,
        })
    });
    Ok(serde_json::to_string(&GraphJson { functions })?)
}

#[derive(Serialize)]
struct GraphJson<F> {
    functions: F,
}

#[derive(Serialize)]
struct FunctionJson<B> {
    blocks: B,
    end: u32,
    name: Option<String>,
    start: u32,
}

#[derive(Serialize)]
struct BlockJson<'a, I> {
    destinations: &'a [u32],
    idom: u32,
    instructions: I,
    label: &'a str,
    pc: u32,
    sources: &'a [u32],
}

#[derive(Serialize)]
struct InstructionJson {
    pc: u32,
    text: String,
}

fn block_json<'a>(block: &'a Block, graph: &'a Graph, labels: Labels<'a>) -> impl Serialize + 'a {
    let instructions = &graph.instructions[block.instructions.clone()];
    let text = move |it: &Instruction| it.text(&labels).to_string();
    BlockJson {
        destinations: &block.destinations,
        idom: block.idom,
        instructions: Seq(move || {
            instructions.iter().map(move |it| InstructionJson { pc: it.pc, text: text(it) })
        }),
        label: &block.label,
        pc: block.pc,
        sources: &block.sources,
    }
}
