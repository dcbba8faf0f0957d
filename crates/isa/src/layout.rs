//! The guest address space, and the limits of stack and heap.
//!
//! The upper 32 bits of an address select a region of 4 GiB (anza sbpf: `ebpf.rs`).

/// Bytes of the address space that one region occupies.
pub const REGION_SIZE: u64 = 1 << 32;
/// Address of the read-only data from V3 on (SIMD-0189).
pub const RODATA_START: u64 = 0;
/// Address of the code. Until V2 the whole program image starts here, read-only data included.
pub const BYTECODE_START: u64 = REGION_SIZE;
/// Address of the stack. Calls move up by one frame; within a frame the stack grows downwards.
pub const STACK_START: u64 = REGION_SIZE * 2;
/// Address of the heap.
pub const HEAP_START: u64 = REGION_SIZE * 3;
/// Address of the serialized input.
pub const INPUT_START: u64 = REGION_SIZE * 4;

/// Bytes of an instruction slot.
pub const SLOT_BYTES: usize = 8;
/// Bytes of one stack frame.
pub const STACK_FRAME_BYTES: u64 = 4096;
/// The call depth at which a call traps: the entry function and 63 nested calls fit.
pub const CALL_DEPTH_MAX: usize = 64;
/// Bytes of the whole stack.
pub const STACK_BYTES: u64 = STACK_FRAME_BYTES * CALL_DEPTH_MAX as u64;
/// Bytes of heap that a program has unless its transaction requests more.
pub const HEAP_BYTES_DEFAULT: u64 = 32 * 1024;
/// Bytes of heap that a transaction can request at most.
pub const HEAP_BYTES_MAX: u64 = 256 * 1024;

/// Number of the register that holds the frame pointer.
pub const FRAME_POINTER: u8 = 10;
/// Number of registers, including the frame pointer.
pub const REGISTER_COUNT: usize = 11;
