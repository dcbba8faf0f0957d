//! Rewriting of line programs: sequences of operations that advance an address from row to row. Only
//! the advances change.

use super::{
    CodeMap, CodeOffset, Rewritten, code_location,
    leb::{Reader, put_uleb},
    relocation_at,
};
use crate::object::{Object, Section};

const ADVANCE_PC: u8 = 2;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// The header of a line program.
struct Header {
    end: usize,
    program: usize,
    minimum: u64,
    line_range: u8,
    opcode_base: u8,
    /// The number of operands of each standard operation.
    lengths: Vec<u8>,
}

struct Rewriter<'a> {
    object: &'a Object<'a>,
    section: &'a Section<'a>,
    code_map: &'a CodeMap<'a, 'a>,
    bytes: Vec<u8>,
    parts: Vec<(u64, u64, u64)>,
}

/// Rewrites the line programs of an object; `None` if they cannot be read.
pub(super) fn rewrite<'a>(
    object: &'a Object<'a>,
    section: &'a Section<'a>,
    code_map: &'a CodeMap<'a, 'a>,
) -> Option<Rewritten> {
    let (bytes, parts) = (Vec::with_capacity(section.data.len()), Vec::new());
    let mut rewriter = Rewriter { object, section, code_map, bytes, parts };
    let mut at = 0;
    while at < section.data.len() {
        at = rewriter.unit(at)?;
    }
    Some(Rewritten { bytes: rewriter.bytes, parts: Some(rewriter.parts) })
}

impl Rewriter<'_> {
    /// Copies bytes unchanged.
    fn copy(&mut self, start: usize, end: usize) -> Option<()> {
        let bytes = self.section.data.get(start..end)?;
        self.parts.push((start as u64, bytes.len() as u64, self.bytes.len() as u64));
        self.bytes.extend_from_slice(bytes);
        Some(())
    }

    fn header(&self, start: usize) -> Option<Header> {
        let mut reader = Reader::new(self.section.data, start);
        let length = reader.u32().filter(|&it| it < 0xffff_fff0)?;
        let end = reader.position().checked_add(length as usize)?;
        let version = reader.u16()?;
        match version {
            2..=4 => {}
            5 => _ = reader.take(2)?,
            _ => return None,
        }
        let header = reader.u32()? as usize;
        let program = reader.position().checked_add(header)?;
        let minimum = reader.byte()?.into();
        if version >= 4 && reader.byte()? != 1 {
            return None;
        }
        let _default_is_stmt_and_line_base = reader.take(2)?;
        let line_range = reader.byte().filter(|&it| it > 0)?;
        let opcode_base = reader.byte().filter(|&it| it > 0)?;
        let lengths = reader.take(usize::from(opcode_base) - 1)?.to_vec();
        let is_sound = program <= end && end <= self.section.data.len() && minimum > 0;
        is_sound.then_some(Header { end, program, minimum, line_range, opcode_base, lengths })
    }

    /// Rewrites the program at `start`, and returns the offset of the next one.
    fn unit(&mut self, start: usize) -> Option<usize> {
        let header = self.header(start)?;
        let now = self.bytes.len();
        self.copy(start, header.program)?;
        let data = self.section.data.get(..header.end)?;
        let mut reader = Reader::new(data, header.program);
        let mut location: Option<CodeOffset> = None;
        while reader.position() < header.end {
            self.operation(&header, &mut reader, &mut location)?;
        }
        let length = u32::try_from(self.bytes.len() - now - 4).ok()?;
        self.bytes.get_mut(now..now + 4)?.copy_from_slice(&length.to_le_bytes());
        Some(header.end)
    }

    /// Rewrites an operation.
    fn operation(
        &mut self,
        header: &Header,
        reader: &mut Reader<'_>,
        location: &mut Option<CodeOffset>,
    ) -> Option<()> {
        let start = reader.position();
        let opcode = reader.byte()?;
        let special = opcode.checked_sub(header.opcode_base);
        // The advance in units of the minimum instruction length.
        let advance = match opcode {
            _ if special.is_some() => Some(u64::from(special? / header.line_range)),
            0 => {
                *location = self.extended(reader, *location)?;
                None
            }
            ADVANCE_PC => Some(reader.uleb()?),
            CONST_ADD_PC => Some(u64::from((255 - header.opcode_base) / header.line_range)),
            FIXED_ADVANCE_PC => Some(u64::from(reader.u16()?) / header.minimum),
            _ => {
                let count = header.lengths.get(usize::from(opcode) - 1)?;
                for _ in 0..*count {
                    reader.uleb()?;
                }
                None
            }
        };
        let (Some(advance), Some(from)) = (advance, *location) else {
            return self.copy(start, reader.position());
        };
        let length = advance.checked_mul(header.minimum)?;
        let distance = self.code_map.distance(from, length) / header.minimum;
        *location = Some(CodeOffset { offset: from.offset.checked_add(length)?, ..from });
        if distance == advance {
            return self.copy(start, reader.position());
        }
        self.bytes.push(ADVANCE_PC);
        put_uleb(&mut self.bytes, distance);
        if let Some(special) = special {
            // Appends the row without advancing.
            self.bytes.push(special % header.line_range + header.opcode_base);
        }
        Some(())
    }

    /// Reads the rest of an extended operation, and returns the position after it.
    fn extended(
        &self,
        reader: &mut Reader<'_>,
        location: Option<CodeOffset>,
    ) -> Option<Option<CodeOffset>> {
        let length = usize::try_from(reader.uleb()?).ok()?;
        let operands = reader.position();
        Some(match reader.take(length)?.first() {
            Some(&END_SEQUENCE) => None,
            Some(&SET_ADDRESS) if length == 9 => self.set_address(operands + 1),
            _ => location,
        })
    }

    /// Returns the position to which the operand at `at` is relocated.
    fn set_address(&self, at: usize) -> Option<CodeOffset> {
        let addend = Reader::new(self.section.data, at).u64()?;
        let relocation = relocation_at(self.section, at as u64)?;
        code_location(self.object, relocation, addend)
    }
}
