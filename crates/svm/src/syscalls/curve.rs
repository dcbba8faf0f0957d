//! Points of curves: those over Curve25519, and BLS12-381 (SIMD-0388).
//!
//! A curve's number has its upper bit set for big-endian points. A curve that is not there, or not
//! yet, ends the program, and so does an operation that it has not; before SIMD-0137 they were 1 in
//! r0, as are wrong points and scalars to this day.

use selkie_crypto::{
    Endianness,
    bls12_381::{self as bls, G1_BYTES, G2_BYTES},
    curve25519::{self, Group},
};
use selkie_vm::SyscallError as Error;

use super::{Call, FAILED};
use crate::{
    cost::{self, GroupPrices},
    error::SyscallError,
    features::Feature,
};

const BIG: u64 = 0x80;

/// What a curve's number stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Curve {
    Curve25519(Group),
    /// The curve itself, for pairings.
    Bls(Endianness),
    G1(Endianness),
    G2(Endianness),
}

impl Curve {
    fn of(number: u64) -> Option<Self> {
        let endianness = if number & BIG == 0 { Endianness::Little } else { Endianness::Big };
        match number {
            0 => return Some(Self::Curve25519(Group::Edwards)),
            1 => return Some(Self::Curve25519(Group::Ristretto)),
            _ => {}
        }
        match number & !BIG {
            4 => Some(Self::Bls(endianness)),
            5 => Some(Self::G1(endianness)),
            6 => Some(Self::G2(endianness)),
            _ => None,
        }
    }

    /// The curve whose points a program works with, if it has any that can be worked with.
    fn of_points(call: &Call<'_, '_, '_>, number: u64) -> Result<Option<Self>, Error> {
        match Self::of(number) {
            Some(Self::G1(_) | Self::G2(_)) if !has(call, Feature::Bls12381) => {
                Err(SyscallError::InvalidAttribute.into())
            }
            Some(Self::Bls(_)) | None => unknown(call).map(|_| None),
            curve => Ok(curve),
        }
    }

    fn prices(self) -> GroupPrices {
        match self {
            Self::Curve25519(Group::Edwards) => cost::EDWARDS,
            Self::Curve25519(Group::Ristretto) => cost::RISTRETTO,
            Self::Bls(_) | Self::G1(_) => cost::BLS12_381_G1,
            Self::G2(_) => cost::BLS12_381_G2,
        }
    }
}

fn has(call: &Call<'_, '_, '_>, feature: Feature) -> bool {
    call.context.environment.features.has(feature)
}

/// What becomes of a curve or an operation that there is not.
fn unknown(call: &Call<'_, '_, '_>) -> Result<u64, Error> {
    if has(call, Feature::AbortOnInvalidCurve) {
        Err(SyscallError::InvalidAttribute.into())
    } else {
        Ok(FAILED)
    }
}

/// `sol_curve_validate_point`.
pub(super) fn validate_point(
    call: &mut Call<'_, '_, '_>,
    curve: u64,
    point: u64,
) -> Result<u64, Error> {
    let Some(curve) = Curve::of_points(call, curve)? else { return Ok(FAILED) };
    call.charge(curve.prices().validate)?;
    let is_valid = match curve {
        Curve::Curve25519(group) => curve25519::is_valid(group, &call.memory.array(point)?),
        Curve::Bls(endianness) | Curve::G1(endianness) => {
            bls::g1_is_valid(endianness, &call.memory.array(point)?)
        }
        Curve::G2(endianness) => bls::g2_is_valid(endianness, &call.memory.array(point)?),
    };
    Ok(if is_valid { 0 } else { FAILED })
}

