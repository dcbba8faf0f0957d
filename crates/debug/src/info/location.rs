//! Locations: where the value of a variable is at an instruction.

use core::{cell::Cell, iter};

use gimli::{
    AttributeValue, DW_AT_const_value, DW_AT_frame_base, DW_AT_location, EvaluationResult,
    Expression, Location, Piece, Reader as _, Value,
};
use selkie_inspect::dwarf::Reader;
use selkie_isa::layout::FRAME_POINTER;

use super::{DebugInfo, EntryId, entry::Entry, stack::FrameBase};
use crate::{contents::Contents, guest::Guest};

/// The operations of one expression that are evaluated. Compilers write a few.
const OPERATIONS_MAX: u32 = 1000;

/// The bytes of a value that is not in memory: larger ones are not kept in registers.
const VALUE_BYTES_MAX: u64 = 4096;

/// The entries of a location list that are read.
const RANGES_MAX: usize = 100_000;

/// The instruction and function for which a location is evaluated.
struct Context<'a> {
    info: &'a DebugInfo,
    guest: &'a dyn Guest,
    address: u64,
    /// Whether the value is on the stack, and it is not known where that is.
    is_misplaced: Cell<bool>,
}

impl DebugInfo {
    /// Returns where the value of a variable is when the program is about to execute an instruction.
    #[must_use]
    pub fn contents(&self, variable: EntryId, pc: u32, guest: &dyn Guest) -> Contents {
        let address = self.address(pc);
        let context = Context { info: self, guest, address, is_misplaced: Cell::new(false) };
        let contents = self.entry(variable).and_then(|it| context.contents(&it));
        match context.is_misplaced.get() {
            true => Contents::Misplaced,
            false => contents.unwrap_or(Contents::Absent),
        }
    }
}

