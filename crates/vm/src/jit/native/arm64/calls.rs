//! How Rust and machine code call each other: the C calling convention.

#![allow(unsafe_code, reason = "machine code passes pointers")]

use crate::jit::native::exits::{Answer, Exits};

/// The routine `enter`: takes the context register and the address of a block, and returns whether
/// the run was stopped.
pub(in crate::jit) type Enter = extern "C" fn(usize, usize) -> u32;

/// Returns the address of the function that machine code calls where it leaves the common path.
pub(in crate::jit) fn leave_address<C: Exits>() -> u64 {
    let function: unsafe extern "C" fn(*mut C, usize, *const usize) = leave::<C>;
    function as usize as u64
}

/// Returns the address of the function that machine code calls for a syscall.
pub(in crate::jit) fn syscall_address<C: Exits>() -> u64 {
    let function: unsafe extern "C" fn(*mut C, u64, u64, u64, u64, u64) -> Answer = syscall::<C>;
    function as usize as u64
}

unsafe extern "C" fn leave<C: Exits>(context: *mut C, address: usize, stack: *const usize) {
    // SAFETY: the caller of `enter` made the context, and machine code does not use it until this
    // function returns.
    unsafe { &mut *context }.leave(address, stack);
}

/// Arguments and results are in registers, since loads of memory that was just written stall.
unsafe extern "C" fn syscall<C: Exits>(
    context: *mut C,
    r1: u64,
    r2: u64,
    r3: u64,
    r4: u64,
    r5: u64,
) -> Answer {
    // SAFETY: as for `leave`.
    unsafe { &mut *context }.syscall([r1, r2, r3, r4, r5])
}
