//! The errors of the loader.

use core::fmt;

/// Why a file cannot be loaded. Variants, their order, `Display` and `Debug` texts equal those of
/// anza sbpf's `ElfError`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElfError {
    /// The file breaks the ELF format, or a rule that has no error of its own. Holds the reason.
    FailedToParse(String),
    /// The entry address lies outside `.text` (until V2).
    EntrypointOutOfBounds,
    /// The entry address is not that of an instruction slot (until V2).
    InvalidEntrypoint,
    /// A section cannot be read. Not used by the current rules.
    FailedToGetSection(String),
    /// A call of a syscall that is not registered: name, slot and offset in the file.
    UnresolvedSymbol(String, u64, u64),
    /// A required section is missing. Not used by the current rules.
    SectionNotFound(String),
    /// The call at this slot leaves `.text`.
    RelativeJumpOutOfBounds(u32),
    /// Two functions, or a function and a syscall, share this call key.
    SymbolHashCollision(u32),
    /// The file is big-endian. Not used by the current rules.
    WrongEndianess,
    /// The OS ABI of the header is not 0.
    WrongAbi,
    /// The machine of the header is neither BPF (247) nor sBPF (263).
    WrongMachine,
    /// The file is not a 64-bit one. Not used by the current rules.
    WrongClass,
    /// The number of `.text` sections is not 1.
    NotOneTextSection,
    /// The section of this name, `.bss` or a writable `.data`, is not supported.
    WritableSectionNotSupported(String),
    /// No loadable section contains this address. Not used by the current rules.
    AddressOutsideLoadableSection(u64),
    /// A relocation in code refers to this address, which is 0.
    InvalidVirtualAddress(u64),
    /// A relocation has this unknown type.
    UnknownRelocation(u32),
    /// A relocation cannot be read. Not used by the current rules.
    FailedToReadRelocationInfo,
    /// The type of the header is not `ET_DYN` (until V2).
    WrongType,
    /// A relocation refers to a symbol that does not exist (its index), or that has no readable name (the
    /// offset of the name).
    UnknownSymbol(u32),
    /// An offset, size or address is out of bounds.
    ValueOutOfBounds,
    /// The sBPF version is unknown or not enabled.
    UnsupportedSBPFVersion,
    /// A program header breaks the rules.
    InvalidProgramHeader,
}

impl ElfError {
    /// Makes the error of a file that breaks the format.
    pub(crate) fn parse(why: &str) -> Self {
        Self::FailedToParse(why.to_owned())
    }

    /// Returns the index of the variant in anza sbpf's `ElfError`.
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
