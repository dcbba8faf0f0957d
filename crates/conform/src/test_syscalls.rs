//! The test syscalls of the suite's programs, which exist only in vectors.

use core::fmt;

use selkie_vm::{Access, MemoryMap, SyscallError, Trap};

/// Executes a test syscall; unknown ones return 0.
pub(crate) fn call(
    name: &str,
    [r1, r2, r3, r4, r5]: [u64; 5],
    memory: &mut MemoryMap<'_>,
) -> Result<u64, SyscallError> {
    Ok(match name {
        "bpf_gather_bytes" => {
            r1.wrapping_shl(32)
                | r2.wrapping_shl(24)
                | r3.wrapping_shl(16)
                | r4.wrapping_shl(8)
                | r5
        }
        "bpf_mem_frob" => {
            if r2 != 0 {
                memory.slice_mut(r1, r2)?.iter_mut().for_each(|byte| *byte ^= 0x2a);
            }
            0
        }
        "bpf_str_cmp" => compare_strings(memory, r1, r2)?,
        "bpf_trace_printf" => {
            let digits = |value: u64| u64::from((64 - value.leading_zeros()).div_ceil(4).max(1));
            29 + digits(r3) + digits(r4) + digits(r5)
        }
        "bpf_syscall_string" | "log" => {
            if r2 != 0 {
                memory.locate(Access::Load, r1, r2)?;
            }
            0
        }
        "bpf_syscall_err" => return Err(Trap::DivideByZero.into()),
        "bpf_syscall_clobber" => {
            if [r1, r2, r3, r4, r5] != [1, 2, 4, 8, 16] {
                return Err(WrongArguments("arguments are not 1, 2, 4, 8, 16").into());
            }
            0x400
        }
        "nested_vm_syscall" if r2 == 0 => 42,
        "nested_vm_syscall" => return Err(Trap::CallDepthExceeded.into()),
        "accumulator" => r1.wrapping_add(r2).wrapping_add(r3).wrapping_add(r4).wrapping_add(r5),
        _ => 0,
    })
}

/// C's `strcmp`, byte by byte through the memory map.
fn compare_strings(memory: &MemoryMap<'_>, a: u64, b: u64) -> Result<u64, Trap> {
    if a == 0 || b == 0 {
        return Ok(u64::MAX);
    }
    let byte = |vaddr| memory.slice(vaddr, 1).map(|bytes| bytes[0]);
    let (mut a, mut b) = (a, b);
    loop {
        let (left, right) = (byte(a)?, byte(b)?);
        if left != right || left == 0 {
            return Ok(u64::from(left.abs_diff(right)));
        }
        (a, b) = (a.wrapping_add(1), b.wrapping_add(1));
    }
}

#[derive(Debug)]
struct WrongArguments(&'static str);

impl fmt::Display for WrongArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for WrongArguments {}
