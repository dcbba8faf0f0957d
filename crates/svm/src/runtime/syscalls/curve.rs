//! Points of curves: those over Curve25519, and BLS12-381 (SIMD-0388).
//!
//! A curve's number has bit 7 set for big-endian points. A curve that does not exist, or whose
//! feature is not active, ends the program, and so does an operation that the curve does not have;
//! before SIMD-0137 r0 was 1 for these. For invalid points and scalars r0 is always 1.

use selkie_crypto::{
    Endianness,
    bls12_381::{self as bls, G1_BYTES, G2_BYTES},
    curve25519::{self, Group},
};
use selkie_vm::SyscallError as Error;

use super::{Call, FAILED};
use crate::chain::{
    cost::{self, GroupCosts},
    error::SyscallError,
    features::Feature,
};

const BIG_ENDIAN: u64 = 0x80;
/// The number of the curve in `sol_curve_pairing_map`, which belongs to neither of its groups.
const BLS12_381: u64 = 4;

/// A group of points.
#[derive(Clone, Copy)]
enum Points {
    Curve25519(Group),
    G1(Endianness),
    G2(Endianness),
}

impl Points {
    fn of(curve: u64) -> Option<Self> {
        match (curve, split(curve)) {
            (0, _) => Some(Self::Curve25519(Group::Edwards)),
            (1, _) => Some(Self::Curve25519(Group::Ristretto)),
            (_, (endianness, 5)) => Some(Self::G1(endianness)),
            (_, (endianness, 6)) => Some(Self::G2(endianness)),
            _ => None,
        }
    }

    /// Returns the points of a curve whose feature is active; `None` if r0 is to be 1.
    fn of_active(call: &Call<'_, '_, '_>, curve: u64) -> Result<Option<Self>, Error> {
        match Self::of(curve) {
            Some(Self::G1(_) | Self::G2(_)) if !has(call, Feature::Bls12381) => {
                Err(SyscallError::InvalidAttribute.into())
            }
            None => unknown(call).map(|_| None),
            points => Ok(points),
        }
    }

    fn costs(self) -> GroupCosts {
        match self {
            Self::Curve25519(Group::Edwards) => cost::EDWARDS,
            Self::Curve25519(Group::Ristretto) => cost::RISTRETTO,
            Self::G1(_) => cost::BLS12_381_G1,
            Self::G2(_) => cost::BLS12_381_G2,
        }
    }
}

/// Returns the endianness that a curve's number asks for, and the number without its bit.
fn split(curve: u64) -> (Endianness, u64) {
    let endianness = if curve & BIG_ENDIAN == 0 { Endianness::Little } else { Endianness::Big };
    (endianness, curve & !BIG_ENDIAN)
}

fn has(call: &Call<'_, '_, '_>, feature: Feature) -> bool {
    call.context.environment.features.has(feature)
}

/// Returns the result of a call with an unknown curve or operation.
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
    [curve, point, ..]: [u64; 5],
) -> Result<u64, Error> {
    let Some(points) = Points::of_active(call, curve)? else { return Ok(FAILED) };
    call.charge(points.costs().validate)?;
    let is_valid = match points {
        Points::Curve25519(group) => curve25519::is_valid(group, &call.memory.array(point)?),
        Points::G1(endianness) => bls::g1_is_valid(endianness, &call.memory.array(point)?),
        Points::G2(endianness) => bls::g2_is_valid(endianness, &call.memory.array(point)?),
    };
    Ok(if is_valid { 0 } else { FAILED })
}

const ADD: u64 = 0;
const SUBTRACT: u64 = 1;
/// The left operand is a scalar.
const MULTIPLY: u64 = 2;

/// Reads both operands, left first, and computes.
macro_rules! compute {
    ($call:ident, $left:ident, $right:ident, $function:path, $which:expr) => {{
        let (left, right) = ($call.memory.array($left)?, $call.memory.array($right)?);
        $function($which, &left, &right).map(|point| point.to_vec())
    }};
}

