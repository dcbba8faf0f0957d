//! ECDSA over 256-bit curves of prime order.

use ark_ec::{
    AdditiveGroup, AffineRepr, CurveGroup,
    short_weierstrass::{Affine, Projective, SWCurveConfig},
};
use ark_ff::{BigInteger, BigInteger256, Field, PrimeField, Zero};

/// A curve whose base and scalar fields both fit into 256 bits.
pub(crate) trait Curve:
    SWCurveConfig<BaseField = Self::Base, ScalarField = Self::Scalar>
{
    type Base: PrimeField<BigInt = BigInteger256>;
    type Scalar: PrimeField<BigInt = BigInteger256>;
}

impl Curve for ark_secp256k1::Config {
    type Base = ark_secp256k1::Fq;
    type Scalar = ark_secp256k1::Fr;
}

impl Curve for ark_secp256r1::Config {
    type Base = ark_secp256r1::Fq;
    type Scalar = ark_secp256r1::Fr;
}

/// A signature: two scalars, either of which may be zero.
pub(crate) struct Signature<C: Curve> {
    r: C::Scalar,
    pub(crate) s: C::Scalar,
}

impl<C: Curve> Signature<C> {
    /// Decodes r and s, big-endian; `None` if one is not below the group's order.
    pub(crate) fn parse(bytes: &[u8; 64]) -> Option<Self> {
        let (r, s) = bytes.split_at(32);
        let scalar = |bytes: &[u8]| C::Scalar::from_bigint(integer(bytes.try_into().ok()?));
        Some(Self { r: scalar(r)?, s: scalar(s)? })
    }

    /// Returns whether r or s is zero, which makes the signature invalid.
    pub(crate) fn has_zero(&self) -> bool {
        self.r.is_zero() || self.s.is_zero()
    }

    /// Recovers the public key from a signature of a hash. `is_odd` is the parity of R's y, and
    /// `is_reduced` means that R's x is not below the group's order, so r is x reduced.
    pub(crate) fn recover(
        &self,
        hash: &[u8; 32],
        is_odd: bool,
        is_reduced: bool,
    ) -> Option<Affine<C>> {
        let mut x = self.r.into_bigint();
        if is_reduced && x.add_with_carry(&C::Scalar::MODULUS) {
            return None;
        }
        let (y, other) = Affine::<C>::get_ys_from_x_unchecked(C::Base::from_bigint(x)?)?;
        let y = if y.into_bigint().is_odd() == is_odd { y } else { other };
        let point = Affine::<C>::new_unchecked(C::Base::from_bigint(x)?, y);
        let inverse = self.r.inverse()?;
        let (u, v) = (-inverse * message::<C>(hash), inverse * self.s);
        let key = sum_of_products(&C::GENERATOR, u, &point, v).into_affine();
        (!key.is_zero()).then_some(key)
    }

    /// Returns whether this is a valid signature of a hash by `key`.
    pub(crate) fn verify(&self, hash: &[u8; 32], key: &Affine<C>) -> bool {
        let Some(inverse) = self.s.inverse() else { return false };
        let (u, v) = (inverse * message::<C>(hash), inverse * self.r);
        let point = sum_of_products(&C::GENERATOR, u, key, v).into_affine();
        let x =
            point.x().map(|x| C::Scalar::from_le_bytes_mod_order(&x.into_bigint().to_bytes_le()));
        !self.r.is_zero() && x == Some(self.r)
    }
}

/// Decodes a compressed key: 2 or 3 for an even or odd y, then x.
pub(crate) fn unpack_key<C: Curve>(bytes: &[u8; 33]) -> Option<Affine<C>> {
    let (&[tag @ (2 | 3)], x) = bytes.split_first_chunk()? else { return None };
    let x = C::Base::from_bigint(integer(x.try_into().ok()?))?;
    let (y, other) = Affine::<C>::get_ys_from_x_unchecked(x)?;
    let y = if y.into_bigint().is_odd() == (tag == 3) { y } else { other };
    Some(Affine::new_unchecked(x, y))
}

/// Encodes the coordinates of a key, big-endian.
pub(crate) fn coordinates<C: Curve>(key: &Affine<C>) -> [u8; 64] {
    let mut bytes = [0; 64];
    let (x, y) = bytes.split_at_mut(32);
    for (bytes, coordinate) in [(x, key.x), (y, key.y)] {
        bytes.copy_from_slice(&coordinate.into_bigint().to_bytes_be());
    }
    bytes
}

fn message<C: Curve>(hash: &[u8; 32]) -> C::Scalar {
    C::Scalar::from_be_bytes_mod_order(hash)
}

/// Decodes a big-endian number.
fn integer(bytes: &[u8; 32]) -> BigInteger256 {
    let (words, _) = bytes.as_chunks::<8>();
    let mut words = [words[0], words[1], words[2], words[3]].map(u64::from_be_bytes);
    words.reverse();
    BigInteger256::new(words)
}

/// Computes uP + vQ with shared doublings (Shamir's trick, two bits at a time).
fn sum_of_products<C: Curve>(
    p: &Affine<C>,
    u: C::Scalar,
    q: &Affine<C>,
    v: C::Scalar,
) -> Projective<C> {
    // All iP + jQ for i and j in 0..=3.
    let multiples = |point: &Affine<C>| {
        let one: Projective<C> = point.into_group();
        let two = one.double();
        [Projective::zero(), one, two, two + point]
    };
    let (p, q) = (multiples(p), multiples(q));
    let sums = q.iter().flat_map(|q| p.iter().map(move |p| *p + q)).collect::<Vec<_>>();
    let sums = Projective::normalize_batch(&sums);
    let (u, v) = (u.into_bigint(), v.into_bigint());
    let mut sum = Projective::zero();
    for word in (0..4).rev() {
        for shift in (0..64).step_by(2).rev() {
            sum.double_in_place();
            sum.double_in_place();
            let pair = |words: &BigInteger256| (words.0[word] >> shift & 3) as usize;
            let index = pair(&v) << 2 | pair(&u);
            if index != 0 {
                sum += &sums[index];
            }
        }
    }
    sum
}
