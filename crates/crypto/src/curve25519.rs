//! The groups over Curve25519 (agave: `solana-curve25519`).
//!
//! Points that cannot be unpacked and scalars that are not reduced give nothing.

mod on_curve;

use core::ops::{Add, Sub};

use curve25519_dalek::{
    EdwardsPoint, RistrettoPoint, Scalar, edwards::CompressedEdwardsY,
    ristretto::CompressedRistretto, traits::VartimeMultiscalarMul,
};

/// Which of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// The curve's points, in Edwards form; those of small order too.
    Edwards,
    /// The group of prime order.
    Ristretto,
}

/// A point or a scalar in its packed form.
pub type Packed = [u8; 32];

/// Whether there is such a point.
#[must_use]
pub fn is_valid(group: Group, point: &Packed) -> bool {
    match group {
        Group::Edwards => on_curve::is_on_curve(point),
        Group::Ristretto => RistrettoPoint::unpack(point).is_some(),
    }
}

/// `left + right`.
#[must_use]
pub fn add(group: Group, left: &Packed, right: &Packed) -> Option<Packed> {
    match group {
        Group::Edwards => combine(left, right, <EdwardsPoint as Add>::add),
        Group::Ristretto => combine(left, right, <RistrettoPoint as Add>::add),
    }
}

/// `left - right`.
#[must_use]
pub fn subtract(group: Group, left: &Packed, right: &Packed) -> Option<Packed> {
    match group {
        Group::Edwards => combine(left, right, <EdwardsPoint as Sub>::sub),
        Group::Ristretto => combine(left, right, <RistrettoPoint as Sub>::sub),
    }
}

/// `point` taken `scalar` times.
#[must_use]
pub fn multiply(group: Group, scalar: &Packed, point: &Packed) -> Option<Packed> {
    let scalar = unpack_scalar(scalar)?;
    Some(match group {
        Group::Edwards => (EdwardsPoint::unpack(point)? * scalar).pack(),
        Group::Ristretto => (RistrettoPoint::unpack(point)? * scalar).pack(),
    })
}

/// The sum of all points, each taken as often as the scalar in the same place says; of none, it is
/// the neutral element.
#[must_use]
pub fn multiscalar_multiply(group: Group, scalars: &[Packed], points: &[Packed]) -> Option<Packed> {
    match group {
        Group::Edwards => sum::<EdwardsPoint>(scalars, points),
        Group::Ristretto => sum::<RistrettoPoint>(scalars, points),
    }
}

trait Point: Sized {
    fn unpack(packed: &Packed) -> Option<Self>;
    fn pack(self) -> Packed;
}

impl Point for EdwardsPoint {
    fn unpack(packed: &Packed) -> Option<Self> {
        CompressedEdwardsY(*packed).decompress()
    }

    fn pack(self) -> Packed {
        self.compress().0
    }
}

impl Point for RistrettoPoint {
    fn unpack(packed: &Packed) -> Option<Self> {
        CompressedRistretto(*packed).decompress()
    }

    fn pack(self) -> Packed {
        self.compress().0
    }
}

fn combine<P: Point>(left: &Packed, right: &Packed, by: fn(P, P) -> P) -> Option<Packed> {
    Some(by(P::unpack(left)?, P::unpack(right)?).pack())
}

fn sum<P: Point + VartimeMultiscalarMul<Point = P>>(
    scalars: &[Packed],
    points: &[Packed],
) -> Option<Packed> {
    if scalars.len() != points.len() {
        return None;
    }
    let scalars: Vec<Scalar> = scalars.iter().map(unpack_scalar).collect::<Option<_>>()?;
    P::optional_multiscalar_mul(scalars, points.iter().map(P::unpack)).map(P::pack)
}

fn unpack_scalar(packed: &Packed) -> Option<Scalar> {
    Scalar::from_canonical_bytes(*packed).into_option()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha512};

    use super::*;

    fn check(point: &Packed) {
        let is_valid = is_valid(Group::Edwards, point);
        assert_eq!(is_valid, EdwardsPoint::unpack(point).is_some(), "{point:02x?}");
    }

    /// A number, with either sign of x.
    fn check_signs(mut y: Packed) {
        y[31] &= 0x7f;
        check(&y);
        y[31] |= 0x80;
        check(&y);
    }

    #[test]
    fn points_are_those_that_can_be_unpacked() {
        let mut seed = [0; 64];
        for _ in 0..10_000 {
            seed = Sha512::digest(seed).into();
            let (halves, _) = seed.as_chunks::<32>();
            halves.iter().for_each(check);
        }
    }

    #[test]
    fn numbers_at_the_edges_are_told_like_others() {
        for small in 0..=300_u16 {
            let [low, high] = small.to_le_bytes();
            let mut y = [0; 32];
            (y[0], y[1]) = (low, high);
            check_signs(y);
            // From 2^255 - 1 downwards, past 2^255 - 19.
            check_signs(y.map(|byte| !byte));
        }
    }

    #[test]
    fn numbers_of_few_bits_are_told_like_others() {
        for one in 0..255 {
            for other in 0..one {
                let mut y = [0; 32];
                y[one / 8] |= 1 << (one % 8);
                y[other / 8] |= 1 << (other % 8);
                check_signs(y);
            }
        }
    }
}
