//! Group operations over Curve25519 (agave: `solana-curve25519`).
//!
//! Operations return `None` for points that do not decompress and scalars that are not reduced.

mod inverse;
mod on_curve;

use core::ops::{Add, Sub};

use curve25519_dalek::{
    EdwardsPoint, RistrettoPoint, Scalar, edwards::CompressedEdwardsY,
    ristretto::CompressedRistretto, traits::VartimeMultiscalarMul,
};

pub(crate) use self::inverse::invert;

/// A group over Curve25519.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// The points of the curve in Edwards form, including those of small order.
    Edwards,
    /// The prime-order group Ristretto.
    Ristretto,
}

/// A compressed point.
pub type CompressedPoint = [u8; 32];
/// A scalar, little-endian.
pub type ScalarBytes = [u8; 32];

/// Returns whether the bytes are a point of the group.
#[must_use]
pub fn is_valid(group: Group, point: &CompressedPoint) -> bool {
    match group {
        Group::Edwards => on_curve::is_on_curve(point),
        Group::Ristretto => RistrettoPoint::decompress(point).is_some(),
    }
}

/// Returns `left + right`.
#[must_use]
pub fn add(
    group: Group,
    left: &CompressedPoint,
    right: &CompressedPoint,
) -> Option<CompressedPoint> {
    match group {
        Group::Edwards => combine(left, right, <EdwardsPoint as Add>::add),
        Group::Ristretto => combine(left, right, <RistrettoPoint as Add>::add),
    }
}

/// Returns `left - right`.
#[must_use]
pub fn subtract(
    group: Group,
    left: &CompressedPoint,
    right: &CompressedPoint,
) -> Option<CompressedPoint> {
    match group {
        Group::Edwards => combine(left, right, <EdwardsPoint as Sub>::sub),
        Group::Ristretto => combine(left, right, <RistrettoPoint as Sub>::sub),
    }
}

/// Returns `scalar * point`.
#[must_use]
pub fn multiply(
    group: Group,
    scalar: &ScalarBytes,
    point: &CompressedPoint,
) -> Option<CompressedPoint> {
    let scalar = decode_scalar(scalar)?;
    Some(match group {
        Group::Edwards => (EdwardsPoint::decompress(point)? * scalar).to_bytes(),
        Group::Ristretto => (RistrettoPoint::decompress(point)? * scalar).to_bytes(),
    })
}

/// Returns the sum of `scalars[i] * points[i]`; the identity if there are none. The slices must
/// have the same length.
#[must_use]
pub fn multiscalar_multiply(
    group: Group,
    scalars: &[ScalarBytes],
    points: &[CompressedPoint],
) -> Option<CompressedPoint> {
    match group {
        Group::Edwards => sum::<EdwardsPoint>(scalars, points),
        Group::Ristretto => sum::<RistrettoPoint>(scalars, points),
    }
}

trait Point: Sized {
    fn decompress(bytes: &CompressedPoint) -> Option<Self>;
    fn to_bytes(self) -> CompressedPoint;
}

impl Point for EdwardsPoint {
    fn decompress(bytes: &CompressedPoint) -> Option<Self> {
        CompressedEdwardsY(*bytes).decompress()
    }

    fn to_bytes(self) -> CompressedPoint {
        self.compress().0
    }
}

impl Point for RistrettoPoint {
    fn decompress(bytes: &CompressedPoint) -> Option<Self> {
        CompressedRistretto(*bytes).decompress()
    }

    fn to_bytes(self) -> CompressedPoint {
        self.compress().0
    }
}

fn combine<P: Point>(
    left: &CompressedPoint,
    right: &CompressedPoint,
    by: fn(P, P) -> P,
) -> Option<CompressedPoint> {
    Some(by(P::decompress(left)?, P::decompress(right)?).to_bytes())
}

fn sum<P: Point + VartimeMultiscalarMul<Point = P>>(
    scalars: &[ScalarBytes],
    points: &[CompressedPoint],
) -> Option<CompressedPoint> {
    if scalars.len() != points.len() {
        return None;
    }
    let scalars: Vec<Scalar> = scalars.iter().map(decode_scalar).collect::<Option<_>>()?;
    P::optional_multiscalar_mul(scalars, points.iter().map(P::decompress)).map(P::to_bytes)
}

fn decode_scalar(bytes: &ScalarBytes) -> Option<Scalar> {
    Scalar::from_canonical_bytes(*bytes).into_option()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha512};

    use super::*;

    fn check(point: &CompressedPoint) {
        let is_valid = is_valid(Group::Edwards, point);
        assert_eq!(is_valid, EdwardsPoint::decompress(point).is_some(), "{point:02x?}");
    }

    /// Checks a coordinate y with either sign of x.
    fn check_signs(mut y: CompressedPoint) {
        y[31] &= 0x7f;
        check(&y);
        y[31] |= 0x80;
        check(&y);
    }

    #[test]
    fn random_points_are_valid_if_they_decompress() {
        let mut seed = [0; 64];
        for _ in 0..10_000 {
            seed = Sha512::digest(seed).into();
            let (halves, _) = seed.as_chunks::<32>();
            halves.iter().for_each(check);
        }
    }

    #[test]
    fn coordinates_close_to_0_and_to_the_modulus_are_valid_if_they_decompress() {
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
    fn coordinates_with_one_or_two_bits_set_are_valid_if_they_decompress() {
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
