//! The curve alt_bn128, also called BN254 (agave: `solana-bn254`).
//!
//! A point is encoded as x and y, in G2 with two numbers for each coordinate; all zeros encode the
//! point at infinity. Big-endian encoding is that of EIP-197, where a coordinate of G2 begins with
//! its imaginary part. Little-endian encoding (SIMD-0284) reverses the bytes of each coordinate, so
//! it begins with the real part. The unused top bits of the last coordinate are flags of
//! ark-serialize: infinity, and the sign of y, which is ignored in an uncompressed point.
//!
//! All operations return `None` for invalid input, including input of a wrong length.

use ark_bn254::{Bn254, Fq12, G1Affine, G2Affine};
use ark_ec::{
    AffineRepr, CurveGroup,
    pairing::Pairing,
    short_weierstrass::{Affine, SWCurveConfig},
};
use ark_ff::{BigInteger256, One};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize, Compress, Validate};

use crate::{Endianness, to_little};

/// The length in bytes of a point of G1.
pub const G1_BYTES: usize = 64;
/// The length in bytes of a point of G2.
pub const G2_BYTES: usize = 128;
/// The length in bytes of a scalar.
pub const SCALAR_BYTES: usize = 32;
/// The length in bytes of a pair: a point of G1 and one of G2.
pub const PAIR_BYTES: usize = G1_BYTES + G2_BYTES;

/// Adds two points of G1.
///
/// Big-endian input may be shorter; it is padded with zeros (EIP-196).
#[must_use]
pub fn g1_add(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    let input: [u8; 2 * G1_BYTES] = padded(endianness, input)?;
    let (left, right) = halves::<G1_BYTES>(&input)?;
    let sum = read_g1(endianness, left)? + read_g1(endianness, right)?;
    write(endianness, &sum.into_affine())
}

/// Multiplies a point of G1 by the scalar that follows it. The scalar need not be reduced.
///
/// Big-endian input may be shorter; it is padded with zeros (EIP-196; SIMD-0222 for the length).
#[must_use]
pub fn g1_multiply(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    let input: [u8; G1_BYTES + SCALAR_BYTES] = padded(endianness, input)?;
    let (point, scalar) = input.split_first_chunk()?;
    let product = read_g1(endianness, point)?.mul_bigint(read_scalar(endianness, scalar)?);
    write(endianness, &product.into_affine())
}

/// Adds two points of G2's curve, which need not be in the subgroup G2 (SIMD-0302).
#[must_use]
pub fn g2_add(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    let (left, right) = halves::<G2_BYTES>(input)?;
    // The subgroup is not checked: that would cost more than the addition.
    let read = |bytes| -> Option<G2Affine> { read(endianness, bytes, Validate::No) };
    write(endianness, &(read(left)? + read(right)?).into_affine())
}

/// Multiplies a point of G2 by the scalar that follows it (SIMD-0302).
#[must_use]
pub fn g2_multiply(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    let (point, scalar) = input.split_first_chunk()?;
    let product = read_g2(endianness, point)?.mul_bigint(read_scalar(endianness, scalar)?);
    write(endianness, &product.into_affine())
}

/// Returns the number 1 if the product of the pairings of all pairs is one, otherwise 0.
///
/// The length of the input must be a multiple of [`PAIR_BYTES`] (SIMD-0334). The product of no pairs
/// is one.
#[must_use]
pub fn pairing(endianness: Endianness, input: &[u8]) -> Option<[u8; 32]> {
    let (pairs, rest) = input.as_chunks::<PAIR_BYTES>();
    if !rest.is_empty() {
        return None;
    }
    let points = pairs.iter().map(|pair| {
        let (g1, g2) = pair.split_first_chunk()?;
        Some((read_g1(endianness, g1)?, read_g2(endianness, g2.try_into().ok()?)?))
    });
    let (g1, g2): (Vec<_>, Vec<_>) = points.collect::<Option<Vec<_>>>()?.into_iter().unzip();
    let mut result = [0; 32];
    result[0] = u8::from(Bn254::multi_pairing(g1, g2).0 == Fq12::one());
    Some(to_little(endianness, 32, result))
}

