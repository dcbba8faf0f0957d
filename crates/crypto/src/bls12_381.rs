//! The curve BLS12-381 (SIMD-0388; agave: `solana-bls12-381-syscall`, which uses blst).
//!
//! Big-endian points are encoded as in Zcash: a coordinate of G2 begins with its imaginary part, and
//! the three top bits of the first byte are flags: compressed, infinity, greater y. In little-endian
//! encoding the bytes of each coordinate are reversed, so the flags are in the last byte.
//!
//! All operations return `None` for invalid input.

use ark_bls12_381::{Bls12_381, Fq, Fq2, Fr, G1Affine, G2Affine, g1, g2};
use ark_ec::{
    AffineRepr, CurveGroup,
    hashing::{HashToCurve, curve_maps::wb::WBMap, map_to_curve_hasher::MapToCurveBasedHasher},
    pairing::{Pairing, PairingOutput},
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{
    BigInteger, BigInteger384, Field, PrimeField, Zero, field_hashers::DefaultFieldHasher,
};
use ark_serialize::CanonicalDeserialize;

use crate::{Endianness, to_little};

/// The length in bytes of an element of the base field.
const FIELD_BYTES: usize = 48;
/// The length in bytes of a point of G1; a compressed one takes half.
pub const G1_BYTES: usize = 2 * FIELD_BYTES;
/// The length in bytes of a point of G2; a compressed one takes half.
pub const G2_BYTES: usize = 2 * G1_BYTES;
/// The length in bytes of the result of a pairing.
pub const GT_BYTES: usize = 12 * FIELD_BYTES;
/// The length in bytes of a scalar.
pub const SCALAR_BYTES: usize = 32;
/// The maximum number of pairs of a pairing.
pub const PAIRS_MAX: usize = 8;

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const GREATER: u8 = 0x20;

/// Returns whether this is a point of G1.
#[must_use]
pub fn g1_is_valid(endianness: Endianness, point: &[u8; G1_BYTES]) -> bool {
    read_checked::<g1::Config, _>(endianness, point).is_some()
}

/// Returns whether this is a point of G2.
#[must_use]
pub fn g2_is_valid(endianness: Endianness, point: &[u8; G2_BYTES]) -> bool {
    read_checked::<g2::Config, _>(endianness, point).is_some()
}

/// Adds two points of G1's curve. They need not be in the subgroup G1.
#[must_use]
pub fn g1_add(
    endianness: Endianness,
    left: &[u8; G1_BYTES],
    right: &[u8; G1_BYTES],
) -> Option<[u8; G1_BYTES]> {
    add::<g1::Config, _>(endianness, left, right)
}

/// Adds two points of G2's curve. They need not be in the subgroup G2.
#[must_use]
pub fn g2_add(
    endianness: Endianness,
    left: &[u8; G2_BYTES],
    right: &[u8; G2_BYTES],
) -> Option<[u8; G2_BYTES]> {
    add::<g2::Config, _>(endianness, left, right)
}

/// Subtracts two points of G1's curve. They need not be in the subgroup G1.
#[must_use]
pub fn g1_subtract(
    endianness: Endianness,
    left: &[u8; G1_BYTES],
    right: &[u8; G1_BYTES],
) -> Option<[u8; G1_BYTES]> {
    subtract::<g1::Config, _>(endianness, left, right)
}

/// Subtracts two points of G2's curve. They need not be in the subgroup G2.
#[must_use]
pub fn g2_subtract(
    endianness: Endianness,
    left: &[u8; G2_BYTES],
    right: &[u8; G2_BYTES],
) -> Option<[u8; G2_BYTES]> {
    subtract::<g2::Config, _>(endianness, left, right)
}

/// Multiplies a point of G1 by a scalar, which must be reduced.
#[must_use]
pub fn g1_multiply(
    endianness: Endianness,
    scalar: &[u8; SCALAR_BYTES],
    point: &[u8; G1_BYTES],
) -> Option<[u8; G1_BYTES]> {
    multiply::<g1::Config, _>(endianness, scalar, point)
}

/// Multiplies a point of G2 by a scalar, which must be reduced.
#[must_use]
pub fn g2_multiply(
    endianness: Endianness,
    scalar: &[u8; SCALAR_BYTES],
    point: &[u8; G2_BYTES],
) -> Option<[u8; G2_BYTES]> {
    multiply::<g2::Config, _>(endianness, scalar, point)
}

/// Decompresses a point of G1.
#[must_use]
pub fn g1_decompress(endianness: Endianness, point: &[u8; G1_BYTES / 2]) -> Option<[u8; G1_BYTES]> {
    decompress::<g1::Config, { G1_BYTES / 2 }, _>(endianness, point)
}

/// Decompresses a point of G2.
#[must_use]
pub fn g2_decompress(endianness: Endianness, point: &[u8; G2_BYTES / 2]) -> Option<[u8; G2_BYTES]> {
    decompress::<g2::Config, { G2_BYTES / 2 }, _>(endianness, point)
}

/// Returns the product of the pairings of `g1[i]` and `g2[i]`; one if there are none. The slices
/// must have the same length, at most [`PAIRS_MAX`].
///
/// The coefficients of the result are encoded lowest first; big-endian, highest first.
#[must_use]
pub fn pairing(
    endianness: Endianness,
    g1: &[[u8; G1_BYTES]],
    g2: &[[u8; G2_BYTES]],
) -> Option<[u8; GT_BYTES]> {
    if g1.len() != g2.len() || g1.len() > PAIRS_MAX {
        return None;
    }
    let g1: Vec<G1Affine> =
        g1.iter().map(|point| read_checked(endianness, point)).collect::<Option<_>>()?;
    let g2: Vec<G2Affine> =
        g2.iter().map(|point| read_checked(endianness, point)).collect::<Option<_>>()?;
    let product: PairingOutput<Bls12_381> = Bls12_381::multi_pairing(g1, g2);
    let mut bytes = [0; GT_BYTES];
    let parts = product.0.to_base_prime_field_elements();
    for (bytes, part) in bytes.as_chunks_mut::<FIELD_BYTES>().0.iter_mut().zip(parts) {
        bytes.copy_from_slice(&part.into_bigint().to_bytes_le());
    }
    Some(to_little(endianness, GT_BYTES, bytes))
}

/// Verifies the proof of possession of a BLS key: a signature by the key of `payload` and the key
/// itself (agave: `solana-bls-signatures`, with keys in G1 and signatures in G2).
#[must_use]
pub fn verify_proof_of_possession(
    payload: &[u8],
    key: &[u8; G1_BYTES / 2],
    proof: &[u8; G2_BYTES / 2],
) -> bool {
    const DOMAIN: &[u8] = b"BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
    let signed = [payload, key].concat();
    let point = read_compressed::<g1::Config, _>(Endianness::Big, key);
    let proof = read_compressed::<g2::Config, _>(Endianness::Big, proof);
    let hash = SignatureHasher::new(DOMAIN).and_then(|hasher| hasher.hash(&signed));
    let (Some(point), Some(proof), Ok(hash)) = (point, proof, hash) else { return false };
    if point.is_zero() {
        return false;
    }
    let generator = -G1Affine::generator();
    Bls12_381::multi_pairing([point, generator], [hash, proof]).is_zero()
}

/// Hashes bytes to points of G2 (RFC 9380, `BLS12381G2_XMD:SHA-256_SSWU_RO_`).
type SignatureHasher = MapToCurveBasedHasher<
    Projective<g2::Config>,
    DefaultFieldHasher<sha2::Sha256>,
    WBMap<g2::Config>,
>;

/// A coordinate of a point: one field element in G1, a real and an imaginary part in G2.
trait Coordinate: Field<BasePrimeField = Fq> {
    /// Whether a point on the curve whose x is zero is rejected. Such a point is never in the
    /// subgroup, and blst rejects it even where it checks only the curve equation.
    const REJECTS_ZERO: bool;
}

impl Coordinate for Fq {
    const REJECTS_ZERO: bool = true;
}

impl Coordinate for Fq2 {
    const REJECTS_ZERO: bool = false;
}

/// Decodes a big-endian coordinate.
fn read_coordinate<F: Coordinate>(bytes: &[u8]) -> Option<F> {
    let parts = bytes.as_chunks::<FIELD_BYTES>().0.iter().rev().map(|part| {
        let mut part = *part;
        part.reverse();
        Fq::from_bigint(BigInteger384::deserialize_uncompressed_unchecked(&part[..]).ok()?)
    });
    F::from_base_prime_field_elems(parts.collect::<Option<Vec<_>>>()?)
}

fn write_coordinate<F: Coordinate>(coordinate: &F, bytes: &mut [u8]) {
    let parts = coordinate.to_base_prime_field_elements();
    for (bytes, part) in bytes.rchunks_exact_mut(FIELD_BYTES).zip(parts) {
        bytes.copy_from_slice(&part.into_bigint().to_bytes_be());
    }
}

/// Decodes a point of the curve, of any order.
fn read<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    bytes: &[u8; N],
) -> Option<Affine<C>> {
    let bytes = to_big(endianness, N / 2, *bytes);
    match bytes[0] & (COMPRESSED | INFINITY | GREATER) {
        0 => {
            let (x, y) = bytes.split_at(N / 2);
            let point = Affine::new_unchecked(read_coordinate(x)?, read_coordinate(y)?);
            (point.is_on_curve() && !has_rejected_x(&point)).then_some(point)
        }
        INFINITY => is_infinity(&bytes, INFINITY).then(Affine::identity),
        _ => None,
    }
}

