//! What Rust is made of besides arithmetic: trait objects, closures, iterators, matches, statics,
//! panics that are never reached. Logs five numbers, each a checksum.
#![no_std]
#![no_main]

use core::cell::Cell;

unsafe extern "C" {
    fn sol_log_64_(a: u64, b: u64, c: u64, d: u64, e: u64);
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { abort() }
}

trait Shape {
    fn area(&self) -> u64;
    fn scaled(&self, by: u32) -> u64 {
        self.area() * u64::from(by.wrapping_sub(3))
    }
}

struct Square(u64);
struct Rectangle(u64, u64);

impl Shape for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

impl Shape for Rectangle {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.1
    }
}

/// What nobody else can see, since a program runs alone.
struct Alone<T>(Cell<T>);
unsafe impl<T> Sync for Alone<T> {}

static SHAPES: [&(dyn Shape + Sync); 3] = [&Square(7), &Rectangle(3, 5), &Square(11)];
static CALLS: Alone<u64> = Alone(Cell::new(0));
static NAMES: [Option<&str>; 4] = [Some("alpha"), None, Some(""), Some("gamma")];

#[derive(Clone, Copy)]
enum Step {
    Add(u32),
    Multiply { by: u32 },
    Nothing,
}

#[inline(never)]
fn apply(steps: &[Step], from: u32) -> u32 {
    steps.iter().fold(from, |value, step| {
        CALLS.0.set(CALLS.0.get() + 1);
        match *step {
            Step::Add(number) => value.wrapping_add(number),
            Step::Multiply { by } => value.wrapping_mul(by),
            Step::Nothing => value,
        }
    })
}

#[inline(never)]
fn search(numbers: &[u64], wanted: u64) -> Option<usize> {
    numbers.binary_search(&wanted).ok()
}

#[unsafe(no_mangle)]
pub extern "C" fn entrypoint(input: *const u8) -> u64 {
    let count = u64::from(unsafe { *input });
    let which = count as usize % SHAPES.len();
    let areas: u64 = SHAPES.iter().map(|it| it.area()).sum();
    let scaled = SHAPES[which].scaled(count as u32);
    let steps = [Step::Add(0x9000_0000), Step::Multiply { by: 5 }, Step::Nothing, Step::Add(7)];
    let applied = u64::from(apply(&steps, count as u32));
    let lengths = NAMES.iter().flatten().map(|it| it.len() as u64 + 100).sum::<u64>();
    let mut numbers = [9, 4, 7, 1, 8, 2, count + 20];
    for i in 1..numbers.len() {
        let mut j = i;
        while j > 0 && numbers[j - 1] > numbers[j] {
            numbers.swap(j - 1, j);
            j -= 1;
        }
    }
    let found = search(&numbers, 8).map_or(99, |it| it as u64) * 10 + numbers[2];
    unsafe { sol_log_64_(areas, scaled, applied, lengths + CALLS.0.get(), found) };
    0
}
