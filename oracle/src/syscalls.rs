//! The test syscalls, on the memory of either side.

/// The guest's memory and meter, as syscalls see them.
pub(crate) trait Memory {
    type Error;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], Self::Error>;
    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Self::Error>;
    /// Consumes compute units. Returns `false` if there are too few; then none remain.
    fn consume(&mut self, units: u64) -> bool;
    /// Returns the remaining compute units.
    fn remaining(&self) -> u64;
    /// Records a call of the host.
    fn note(&mut self, numbers: &[u64]);
}

/// The failure of a syscall.
pub(crate) enum Failure<E> {
    /// An access violation.
    Memory(E),
    /// A division by zero.
    DivideByZero,
    /// Too few compute units.
    Exceeded,
}

impl<E> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self::Memory(error)
    }
}

/// Runs the syscall with the index `index` in [`crate::case::SYSCALLS`].
pub(crate) fn call<M: Memory>(
    index: usize,
    arguments: [u64; 5],
    memory: &mut M,
) -> Result<u64, Failure<M::Error>> {
    let [a, b, c, d, e] = arguments;
    let remaining = memory.remaining();
    memory.note(&[index as u64, a, b, c, d, e, remaining]);
    match index {
        0 => Ok(arguments.into_iter().fold(0, u64::wrapping_add)),
        1 => {
            Ok(a.wrapping_shl(32) | b.wrapping_shl(24) | c.wrapping_shl(16) | d.wrapping_shl(8) | e)
        }
        2 => {
            if b != 0 {
                memory.store(a, b)?.iter_mut().for_each(|byte| *byte ^= 0x2a);
            }
            Ok(0)
        }
        3 => compare_strings(a, b, memory),
        4 => Err(Failure::DivideByZero),
        5 => {
            if b != 0 {
                memory.load(a, b)?;
            }
            Ok(0)
        }
        _ => {
            if !memory.consume(10) {
                return Err(Failure::Exceeded);
            }
            let mixed = a.wrapping_add(b.wrapping_mul(3)) ^ c.rotate_left(17);
            Ok(mixed.wrapping_add(d.wrapping_mul(5)).wrapping_sub(e))
        }
    }
}

fn compare_strings<M: Memory>(
    mut a: u64,
    mut b: u64,
    memory: &mut M,
) -> Result<u64, Failure<M::Error>> {
    if a == 0 || b == 0 {
        return Ok(u64::MAX);
    }
    loop {
        let (left, right) = (memory.load(a, 1)?[0], memory.load(b, 1)?[0]);
        if left != right || left == 0 {
            return Ok(u64::from(left.abs_diff(right)));
        }
        (a, b) = (a.wrapping_add(1), b.wrapping_add(1));
    }
}
