//! Numbers, and how they are shown.

use super::{Missing, Value, View};
use crate::info::{Kind, Scalar};

/// A plain value of a program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer without sign, or an address.
    Unsigned(u128),
    /// An integer in two's complement.
    Signed(i128),
    /// 0 or 1; other bytes are invalid.
    Bool(u8),
    /// A character, valid or not.
    Char(u32),
    /// A floating-point number.
    Float(f64),
}

/// How numbers are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// As the type says: numbers in decimal, addresses in hexadecimal.
    #[default]
    Natural,
    /// Integers in hexadecimal.
    Hexadecimal,
    /// Integers in decimal, also addresses and characters.
    Decimal,
    /// Integers in octal.
    Octal,
    /// Integers in binary.
    Binary,
    /// Bytes as characters.
    Character,
}

impl Format {
    /// Returns the format of a letter, as gdb has them: x, d, o, t (binary) and c.
    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        Some(match letter {
            "x" | "h" => Self::Hexadecimal,
            "d" | "u" => Self::Decimal,
            "o" => Self::Octal,
            "t" | "b" => Self::Binary,
            "c" => Self::Character,
            _ => return None,
        })
    }
}

impl Number {
    /// Makes a number of its bytes, the least significant one first.
    #[must_use]
    pub fn from_bytes(scalar: Scalar, bytes: &[u8]) -> Self {
        let mut wide = [0; 16];
        let len = bytes.len().min(16);
        wide[..len].copy_from_slice(&bytes[..len]);
        let bits = u128::from_le_bytes(wide);
        match scalar {
            Scalar::Unsigned => Self::Unsigned(bits),
            Scalar::Signed => Self::Signed(sign_extend(bits, len * 8)),
            Scalar::Bool => Self::Bool(wide[0]),
            Scalar::Char => Self::Char(u32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]])),
            Scalar::Float if len == 4 => {
                let bits = u32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]);
                Self::Float(f32::from_bits(bits).into())
            }
            Scalar::Float => {
                Self::Float(f64::from_bits(u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0)))
            }
        }
    }

    /// Returns the number as an integer; the bits of one without sign that is larger than that.
    #[must_use]
    pub fn integer(self) -> i128 {
        match self {
            Self::Unsigned(value) => value.cast_signed(),
            Self::Signed(value) => value,
            Self::Bool(value) => value.into(),
            Self::Char(value) => value.into(),
            #[allow(clippy::cast_possible_truncation, reason = "the conversion saturates")]
            Self::Float(value) => value as i128,
        }
    }

    /// Writes the number of a value of so many bytes.
    #[must_use]
    pub fn text(self, format: Format, size: u64) -> String {
        let bits = self.bits(size);
        match (self, format) {
            (_, Format::Hexadecimal) => format!("{bits:#x}"),
            (_, Format::Octal) => format!("{bits:#o}"),
            (_, Format::Binary) => format!("{bits:#b}"),
            (Self::Float(value), _) => value.to_string(),
            (_, Format::Character) => character(u32::try_from(bits).unwrap_or(u32::MAX)),
            (Self::Unsigned(value), _) => value.to_string(),
            (Self::Signed(value), _) => value.to_string(),
            (Self::Bool(value), Format::Decimal) => value.to_string(),
            (Self::Char(value), Format::Decimal) => value.to_string(),
            (Self::Bool(value @ 0..=1), _) => (value == 1).to_string(),
            (Self::Bool(value), _) => format!("{value} (not a valid bool)"),
            (Self::Char(value), _) => character(value),
        }
    }

    /// Returns the bits of a value of so many bytes.
    fn bits(self, size: u64) -> u128 {
        let bits = match self {
            #[allow(clippy::cast_possible_truncation, reason = "the value was read as an f32")]
            Self::Float(value) if size == 4 => u128::from((value as f32).to_bits()),
            Self::Float(value) => value.to_bits().into(),
            _ => self.integer().cast_unsigned(),
        };
        match size {
            0..16 => bits & ((1 << (size * 8)) - 1),
            _ => bits,
        }
    }
}

fn character(value: u32) -> String {
    char::from_u32(value).map_or_else(|| format!("{value:#x}"), |it| format!("{it:?}"))
}

fn sign_extend(bits: u128, width: usize) -> i128 {
    let unused = u32::try_from(128_usize.saturating_sub(width)).unwrap_or(0);
    bits.cast_signed().checked_shl(unused).map_or(0, |it| it >> unused)
}

impl View<'_> {
    /// Reads a plain value, a pointer or the number of an enumeration.
    ///
    /// # Errors
    /// If the value is none of them or cannot be read.
    pub fn number(&self, value: &Value) -> Result<Number, Missing> {
        let ty = self.info.type_of(&value.ty);
        let scalar = match ty.kind {
            Kind::Scalar(scalar) => scalar,
            Kind::Pointer(_) | Kind::Opaque | Kind::Function => Scalar::Unsigned,
            Kind::Enumeration(_) => Scalar::Signed,
            _ => return Err(Missing::NotApplicable("it is not a number")),
        };
        match value.bits {
            Some(bits) => self.bit_field(value, scalar, bits),
            None => {
                let bytes = self.bytes(&value.contents, ty.size.min(16))?;
                Ok(Number::from_bytes(scalar, &bytes))
            }
        }
    }

    /// Reads a bit field.
    fn bit_field(
        &self,
        value: &Value,
        scalar: Scalar,
        (first, len): (u64, u64),
    ) -> Result<Number, Missing> {
        let shift = first % 8;
        let (start, len) = (first / 8, len.min(64));
        let size = (shift + len).div_ceil(8);
        let bytes = self.bytes(&value.contents.part(start, size), size)?;
        let Number::Unsigned(bits) = Number::from_bytes(Scalar::Unsigned, &bytes) else {
            unreachable!("the scalar is without sign")
        };
        let bits = (bits >> shift) & ((1_u128 << len) - 1);
        Ok(match scalar {
            Scalar::Signed => Number::Signed(sign_extend(bits, usize::try_from(len).unwrap_or(64))),
            _ => Number::from_bytes(scalar, &bits.to_le_bytes()),
        })
    }
}
