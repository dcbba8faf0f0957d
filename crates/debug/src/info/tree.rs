//! The entries of debug information as a tree, without their attributes.
//!
//! Entries are in the order of the file, and each knows its parent and where its descendants end. So
//! the tree is walked without recursion, however deep it is.

use gimli::{DwTag, Unit, UnitOffset};
use selkie_inspect::dwarf::Reader;

/// The entries that are read. Debug information of whole programs with their standard library has
/// some hundred thousand.
const ENTRIES_MAX: usize = 8_000_000;

/// The index of an entry in the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(u32);

impl EntryId {
    /// Returns the number that identifies the entry in its file.
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }

    fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("there are at most `ENTRIES_MAX` entries"))
    }
}

/// An entry: what it is and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) tag: DwTag,
    pub(crate) unit: u32,
    /// The offset in the unit.
    offset: u32,
    /// The index of the parent; its own for the root of a unit.
    parent: u32,
    /// The index after its last descendant.
    end: u32,
}

impl Node {
    pub(crate) fn offset(&self) -> UnitOffset<usize> {
        UnitOffset(self.offset as usize)
    }
}

/// The entries of all units.
#[derive(Default, Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// The index of each unit's first entry.
    units: Vec<u32>,
}

impl Tree {
    /// Reads the entries of all units. A unit that is malformed ends at its first error.
    pub(crate) fn read(units: &[Unit<Reader>]) -> Self {
        let mut tree = Self::default();
        for unit in units {
            let start = EntryId::at(tree.nodes.len());
            tree.units.push(start.0);
            // What was read before an error is kept.
            let _ = tree.read_unit(unit);
            tree.close_all(start);
        }
        tree
    }

    fn read_unit(&mut self, unit: &Unit<Reader>) -> gimli::Result<()> {
        let index = u32::try_from(self.units.len() - 1).unwrap_or(u32::MAX);
        let mut entries = unit.entries_raw(None)?;
        let mut open: Vec<EntryId> = Vec::new();
        while !entries.is_empty() && self.nodes.len() < ENTRIES_MAX {
            let Ok(offset) = u32::try_from(entries.next_offset().0) else { break };
            let Some(abbreviation) = entries.read_abbreviation()? else {
                self.close(open.pop());
                continue;
            };
            let id = EntryId::at(self.nodes.len());
            let parent = open.last().copied().unwrap_or(id).0;
            let tag = abbreviation.tag();
            self.nodes.push(Node { tag, unit: index, offset, parent, end: id.0 + 1 });
            if abbreviation.has_children() {
                open.push(id);
            }
            entries.skip_attributes(abbreviation.attributes())?;
        }
        open.into_iter().rev().for_each(|id| self.close(Some(id)));
        Ok(())
    }

    /// Ends an entry: its descendants are those read since.
    fn close(&mut self, id: Option<EntryId>) {
        let end = EntryId::at(self.nodes.len()).0;
        if let Some(node) = id.and_then(|id| self.nodes.get_mut(id.0 as usize)) {
            node.end = end;
        }
    }

    /// Ends the entries of a unit that an error left open.
    fn close_all(&mut self, start: EntryId) {
        for index in (start.0 as usize..self.nodes.len()).rev() {
            let Node { parent, end, .. } = self.nodes[index];
            let parent = &mut self.nodes[parent as usize];
            parent.end = parent.end.max(end);
        }
    }

    pub(crate) fn node(&self, id: EntryId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns the entries with one of the tags.
    pub(crate) fn all(&self, tags: &'static [DwTag]) -> impl Iterator<Item = EntryId> {
        let tagged = self.nodes.iter().enumerate().filter(|(_, node)| tags.contains(&node.tag));
        tagged.map(|(index, _)| EntryId::at(index))
    }

    /// Returns the parent of an entry, if it is not the root of its unit.
    pub(crate) fn parent(&self, id: EntryId) -> Option<EntryId> {
        let parent = EntryId(self.node(id).parent);
        (parent != id).then_some(parent)
    }

    /// Returns the children of an entry.
    pub(crate) fn children(&self, id: EntryId) -> impl Iterator<Item = EntryId> {
        let end = self.node(id).end;
        let first = Some(id.0 + 1).filter(|&it| it < end);
        let next = move |&it: &u32| Some(self.nodes[it as usize].end).filter(|&it| it < end);
        core::iter::successors(first, next).map(EntryId)
    }

    /// Returns the entries within an entry, those in others within it too.
    pub(crate) fn descendants(&self, id: EntryId) -> impl Iterator<Item = EntryId> + use<> {
        (id.0 + 1..self.node(id).end).map(EntryId)
    }

    /// Returns the entry at an offset of a unit.
    pub(crate) fn find(&self, unit: usize, offset: UnitOffset<usize>) -> Option<EntryId> {
        let start = *self.units.get(unit)? as usize;
        let end = self.units.get(unit + 1).map_or(self.nodes.len(), |&it| it as usize);
        let nodes = &self.nodes[start..end];
        let index = nodes.binary_search_by_key(&offset.0, |node| node.offset as usize).ok()?;
        Some(EntryId::at(start + index))
    }
}
