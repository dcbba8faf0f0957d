//! Roots and dominators as anza sbpf computes them, which depend on the order of its depth-first
//! search.
//!
//! Strongly connected components are found by Tarjan's algorithm, starting from the blocks in the
//! order of their slots. Dominators are computed in the reverse order of completion (Cooper, Harvey
//! and Kennedy), and the first block of each component without incoming edges is a root. If the
//! search enters a component elsewhere than at its entry, dominators do not precede the blocks that
//! they dominate in this order, and the result can differ from the true dominators. Therefore this
//! is a separate implementation.

use super::Graph;

/// The indices of blocks in the reverse order of completion.
pub(super) struct Order {
    blocks: Vec<usize>,
    /// The strongly connected component of each block.
    components: Vec<usize>,
}

const UNSEEN: usize = usize::MAX;

/// The limit on steps for dominators, far above what compiled programs need. Where anza's algorithm
/// takes quadratic time or does not terminate, the true dominators are used instead.
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

    /// Returns the first block of each component without edges from other components.
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

    /// Returns the immediate dominator of each block of a graph with a super root; `None` if that
    /// exceeds [`STEPS_MAX`].
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
    /// The time at which each block was discovered.
    found: Vec<usize>,
    /// The discovery time of the earliest open block that is reachable from each block.
    low: Vec<usize>,
    /// Discovered blocks whose component is not finished.
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

    /// Finishes the component of `block`, if `block` was its first.
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
