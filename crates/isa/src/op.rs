//! The types of a row of the instruction table, and the decode tables.

use core::fmt;

use crate::for_each_op;

/// An sBPF version, which the `e_flags` of a program's ELF header selects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Version {
    /// The original instruction set, which most deployed programs use.
    #[default]
    V0,
    /// Dynamic stack frames (SIMD-0166).
    V1,
    /// New arithmetic and encodings (SIMD-0173, SIMD-0174).
    V2,
    /// V0's arithmetic, static calls, strict ELF files (SIMD-0178, SIMD-0189, SIMD-0377).
    V3,
    /// V3 with aligned memory mapping (SIMD-0177).
    V4,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Self; 5] = [Self::V0, Self::V1, Self::V2, Self::V3, Self::V4];

    /// Returns the version that the ELF header field `e_flags` selects.
    #[must_use]
    pub const fn from_e_flags(e_flags: u32) -> Option<Self> {
        match e_flags {
            0 => Some(Self::V0),
            1 => Some(Self::V1),
            2 => Some(Self::V2),
            3 => Some(Self::V3),
            4 => Some(Self::V4),
            _ => None,
        }
    }

    /// Whether functions move the frame pointer themselves with `add64 r10, imm`; otherwise each
    /// call moves it by one frame (SIMD-0166).
    #[must_use]
    pub const fn dynamic_frames(self) -> bool {
        matches!(self, Self::V1 | Self::V2)
    }

    /// Whether every stack frame may be followed by an unmapped gap of the same size.
    #[must_use]
    pub const fn stack_frame_gaps(self) -> bool {
        matches!(self, Self::V0)
    }

    /// Whether calls need no relocation: the source nibble tells syscalls from functions, and
    /// functions are addressed relative to the call (SIMD-0178, SIMD-0377).
    #[must_use]
    pub const fn static_calls(self) -> bool {
        matches!(self, Self::V3 | Self::V4)
    }

    /// Whether the ELF file must follow the strict layout, with read-only data at address 0 and
    /// the code unreadable (SIMD-0189).
    #[must_use]
    pub const fn strict_elf(self) -> bool {
        matches!(self, Self::V3 | Self::V4)
    }

    /// Whether each 4 GiB of the address space hold exactly one region, regardless of the
    /// configuration (SIMD-0177).
    #[must_use]
    pub const fn aligned_memory(self) -> bool {
        matches!(self, Self::V4)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", *self as u8)
    }
}

impl core::str::FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(['v', 'V']).unwrap_or(text);
        digits.parse().ok().and_then(Self::from_e_flags).ok_or(UnknownVersion)
    }
}

/// The error of parsing a text that is not the name of an sBPF version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownVersion;

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an sBPF version; the versions are v0, v1, v2, v3 and v4")
    }
}

impl core::error::Error for UnknownVersion {}

/// A set of sBPF versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions(u8);

impl Versions {
    /// Every version.
    pub const ALL: Self = Self(0b11111);
    /// V2 only, whose encodings and arithmetic differ from all others.
    pub const V2: Self = Self(0b00100);
    /// Every version but V2.
    pub const NOT_V2: Self = Self(0b11011);
    /// V0 and V1.
    pub const V0V1: Self = Self(0b00011);
    /// V0, V1 and V2.
    pub const UNTIL_V2: Self = Self(0b00111);
    /// V3 and later.
    pub const V3UP: Self = Self(0b11000);

    /// Whether the set contains `version`.
    #[must_use]
    pub const fn contains(self, version: Version) -> bool {
        self.0 & (1 << version as u8) != 0
    }

    /// Iterates over the versions in the set, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Version> {
        Version::ALL.into_iter().filter(move |&version| self.contains(version))
    }
}

/// A binary arithmetic or logical operation, which [`Alu::eval`] computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alu {
    /// Addition.
    Add,
    /// Subtraction: `dst - operand`.
    Sub,
    /// Subtraction with the operands swapped: `operand - dst`.
    Rsub,
    /// Lower half of the product.
    Mul,
    /// Unsigned quotient.
    Div,
    /// Unsigned remainder.
    Mod,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Bitwise exclusive or.
    Xor,
    /// The operand itself.
    Mov,
    /// Left shift.
    Lsh,
    /// Right shift that fills with zeros.
    Rsh,
    /// Right shift that fills with the sign.
    Arsh,
    /// Bitwise or with the operand shifted left by 32: builds 64-bit constants in V2.
    Hor,
    /// Upper half of the unsigned 128-bit product.
    Uhmul,
    /// Upper half of the signed 128-bit product.
    Shmul,
    /// Signed quotient.
    Sdiv,
    /// Signed remainder.
    Srem,
}

/// The width of an operation, and how a 32-bit result is extended to the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 64 bits.
    W64,
    /// 32 bits, the result zero-extended.
    Z32,
    /// 32 bits, the result sign-extended.
    S32,
}

impl Width {
    /// Returns 32 or 64.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::W64 => 64,
            Self::Z32 | Self::S32 => 32,
        }
    }
}

/// The source of the right-hand operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// The immediate, sign-extended.
    Imm,
    /// The immediate, zero-extended.
    Uimm,
    /// The source register.
    Reg,
}

