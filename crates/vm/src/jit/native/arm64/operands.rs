//! The operands of instructions, and how their operations are numbered.

/// A general-purpose register, with its number in instructions. The last number stands for the zero
/// register, or for the stack pointer: as the base of an address, and with immediates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[rustfmt::skip]
#[allow(dead_code, reason = "numbers follow from the order")]
pub(crate) enum Reg {
    X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15,
    X16, X17, X18, X19, X20, X21, X22, X23, X24, X25, X26, X27, X28, X29, X30,
    Zero,
}

/// The stack pointer, where the number does not mean the zero register.
pub(crate) const STACK: Reg = Reg::Zero;

/// The width of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bits {
    B32,
    B64,
}

/// Operations on two registers with a common encoding; the number is the highest byte, without the
/// width. Those that end in `s` set the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Arith {
    And = 0x0a,
    Add = 0x0b,
    Orr = 0x2a,
    Adds = 0x2b,
    Eor = 0x4a,
    Sub = 0x4b,
    Ands = 0x6a,
    Subs = 0x6b,
}

/// Shifts; the number is the one of the shifted operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Shift {
    Lsl = 0,
    Lsr = 1,
    Asr = 2,
}

/// A condition; the number is the one in `b.cond`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Flag {
    Equal = 0,
    NotEqual = 1,
    HigherOrSame = 2,
    Lower = 3,
    Overflow = 6,
    Higher = 8,
    LowerOrSame = 9,
    GreaterOrEqual = 10,
    Less = 11,
    Greater = 12,
    LessOrEqual = 13,
}

/// When a branch is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Flag(Flag),
    Zero(Bits, Reg),
    NotZero(Bits, Reg),
}

/// How an access of a pair of registers changes its base register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Index {
    /// The offset is added after the access.
    After = 1,
    /// It is not changed.
    Offset = 2,
    /// The offset is added before the access.
    Before = 3,
}

/// Returns the fields of a number as the immediate of a logical operation, if it has that form: a
/// run of ones, rotated, and repeated with a period that is a power of two.
pub(crate) fn logical_imm(bits: Bits, number: u64) -> Option<u32> {
    let low = number & u64::from(u32::MAX);
    let number = if bits == Bits::B64 { number } else { low | low << 32 };
    if number == 0 || number == u64::MAX {
        return None;
    }
    let mut period = 64;
    while period > 2 && number.rotate_right(period / 2) == number {
        period /= 2;
    }
    let mask = u64::MAX >> (64 - period);
    let (element, ones) = (number & mask, (number & mask).count_ones());
    // The run starts after the highest zero if it goes on from the lowest bit.
    let highest_zero = 64 - (!element & mask).leading_zeros();
    let start = if element & 1 == 0 { element.trailing_zeros() } else { highest_zero % period };
    let run = u64::MAX >> (64 - ones);
    // Repeated 64 bits of it rotate as one period does.
    let rotated = (run << start | run.checked_shr(period - start).unwrap_or(0)) & mask;
    let rotation = (period - start) % period;
    let length = !(2 * period - 1) & 0x3f | (ones - 1);
    let is_long = u32::from(period == 64);
    (rotated == element).then_some(is_long << 22 | rotation << 16 | length << 10)
}
