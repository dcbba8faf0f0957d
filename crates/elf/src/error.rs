//! Every way to refuse a file.

use core::fmt;

/// Why a file is no loadable program. Variants, their order and their texts, `Debug` included, are
/// anza sbpf's `ElfError`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the text of each variant says what it means")]
pub enum ElfError {
    FailedToParse(String),
    EntrypointOutOfBounds,
    InvalidEntrypoint,
    FailedToGetSection(String),
    /// Name, slot, offset in the file.
    UnresolvedSymbol(String, u64, u64),
    SectionNotFound(String),
    RelativeJumpOutOfBounds(u32),
    SymbolHashCollision(u32),
    WrongEndianess,
    WrongAbi,
    WrongMachine,
    WrongClass,
    NotOneTextSection,
    WritableSectionNotSupported(String),
    AddressOutsideLoadableSection(u64),
    InvalidVirtualAddress(u64),
    UnknownRelocation(u32),
    FailedToReadRelocationInfo,
    WrongType,
    UnknownSymbol(u32),
    ValueOutOfBounds,
    UnsupportedSBPFVersion,
    InvalidProgramHeader,
}

impl ElfError {
    /// The file breaks the format itself.
    pub(crate) fn parse(why: &str) -> Self {
        Self::FailedToParse(why.to_owned())
    }

    /// The error's place in the validator's list, from 0.
    #[must_use]
    pub fn discriminant(&self) -> u32 {
        match self {
            Self::FailedToParse(_) => 0,
            Self::EntrypointOutOfBounds => 1,
            Self::InvalidEntrypoint => 2,
            Self::FailedToGetSection(_) => 3,
            Self::UnresolvedSymbol(..) => 4,
            Self::SectionNotFound(_) => 5,
            Self::RelativeJumpOutOfBounds(_) => 6,
            Self::SymbolHashCollision(_) => 7,
            Self::WrongEndianess => 8,
            Self::WrongAbi => 9,
            Self::WrongMachine => 10,
            Self::WrongClass => 11,
            Self::NotOneTextSection => 12,
            Self::WritableSectionNotSupported(_) => 13,
            Self::AddressOutsideLoadableSection(_) => 14,
            Self::InvalidVirtualAddress(_) => 15,
            Self::UnknownRelocation(_) => 16,
            Self::FailedToReadRelocationInfo => 17,
            Self::WrongType => 18,
            Self::UnknownSymbol(_) => 19,
            Self::ValueOutOfBounds => 20,
            Self::UnsupportedSBPFVersion => 21,
            Self::InvalidProgramHeader => 22,
        }
    }
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailedToParse(why) => write!(f, "Failed to parse ELF file: {why}"),
            Self::EntrypointOutOfBounds => f.write_str("Entrypoint out of bounds"),
            Self::InvalidEntrypoint => f.write_str("Invalid entrypoint"),
            Self::FailedToGetSection(name) => write!(f, "Failed to get section {name}"),
            Self::UnresolvedSymbol(name, pc, offset) => write!(
                f,
                "Unresolved symbol ({name}) at instruction #{pc} (ELF file offset {offset:#x})"
            ),
            Self::SectionNotFound(name) => write!(f, "Section not found: {name}"),
            Self::RelativeJumpOutOfBounds(pc) => {
                write!(f, "Relative jump out of bounds at instruction #{pc}")
            }
            Self::SymbolHashCollision(key) => write!(f, "Symbol hash collision {key:#x}"),
            Self::WrongEndianess => f.write_str("Incompatible ELF: wrong endianess"),
            Self::WrongAbi => f.write_str("Incompatible ELF: wrong ABI"),
            Self::WrongMachine => f.write_str("Incompatible ELF: wrong machine"),
            Self::WrongClass => f.write_str("Incompatible ELF: wrong class"),
            Self::NotOneTextSection => f.write_str(
                "Multiple or no text sections, consider removing llc option: -function-sections",
            ),
            Self::WritableSectionNotSupported(name) => {
                write!(f, "Found writable section ({name}) in ELF, read-write data not supported")
            }
            Self::AddressOutsideLoadableSection(addr) => write!(
                f,
                "Relocation failed, no loadable section contains virtual address {addr:#x}"
            ),
            Self::InvalidVirtualAddress(addr) => {
                write!(f, "Relocation failed, invalid referenced virtual address {addr:#x}")
            }
            Self::UnknownRelocation(kind) => {
                write!(f, "Relocation failed, unknown type {kind}")
            }
            Self::FailedToReadRelocationInfo => f.write_str("Failed to read relocation info"),
            Self::WrongType => f.write_str("Incompatible ELF: wrong type"),
            Self::UnknownSymbol(index) => write!(f, "Unknown symbol with index {index}"),
            Self::ValueOutOfBounds => f.write_str("Offset or value is out of bounds"),
            Self::UnsupportedSBPFVersion => f.write_str(
                "Detected sbpf_version required by the executable which are not enabled",
            ),
            Self::InvalidProgramHeader => f.write_str("Invalid ELF program header"),
        }
    }
}

impl core::error::Error for ElfError {}
