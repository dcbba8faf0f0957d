//! Where the stack of a function is, as its debug information counts.
//!
//! LLVM's BPF backend up to version 22, and that of Solana's tools for V0 and V3, write offsets that
//! count from the lowest byte of a function's stack, and name r10 as their base, which is the end of
//! it (llvm/llvm-project#204722, anza-xyz/llvm-project#195). Later ones count from r10 down. So an
//! offset tells its origin: one that is not negative counts from the lowest byte, unless functions
//! move r10 there, as those of V1 and V2 do.
//!
//! The size of the stack is not written down. It is that of which the code uses the whole, provided
//! that the code then uses what is at the beginning of each variable. Invariant: otherwise the base is
//! not known, rather than guessed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use gimli::{DW_AT_location, DW_TAG_formal_parameter, DW_TAG_variable, Expression, Operation};
use selkie_inspect::{
    dwarf::Reader,
    frame::{Effect, Value},
};
use selkie_isa::{
    Insn, Kind, Version,
    layout::{FRAME_POINTER, REGISTER_COUNT},
};

use super::{DebugInfo, EntryId, entry::Entry};

/// The variables of a function that are looked at.
const VARIABLES_MAX: usize = 20_000;

/// The entries of one location list that are read.
const RANGES_MAX: usize = 1000;

/// The number of the frame pointer in DWARF.
const R10: u16 = FRAME_POINTER as u16;

/// What frames of LLVM for BPF are a multiple of: words, or the alignment of a larger value.
const ALIGNMENTS: [u64; 3] = [8, 16, 32];

/// Where the offsets of a function's variables count from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameBase {
    /// From r10 and this many bytes below.
    Below(u64),
    /// From a place that neither the code nor the debug information tells.
    Unknown,
}

/// The bases that were determined.
#[derive(Default, Debug)]
pub(crate) struct FrameBases(Mutex<BTreeMap<EntryId, FrameBase>>);

/// The places on the stack that variables of a function are at: offsets, with the sizes there.
type Places = BTreeSet<(i64, u64)>;

impl DebugInfo {
    /// Returns where offsets of a function that was not inlined count from.
    pub(crate) fn frame_base(&self, function: EntryId) -> FrameBase {
        let mut known = self.frame_bases.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(function).or_insert_with(|| self.find_frame_base(function))
    }

    fn find_frame_base(&self, function: EntryId) -> FrameBase {
        let places = self.stack_places(function);
        let counts_down = places.first().is_none_or(|(lowest, _)| *lowest < 0);
        if counts_down || self.version.dynamic_frames() {
            return FrameBase::Below(0);
        }
        let used = self.used_stack(function);
        stack_size(&places, &used).map_or(FrameBase::Unknown, FrameBase::Below)
    }

    /// Lists the places of all variables of a function, those of inlined calls too.
    fn stack_places(&self, function: EntryId) -> Places {
        let tags = [DW_TAG_variable, DW_TAG_formal_parameter];
        let inside = self.tree.descendants(function);
        let variables = inside.filter(|&id| tags.contains(&self.tree.node(id).tag));
        let mut places = Places::new();
        for variable in variables.take(VARIABLES_MAX).filter_map(|id| self.entry(id)) {
            let size = self.type_of(&variable.type_id().into()).size;
            for expression in self.expressions(&variable) {
                add_places(&variable, expression, size, &mut places);
            }
        }
        places
    }

    /// Returns the expressions of a variable's locations.
    fn expressions(&self, variable: &Entry<'_>) -> Vec<Expression<Reader>> {
        match variable.value(DW_AT_location) {
            Some(gimli::AttributeValue::Exprloc(expression)) => vec![expression],
            Some(list) => {
                let lists = self.dwarf.attr_locations(variable.unit(), list).ok().flatten();
                let entries = lists.into_iter().flat_map(|mut lists| {
                    core::iter::from_fn(move || lists.next().ok().flatten()).take(RANGES_MAX)
                });
                entries.map(|it| it.data).collect()
            }
            None => Vec::new(),
        }
    }

    /// Returns the offsets from r10 that the code of a function uses: what it loads, stores, or takes
    /// the address of.
    fn used_stack(&self, function: EntryId) -> BTreeSet<i64> {
        let mut used = BTreeSet::new();
        for (start, end) in self.ranges(function, &mut Default::default()) {
            let Some(first) = self.slot(start) else { continue };
            let last = self.slot(end.saturating_sub(1)).unwrap_or(first);
            use_of_stack(self.version, &self.text, first as usize..=last as usize, &mut used);
        }
        used
    }
}

