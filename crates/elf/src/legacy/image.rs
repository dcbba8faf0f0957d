//! The read-only image of a V0 to V2 program: its read-only sections at their guest addresses, with
//! the code as one of them. Source: anza sbpf `elf.rs`, `parse_ro_sections`.

use core::ops::Range;
use std::sync::Arc;

use selkie_isa::layout::{BYTECODE_START, REGION_SIZE, STACK_START};

use super::file::File;
use crate::{
    Environment, ReadOnly,
    error::ElfError,
    executable::SharedBytes,
    header::{SectionHeader, slice},
};

/// The read-only sections of a file, and how to build the image that the guest reads.
#[derive(Debug)]
pub(super) struct ReadOnlySections {
    /// Address and file range of each section that is not empty, in the file's order.
    parts: Vec<(u64, Range<u64>)>,
    /// The addresses that the guest may read, relative to [`BYTECODE_START`].
    image: Range<u64>,
    /// Whether the address of every section equals its file offset.
    in_place: bool,
    /// Whether the bytes between the sections are zeroed.
    zero_holes: bool,
}

impl ReadOnlySections {
    /// Finds the read-only sections by name (anza sbpf: `parse_ro_sections`).
    pub(super) fn find(file: &File<'_>, environment: &Environment) -> Result<Self, ElfError> {
        let mut parts = Vec::new();
        let mut in_place = true;
        let (mut lowest, mut highest, mut filled) = (u64::MAX, 0_u64, 0_u64);
        let (mut first, mut last, mut count) = (None, 0, 0);
        for (index, (name, section)) in file.named_sections().enumerate() {
            if ![&b".text"[..], b".rodata", b".data.rel.ro", b".eh_frame"].contains(&name) {
                continue;
            }
            first = first.or(Some(index));
            last = index;
            count += 1;
            in_place &= section.sh_addr == section.sh_offset;
            // Only the start of a section is checked against the region. The size of the file bounds
            // its end.
            let vaddr = section.sh_addr.saturating_add(BYTECODE_START);
            if (environment.reject_broken_elfs && !in_place) || vaddr > STACK_START {
                return Err(ElfError::ValueOutOfBounds);
            }
            let range = section.file_range();
            slice(file.bytes, range.clone()).ok_or(ElfError::ValueOutOfBounds)?;
            let len = range.end - range.start;
            lowest = lowest.min(section.sh_addr);
            highest = highest.max(section.sh_addr.saturating_add(len));
            filled = filled.saturating_add(len);
            if len != 0 {
                parts.push((section.sh_addr, range));
            }
        }
        // The sum of the sizes exceeds the address range only if sections overlap.
        if environment.reject_broken_elfs && lowest.saturating_add(filled) > highest {
            return Err(ElfError::ValueOutOfBounds);
        }
        let together = first.is_some_and(|first| last + 1 - first == count);
        let zero_holes = !(environment.optimize_rodata && in_place && together);
        // Unless optimized, the addresses below the first section are readable too, as zeroes.
        let image = if environment.optimize_rodata { lowest..highest } else { 0..highest };
        let too_long = zero_holes && image.end - image.start > file.bytes.len() as u64;
        if too_long || image.start >= REGION_SIZE {
            return Err(ElfError::ValueOutOfBounds);
        }
        Ok(Self { parts, image, in_place, zero_holes })
    }

    /// Builds the read-only image out of the relocated file, and the code as a part of it.
    pub(super) fn build(
        self,
        file: Arc<[u8]>,
        text: &SectionHeader,
    ) -> Result<(ReadOnly, SharedBytes), ElfError> {
        let built = match self.in_place {
            true => self.zeroed_in_place(file).map(|buffer| (buffer, 0)),
            false => self.gathered(&file).map(|buffer| (buffer, self.image.start)),
        };
        let parts = built.and_then(|(buffer, base)| {
            // Where sections overlap, the code that runs is what the guest reads at its address, not
            // what the file holds (anza sbpf: `get_text_bytes`).
            let text_bytes = text.file_range();
            let text_end = text.sh_addr.checked_add(text_bytes.end - text_bytes.start)?;
            let code = SharedBytes::part(&buffer, base, &(text.sh_addr..text_end))?;
            Some((SharedBytes::part(&buffer, base, &self.image)?, code))
        });
        let (bytes, code) = parts.ok_or(ElfError::ValueOutOfBounds)?;
        Ok((ReadOnly { vaddr: self.image.start + BYTECODE_START, bytes }, code))
    }

    /// Returns the file itself, zeroed where the guest must not read it.
    fn zeroed_in_place(&self, mut file: Arc<[u8]>) -> Option<Arc<[u8]>> {
        if self.zero_holes {
            let bytes = Arc::get_mut(&mut file)?;
            let mut hole_start = self.image.start;
            let ends = [(self.image.end, self.image.end..self.image.end)];
            for (_, part) in self.parts.iter().chain(&ends) {
                let hole = usize::try_from(hole_start).ok()?..usize::try_from(part.start).ok()?;
                bytes.get_mut(hole)?.fill(0);
                hole_start = part.end;
            }
        }
        Some(file)
    }

    /// Returns the sections, copied to their addresses. A later one overwrites an earlier one.
    fn gathered(&self, file: &[u8]) -> Option<Arc<[u8]>> {
        let mut image = vec![0; usize::try_from(self.image.end - self.image.start).ok()?];
        for (addr, part) in &self.parts {
            let section = slice(file, part.clone())?;
            let start = usize::try_from(addr - self.image.start).ok()?;
            image.get_mut(start..start.checked_add(section.len())?)?.copy_from_slice(section);
        }
        Some(Arc::from(image))
    }
}
