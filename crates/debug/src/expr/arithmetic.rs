//! Arithmetic on values, which wraps as the program's does.

use crate::{
    info::{Kind, Scalar, TypeRef},
    value::{Contents, Missing, Number, Value, View},
};

/// The type of numbers in expressions: that of the other operand decides, unless both are such.
const LITERAL: TypeRef = TypeRef::Scalar(Scalar::Signed, 16);

/// Returns the value of a number in an expression.
pub(super) fn literal(value: i128) -> Value {
    Value::new(LITERAL, Contents::number(value.cast_unsigned(), 16))
}

/// Returns a condition's value.
pub(super) fn truth(value: bool) -> Value {
    let ty = TypeRef::Scalar(Scalar::Bool, 1);
    Value::new(ty, Contents::number(u128::from(value), 1))
}

/// Compares numbers.
pub(super) fn same(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => a == b,
        _ => a.integer() == b.integer(),
    }
}

/// Converts a number to a plain type or a pointer.
pub(super) fn convert(view: View<'_>, value: &Value, ty: TypeRef) -> Result<Value, Missing> {
    let number = view.number(value)?;
    let target = view.info.type_of(&ty);
    let size = usize::try_from(target.size.min(16)).unwrap_or(16);
    let bits = match (target.kind, number) {
        (Kind::Scalar(Scalar::Float), Number::Float(_)) => return Ok(value.clone()),
        (Kind::Scalar(Scalar::Float), _) => {
            return Err(Missing::NotApplicable("integers are not converted to floats"));
        }
        _ => number.integer().cast_unsigned(),
    };
    Ok(Value::new(ty, Contents::number(bits, size)))
}

/// Applies an operator before a value.
pub(super) fn prefix(view: View<'_>, sign: &str, value: &Value) -> Result<Value, Missing> {
    let number = view.number(value)?.integer();
    let is_bool = view.info.type_of(&value.ty).kind == Kind::Scalar(Scalar::Bool);
    Ok(match sign {
        "!" if is_bool => truth(number == 0),
        "-" => made(view, &value.ty, number.wrapping_neg()),
        _ => made(view, &value.ty, !number),
    })
}

/// Makes a number of a type, or one of 64 bits if the type is none of numbers.
fn made(view: View<'_>, ty: &TypeRef, number: i128) -> Value {
    let found = view.info.type_of(ty);
    let (ty, size) = match found.kind {
        Kind::Scalar(Scalar::Bool | Scalar::Float) => (LITERAL, 16),
        Kind::Scalar(_) | Kind::Pointer(_) => (ty.clone(), found.size),
        _ => (TypeRef::Scalar(Scalar::Unsigned, 8), 8),
    };
    let size = usize::try_from(size.min(16)).unwrap_or(16);
    Value::new(ty, Contents::number(number.cast_unsigned(), size))
}

/// Applies an operator between values.
pub(super) fn binary(
    view: View<'_>,
    sign: &str,
    left: &Value,
    right: &Value,
) -> Result<Value, Missing> {
    let (a, b) = (view.number(left)?, view.number(right)?);
    if let Some(result) = order(sign, a, b) {
        return Ok(truth(result));
    }
    if matches!((a, b), (Number::Float(_), _) | (_, Number::Float(_))) {
        return Err(Missing::NotApplicable("floats can only be compared"));
    }
    let is_pointer = |value: &Value| matches!(view.info.type_of(&value.ty).kind, Kind::Pointer(_));
    let (a, mut b) = (a.integer(), b.integer());
    // Pointers move by elements.
    if is_pointer(left) && matches!(sign, "+" | "-") && !is_pointer(right) {
        let target = view.target(left)?;
        b = b.wrapping_mul(i128::from(view.info.type_of(&target.ty).size.max(1)));
    }
    let result = integer(sign, a, b)?;
    let ty = if left.ty == LITERAL && !matches!(sign, "<<" | ">>") { &right.ty } else { &left.ty };
    Ok(made(view, ty, result))
}

fn order(sign: &str, a: Number, b: Number) -> Option<bool> {
    let order = match (a, b) {
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        _ => Some(a.integer().cmp(&b.integer())),
    };
    Some(match sign {
        "<" => order.is_some_and(|it| it.is_lt()),
        "<=" => order.is_some_and(|it| it.is_le()),
        ">" => order.is_some_and(|it| it.is_gt()),
        ">=" => order.is_some_and(|it| it.is_ge()),
        _ => return None,
    })
}

fn integer(sign: &str, a: i128, b: i128) -> Result<i128, Missing> {
    let shift = u32::try_from(b).ok().filter(|&it| it < 128);
    Ok(match sign {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return Err(Missing::NotApplicable("division by zero")),
        "/" => a.wrapping_div(b),
        "%" => a.wrapping_rem(b),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => shift.map_or(0, |it| a << it),
        _ => shift.map_or(0, |it| a >> it),
    })
}
