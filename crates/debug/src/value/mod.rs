//! Values of a stopped program: what they consist of, and as text.

mod known;
mod number;
mod shape;
mod text;

use core::fmt;

use crate::{
    guest::{Guest, Unreadable},
    info::{DebugInfo, Kind, Member, Scalar, TypeRef},
};

pub use self::{
    number::{Format, Number},
    shape::{Field, Items, Shape},
};
pub use crate::contents::Contents;

/// The bytes of a value that are read at once.
pub(crate) const READ_BYTES_MAX: u64 = 1 << 16;

/// A value: its type and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// Its type.
    pub ty: TypeRef,
    /// Where its bytes are.
    pub contents: Contents,
    /// First bit and number of bits, if it is a bit field.
    pub bits: Option<(u64, u64)>,
}

impl Value {
    /// Makes a value that is no bit field.
    #[must_use]
    pub fn new(ty: TypeRef, contents: Contents) -> Self {
        Self { ty, contents, bits: None }
    }

    /// Makes an unsigned number of 64 bits.
    #[must_use]
    pub fn word(value: u64) -> Self {
        let contents = Contents::number(value.into(), 8);
        Self::new(TypeRef::Scalar(Scalar::Unsigned, 8), contents)
    }

    /// Returns the guest address of the value, if it is in memory.
    #[must_use]
    pub fn address(&self) -> Option<u64> {
        match self.contents {
            Contents::Memory(address) => Some(address),
            _ => None,
        }
    }
}

/// Why the bytes of a value cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// The compiler did not keep the value at this instruction.
    OptimizedOut,
    /// The value is on the stack, at a place that the compiler stated wrongly.
    Misplaced,
    /// The value is at an address without memory.
    Unreadable(Unreadable),
    /// The value has more bytes than are read at once.
    TooLarge,
    /// The value is none that the operation can be applied to.
    NotApplicable(&'static str),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OptimizedOut => f.write_str("optimized out"),
            Self::Misplaced => f.write_str(
                "unavailable: the compiler states a wrong place on the stack; clang before 23 does",
            ),
            Self::Unreadable(unreadable) => unreadable.fmt(f),
            Self::TooLarge => f.write_str("too large to be read at once"),
            Self::NotApplicable(reason) => f.write_str(reason),
        }
    }
}

impl core::error::Error for Missing {}

/// Reads values of a stopped program.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The types.
    pub info: &'a DebugInfo,
    /// The program.
    pub guest: &'a dyn Guest,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("info", self.info).finish_non_exhaustive()
    }
}

impl View<'_> {
    /// Reads the first `len` bytes of a value.
    ///
    /// # Errors
    /// If they were optimised out, are outside memory, or are too many.
    pub fn bytes(&self, contents: &Contents, len: u64) -> Result<Vec<u8>, Missing> {
        if len > READ_BYTES_MAX {
            return Err(Missing::TooLarge);
        }
        let len = usize::try_from(len).map_err(|_| Missing::TooLarge)?;
        match contents {
            Contents::Memory(_) if len == 0 => Ok(Vec::new()),
            Contents::Memory(address) => {
                let mut bytes = vec![0; len];
                self.guest.read(*address, &mut bytes).map_err(Missing::Unreadable)?;
                Ok(bytes)
            }
            Contents::Bytes(bytes) => {
                let known = bytes.iter().copied().take(len).collect::<Option<Vec<u8>>>();
                known.filter(|it| it.len() == len).ok_or(Missing::OptimizedOut)
            }
            Contents::Absent => Err(Missing::OptimizedOut),
            Contents::Misplaced => Err(Missing::Misplaced),
        }
    }

    /// Returns a member of a value.
    #[must_use]
    pub fn member(&self, value: &Value, member: &Member) -> Value {
        if let Some(bits) = member.bits {
            let whole = value.contents.clone();
            return Value { ty: member.ty.clone(), contents: whole, bits: Some(bits) };
        }
        let size = self.info.type_of(&member.ty).size;
        Value::new(member.ty.clone(), value.contents.part(member.offset, size))
    }

    /// Returns the member of this name, searched in structs, unions and the active variant.
    ///
    /// # Errors
    /// If there is none, or if it cannot be read which variant is active.
    pub fn field(&self, value: &Value, name: &str) -> Result<Value, Missing> {
        let fields = self.fields(value)?;
        let is_named = |it: &&Field| it.name == name || it.name.strip_prefix("__") == Some(name);
        let field = fields.iter().find(is_named).map(|it| it.value.clone());
        field.ok_or(Missing::NotApplicable("it has no field of this name"))
    }

    /// Returns the value that a pointer points to.
    ///
    /// # Errors
    /// If the value is no pointer or cannot be read.
    pub fn target(&self, value: &Value) -> Result<Value, Missing> {
        let Kind::Pointer(target) = self.info.type_of(&value.ty).kind else {
            return Err(Missing::NotApplicable("it is not a pointer"));
        };
        Ok(Value::new(target, Contents::Memory(self.word(value)?)))
    }

    /// Reads a number without sign of at most 64 bits, a pointer for example.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn word(&self, value: &Value) -> Result<u64, Missing> {
        let size = self.info.type_of(&value.ty).size.min(8);
        let mut word = [0; 8];
        let bytes = self.bytes(&value.contents, size)?;
        word[..bytes.len()].copy_from_slice(&bytes);
        Ok(u64::from_le_bytes(word))
    }
}
