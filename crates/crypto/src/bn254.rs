//! The curve alt_bn128 (agave: `solana-bn254`).
//!
//! A point of G1 is x and y, of G2 the same with two numbers for each coordinate; zeros alone are
//! the point at infinity. Big-endian as in EIP-197, whose coordinates in G2 begin with the
//! imaginary part; little-endian (SIMD-0284) turns each coordinate round, so that they begin with
//! the real part. Unused bits at the top of the last coordinate are flags of ark-serialize: the
//! point at infinity, and the sign, which is not looked at in a whole point.
//!
//! Wrong input gives nothing; lengths are checked here, since they are part of the rules.

use ark_bn254::{Bn254, Fq12, G1Affine, G2Affine};
use ark_ec::{
    AffineRepr, CurveGroup,
    pairing::Pairing,
    short_weierstrass::{Affine, SWCurveConfig},
};
use ark_ff::{BigInteger256, One};
use ark_serialize::{CanonicalDeserialize, CanonicalSerialize, Compress, Validate};

use crate::{Endianness, to_little};

/// Bytes of a point of G1.
pub const G1_BYTES: usize = 64;
/// Bytes of a point of G2.
pub const G2_BYTES: usize = 128;
/// Bytes of a scalar.
pub const SCALAR_BYTES: usize = 32;
/// Bytes of a pair of points.
pub const PAIR_BYTES: usize = G1_BYTES + G2_BYTES;

/// The sum of two points of G1.
///
/// Big-endian input may be short: zeros are missing (EIP-196).
#[must_use]
pub fn g1_add(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    let input: [u8; 2 * G1_BYTES] = padded(endianness, input)?;
    let (left, right) = halves::<G1_BYTES>(&input)?;
    let sum = read_g1(endianness, left)? + read_g1(endianness, right)?;
    write(endianness, &sum.into_affine())
}

/// A point of G1 taken as often as the scalar behind it says. The scalar may be any number.
///
/// Big-endian input may be short: zeros are missing (EIP-196; SIMD-0222 for the length).
#[must_use]
pub fn g1_multiply(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    let input: [u8; G1_BYTES + SCALAR_BYTES] = padded(endianness, input)?;
    let (point, scalar) = input.split_first_chunk()?;
    let product = read_g1(endianness, point)?.mul_bigint(read_scalar(endianness, scalar)?);
    write(endianness, &product.into_affine())
}

/// The sum of two points of the curve that G2 is a part of (SIMD-0302).
#[must_use]
pub fn g2_add(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    let (left, right) = halves::<G2_BYTES>(input)?;
    // The order of the points is not checked, as it costs more than the sum.
    let read = |bytes| -> Option<G2Affine> { read(endianness, bytes, Validate::No) };
    write(endianness, &(read(left)? + read(right)?).into_affine())
}

/// A point of G2 taken as often as the scalar behind it says (SIMD-0302).
#[must_use]
pub fn g2_multiply(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    let (point, scalar) = input.split_first_chunk()?;
    let product = read_g2(endianness, point)?.mul_bigint(read_scalar(endianness, scalar)?);
    write(endianness, &product.into_affine())
}

/// Whether the product of the pairings of all pairs is one: the number 1 or 0.
///
/// The input's length must be a multiple of [`PAIR_BYTES`] (SIMD-0334); no pairs make one.
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

/// A point of G1 in half as many bytes. It is not checked that there is such a point.
#[must_use]
pub fn g1_compress(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES / 2]> {
    compress::<ark_bn254::g1::Config, G1_BYTES, { G1_BYTES / 2 }>(endianness, input)
}

/// A point of G2 in half as many bytes. It is not checked that there is such a point.
#[must_use]
pub fn g2_compress(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES / 2]> {
    compress::<ark_bn254::g2::Config, G2_BYTES, { G2_BYTES / 2 }>(endianness, input)
}

/// A point of G1 as it was before it was compressed.
#[must_use]
pub fn g1_decompress(endianness: Endianness, input: &[u8]) -> Option<[u8; G1_BYTES]> {
    decompress::<ark_bn254::g1::Config, { G1_BYTES / 2 }, G1_BYTES>(endianness, input)
}

/// A point as it was before it was compressed. It is not checked that it is in G2.
#[must_use]
pub fn g2_decompress(endianness: Endianness, input: &[u8]) -> Option<[u8; G2_BYTES]> {
    decompress::<ark_bn254::g2::Config, { G2_BYTES / 2 }, G2_BYTES>(endianness, input)
}

/// Input with the zeros that are missing, if they may be.
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

/// A point of the curve; of the right order too, if that is validated.
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
