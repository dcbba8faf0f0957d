#![no_std]
#![feature(asm_experimental_arch)]
#![deny(warnings)]

fn twice(mut value: u64) -> u64 {
    unsafe { core::arch::asm!("lddw r0, 2", "mul64 r0, r1", in("r1") value, out("r0") value) }
    value
}

fn unused() {}

#[unsafe(no_mangle)]
pub extern "C" fn entrypoint(_: *const u8) -> u64 {
    twice(5)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
