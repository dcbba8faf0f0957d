//! The few syscalls that the measured programs call, the same on both sides.

/// The guest's memory and meter as syscalls see them.
pub(crate) trait Guest {
    type Error;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], Self::Error>;
    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Self::Error>;
    fn consume(&mut self, compute_units: u64);
}

/// The number of the syscall that does nothing and costs nothing. Both sides return from it at once,
/// so that a loop of it measures only entering and leaving a syscall.
pub(crate) const NO_OP: usize = 0;

/// The number of the first of the four that copy, move, fill and compare.
pub(crate) const COPY: u16 = 3;

/// The syscalls, in the order of their numbers.
pub(crate) const NAMES: [&str; 12] = [
    "sol_get_stack_height",
    "sol_log_",
    "sol_log_64_",
    "sol_memcpy_",
    "sol_memmove_",
    "sol_memset_",
    "sol_memcmp_",
    "sol_get_rent_sysvar",
    "abort",
    "sol_panic_",
    "sol_log_pubkey",
    "sol_invoke_signed_rust",
];

/// Runs a syscall; `None` for one that no measured program reaches.
pub(crate) fn call<G: Guest>(
    index: usize,
    arguments: [u64; 5],
    guest: &mut G,
) -> Option<Result<u64, G::Error>> {
    let [a, b, c, d, _] = arguments;
    let result = match NAMES[index] {
        "sol_get_stack_height" => Ok(1),
        "sol_log_" => {
            guest.consume(b.max(100));
            guest.load(a, b).map(|_| 0)
        }
        "sol_log_64_" => {
            guest.consume(100);
            Ok(0)
        }
        "sol_memcpy_" | "sol_memmove_" => copy(a, b, c, guest),
        "sol_memset_" => {
            guest.consume((c / 250).max(10));
            guest.store(a, c).map(|bytes| {
                bytes.fill(b.to_le_bytes()[0]);
                0
            })
        }
        "sol_memcmp_" => compare(a, b, c, d, guest),
        _ => return None,
    };
    Some(result)
}

fn copy<G: Guest>(to: u64, from: u64, len: u64, guest: &mut G) -> Result<u64, G::Error> {
    guest.consume((len / 250).max(10));
    let bytes = guest.load(from, len)?.to_vec();
    guest.store(to, len)?.copy_from_slice(&bytes);
    Ok(0)
}

fn compare<G: Guest>(
    a: u64,
    b: u64,
    len: u64,
    result: u64,
    guest: &mut G,
) -> Result<u64, G::Error> {
    guest.consume((len / 250).max(10));
    let left = guest.load(a, len)?.to_vec();
    let right = guest.load(b, len)?;
    let difference = left.iter().zip(right).find(|(a, b)| a != b);
    let difference = difference.map_or(0, |(&a, &b)| i32::from(a) - i32::from(b));
    guest.store(result, 4)?.copy_from_slice(&difference.to_le_bytes());
    Ok(0)
}
