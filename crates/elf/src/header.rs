//! The structures of an ELF file, read by value, little-endian and bounds-checked.
//!
//! A read that is out of bounds returns `None`; the loaders ([`strict`](crate::strict),
//! [`legacy`](crate::legacy)) decide which error that is.

use core::{marker::PhantomData, ops::Range};

use crate::error::ElfError;

pub(crate) const MAGIC: [u8; 4] = *b"\x7fELF";
pub(crate) const CLASS_64: u8 = 2;
pub(crate) const LITTLE_ENDIAN: u8 = 1;
pub(crate) const CURRENT: u8 = 1;
pub(crate) const OSABI_NONE: u8 = 0;
pub(crate) const TYPE_DYN: u16 = 3;
pub(crate) const MACHINE_BPF: u16 = 247;
pub(crate) const MACHINE_SBPF: u16 = 263;

pub(crate) const PT_LOAD: u32 = 1;
pub(crate) const PT_DYNAMIC: u32 = 2;
pub(crate) const PF_X: u32 = 1;
pub(crate) const PF_R: u32 = 4;

pub(crate) const SHT_NULL: u32 = 0;
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_STRTAB: u32 = 3;
pub(crate) const SHT_DYNAMIC: u32 = 6;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_DYNSYM: u32 = 11;
pub(crate) const SHF_WRITE: u64 = 1;
pub(crate) const SHF_ALLOC: u64 = 2;

pub(crate) const STT_FUNC: u8 = 2;

/// Offset in the file header of `e_flags`, which hold the sBPF version.
pub(crate) const E_FLAGS: usize = 48;

