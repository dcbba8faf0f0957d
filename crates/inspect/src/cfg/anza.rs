//! What makes a graph anza sbpf's: the order of its depth-first search, and what follows from it.
//!
//! Strongly connected components are found by Tarjan's algorithm, searching from the blocks in the
//! order of their slots. The order in which they are finished, reversed, is the order in which
//! dominators are computed (Cooper, Harvey and Kennedy), and the first block of each component that
//! nothing leads to is a root. Within a component that was not entered through its own entry, that
//! order is not one in which dominators come first, so the result can differ from the true
//! dominators: hence an implementation of its own.

use super::Graph;

/// The blocks, by position, in the order of the search.
pub(super) struct Order {
    blocks: Vec<usize>,
    /// The strongly connected component of each block.
    components: Vec<usize>,
}

const UNSEEN: usize = usize::MAX;

/// The most steps that dominators may take: far more than compilers' output needs. Where anza's
/// algorithm takes time in proportion to the square of the program, or goes round in circles, true
/// dominators are the answer.
const STEPS_MAX: usize = 1 << 22;

impl Order {
    pub(super) fn of(graph: &Graph) -> Self {
        let count = graph.blocks.len();
        let mut search = Search {
            graph,
            found: vec![UNSEEN; count],
            low: vec![UNSEEN; count],
            open: vec![],
            finished: Vec::with_capacity(count),
            components: vec![UNSEEN; count],
        };
        (0..count).for_each(|block| search.from(block));
        let Search { finished, components, .. } = search;
        Self { blocks: finished.into_iter().rev().collect(), components }
    }

    /// The first block of each component that no other component leads to.
    pub(super) fn roots(&self, graph: &Graph) -> Vec<usize> {
        let component = |&block: &usize| self.components[block];
        let is_root = |blocks: &&[usize]| {
            let own = component(&blocks[0]);
            blocks.iter().all(|&block| {
                graph.indices(&graph.blocks[block].sources).all(|it| component(&it) == own)
            })
        };
        let components = self.blocks.chunk_by(|a, b| component(a) == component(b));
        components.filter(is_root).map(|blocks| blocks[0]).collect()
    }

    /// The immediate dominator of each block of a graph with its super root; `None` if that takes
    /// too long.
    pub(super) fn dominators(&self, graph: &Graph) -> Option<Vec<usize>> {
        let root = graph.blocks.len() - 1;
        let mut rank = vec![0; graph.blocks.len()];
        for (position, &block) in self.blocks.iter().enumerate() {
            rank[block] = position + 1;
        }
        let mut idom = vec![UNSEEN; graph.blocks.len()];
        idom[root] = root;
        let mut steps = 0;
        loop {
            let mut changed = false;
            for &block in &self.blocks {
                let mut new = UNSEEN;
                for source in graph.indices(&graph.blocks[block].sources) {
                    if idom[source] == UNSEEN {
                        continue;
                    }
                    let (mut a, mut b) = (source, if new == UNSEEN { source } else { new });
                    while a != b {
                        if rank[a] < rank[b] {
                            b = idom[b]
                        } else {
                            a = idom[a]
                        }
                        steps += 1;
                        if steps > STEPS_MAX {
                            return None;
                        }
                    }
                    new = b;
                    steps += 1;
                }
                changed |= idom[block] != new;
                idom[block] = new;
            }
            if !changed {
                break;
            }
            if steps > STEPS_MAX {
                return None;
            }
        }
        idom.iter().all(|&it| it != UNSEEN).then_some(idom)
    }
}

/// Tarjan's search for strongly connected components, with a stack of its own.
struct Search<'a> {
    graph: &'a Graph,
    /// When each block was found.
    found: Vec<usize>,
    /// The earliest block of the open ones that each block leads back to.
    low: Vec<usize>,
    /// Blocks found whose component is not finished.
    open: Vec<usize>,
    finished: Vec<usize>,
    components: Vec<usize>,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        if self.found[start] != UNSEEN {
            return;
        }
        let mut path = vec![(start, 0)];
        self.open(start);
        while let Some((block, edge)) = path.last_mut() {
            let block = *block;
            let Some(&to) = self.graph.blocks[block].destinations.get(*edge) else {
                path.pop();
                self.close(block);
                if let Some(&(parent, _)) = path.last() {
                    self.low[parent] = self.low[parent].min(self.low[block]);
                }
                continue;
            };
            *edge += 1;
            let to = self.graph.index_of(to).expect("edges lead to blocks");
            if self.found[to] == UNSEEN {
                self.open(to);
                path.push((to, 0));
            } else if self.components[to] == UNSEEN {
                self.low[block] = self.low[block].min(self.found[to]);
            }
        }
    }

    fn open(&mut self, block: usize) {
        let time = self.open.len() + self.finished.len();
        self.found[block] = time;
        self.low[block] = time;
        self.open.push(block);
    }

    /// Finishes the component that `block` was the first of, if it was.
    fn close(&mut self, block: usize) {
        if self.low[block] != self.found[block] {
            return;
        }
        let component = self.finished.len();
        while let Some(member) = self.open.pop() {
            self.components[member] = component;
            self.finished.push(member);
            if member == block {
                break;
            }
        }
    }
}
