//! Makes code that was written visible to the processor.
//!
//! Some processors fetch instructions from a cache that stores do not update, and execute what they
//! fetched before. There, code is published in three steps: its lines are written back and dropped
//! from the instruction caches, other threads drop what they have fetched, and only then code jumps
//! to it.

#![allow(unsafe_code, reason = "cache maintenance has no safe form")]

/// Publishes code in pages that are readable: afterwards, all threads of the process may execute it.
pub(super) fn publish(code: &[u8]) {
    publish_by(code, &mut Processor);
}

fn publish_by(code: &[u8], steps: &mut impl Steps) {
    steps.flush(code);
    steps.synchronize();
}

/// The steps that publish code.
trait Steps {
    /// Writes the code back and drops its lines from the instruction caches, of all processors.
    fn flush(&mut self, code: &[u8]);

    /// Makes this thread and those that run drop instructions that they have fetched.
    fn synchronize(&mut self);
}

struct Processor;

/// Instruction fetch is coherent with stores there, and jumps to new code fetch it.
#[cfg(target_arch = "x86_64")]
impl Steps for Processor {
    fn flush(&mut self, _: &[u8]) {}

    fn synchronize(&mut self) {}
}

#[cfg(all(target_arch = "aarch64", not(any(target_vendor = "apple", windows))))]
impl Steps for Processor {
    fn flush(&mut self, code: &[u8]) {
        use core::arch::asm;
        let sizes: u64;
        // SAFETY: reads a register that processes may read.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack)) };
        // The fields are logarithms of the length of the shortest line, in words.
        for line in lines(code, 4 << (sizes >> 16 & 15)) {
            // SAFETY: the address is within readable memory, and the data does not change.
            unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack)) };
        }
        // SAFETY: only orders memory accesses.
        unsafe { asm!("dsb ish", options(nostack)) };
        for line in lines(code, 4 << (sizes & 15)) {
            // SAFETY: as above.
            unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack)) };
        }
        // SAFETY: as above.
        unsafe { asm!("dsb ish", "isb", options(nostack)) };
    }

    fn synchronize(&mut self) {
        #[cfg(any(target_os = "android", target_os = "linux"))]
        {
            use rustix::thread::{MembarrierCommand, membarrier};
            use std::sync::Once;
            static REGISTERED: Once = Once::new();
            // Kernels before 4.16 have neither. There, a thread that has entered machine code since
            // is still safe, because entering it synchronizes.
            REGISTERED.call_once(|| {
                let _ = membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore);
            });
            let _ = membarrier(MembarrierCommand::PrivateExpeditedSyncCore);
        }
    }
}

#[cfg(all(target_arch = "aarch64", target_vendor = "apple"))]
impl Steps for Processor {
    fn flush(&mut self, code: &[u8]) {
        unsafe extern "C" {
            fn sys_icache_invalidate(start: *mut core::ffi::c_void, len: usize);
        }
        // SAFETY: the memory is readable, and its data does not change.
        unsafe { sys_icache_invalidate(code.as_ptr().cast_mut().cast(), code.len()) };
    }

    fn synchronize(&mut self) {
        // Other threads synchronize where they enter machine code.
        // SAFETY: only drops instructions that were fetched.
        unsafe { core::arch::asm!("isb", options(nostack)) };
    }
}

#[cfg(all(target_arch = "aarch64", windows))]
impl Steps for Processor {
    fn flush(&mut self, code: &[u8]) {
        #[link(name = "kernel32")]
        unsafe extern "system" {
            fn GetCurrentProcess() -> isize;
            fn FlushInstructionCache(process: isize, start: *const u8, len: usize) -> i32;
        }
        // SAFETY: the memory is readable, and its data does not change.
        let _ = unsafe { FlushInstructionCache(GetCurrentProcess(), code.as_ptr(), code.len()) };
    }

    fn synchronize(&mut self) {
        #[link(name = "kernel32")]
        unsafe extern "system" {
            fn FlushProcessWriteBuffers();
        }
        // SAFETY: has no conditions.
        unsafe { FlushProcessWriteBuffers() };
    }
}

/// Returns the addresses of all lines that contain bytes of the code.
#[cfg(any(test, all(target_arch = "aarch64", not(any(target_vendor = "apple", windows)))))]
fn lines(code: &[u8], line_bytes: usize) -> impl Iterator<Item = usize> {
    let start = code.as_ptr().addr();
    let end = start + code.len();
    let first = if code.is_empty() { end } else { start & !(line_bytes - 1) };
    (first..end).step_by(line_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorded(Vec<&'static str>);

    impl Steps for Recorded {
        fn flush(&mut self, _: &[u8]) {
            self.0.push("flush");
        }

        fn synchronize(&mut self) {
            self.0.push("synchronize");
        }
    }

    #[test]
    fn code_is_flushed_before_threads_synchronize() {
        let mut steps = Recorded::default();
        publish_by(&[0; 16], &mut steps);
        assert_eq!(steps.0, ["flush", "synchronize"]);
    }

    #[test]
    fn every_line_of_the_code_is_flushed() {
        let buffer = [0; 1024];
        for line_bytes in [4, 16, 64, 128] {
            for start in 0..200 {
                for len in [0, 1, 3, 64, 65, 300] {
                    let code = &buffer[start..start + len];
                    let bytes = code.iter().map(|byte| core::ptr::from_ref(byte).addr());
                    let mut expected: Vec<_> = bytes.map(|it| it & !(line_bytes - 1)).collect();
                    expected.dedup();
                    assert!(lines(code, line_bytes).eq(expected));
                }
            }
        }
    }
}