/// Adds what an expression says is on the stack.
fn add_places(variable: &Entry<'_>, it: Expression<Reader>, size: u64, places: &mut Places) {
    let mut operations = it.operations(variable.unit().encoding());
    // Of the last value: its offset from the stack, and whether it is there itself.
    let mut last: Option<(i64, bool)> = None;
    loop {
        let operation = operations.next().ok().flatten();
        match operation {
            Some(Operation::FrameOffset { offset }) => last = Some((offset, true)),
            Some(Operation::RegisterOffset { register, offset, .. }) if register.0 == R10 => {
                last = Some((offset, true));
            }
            Some(Operation::Piece { size_in_bits, .. }) => {
                let bytes = size_in_bits.div_ceil(8);
                let place = last.take();
                places.extend(place.map(|(at, is_value)| (at, if is_value { bytes } else { 8 })));
            }
            // A pointer to the value is there, or something that is computed from it.
            Some(_) => last = last.map(|(at, _)| (at, false)),
            None => {
                places.extend(last.map(|(at, is_value)| (at, if is_value { size } else { 8 })));
                return;
            }
        }
    }
}

/// Collects the offsets from r10 that instructions use.
fn use_of_stack(
    version: Version,
    text: &[u8],
    slots: core::ops::RangeInclusive<usize>,
    used: &mut BTreeSet<i64>,
) {
    let all = || slots.clone().filter_map(|pc| Some((pc, Insn::decode(version, text, pc)?)));
    let target = |(pc, insn): (usize, Insn)| match insn.op.kind() {
        Kind::Jump | Kind::Branch(..) => (pc + 1).checked_add_signed(insn.off.into()),
        _ => None,
    };
    let targets: BTreeSet<usize> = all().filter_map(target).collect();
    let reset = || {
        let mut registers = [Value::Unknown; REGISTER_COUNT];
        registers[usize::from(FRAME_POINTER)] = Value::Frame(0);
        registers
    };
    let mut registers = reset();
    for (pc, insn) in all() {
        if targets.contains(&pc) {
            registers = reset();
        }
        let get = |register: u8| registers.get(usize::from(register)).copied().unwrap_or_default();
        let (address, result) = match Effect::of(&insn, get) {
            Effect::None => continue,
            Effect::Call => {
                registers[..6].fill(Value::Unknown);
                continue;
            }
            Effect::Store(address) => (address, None),
            Effect::Load(address) => (address, Some(Value::Unknown)),
            Effect::Set(value) => (value, Some(value)),
        };
        if let Value::Frame(offset @ ..0) = address {
            used.insert(offset);
        }
        let register = registers.get_mut(usize::from(insn.dst));
        if let Some((register, result)) = register.zip(result) {
            *register = result;
        }
    }
}

/// Returns the size of the stack, if places from its lowest byte on are those that the code uses.
fn stack_size(places: &Places, used: &BTreeSet<i64>) -> Option<u64> {
    let by_code = used.first()?.unsigned_abs();
    let ends = places.iter().map(|(at, size)| at.unsigned_abs().saturating_add(*size));
    let by_variables = ends.max()?;
    let sizes = ALIGNMENTS.map(|alignment| {
        let round = |bytes: u64| bytes.checked_next_multiple_of(alignment);
        Some((round(by_code)?, round(by_variables)?))
    });
    sizes.into_iter().flatten().find_map(|(code, variables)| {
        let size = code.max(variables);
        let is_used = |at: i64| used.contains(&at.checked_sub_unsigned(size).unwrap_or(0));
        let hits = places.iter().filter(|(at, _)| is_used(*at)).count();
        // Where variables end the stack at its top and the code at its bottom, no other size fits.
        (hits == places.len() || hits > 0 && code == variables).then_some(size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(places: &[(i64, u64)], used: &[i64], expected: Option<u64>) {
        let (places, used) = (places.iter().copied().collect(), used.iter().copied().collect());
        assert_eq!(stack_size(&places, &used), expected);
    }

    #[test]
    fn the_size_of_a_stack_is_that_which_code_and_variables_share() {
        // What clang writes for a function with spilled registers above its variables.
        check(&[(0, 32), (39, 1), (40, 8), (48, 8)], &[-56, -40, -17, -16, -8], Some(56));
        // Variables fill it; one of them is not used.
        check(&[(0, 8), (8, 4), (16, 8)], &[-24, -8], Some(24));
        // A value that is aligned to 16 bytes, and a word below it.
        check(&[(8, 8), (16, 16)], &[-40, -32], Some(48));
    }

    #[test]
    fn a_stack_that_code_uses_otherwise_has_no_size() {
        check(&[(0, 16)], &[], None);
        check(&[(8, 8), (24, 8)], &[-64, -8], None);
        // The lowest variable is not used where it begins, and there is room above.
        check(&[(0, 16), (16, 8)], &[-40, -8], None);
    }
}