/// Compresses a point of G1 to half the length, without checking that it is on the curve.
#[must_use]
pub fn g1_compress(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES / 2]> {
    compress::<ark_bn254::g1::Config, G1_BYTES, { G1_BYTES / 2 }>(endianness, input)
}

/// Compresses a point of G2 to half the length, without checking that it is on the curve.
#[must_use]
pub fn g2_compress(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES / 2]> {
    compress::<ark_bn254::g2::Config, G2_BYTES, { G2_BYTES / 2 }>(endianness, input)
}

/// Decompresses a point of G1.
#[must_use]
pub fn g1_decompress(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    decompress::<ark_bn254::g1::Config, { G1_BYTES / 2 }, G1_BYTES>(endianness, input)
}

/// Decompresses a point of G2's curve, without checking that it is in the subgroup G2.
#[must_use]
pub fn g2_decompress(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    decompress::<ark_bn254::g2::Config, { G2_BYTES / 2 }, G2_BYTES>(endianness, input)
}

/// Pads big-endian input with zeros; little-endian input must have the exact length.
fn padded<const N: usize>(endianness: Endianness, input: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let may_be_short = endianness == Endianness::Big;
    if input.len() != N && !may_be_short {
        return None;
    }
    bytes.get_mut(..input.len())?.copy_from_slice(input);
    Some(bytes)
}

fn halves<const N: usize>(input: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    let (left, right) = input.split_first_chunk()?;
    Some((left, right.try_into().ok()?))
}

fn read_g1(endianness: Endianness, bytes: &[u8; G1_BYTES]) -> Option<G1Affine> {
    read(endianness, bytes, Validate::Yes)
}

fn read_g2(endianness: Endianness, bytes: &[u8; G2_BYTES]) -> Option<G2Affine> {
    read(endianness, bytes, Validate::Yes)
}

/// Decodes a point of the curve; with [`Validate::Yes`], of the subgroup.
fn read<C: SWCurveConfig, const N: usize>(
    endianness: Endianness,
    bytes: &[u8; N],
    validate: Validate,
) -> Option<Affine<C>> {
    if *bytes == [0; N] {
        return Some(Affine::identity());
    }
    let bytes = to_little(endianness, N / 2, *bytes);
    let point = Affine::deserialize_with_mode(&bytes[..], Compress::No, validate).ok()?;
    point.is_on_curve().then_some(point)
}

fn write<C: SWCurveConfig, const N: usize>(
    endianness: Endianness,
    point: &Affine<C>,
) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (x, y) = bytes.split_at_mut(N / 2);
    point.x.serialize_with_mode(x, Compress::No).ok()?;
    point.y.serialize_with_mode(y, Compress::No).ok()?;
    Some(to_little(endianness, N / 2, bytes))
}

fn read_scalar(endianness: Endianness, bytes: &[u8]) -> Option<BigInteger256> {
    let bytes: [u8; SCALAR_BYTES] = bytes.try_into().ok()?;
    let bytes = to_little(endianness, SCALAR_BYTES, bytes);
    BigInteger256::deserialize_uncompressed_unchecked(&bytes[..]).ok()
}

fn compress<C: SWCurveConfig, const N: usize, const HALF: usize>(
    endianness: Endianness,
    input: &[u8],
) -> Option<[u8; HALF]> {
    let input: [u8; N] = input.try_into().ok()?;
    if input == [0; N] {
        return Some([0; HALF]);
    }
    let input = to_little(endianness, N / 2, input);
    let point = Affine::<C>::deserialize_with_mode(&input[..], Compress::No, Validate::No).ok()?;
    let mut bytes = [0; HALF];
    point.serialize_compressed(&mut bytes[..]).ok()?;
    Some(to_little(endianness, HALF, bytes))
}

fn decompress<C: SWCurveConfig, const HALF: usize, const N: usize>(
    endianness: Endianness,
    input: &[u8],
) -> Option<[u8; N]> {
    let input: [u8; HALF] = input.try_into().ok()?;
    if input == [0; HALF] {
        return Some([0; N]);
    }
    let input = to_little(endianness, HALF, input);
    let point = Affine::<C>::deserialize_with_mode(&input[..], Compress::Yes, Validate::No).ok()?;
    write(endianness, &point)
}
