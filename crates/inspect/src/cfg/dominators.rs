//! Dominators by the simple version of the Lengauer-Tarjan algorithm, in O(m log n) for m edges and
//! n blocks.

use super::Graph;

/// Returns the blocks to which the super root needs edges: the first block of each function, and
/// blocks that make all other code reachable.
pub(super) fn roots(graph: &Graph) -> Vec<usize> {
    let mut reached = vec![false; graph.blocks.len()];
    let mut roots = vec![];
    let mut reach = |start: usize, is_function: bool| {
        if is_function || !reached[start] {
            roots.push(start);
        }
        let mut pending = vec![start];
        while let Some(block) = pending.pop() {
            if !core::mem::replace(&mut reached[block], true) {
                pending.extend(graph.indices(&graph.blocks[block].destinations));
            }
        }
    };
    let functions = graph.functions.keys().filter_map(|&pc| graph.index_of(pc));
    functions.for_each(|start| reach(start, true));
    (0..graph.blocks.len()).for_each(|start| reach(start, false));
    roots
}

/// Returns the immediate dominator of each block of a graph whose super root reaches all blocks.
pub(super) fn of(graph: &Graph) -> Vec<usize> {
    let root = graph.blocks.len() - 1;
    let tree = Tree::search(graph, root);
    let numbers = tree.dominators(graph);
    let mut idoms = vec![root; graph.blocks.len()];
    for (number, &idom) in numbers.iter().enumerate() {
        idoms[tree.blocks[number]] = tree.blocks[idom];
    }
    idoms
}

/// A depth-first spanning tree. Blocks are numbered in the order of discovery.
struct Tree {
    /// The block of each number.
    blocks: Vec<usize>,
    /// The number of each block.
    numbers: Vec<usize>,
    /// The number of the parent of each number.
    parents: Vec<usize>,
}

impl Tree {
    fn search(graph: &Graph, root: usize) -> Self {
        let count = graph.blocks.len();
        let (mut blocks, mut numbers, mut parents) = (vec![], vec![usize::MAX; count], vec![]);
        let mut pending = vec![(root, 0)];
        while let Some((block, parent)) = pending.pop() {
            if numbers[block] == usize::MAX {
                let number = blocks.len();
                numbers[block] = number;
                blocks.push(block);
                parents.push(parent);
                let next = graph.indices(&graph.blocks[block].destinations).rev();
                pending.extend(next.map(|it| (it, number)));
            }
        }
        Self { blocks, numbers, parents }
    }

    /// Returns the number of the immediate dominator of each number.
    fn dominators(&self, graph: &Graph) -> Vec<usize> {
        let count = self.blocks.len();
        let mut forest = Forest::new(count);
        let mut idom: Vec<usize> = vec![0; count];
        let mut buckets: Vec<Vec<usize>> = vec![vec![]; count];
        for number in (1..count).rev() {
            for source in graph.indices(&graph.blocks[self.blocks[number]].sources) {
                let best = forest.best_above(self.numbers[source]);
                forest.semi[number] = forest.semi[number].min(forest.semi[best]);
            }
            buckets[forest.semi[number]].push(number);
            let parent = self.parents[number];
            forest.parent[number] = Some(parent);
            for it in core::mem::take(&mut buckets[parent]) {
                let best = forest.best_above(it);
                idom[it] = if forest.semi[best] < forest.semi[it] { best } else { parent };
            }
        }
        for number in 1..count {
            if idom[number] != forest.semi[number] {
                idom[number] = idom[idom[number]];
            }
        }
        idom
    }
}

/// A forest of the numbers processed so far, with path compression.
struct Forest {
    parent: Vec<Option<usize>>,
    /// The semidominator of each number.
    semi: Vec<usize>,
    /// The number with the least semidominator on the compressed part of the path, except the root.
    best: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Self { parent: vec![None; count], semi: (0..count).collect(), best: (0..count).collect() }
    }

    /// Returns the number with the least semidominator on the path to the root, except the root; the
    /// number itself if it is a root.
    fn best_above(&mut self, number: usize) -> usize {
        let mut path = vec![];
        let mut at = number;
        while let Some(parent) = self.parent[at] {
            path.push(at);
            at = parent;
        }
        // The topmost keeps its parent, the root. All below it become children of the root.
        while let Some(below) = path.pop() {
            let Some(parent) = self.parent[below].filter(|&it| self.parent[it].is_some()) else {
                continue;
            };
            if self.semi[self.best[parent]] < self.semi[self.best[below]] {
                self.best[below] = self.best[parent];
            }
            self.parent[below] = self.parent[parent];
        }
        self.best[number]
    }
}