/// The condition of a branch, which [`Cond::eval`] evaluates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cond {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater, unsigned.
    Gt,
    /// Greater or equal, unsigned.
    Ge,
    /// Less, unsigned.
    Lt,
    /// Less or equal, unsigned.
    Le,
    /// The operands have a set bit in common.
    Set,
    /// Greater, signed.
    Sgt,
    /// Greater or equal, signed.
    Sge,
    /// Less, signed.
    Slt,
    /// Less or equal, signed.
    Sle,
}

/// The size of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// Byte.
    B,
    /// Half word: 2 bytes.
    H,
    /// Word: 4 bytes.
    W,
    /// Double word: 8 bytes.
    Dw,
}

impl Size {
    /// Returns 1, 2, 4 or 8.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::B => 1,
            Self::H => 2,
            Self::W => 4,
            Self::Dw => 8,
        }
    }
}

/// The byte order that `le` and `be` convert to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endian {
    /// `le`, which only truncates.
    Little,
    /// `be`, which swaps the bytes, since registers are little-endian.
    Big,
}

/// The field of a `callx` that holds the register number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The immediate (V0 and V1).
    InImm,
    /// The source register (V2).
    InSrc,
    /// The destination register (V3 and later).
    InDst,
}

/// What an instruction does, with every distinction that the verifier and the engines make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `dst = dst op operand`
    Alu(Alu, Width, Operand),
    /// `dst = -dst`
    Neg(Width),
    /// Truncates `dst` to `imm` bits (16, 32 or 64) and converts it to a byte order
    Endian(Endian),
    /// `dst = *(src + off)`, zero-extended
    Load(Size),
    /// `*(dst + off) = imm`
    StoreImm(Size),
    /// `*(dst + off) = src`
    StoreReg(Size),
    /// `dst = imm`, with the upper 32 bits from the next slot
    LoadImm64,
    /// The second slot of [`Kind::LoadImm64`], which is not an instruction
    Tail,
    /// `pc += off`
    Jump,
    /// `if dst cond operand { pc += off }`
    Branch(Cond, Width, Operand),
    /// Call of the syscall, or else of the function, whose hash is the immediate
    CallHash,
    /// Call of a syscall by hash (source nibble 0), or of a function by its distance from the next
    /// instruction (source nibble 1)
    CallStatic,
    /// Call of the address in a register
    CallReg(Field),
    /// Return to the caller; ends the program in the entry function
    Exit,
}

macro_rules! declare_op {
    ($($code:literal, $versions:ident => $name:ident = $mnemonic:literal, $kind:expr;)*) => {
        /// One row of the [instruction table](crate::table).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $(
                #[doc = concat!("`", $mnemonic, "`: `", stringify!($kind), "`")]
                $name,
            )*
        }

        /// The rows as data, in the table's order. A separate module, because rows use the names of
        /// enum variants without their types.
        mod rows {
            use super::{
                Alu::*, Cond::*, Endian::*, Field::*, Kind::*, Operand::*, Row, Size::*,
                Versions, Width::*,
            };

            pub(super) static ROWS: [Row; super::Op::ALL.len()] = [$(Row {
                code: $code,
                versions: Versions::$versions,
                mnemonic: $mnemonic,
                kind: $kind,
            },)*];
        }

        impl Op {
            /// All rows, in the table's order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}
for_each_op!(declare_op);

#[derive(Debug)]
struct Row {
    code: u8,
    versions: Versions,
    mnemonic: &'static str,
    kind: Kind,
}

impl Op {
    const fn row(self) -> &'static Row {
        &rows::ROWS[self as usize]
    }

    /// Returns the opcode, which is the first byte of the instruction.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.row().code
    }

    /// Returns the versions that have this row.
    #[must_use]
    pub const fn versions(self) -> Versions {
        self.row().versions
    }

    /// Returns the mnemonic; for `le` and `be` without the width, which is in the immediate.
    #[must_use]
    pub const fn mnemonic(self) -> &'static str {
        self.row().mnemonic
    }

    /// Returns what the instruction does.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// Returns the row for the opcode `code` in `version`.
    ///
    /// ```
    /// use selkie_isa::{Op, Version};
    /// assert_eq!(Op::decode(Version::V0, 0x9c), Some(Op::Mod32Reg));
    /// assert_eq!(Op::decode(Version::V2, 0x9c), Some(Op::LdxdwV2));
    /// assert_eq!(Op::decode(Version::V0, 0xff), None);
    /// ```
    #[must_use]
    pub const fn decode(version: Version, code: u8) -> Option<Self> {
        DECODE[version as usize][code as usize]
    }
}

static DECODE: [[Option<Op>; 256]; 5] = decode_tables();

/// Builds the decode tables. Fails to compile if two rows share an opcode in one version.
const fn decode_tables() -> [[Option<Op>; 256]; 5] {
    let mut tables = [[None; 256]; 5];
    let mut version = 0;
    while version < Version::ALL.len() {
        let mut index = 0;
        while index < Op::ALL.len() {
            let op = Op::ALL[index];
            let code = op.code() as usize;
            if op.versions().contains(Version::ALL[version]) {
                assert!(tables[version][code].is_none(), "two rows share a code and a version");
                tables[version][code] = Some(op);
            }
            index += 1;
        }
        version += 1;
    }
    tables
}

const _: () = assert!(Op::ALL.len() <= 256);
