//! Points of the curve, one coordinate at a time.
//!
//! The curve is -x² + y² = 1 + d x² y². Its addition law has no exceptions, and doubling is a case
//! of it: sums of any two points, also of those of small order, are right.

use super::field::Field;

/// Four elements of the field side by side: rows are limbs, columns are elements. So one vector
/// register holds a row.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Quad(pub(super) [[u64; 4]; 5]);

impl Quad {
    pub(super) fn new(columns: [Field; 4]) -> Self {
        Self(core::array::from_fn(|row| columns.map(|column| column.0[row])))
    }

    pub(super) fn columns(&self) -> [Field; 4] {
        core::array::from_fn(|column| Field(self.0.map(|row| row[column])))
    }
}

/// A point as X, Y, Z and T, where x = X/Z, y = Y/Z and T = XY/Z. Limbs are short.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) x: Field,
    pub(super) y: Field,
    pub(super) z: Field,
    pub(super) t: Field,
}

impl Point {
    pub(super) const IDENTITY: Self =
        Self { x: Field::ZERO, y: Field::ONE, z: Field::ONE, t: Field::ZERO };

    /// Decompresses a point by the rule of `CompressedEdwardsY::decompress` in curve25519-dalek: y
    /// need not be reduced, and an x of 0 may have either sign.
    pub(super) fn decompress(bytes: &[u8; 32]) -> Option<Self> {
        let y = Field::from_bytes(bytes);
        let square = y.square();
        let numerator = square.sub(Field::ONE);
        // dy² is never -1, since -1 is a square and d is not.
        let denominator = square.mul(Field::D).add(Field::ONE);
        let root = numerator.root_of_ratio(denominator)?;
        let x = if root.is_odd() == (bytes[31] >> 7 == 1) { root } else { Field::ZERO.sub(root) };
        let x = x.mul(Field::ONE);
        Some(Self { x, y, z: Field::ONE, t: x.mul(y) })
    }

    /// Returns the encoding: the reduced y and the sign of x.
    pub(super) fn compress(&self) -> [u8; 32] {
        self.compress_by(self.z.invert())
    }

    /// Returns the encodings of all points, with one inversion.
    pub(super) fn compress_each(points: &[Self]) -> Vec<[u8; 32]> {
        // The products of all Z before each point; none of them is 0.
        let mut product = Field::ONE;
        let before = points.iter().map(|point| {
            let before = product;
            product = product.mul(point.z);
            before
        });
        let before: Vec<_> = before.collect();
        let mut inverse = product.invert();
        let packed = points.iter().zip(before).rev().map(|(point, before)| {
            let of_z = inverse.mul(before);
            inverse = inverse.mul(point.z);
            point.compress_by(of_z)
        });
        let mut packed: Vec<_> = packed.collect();
        packed.reverse();
        packed
    }

    /// Returns the encoding, given the inverse of Z.
    fn compress_by(&self, inverse: Field) -> [u8; 32] {
        let mut bytes = self.y.mul(inverse).to_bytes();
        bytes[31] |= u8::from(self.x.mul(inverse).is_odd()) << 7;
        bytes
    }

    pub(super) fn negated(&self) -> Self {
        let negated = |it| Field::ZERO.sub(it).mul(Field::ONE);
        Self { x: negated(self.x), t: negated(self.t), ..*self }
    }

    /// Returns whether the point's order divides 8.
    pub(super) fn has_small_order(&self) -> bool {
        // x is 0 for the points of order 1 and 2 alone.
        self.double().double().x.equals(Field::ZERO)
    }

    #[inline(always)]
    pub(super) fn double(&self) -> Self {
        let (xx, yy) = (self.x.square(), self.y.square());
        let zz = self.z.square();
        let (h, g) = (xx.add(yy), xx.sub(yy));
        let e = h.sub(self.x.add(self.y).square());
        let f = zz.add(zz).add(g);
        Self { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
    }

    /// Returns `self + other` or, if `negative`, `self - other`.
    #[inline(always)]
    pub(super) fn add(&self, other: &Addend, negative: bool) -> Self {
        let [mut minus, mut plus, z2, mut t2d] = other.0.columns();
        if negative {
            (minus, plus, t2d) = (plus, minus, Field::ZERO.sub(t2d));
        }
        let a = self.y.sub(self.x).mul(minus);
        let b = self.y.add(self.x).mul(plus);
        let (c, d) = (self.t.mul(t2d), self.z.mul(z2));
        let (e, f, g, h) = (b.sub(a), d.sub(c), d.add(c), b.add(a));
        Self { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn to_quad(self) -> Quad {
        Quad::new([self.x, self.y, self.z, self.t])
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn from_quad(quad: &Quad) -> Self {
        let [x, y, z, t] = quad.columns();
        Self { x, y, z, t }
    }
}

/// A point in the form in which it is added: Y - X, Y + X, 2Z and 2dT, with short limbs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addend(pub(super) Quad);

impl Addend {
    pub(super) fn new(point: &Point) -> Self {
        let short = |it: Field| it.mul(Field::ONE);
        let [minus, plus] = [point.y.sub(point.x), point.y.add(point.x)].map(short);
        let z2 = short(point.z.add(point.z));
        Self(Quad::new([minus, plus, z2, point.t.mul(Field::TWO_D)]))
    }
}