/// A structure of a fixed size in the file.
pub(crate) trait Record: Sized {
    const BYTES: usize;
    fn read(fields: &mut Fields<'_>) -> Self;
}

/// A reader of the fields of one record, front to back.
#[derive(Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// Takes the next `N` bytes. `Table` never reads a record from fewer bytes than it has.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else { return [0; N] };
        self.0 = rest;
        *field
    }

    fn u8(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FileHeader {
    pub(crate) magic: [u8; 4],
    pub(crate) class: u8,
    pub(crate) endianness: u8,
    pub(crate) ident_version: u8,
    pub(crate) osabi: u8,
    pub(crate) abi_version: u8,
    pub(crate) padding: [u8; 7],
    pub(crate) e_type: u16,
    pub(crate) e_machine: u16,
    pub(crate) e_version: u32,
    pub(crate) e_entry: u64,
    pub(crate) e_phoff: u64,
    pub(crate) e_shoff: u64,
    pub(crate) e_ehsize: u16,
    pub(crate) e_phentsize: u16,
    pub(crate) e_phnum: u16,
    pub(crate) e_shentsize: u16,
    pub(crate) e_shnum: u16,
    pub(crate) e_shstrndx: u16,
}

impl Record for FileHeader {
    const BYTES: usize = 64;

    fn read(fields: &mut Fields<'_>) -> Self {
        let magic = fields.take();
        let [class, endianness, ident_version, osabi, abi_version] = fields.take();
        let padding = fields.take();
        let [e_type, e_machine] = [fields.u16(), fields.u16()];
        let e_version = fields.u32();
        let [e_entry, e_phoff, e_shoff] = [fields.u64(), fields.u64(), fields.u64()];
        let _e_flags = fields.u32();
        Self {
            magic,
            class,
            endianness,
            ident_version,
            osabi,
            abi_version,
            padding,
            e_type,
            e_machine,
            e_version,
            e_entry,
            e_phoff,
            e_shoff,
            e_ehsize: fields.u16(),
            e_phentsize: fields.u16(),
            e_phnum: fields.u16(),
            e_shentsize: fields.u16(),
            e_shnum: fields.u16(),
            e_shstrndx: fields.u16(),
        }
    }
}

impl FileHeader {
    /// Checks the fields that the strict and the legacy loader require alike.
    pub(crate) fn is_current_elf64(&self) -> bool {
        self.magic == MAGIC
            && self.class == CLASS_64
            && self.endianness == LITTLE_ENDIAN
            && self.ident_version == CURRENT
            && self.e_version == u32::from(CURRENT)
            && usize::from(self.e_ehsize) == Self::BYTES
            && usize::from(self.e_phentsize) == ProgramHeader::BYTES
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ProgramHeader {
    pub(crate) p_type: u32,
    pub(crate) p_flags: u32,
    pub(crate) p_offset: u64,
    pub(crate) p_vaddr: u64,
    pub(crate) p_paddr: u64,
    pub(crate) p_filesz: u64,
    pub(crate) p_memsz: u64,
}

impl Record for ProgramHeader {
    const BYTES: usize = 56;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            p_type: fields.u32(),
            p_flags: fields.u32(),
            p_offset: fields.u64(),
            p_vaddr: fields.u64(),
            p_paddr: fields.u64(),
            p_filesz: fields.u64(),
            p_memsz: fields.u64(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SectionHeader {
    pub(crate) sh_name: u32,
    pub(crate) sh_type: u32,
    pub(crate) sh_flags: u64,
    pub(crate) sh_addr: u64,
    pub(crate) sh_offset: u64,
    pub(crate) sh_size: u64,
    pub(crate) sh_link: u32,
}

impl Record for SectionHeader {
    const BYTES: usize = 64;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            sh_name: fields.u32(),
            sh_type: fields.u32(),
            sh_flags: fields.u64(),
            sh_addr: fields.u64(),
            sh_offset: fields.u64(),
            sh_size: fields.u64(),
            sh_link: fields.u32(),
        }
    }
}

impl SectionHeader {
    /// Returns the bytes of the file that the section occupies: `0..0` for `SHT_NOBITS`.
    pub(crate) fn file_range(&self) -> Range<u64> {
        match self.sh_type {
            SHT_NOBITS => 0..0,
            _ => self.sh_offset..self.sh_offset.saturating_add(self.sh_size),
        }
    }

    /// Returns the addresses that the section occupies, also for `SHT_NOBITS`.
    pub(crate) fn vm_range(&self) -> Range<u64> {
        self.sh_addr..self.sh_addr.saturating_add(self.sh_size)
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.sh_flags & (SHF_ALLOC | SHF_WRITE) == SHF_ALLOC | SHF_WRITE
    }
}

/// An entry of a symbol table.
#[derive(Clone, Debug)]
pub(crate) struct Sym {
    pub(crate) st_name: u32,
    pub(crate) st_info: u8,
    pub(crate) st_shndx: u16,
    pub(crate) st_value: u64,
    pub(crate) st_size: u64,
}

impl Record for Sym {
    const BYTES: usize = 24;

    fn read(fields: &mut Fields<'_>) -> Self {
        let st_name = fields.u32();
        let [st_info, _st_other] = [fields.u8(), fields.u8()];
        let st_shndx = fields.u16();
        Self { st_name, st_info, st_shndx, st_value: fields.u64(), st_size: fields.u64() }
    }
}

/// A relocation without addend.
#[derive(Clone, Debug)]
pub(crate) struct Rel {
    pub(crate) r_offset: u64,
    pub(crate) r_type: u32,
    pub(crate) r_sym: u32,
}

impl Record for Rel {
    const BYTES: usize = 16;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { r_offset: fields.u64(), r_type: fields.u32(), r_sym: fields.u32() }
    }
}

/// An entry of the dynamic table.
#[derive(Clone, Debug)]
pub(crate) struct Dyn {
    pub(crate) d_tag: u64,
    pub(crate) d_val: u64,
}

impl Record for Dyn {
    const BYTES: usize = 16;

    fn read(fields: &mut Fields<'_>) -> Self {
        Self { d_tag: fields.u64(), d_val: fields.u64() }
    }
}

/// An array of records in the file.
#[derive(Debug)]
pub(crate) struct Table<'a, T> {
    bytes: &'a [u8],
    record: PhantomData<T>,
}

impl<'a, T: Record> Table<'a, T> {
    /// Makes a table over `range` of `bytes`.
    ///
    /// # Errors
    /// In this order: if the size is not a multiple of the record size, if the range is out of
    /// bounds, or if its start is not aligned to eight bytes (even if the range is empty).
    pub(crate) fn parse(bytes: &'a [u8], range: Range<u64>) -> Result<Self, ElfError> {
        if !range.end.saturating_sub(range.start).is_multiple_of(T::BYTES as u64) {
            return Err(ElfError::parse("invalid size"));
        }
        let start = range.start;
        let bytes = slice(bytes, range).ok_or(ElfError::ValueOutOfBounds)?;
        if !start.is_multiple_of(8) {
            return Err(ElfError::parse("invalid alignment"));
        }
        Ok(Self::new(bytes))
    }

    /// Makes a table of as many records as fit into `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, record: PhantomData }
    }

    pub(crate) fn get(&self, index: usize) -> Option<T> {
        Some(T::read(&mut Fields(self.record(index)?)))
    }

    /// Returns the bytes of a record.
    pub(crate) fn record(&self, index: usize) -> Option<&'a [u8]> {
        self.bytes.get(index.checked_mul(T::BYTES)?..)?.get(..T::BYTES)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        self.bytes.chunks_exact(T::BYTES).map(|bytes| T::read(&mut Fields(bytes)))
    }
}

/// Reads the record at the start of `bytes`.
pub(crate) fn read_front<T: Record>(bytes: &[u8]) -> Option<T> {
    Table::new(bytes).get(0)
}

/// Returns `bytes[range]`; `None` if the range is out of bounds.
pub(crate) fn slice(bytes: &[u8], range: Range<u64>) -> Option<&[u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

/// Returns the bytes before the first NUL; `None` if there is no NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    bytes.get(..end)
}