/// `sol_curve_group_op`.
pub(super) fn group_op(
    call: &mut Call<'_, '_, '_>,
    curve: u64,
    operation: u64,
    left: u64,
    right: u64,
    out: u64,
) -> Result<u64, Error> {
    let Some(curve) = Curve::of_points(call, curve)? else { return Ok(FAILED) };
    let prices = curve.prices();
    let units = match operation {
        ADD => prices.add,
        SUBTRACT => prices.subtract,
        MULTIPLY => prices.multiply,
        _ if matches!(curve, Curve::Curve25519(_)) => return unknown(call),
        _ => return Err(SyscallError::InvalidAttribute.into()),
    };
    call.charge(units)?;
    match curve {
        Curve::Curve25519(group) => {
            let (left, right) = (call.memory.array(left)?, call.memory.array(right)?);
            let result = match operation {
                ADD => curve25519::add(group, &left, &right),
                SUBTRACT => curve25519::subtract(group, &left, &right),
                _ => curve25519::multiply(group, &left, &right),
            };
            call.answer(out, result.as_ref().map(|it| &it[..]))
        }
        Curve::Bls(endianness) | Curve::G1(endianness) => {
            let result = if operation == MULTIPLY {
                let (scalar, point) = (call.memory.array(left)?, call.memory.array(right)?);
                bls::g1_multiply(endianness, &scalar, &point)
            } else {
                let (left, right) = (call.memory.array(left)?, call.memory.array(right)?);
                let combine = if operation == ADD { bls::g1_add } else { bls::g1_subtract };
                combine(endianness, &left, &right)
            };
            call.answer(out, result.as_ref().map(|it| &it[..]))
        }
        Curve::G2(endianness) => {
            let result = if operation == MULTIPLY {
                let (scalar, point) = (call.memory.array(left)?, call.memory.array(right)?);
                bls::g2_multiply(endianness, &scalar, &point)
            } else {
                let (left, right) = (call.memory.array(left)?, call.memory.array(right)?);
                let combine = if operation == ADD { bls::g2_add } else { bls::g2_subtract };
                combine(endianness, &left, &right)
            };
            call.answer(out, result.as_ref().map(|it| &it[..]))
        }
    }
}

const ADD: u64 = 0;
const SUBTRACT: u64 = 1;
/// The left operand is a scalar.
const MULTIPLY: u64 = 2;

/// `sol_curve_multiscalar_mul`, over Curve25519 only. The number of points is checked first of all.
pub(super) fn multiscalar_multiply(
    call: &mut Call<'_, '_, '_>,
    curve: u64,
    scalars: u64,
    points: u64,
    count: u64,
    out: u64,
) -> Result<u64, Error> {
    if count > cost::MULTISCALAR_POINTS_MAX {
        return Err(SyscallError::InvalidLength.into());
    }
    let Some(Curve::Curve25519(group)) = Curve::of(curve) else { return unknown(call) };
    let prices = match group {
        Group::Edwards => cost::EDWARDS_MULTISCALAR,
        Group::Ristretto => cost::RISTRETTO_MULTISCALAR,
    };
    call.charge(prices.units(count))?;
    let (scalars, _) = call.memory.elements(scalars, count, 32, 1)?.as_chunks();
    let (points, _) = call.memory.elements(points, count, 32, 1)?.as_chunks();
    let result = curve25519::multiscalar_multiply(group, scalars, points);
    call.answer(out, result.as_ref().map(|it| &it[..]))
}

/// `sol_curve_decompress`, of BLS12-381 only.
pub(super) fn decompress(
    call: &mut Call<'_, '_, '_>,
    curve: u64,
    point: u64,
    out: u64,
) -> Result<u64, Error> {
    match Curve::of(curve) {
        Some(Curve::G1(endianness)) => {
            call.charge(cost::BLS12_381_G1_DECOMPRESS)?;
            let result = bls::g1_decompress(endianness, &call.memory.array(point)?);
            call.answer(out, result.as_ref().map(|it| &it[..]))
        }
        Some(Curve::G2(endianness)) => {
            call.charge(cost::BLS12_381_G2_DECOMPRESS)?;
            let result = bls::g2_decompress(endianness, &call.memory.array(point)?);
            call.answer(out, result.as_ref().map(|it| &it[..]))
        }
        _ => Err(SyscallError::InvalidAttribute.into()),
    }
}

/// `sol_curve_pairing_map`, of BLS12-381 only.
pub(super) fn pairing(
    call: &mut Call<'_, '_, '_>,
    curve: u64,
    count: u64,
    g1: u64,
    g2: u64,
    out: u64,
) -> Result<u64, Error> {
    let Some(Curve::Bls(endianness)) = Curve::of(curve) else {
        return Err(SyscallError::InvalidAttribute.into());
    };
    call.charge(cost::BLS12_381_PAIRING.units(count))?;
    let (g1, _) = call.memory.elements(g1, count, G1_BYTES as u64, 1)?.as_chunks();
    let (g2, _) = call.memory.elements(g2, count, G2_BYTES as u64, 1)?.as_chunks();
    let result = bls::pairing(endianness, g1, g2);
    call.answer(out, result.as_ref().map(|it| &it[..]))
}
