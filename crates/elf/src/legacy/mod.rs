//! The loader for V0 to V2. Source: anza sbpf `elf_parser/mod.rs` and `elf.rs`.
//!
//! Its rules are lenient where deployed programs need it, and keep the quirks that deployed programs
//! rely on. The order of the checks is part of the rules: it decides which error a file gets.
//!
//! | module | what it owns |
//! |---|---|
//! | `file` | the structures of a file, parsed and validated |
//! | `relocate` | calls and addresses patched into a copy of the file |
//! | `registry` | the functions that relocation finds, by call key |
//! | `image` | the read-only data and code that the program sees |

mod file;
mod image;
mod registry;
mod relocate;

use std::sync::Arc;

use selkie_isa::{
    Version,
    layout::{BYTECODE_START, SLOT_BYTES, STACK_START},
};

use self::{file::File, image::ReadOnlySections, relocate::relocate};
use crate::{Environment, Executable, error::ElfError, header::SectionHeader};

/// Loads a V0, V1 or V2 file.
pub(crate) fn load(
    bytes: &[u8],
    version: Version,
    environment: &Environment,
) -> Result<Executable, ElfError> {
    let file = File::parse(bytes)?;
    let text = file.validate()?;
    let text_vaddr = text_vaddr(&text, environment)?;
    // The only copy: relocated in place, and then the image itself if addresses are file offsets.
    let mut buffer: Arc<[u8]> = Arc::from(bytes);
    let image = Arc::get_mut(&mut buffer).expect("a new buffer has one owner");
    let mut registry = relocate(&file, &text, environment, image)?;
    let entry_offset = file.header.e_entry.saturating_sub(text.sh_addr);
    if !entry_offset.is_multiple_of(SLOT_BYTES as u64) {
        return Err(ElfError::InvalidEntrypoint);
    }
    let entry_pc = registry.set_entry(entry_offset / SLOT_BYTES as u64)?;
    let functions = registry.finish();
    let (read_only, code) = ReadOnlySections::find(&file, environment)?.build(buffer, &text)?;
    Ok(Executable {
        version,
        text: code,
        text_vaddr,
        text_offset: text.file_range().start,
        entry_pc,
        read_only,
        functions,
        syscalls: Arc::clone(&environment.syscalls),
    })
}

/// Returns the guest address at which the code starts.
fn text_vaddr(text: &SectionHeader, environment: &Environment) -> Result<u64, ElfError> {
    let vaddr = text.sh_addr.saturating_add(BYTECODE_START);
    let out_of_bounds = match environment.text_at_stack {
        true => vaddr > STACK_START,
        false => vaddr >= STACK_START,
    };
    let broken = environment.reject_broken_elfs && text.sh_addr != text.sh_offset;
    if broken || out_of_bounds { Err(ElfError::ValueOutOfBounds) } else { Ok(vaddr) }
}
