//! The groups over Curve25519 (agave: `solana-curve25519`).
//!
//! Points that cannot be unpacked and scalars that are not reduced give nothing.

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
        Group::Edwards => EdwardsPoint::unpack(point).is_some(),
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