/// Decodes a point of the subgroup.
fn read_checked<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    bytes: &[u8; N],
) -> Option<Affine<C>> {
    read(endianness, bytes).filter(Affine::is_in_correct_subgroup_assuming_on_curve)
}

fn write<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    point: &Affine<C>,
) -> [u8; N] {
    let mut bytes = [0; N];
    match point.xy() {
        Some((x, y)) => {
            let (x_bytes, y_bytes) = bytes.split_at_mut(N / 2);
            write_coordinate(&x, x_bytes);
            write_coordinate(&y, y_bytes);
        }
        None => bytes[0] = INFINITY,
    }
    to_big(endianness, N / 2, bytes)
}

/// Converts numbers of `chunk` bytes each from or to big-endian: reverses every chunk if they are
/// little-endian.
fn to_big<const N: usize>(endianness: Endianness, chunk: usize, bytes: [u8; N]) -> [u8; N] {
    let other = match endianness {
        Endianness::Big => Endianness::Little,
        Endianness::Little => Endianness::Big,
    };
    to_little(other, chunk, bytes)
}

fn is_infinity(bytes: &[u8], flags: u8) -> bool {
    bytes
        .split_first()
        .is_some_and(|(first, rest)| *first == flags && rest.iter().all(|it| *it == 0))
}

