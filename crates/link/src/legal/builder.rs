//! A function in the making: instructions, and labels in place of distances.

use selkie_isa::Insn;

use crate::item::Link;

/// An instruction of the target. A jump's [`Link::Jump`] is an index into the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    /// The slot, as compiled, that it came from.
    pub(crate) slot: u32,
    /// Whether it is the first that came from there.
    pub(crate) is_first: bool,
    pub(crate) insn: Insn,
    pub(crate) link: Link,
}

/// A place in the function that jumps can go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

#[derive(Debug)]
pub(super) struct Builder {
    code: Vec<Built>,
    /// By label: the index of the instruction. The first labels are the items'.
    places: Vec<usize>,
    slot: u32,
    is_first: bool,
}

impl Builder {
    pub(super) fn new(items: usize) -> Self {
        let (code, places) = (Vec::with_capacity(items), vec![0; items]);
        Self { code, places, slot: 0, is_first: false }
    }

    /// Begins with what comes of an item.
    pub(super) fn item(&mut self, index: usize, slot: u32) {
        self.places[index] = self.code.len();
        (self.slot, self.is_first) = (slot, true);
    }

    pub(super) fn label(&mut self) -> Label {
        self.places.push(usize::MAX);
        Label(self.places.len() - 1)
    }

    pub(super) fn bind(&mut self, label: Label) {
        self.places[label.0] = self.code.len();
    }

    pub(super) fn of_item(index: usize) -> Label {
        Label(index)
    }

    pub(super) fn push(&mut self, (insn, link): (Insn, Link)) {
        self.code.push(Built { slot: self.slot, is_first: self.is_first, insn, link });
        self.is_first = false;
    }

    pub(super) fn jump(&mut self, insn: Insn, to: Label) {
        self.push((insn, Link::Jump(to.0)));
    }

    pub(super) fn finish(mut self) -> Vec<Built> {
        for it in &mut self.code {
            if let Link::Jump(label) = &mut it.link {
                *label = self.places[*label];
            }
        }
        self.code
    }
}