impl Context<'_> {
    fn contents(&self, variable: &Entry<'_>) -> Option<Contents> {
        let size = self.info.type_of(&variable.type_id().into()).size;
        match variable.value(DW_AT_location) {
            Some(AttributeValue::Exprloc(expression)) => self.evaluate(variable, expression, size),
            Some(list) => {
                let lists = self.info.dwarf.attr_locations(variable.unit(), list).ok()??;
                let mut lists = lists;
                let entries = iter::from_fn(|| lists.next().ok().flatten());
                let covers =
                    |range: &gimli::Range| (range.begin..range.end).contains(&self.address);
                let entry = entries.take(RANGES_MAX).find(|it| covers(&it.range))?;
                self.evaluate(variable, entry.data, size)
            }
            None => variable.find(|it| constant(it, size)),
        }
    }

    fn evaluate(
        &self,
        variable: &Entry<'_>,
        expression: Expression<Reader>,
        size: u64,
    ) -> Option<Contents> {
        let pieces = self.pieces(variable, expression, true)?;
        if let [Piece { location: Location::Address { address }, size_in_bits: None, .. }] =
            pieces[..]
        {
            return Some(Contents::Memory(address));
        }
        if size > VALUE_BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        for piece in &pieces {
            let len = piece.size_in_bits.map_or(size, |bits| bits.div_ceil(8));
            let room = size.saturating_sub(bytes.len() as u64);
            bytes.extend(self.piece(piece, usize::try_from(len.min(room)).ok()?));
        }
        let is_known = bytes.iter().any(Option::is_some);
        bytes.resize(usize::try_from(size).ok()?, None);
        (is_known || size == 0).then_some(Contents::Bytes(bytes))
    }

    /// Returns the bytes of a piece, those that are not known as `None`.
    fn piece(&self, piece: &Piece<Reader>, len: usize) -> Vec<Option<u8>> {
        let word = |value: u64| {
            let value = value >> piece.bit_offset.unwrap_or(0).min(63);
            value.to_le_bytes().into_iter().chain(iter::repeat(0)).take(len).map(Some).collect()
        };
        let known = match &piece.location {
            Location::Register { register } => self.guest.register(register.0).map(word),
            Location::Value { value } => value.to_u64(u64::MAX).ok().map(word),
            Location::Address { address } => {
                let mut bytes = vec![0; len];
                let read = self.guest.read(*address, &mut bytes);
                read.ok().map(|()| bytes.into_iter().map(Some).collect())
            }
            Location::Bytes { value } => {
                let bytes = value.bytes().iter().copied().map(Some);
                Some(bytes.chain(iter::repeat(None)).take(len).collect())
            }
            _ => None,
        };
        known.unwrap_or_else(|| vec![None; len])
    }

    /// Evaluates an expression. `None` if it needs something that the guest does not have, such as
    /// the value of a register in the caller.
    fn pieces(
        &self,
        variable: &Entry<'_>,
        expression: Expression<Reader>,
        has_frame: bool,
    ) -> Option<Vec<Piece<Reader>>> {
        let mut evaluation = expression.evaluation(variable.unit().encoding());
        evaluation.set_max_iterations(OPERATIONS_MAX);
        let mut result = evaluation.evaluate().ok()?;
        for _ in 0..OPERATIONS_MAX {
            result = match result {
                EvaluationResult::Complete => return Some(evaluation.result()),
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = match register.0 == u16::from(FRAME_POINTER) {
                        true => self.stack()?,
                        false => self.guest.register(register.0)?,
                    };
                    let value = Value::Generic(value);
                    evaluation.resume_with_register(value)
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.memory(address, size)?))
                }
                EvaluationResult::RequiresFrameBase if has_frame => {
                    evaluation.resume_with_frame_base(self.frame_base()?)
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address)
                }
                EvaluationResult::RequiresIndexedAddress { index, .. } => {
                    let address = self.info.dwarf.address(variable.unit(), index).ok()?;
                    evaluation.resume_with_indexed_address(address)
                }
                _ => return None,
            }
            .ok()?;
        }
        None
    }

    fn memory(&self, address: u64, size: u8) -> Option<u64> {
        let mut bytes = [0; 8];
        self.guest.read(address, bytes.get_mut(..size.into())?).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Returns what offsets on the stack count from in the function that contains the instruction.
    fn stack(&self) -> Option<u64> {
        let base = self.info.functions.at(self.address).map(|it| self.info.frame_base(it));
        match base.unwrap_or(FrameBase::Below(0)) {
            FrameBase::Below(bytes) => {
                self.guest.register(FRAME_POINTER.into())?.checked_sub(bytes)
            }
            FrameBase::Unknown => {
                self.is_misplaced.set(true);
                None
            }
        }
    }

    /// Returns the frame base of the function that contains the instruction.
    fn frame_base(&self) -> Option<u64> {
        const STACK: gimli::Register = gimli::Register(FRAME_POINTER as u16);
        let function = self.info.entry(self.info.functions.at(self.address)?)?;
        let AttributeValue::Exprloc(expression) = function.value(DW_AT_frame_base)? else {
            return None;
        };
        match self.pieces(&function, expression, false)?.first()?.location {
            Location::Register { register: STACK } => self.stack(),
            Location::Register { register } => self.guest.register(register.0),
            Location::Address { address } => Some(address),
            _ => None,
        }
    }
}

/// Returns the value of a constant.
fn constant(entry: &Entry<'_>, size: u64) -> Option<Contents> {
    let size = usize::try_from(size.min(VALUE_BYTES_MAX)).ok()?;
    let bytes: Vec<u8> = match entry.value(DW_AT_const_value)? {
        AttributeValue::Block(block) => block.to_slice().ok()?.into_owned(),
        _ => {
            let number = entry.number(DW_AT_const_value)?;
            number.to_le_bytes().to_vec()
        }
    };
    let bytes = bytes.into_iter().map(Some).chain(iter::repeat(None));
    Some(Contents::Bytes(bytes.take(size).collect()))
}
