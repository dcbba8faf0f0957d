//! Little-endian reads from a byte string, with bounds.

use solana_pubkey::Pubkey;

/// A position in a byte string. Reads past the end return `None`.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(
            /// Reads a little-endian number.
            pub(crate) fn $name(&mut self) -> Option<$name> {
                self.array().map($name::from_le_bytes)
            }
        )*
    };
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    numbers! { u8 u16 u32 u64 u128 i8 i16 i64 f64 }

    /// Returns what has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads an array of bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Reads an address.
    pub(crate) fn key(&mut self) -> Option<Pubkey> {
        self.array().map(Pubkey::new_from_array)
    }

    /// Reads a byte that is 0 or 1.
    pub(crate) fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Reads a number of seven bits per byte, the lowest first (LEB128), in its shortest form.
    pub(crate) fn leb128(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits > u64::MAX >> shift {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return (byte > 0 || shift == 0).then_some(number);
            }
        }
        None
    }

    /// Reads UTF-8 text of `len` bytes.
    pub(crate) fn text(&mut self, len: usize) -> Option<&'a str> {
        core::str::from_utf8(self.take(len)?).ok()
    }
}
