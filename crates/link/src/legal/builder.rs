//! A function under construction: instructions whose jumps refer to labels.

use selkie_isa::Insn;

use crate::item::Reference;

/// An instruction of the target version. A jump's [`Link::Jump`] is an index into the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    /// The slot, as compiled, of the instruction from which it was expanded.
    pub(crate) slot: u32,
    /// Whether it is the first one of that expansion.
    pub(crate) is_first: bool,
    pub(crate) insn: Insn,
    pub(crate) reference: Reference,
}

/// A target of jumps in the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

#[derive(Debug)]
pub(super) struct Builder {
    code: Vec<Built>,
    /// By label: the index of the instruction. The first labels are those of the items.
    places: Vec<usize>,
    slot: u32,
    is_first: bool,
}

impl Builder {
    pub(super) fn new(items: usize) -> Self {
        let (code, places) = (Vec::with_capacity(items), vec![0; items]);
        Self { code, places, slot: 0, is_first: false }
    }

    /// Starts the expansion of an item.
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

    pub(super) fn push(&mut self, (insn, reference): (Insn, Reference)) {
        self.code.push(Built { slot: self.slot, is_first: self.is_first, insn, reference });
        self.is_first = false;
    }

    pub(super) fn jump(&mut self, insn: Insn, to: Label) {
        self.push((insn, Reference::Jump(to.0)));
    }

    pub(super) fn finish(mut self) -> Vec<Built> {
        for it in &mut self.code {
            if let Reference::Jump(label) = &mut it.reference {
                *label = self.places[*label];
            }
        }
        self.code
    }
}