fn has_rejected_x<C: SWCurveConfig<BaseField: Coordinate>>(point: &Affine<C>) -> bool {
    <C::BaseField as Coordinate>::REJECTS_ZERO && point.x.is_zero()
}

fn add<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    left: &[u8; N],
    right: &[u8; N],
) -> Option<[u8; N]> {
    let sum = read::<C, N>(endianness, left)? + read::<C, N>(endianness, right)?;
    Some(write(endianness, &sum.into_affine()))
}

fn subtract<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    left: &[u8; N],
    right: &[u8; N],
) -> Option<[u8; N]> {
    let difference = read::<C, N>(endianness, left)? + -read::<C, N>(endianness, right)?;
    Some(write(endianness, &difference.into_affine()))
}

fn multiply<C: SWCurveConfig<BaseField: Coordinate>, const N: usize>(
    endianness: Endianness,
    scalar: &[u8; SCALAR_BYTES],
    point: &[u8; N],
) -> Option<[u8; N]> {
    let point = read_checked::<C, N>(endianness, point)?;
    let scalar = to_little(endianness, SCALAR_BYTES, *scalar);
    let scalar = Fr::deserialize_uncompressed(&scalar[..]).ok()?.into_bigint();
    Some(write(endianness, &point.mul_bigint(scalar).into_affine()))
}

fn decompress<C: SWCurveConfig<BaseField: Coordinate>, const HALF: usize, const N: usize>(
    endianness: Endianness,
    bytes: &[u8; HALF],
) -> Option<[u8; N]> {
    Some(write(endianness, &read_compressed::<C, HALF>(endianness, bytes)?))
}

/// Decodes a compressed point of the subgroup.
fn read_compressed<C: SWCurveConfig<BaseField: Coordinate>, const HALF: usize>(
    endianness: Endianness,
    bytes: &[u8; HALF],
) -> Option<Affine<C>> {
    let mut bytes = to_big(endianness, HALF, *bytes);
    let flags = bytes[0] & (COMPRESSED | INFINITY | GREATER);
    if flags & COMPRESSED == 0 {
        return None;
    }
    if flags & INFINITY != 0 {
        return is_infinity(&bytes, COMPRESSED | INFINITY).then(Affine::identity);
    }
    bytes[0] &= !flags;
    let x = read_coordinate(&bytes)?;
    let (smaller, greater) = Affine::<C>::get_ys_from_x_unchecked(x)?;
    let y = if flags & GREATER == 0 { smaller } else { greater };
    let point = Affine::<C>::new_unchecked(x, y);
    point.is_in_correct_subgroup_assuming_on_curve().then_some(point)
}
