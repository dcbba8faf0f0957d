//! The semantics of ALU operations, conditions and byte swaps, defined only here.
//!
//! With a constant operation and width, the `match`es fold to a single operation.

use core::fmt;

use crate::op::{Alu, Cond, Endian, Width};

/// The reason why a division has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivisionError {
    /// The divisor is zero.
    ByZero,
    /// The smallest signed number divided by -1 (V2 only).
    Overflow,
}

impl fmt::Display for DivisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByZero => "division by zero",
            Self::Overflow => "division overflow",
        })
    }
}

impl core::error::Error for DivisionError {}

impl Width {
    /// Extends a 32-bit result to a register.
    #[inline(always)]
    const fn extend(self, value: u32) -> u64 {
        match self {
            Self::S32 => (value.cast_signed() as i64).cast_unsigned(),
            Self::Z32 | Self::W64 => value as u64,
        }
    }
}

impl Alu {
    /// Whether the operation is a division, which can fail.
    #[must_use]
    pub const fn divides(self) -> bool {
        matches!(self, Self::Div | Self::Mod | Self::Sdiv | Self::Srem)
    }

    /// Whether the operation is a shift.
    #[must_use]
    pub const fn shifts(self) -> bool {
        matches!(self, Self::Lsh | Self::Rsh | Self::Arsh)
    }

    /// Returns the value of the register after `dst = dst op operand`.
    ///
    /// Shift amounts are taken modulo the width. 32-bit operations use the lower halves only.
    ///
    /// ```
    /// use selkie_isa::{Alu, Width};
    /// assert_eq!(Alu::Add.eval(Width::S32, 0x7fff_ffff, 1), Ok(0xffff_ffff_8000_0000));
    /// assert_eq!(Alu::Arsh.eval(Width::Z32, 0x8000_0000, 31), Ok(0xffff_ffff));
    /// ```
    ///
    /// # Errors
    /// Division by zero, and signed overflow in V2.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "32-bit operations use the lower halves")]
    pub const fn eval(self, width: Width, dst: u64, operand: u64) -> Result<u64, DivisionError> {
        match width {
            Width::W64 => self.eval64(dst, operand),
            Width::Z32 | Width::S32 => match self.eval32(dst as u32, operand as u32) {
                Ok(value) => Ok(width.extend(value)),
                Err(error) => Err(error),
            },
        }
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "upper halves are shifted down first")]
    const fn eval64(self, a: u64, b: u64) -> Result<u64, DivisionError> {
        if self.divides() && b == 0 {
            return Err(DivisionError::ByZero);
        }
        let (sa, sb) = (a.cast_signed(), b.cast_signed());
        let overflow = sa == i64::MIN && sb == -1;
        Ok(match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Rsub => b.wrapping_sub(a),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a / b,
            Self::Mod => a % b,
            Self::Or => a | b,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::Mov => b,
            Self::Lsh => a.wrapping_shl(b as u32),
            Self::Rsh => a.wrapping_shr(b as u32),
            Self::Arsh => sa.wrapping_shr(b as u32).cast_unsigned(),
            Self::Hor => a | (b << 32),
            Self::Uhmul => ((a as u128 * b as u128) >> 64) as u64,
            Self::Shmul => ((sa as i128 * sb as i128) >> 64).cast_unsigned() as u64,
            Self::Sdiv | Self::Srem if overflow => return Err(DivisionError::Overflow),
            Self::Sdiv => (sa / sb).cast_unsigned(),
            Self::Srem => (sa % sb).cast_unsigned(),
        })
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "upper halves are shifted down first")]
    const fn eval32(self, a: u32, b: u32) -> Result<u32, DivisionError> {
        if self.divides() && b == 0 {
            return Err(DivisionError::ByZero);
        }
        let (sa, sb) = (a.cast_signed(), b.cast_signed());
        let overflow = sa == i32::MIN && sb == -1;
        Ok(match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Rsub => b.wrapping_sub(a),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a / b,
            Self::Mod => a % b,
            Self::Or => a | b,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::Mov => b,
            Self::Lsh => a.wrapping_shl(b),
            Self::Rsh => a.wrapping_shr(b),
            Self::Arsh => sa.wrapping_shr(b).cast_unsigned(),
            Self::Uhmul => ((a as u64 * b as u64) >> 32) as u32,
            Self::Shmul => ((sa as i64 * sb as i64) >> 32).cast_unsigned() as u32,
            // No row has a 32-bit `Hor`.
            Self::Hor => a,
            Self::Sdiv | Self::Srem if overflow => return Err(DivisionError::Overflow),
            Self::Sdiv => (sa / sb).cast_unsigned(),
            Self::Srem => (sa % sb).cast_unsigned(),
        })
    }
}