/// `sol_curve_group_op`.
pub(super) fn group_op(
    call: &mut Call<'_, '_, '_>,
    [curve, operation, left, right, out]: [u64; 5],
) -> Result<u64, Error> {
    use Points::{Curve25519, G1, G2};
    let Some(points) = Points::of_active(call, curve)? else { return Ok(FAILED) };
    let costs = points.costs();
    let compute_units = match operation {
        ADD => costs.add,
        SUBTRACT => costs.subtract,
        MULTIPLY => costs.multiply,
        _ if matches!(points, Curve25519(_)) => return unknown(call),
        _ => return Err(SyscallError::InvalidAttribute.into()),
    };
    call.charge(compute_units)?;
    let result = match (points, operation) {
        (Curve25519(it), ADD) => compute!(call, left, right, curve25519::add, it),
        (Curve25519(it), SUBTRACT) => compute!(call, left, right, curve25519::subtract, it),
        (Curve25519(it), _) => compute!(call, left, right, curve25519::multiply, it),
        (G1(it), ADD) => compute!(call, left, right, bls::g1_add, it),
        (G1(it), SUBTRACT) => compute!(call, left, right, bls::g1_subtract, it),
        (G1(it), _) => compute!(call, left, right, bls::g1_multiply, it),
        (G2(it), ADD) => compute!(call, left, right, bls::g2_add, it),
        (G2(it), SUBTRACT) => compute!(call, left, right, bls::g2_subtract, it),
        (G2(it), _) => compute!(call, left, right, bls::g2_multiply, it),
    };
    call.write_result(out, result.as_deref())
}

/// `sol_curve_multiscalar_mul`, for Curve25519 only. The number of points is checked first.
pub(super) fn multiscalar_multiply(
    call: &mut Call<'_, '_, '_>,
    [curve, scalars, points, count, out]: [u64; 5],
) -> Result<u64, Error> {
    if count > cost::MULTISCALAR_POINTS_MAX {
        return Err(SyscallError::InvalidLength.into());
    }
    let Some(Points::Curve25519(group)) = Points::of(curve) else { return unknown(call) };
    let cost = match group {
        Group::Edwards => cost::EDWARDS_MULTISCALAR,
        Group::Ristretto => cost::RISTRETTO_MULTISCALAR,
    };
    call.charge(cost.compute_units(count))?;
    let (scalars, _) = call.memory.elements(scalars, count, 32, 1)?.as_chunks();
    let (points, _) = call.memory.elements(points, count, 32, 1)?.as_chunks();
    let result = curve25519::multiscalar_multiply(group, scalars, points);
    call.write_result(out, result.as_ref().map(|it| &it[..]))
}

/// `sol_curve_decompress`, for BLS12-381 only.
pub(super) fn decompress(
    call: &mut Call<'_, '_, '_>,
    [curve, point, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    match Points::of(curve) {
        Some(Points::G1(endianness)) => {
            call.charge(cost::BLS12_381_G1_DECOMPRESS)?;
            let result = bls::g1_decompress(endianness, &call.memory.array(point)?);
            call.write_result(out, result.as_ref().map(|it| &it[..]))
        }
        Some(Points::G2(endianness)) => {
            call.charge(cost::BLS12_381_G2_DECOMPRESS)?;
            let result = bls::g2_decompress(endianness, &call.memory.array(point)?);
            call.write_result(out, result.as_ref().map(|it| &it[..]))
        }
        _ => Err(SyscallError::InvalidAttribute.into()),
    }
}

/// `sol_curve_pairing_map`, for BLS12-381 only.
pub(super) fn pairing(
    call: &mut Call<'_, '_, '_>,
    [curve, count, g1, g2, out]: [u64; 5],
) -> Result<u64, Error> {
    let (endianness, BLS12_381) = split(curve) else {
        return Err(SyscallError::InvalidAttribute.into());
    };
    call.charge(cost::BLS12_381_PAIRING.compute_units(count))?;
    let (g1, _) = call.memory.elements(g1, count, G1_BYTES as u64, 1)?.as_chunks();
    let (g2, _) = call.memory.elements(g2, count, G2_BYTES as u64, 1)?.as_chunks();
    let result = bls::pairing(endianness, g1, g2);
    call.write_result(out, result.as_ref().map(|it| &it[..]))
}
