//! Inversion modulo p = 2^255 - 19 with the binary GCD that also tests for squares.

use super::on_curve::{Batch, Number, P, difference, fold, low, multiply, reduce, top};

/// 2^-510, which is 1 / 19².
const HALVED_510_TIMES: Number =
    [0x4a75_b7aa_e72e_181b, 0x9e23_7502_209e_d8ff, 0x8f3f_1d13_2595_a0f9, 0x0938_05ac_5242_a8c6];

/// Returns the inverse of a number of 256 bits modulo p, reduced; 0 for 0. The run time depends on
/// the number.
pub(crate) fn invert(number: &[u8; 32]) -> [u8; 32] {
    let (words, _) = number.as_chunks::<8>();
    let inverse = invert_number(reduce(core::array::from_fn(|at| u64::from_le_bytes(words[at]))));
    let mut bytes = [0; 32];
    for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(inverse) {
        *to = word.to_le_bytes();
    }
    bytes
}

/// The steps are those of the test for squares, from `a`, the number, and b = p to 0 and 1. With
/// `halvings` so far, and modulo p,
///
/// `a * 2^halvings = sign * of_a * number` and `-b * 2^halvings = sign * of_b * number`.
///
/// So all coefficients that a batch multiplies with are positive.
fn invert_number(mut a: Number) -> Number {
    let mut b = P;
    let (mut of_a, mut of_b): (Number, Number) = ([1, 0, 0, 0], [0; 4]);
    let (mut halvings, mut is_negative) = (0, false);
    while a != [0; 4] {
        let high = top(&a, &b);
        let batch = if high == 0 { last(&mut a[0], &mut b[0]) } else { Batch::of(&a, &b, high) };
        halvings += batch.halvings;
        let [row_a, row_b] = if high == 0 || batch.halvings > 0 {
            if high > 0 {
                (a, b) = batch.apply(&a, &b);
            }
            is_negative ^= batch.swapped != 0;
            batch.rows
        } else {
            // `a` is odd, and the windows do not decide which number is less.
            let (less, is_less) = difference(&a, &b);
            is_negative ^= is_less;
            if is_less {
                (a, b) = (difference(&b, &a).0, a);
                [1 << 32 | 1, 1]
            } else {
                a = less;
                [1 << 32 | 1, 1 << 32]
            }
        };
        (of_a, of_b) = (combine(&of_a, &of_b, row_a), combine(&of_a, &of_b, row_b));
    }
    // Every halving shortened one of two numbers of 255 bits: there were at most 509.
    let power = power_of_two(510 - halvings);
    let inverse = reduce(multiply(&multiply(&of_b, &HALVED_510_TIMES), &power));
    // b is 1: the inverse is -sign * of_b / 2^halvings.
    if is_negative || inverse == [0; 4] { inverse } else { difference(&P, &inverse).0 }
}

/// Runs steps for numbers of 64 bits, the first of which is not 0, until `a` is 0 or a batch is full.
fn last(a: &mut u64, b: &mut u64) -> Batch {
    let (mut row_a, mut row_b) = (1_u64, 1_u64 << 32);
    let (mut halvings, mut swapped) = (0, 0);
    loop {
        let zeros = a.trailing_zeros().min(Batch::HALVINGS_MAX - halvings);
        halvings += zeros;
        *a >>= zeros;
        row_b <<= zeros;
        if halvings == Batch::HALVINGS_MAX {
            break;
        }
        let sum = row_a + row_b;
        if *a < *b {
            (*a, *b) = (*b, *a);
            swapped = !swapped;
            row_b = row_a;
        }
        *a -= *b;
        row_a = sum;
        if *a == 0 {
            break;
        }
    }
    Batch { rows: [row_a, row_b], swapped, halvings, sign: 0 }
}

/// Returns `a * x + b * y` modulo p, not reduced, where the lower half of `row` is x, the upper y.
#[inline(always)]
fn combine(a: &Number, b: &Number, row: u64) -> Number {
    let (x, y) = (u128::from(row & u64::from(u32::MAX)), u128::from(row >> 32));
    let mut carry = 0;
    let sum = core::array::from_fn(|at| {
        carry += u128::from(a[at]) * x + u128::from(b[at]) * y;
        let limb = low(carry);
        carry >>= 64;
        limb
    });
    fold(sum, low(carry))
}

/// Returns 2^exponent modulo p; the exponent is below 511.
fn power_of_two(exponent: u32) -> Number {
    let mut number = [0; 4];
    let (exponent, factor) = if exponent < 255 { (exponent, 1) } else { (exponent - 255, 19_u64) };
    let wide = u128::from(factor) << (exponent % 64);
    number[exponent as usize / 64] = low(wide);
    match number.get_mut(exponent as usize / 64 + 1) {
        Some(limb) => *limb = low(wide >> 64),
        // Bits from the 256th on.
        None => return fold(number, low(wide >> 64)),
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_with_the_inverse_is_1() {
        let mut number: Number = [3, 0, 0, 0];
        for at in 0..2000_u64 {
            number = reduce(multiply(&number, &[at | 1, at << 40, !at, at]));
            // Shorter ones too: only their lower bits.
            let short = match at % 5 {
                0 => number,
                1 => [at + 1, 0, 0, 0],
                2 => power_of_two((at % 255).try_into().expect("below 255")),
                3 => [0, number[1], number[2] & 1, 0],
                _ => difference(&P, &[at + 1, 0, 0, 0]).0,
            };
            let inverse = invert_number(short);
            assert_eq!(reduce(multiply(&inverse, &short)), [1, 0, 0, 0], "{short:x?}");
        }
        assert_eq!(invert_number([0; 4]), [0; 4]);
    }

    #[test]
    fn powers_of_two_and_their_halves_are_inverse() {
        for exponent in 0..511 {
            let power = power_of_two(exponent);
            let halves = power_of_two(510 - exponent);
            let product = multiply(&multiply(&power, &halves), &HALVED_510_TIMES);
            assert_eq!(reduce(product), [1, 0, 0, 0], "{exponent}");
        }
    }
}