impl Cond {
    /// Whether the condition holds for `a` and `b`. 32-bit comparisons use the lower halves only.
    ///
    /// ```
    /// use selkie_isa::{Cond, Width};
    /// assert!(Cond::Gt.eval(Width::W64, u64::MAX, 1));
    /// assert!(Cond::Slt.eval(Width::W64, u64::MAX, 1));
    /// ```
    #[must_use]
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "32-bit comparisons use the lower halves")]
    pub const fn eval(self, width: Width, a: u64, b: u64) -> bool {
        let (a, b, sa, sb) = match width {
            Width::W64 => (a, b, a.cast_signed(), b.cast_signed()),
            Width::Z32 | Width::S32 => {
                let (a, b) = (a as u32, b as u32);
                (a as u64, b as u64, a.cast_signed() as i64, b.cast_signed() as i64)
            }
        };
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Set => a & b != 0,
            Self::Sgt => sa > sb,
            Self::Sge => sa >= sb,
            Self::Slt => sa < sb,
            Self::Sle => sa <= sb,
        }
    }
}

impl Endian {
    /// Returns the low `bits` (16, 32 or 64) of `value` in this byte order; `None` for other
    /// widths.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the instruction truncates")]
    pub const fn eval(self, bits: i64, value: u64) -> Option<u64> {
        Some(match (self, bits) {
            (Self::Little, 16) => value as u16 as u64,
            (Self::Little, 32) => value as u32 as u64,
            (Self::Little, 64) => value,
            (Self::Big, 16) => (value as u16).swap_bytes() as u64,
            (Self::Big, 32) => (value as u32).swap_bytes() as u64,
            (Self::Big, 64) => value.swap_bytes(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Width::{S32, W64, Z32};

    #[test]
    fn signed_overflow_and_division_by_zero_are_different_errors() {
        let min32 = u64::from(i32::MIN.cast_unsigned());
        let minus_one = u64::MAX;
        assert_eq!(Alu::Sdiv.eval(W64, 1 << 63, minus_one), Err(DivisionError::Overflow));
        assert_eq!(Alu::Srem.eval(Z32, min32, minus_one), Err(DivisionError::Overflow));
        assert_eq!(Alu::Srem.eval(Z32, min32, 1 << 32), Err(DivisionError::ByZero));
        assert_eq!(Alu::Div.eval(W64, 1 << 63, minus_one), Ok(0));
    }

    #[test]
    fn z32_results_are_zero_extended_and_s32_results_sign_extended() {
        assert_eq!(Alu::Sub.eval(S32, 0, 1), Ok(u64::MAX));
        assert_eq!(Alu::Sub.eval(Z32, 0, 1), Ok(0xffff_ffff));
        assert_eq!(Alu::Mov.eval(S32, 0, 0x8000_0000), Ok(0xffff_ffff_8000_0000));
        assert_eq!(Alu::Rsub.eval(W64, 1, 10), Ok(9));
        assert_eq!(Alu::Hor.eval(W64, 1, 0xffff_ffff_8000_0000), Ok(0x8000_0000_0000_0001));
        assert_eq!(Alu::Shmul.eval(W64, u64::MAX, u64::MAX), Ok(0));
        assert_eq!(Alu::Uhmul.eval(W64, u64::MAX, u64::MAX), Ok(u64::MAX - 1));
    }

    #[test]
    fn z32_conditions_ignore_the_upper_halves() {
        assert!(Cond::Eq.eval(Z32, 0x1_0000_0005, 5));
        assert!(!Cond::Eq.eval(W64, 0x1_0000_0005, 5));
        assert!(Cond::Slt.eval(Z32, 0x8000_0000, 0));
        assert!(Cond::Set.eval(W64, 6, 2) && !Cond::Set.eval(W64, 4, 2));
    }
}
