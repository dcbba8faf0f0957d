//! The guest's address space and the limits of a run.
//!
//! The upper half of an address names a window of 4 GiB (anza sbpf: `ebpf.rs`).

/// Bytes of one window of the address space.
pub const REGION_SIZE: u64 = 1 << 32;
/// V3 and later: where read-only data starts (SIMD-0189).
pub const RODATA_START: u64 = 0;
/// Where code starts; until V2 the whole program image, read-only data included, starts here.
pub const BYTECODE_START: u64 = REGION_SIZE;
/// Where the stack starts. It grows upwards by frames, and downwards within a frame.
pub const STACK_START: u64 = REGION_SIZE * 2;
/// Where the heap starts.
pub const HEAP_START: u64 = REGION_SIZE * 3;
/// Where the serialized input starts.
pub const INPUT_START: u64 = REGION_SIZE * 4;

/// Bytes of an instruction slot.
pub const SLOT_BYTES: usize = 8;
/// Bytes of one stack frame.
pub const STACK_FRAME_BYTES: u64 = 4096;
/// The call depth that is refused: the entry function and 63 nested calls fit.
pub const CALL_DEPTH_MAX: usize = 64;
/// Bytes of the whole stack.
pub const STACK_BYTES: u64 = STACK_FRAME_BYTES * CALL_DEPTH_MAX as u64;
/// Bytes of heap that a program gets unless it asks for more.
pub const HEAP_BYTES_DEFAULT: u64 = 32 * 1024;
/// The most heap that a transaction may ask for.
pub const HEAP_BYTES_MAX: u64 = 256 * 1024;

/// The register that holds the frame pointer.
pub const FRAME_POINTER: u8 = 10;
/// Registers of the machine, the frame pointer included.
pub const REGISTER_COUNT: usize = 11;
