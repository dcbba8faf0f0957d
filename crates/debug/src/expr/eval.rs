//! Evaluation of expressions.

use super::{
    ExprError, arithmetic,
    parse::{Node, NodeKind, PLAIN_TYPES, TypeName},
};
use crate::{
    info::{Kind, Scalar, TypeRef},
    value::{Contents, Items, Missing, Shape, Value, View},
};

/// The registers by number: r0 to r10, and `$sp` as gdb has it.
const STACK_POINTER: u16 = 10;

/// The pointers to pointers in a cast.
const POINTERS_MAX: usize = 8;

/// Finds the values of names.
pub trait Operands {
    /// Returns the value of a variable.
    fn variable(&self, name: &str) -> Option<Value>;

    /// Returns the slot of the instruction, for `$pc`.
    fn pc(&self) -> u64;

    /// Returns the names that are known, for suggestions.
    fn known(&self) -> Vec<String>;
}

/// The value of an expression or of a part of one.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A value of the program, or a number.
    Value(Value),
    /// A text in the expression.
    Text(String),
}

type Result<T> = core::result::Result<T, ExprError>;

struct Evaluator<'a> {
    view: View<'a>,
    names: &'a dyn Operands,
}

/// Evaluates a node.
pub(super) fn evaluate(node: &Node, view: View<'_>, names: &dyn Operands) -> Result<Operand> {
    Evaluator { view, names }.operand(node)
}

fn fail<T>(node: &Node, message: &str) -> Result<T> {
    Err(ExprError::new(node.at.clone(), message))
}

fn at<'n>(node: &'n Node) -> impl Fn(Missing) -> ExprError + 'n {
    move |missing| ExprError::new(node.at.clone(), &missing.to_string())
}

impl Evaluator<'_> {
    fn operand(&self, node: &Node) -> Result<Operand> {
        match &node.kind {
            NodeKind::Text(text) => Ok(Operand::Text(text.clone())),
            NodeKind::Binary(sign @ ("==" | "!="), left, right) => self.compare(sign, left, right),
            _ => self.value(node).map(Operand::Value),
        }
    }

    fn value(&self, node: &Node) -> Result<Value> {
        match &node.kind {
            NodeKind::Number(value) => Ok(arithmetic::literal(*value)),
            NodeKind::Text(_) => fail(node, "a text can only be compared"),
            NodeKind::Name(name) => self.name(node, name),
            NodeKind::Register(name) => self.register(node, name),
            NodeKind::Field(inner, name) => self.field(inner, name),
            NodeKind::Index(list, index) => self.index(list, index),
            NodeKind::Slice(list, start, end) => self.slice(list, start, end),
            NodeKind::Deref(inner) => self.view.target(&self.value(inner)?).map_err(at(inner)),
            NodeKind::AddressOf(inner) => self.address_of(inner),
            NodeKind::Cast(ty, inner) => self.cast(node, ty, inner),
            NodeKind::Prefix(sign, inner) => {
                let value = self.value(inner)?;
                arithmetic::prefix(self.view, sign, &value).map_err(at(inner))
            }
            NodeKind::Binary("&&", left, right) => self.both(left, right, true),
            NodeKind::Binary("||", left, right) => self.both(left, right, false),
            NodeKind::Binary(sign @ ("==" | "!="), left, right) => {
                match self.compare(sign, left, right)? {
                    Operand::Value(value) => Ok(value),
                    Operand::Text(_) => fail(node, "a text can only be compared"),
                }
            }
            NodeKind::Binary(sign, left, right) => {
                let values = (self.value(left)?, self.value(right)?);
                arithmetic::binary(self.view, sign, &values.0, &values.1).map_err(at(node))
            }
        }
    }

    fn name(&self, node: &Node, name: &str) -> Result<Value> {
        if let "true" | "false" = name {
            return Ok(arithmetic::truth(name == "true"));
        }
        if let Some(value) = self.names.variable(name) {
            return Ok(value);
        }
        // Programs without debug information have registers alone: they may be named without `$`.
        if let Ok(value) = self.register(node, name) {
            return Ok(value);
        }
        let known = self.names.known();
        let mut message = format!("no variable `{name}` here");
        if known.is_empty() {
            message.push_str(": there is no debug information; try $r1, or *(u64*)$r1");
        } else {
            let shown: Vec<_> = known.iter().take(8).map(String::as_str).collect();
            message.push_str(&format!(", there are {}", shown.join(", ")));
        }
        fail(node, &message)
    }

    fn register(&self, node: &Node, name: &str) -> Result<Value> {
        let index = match name {
            "pc" => return Ok(Value::word(self.names.pc())),
            "sp" | "fp" => Some(STACK_POINTER),
            _ => name.strip_prefix('r').and_then(|it| it.parse().ok()).filter(|&it| it <= 10),
        };
        let Some(index) = index else {
            return fail(node, "not a register: there are $r0 to $r10, $pc and $sp");
        };
        match self.view.guest.register(index) {
            Some(value) => Ok(Value::word(value)),
            None => fail(node, "the register is not known here: callers keep r6 to r10 alone"),
        }
    }

    /// Finds a field, through pointers.
    fn field(&self, inner: &Node, name: &str) -> Result<Value> {
        let value = self.value(inner)?;
        let target = match self.view.target(&value) {
            Err(Missing::NotApplicable(_)) => value.clone(),
            target => target.map_err(at(inner))?,
        };
        let found = self.view.field(&target, name).or_else(|error| {
            // Fields of known types that are not members, as an account view's `data`.
            let fields = self.view.children(&value, 0, 64);
            let fields =
                if fields.is_empty() { self.view.children(&target, 0, 64) } else { fields };
            fields.into_iter().find(|it| it.name == name).map(|it| it.value).ok_or(error)
        });
        found.map_err(at(inner))
    }

    fn number(&self, node: &Node) -> Result<i128> {
        let number = self.view.number(&self.value(node)?).map_err(at(node))?;
        Ok(number.integer())
    }

    fn unsigned(&self, node: &Node) -> Result<u64> {
        let number = self.number(node)?;
        u64::try_from(number).or_else(|_| fail(node, "not a number from 0 to 2^64 - 1"))
    }

    /// Returns the elements of an array, a slice, a vector, or those a pointer points to.
    fn items(&self, node: &Node) -> Result<Items> {
        let value = self.value(node)?;
        let shape = self.view.shape(&value).map_err(at(node))?;
        match shape {
            Shape::Items(items) => Ok(items),
            Shape::Text(..) => fail(node, "the bytes of a text have no index: use its pointer"),
            Shape::Pointer(_) => {
                let target = self.view.target(&value).map_err(at(node))?;
                match self.view.shape(&target) {
                    Ok(Shape::Items(items)) => Ok(items),
                    _ => {
                        Ok(Items { element: target.ty, contents: target.contents, count: u64::MAX })
                    }
                }
            }
            _ => fail(node, "it has no elements"),
        }
    }

    fn index(&self, list: &Node, index: &Node) -> Result<Value> {
        let items = self.items(list)?;
        let position = self.unsigned(index)?;
        if position >= items.count {
            return fail(index, &format!("there are {} elements", items.count));
        }
        Ok(self.view.item(&items, position))
    }

    fn slice(&self, list: &Node, start: &Node, end: &Node) -> Result<Value> {
        let items = self.items(list)?;
        let (first, after) = (self.unsigned(start)?, self.unsigned(end)?);
        if after > items.count || first > after {
            return fail(end, &format!("there are {} elements", items.count));
        }
        let size = self.view.info.type_of(&items.element).size;
        let count = after - first;
        let contents = match &items.contents {
            Contents::Memory(address) => {
                Contents::Memory(address.wrapping_add(first.wrapping_mul(size)))
            }
            other => other.part(first.saturating_mul(size), count.saturating_mul(size)),
        };
        Ok(Value::new(TypeRef::Array(Box::new(items.element), count), contents))
    }

    fn address_of(&self, inner: &Node) -> Result<Value> {
        let value = self.value(inner)?;
        let Some(address) = value.address() else {
            return fail(inner, "the value is not in memory");
        };
        let ty = TypeRef::Pointer(Box::new(value.ty));
        Ok(Value::new(ty, Contents::number(address.into(), 8)))
    }

    fn cast(&self, node: &Node, name: &TypeName, inner: &Node) -> Result<Value> {
        let target = plain_type(&name.name).or_else(|| self.view.info.find_type(&name.name));
        let Some(mut ty) = target else {
            return fail(node, &format!("no type `{}`", name.name));
        };
        if name.pointers > POINTERS_MAX {
            return fail(node, "too many pointers");
        }
        for _ in 0..name.pointers {
            ty = TypeRef::Pointer(Box::new(ty));
        }
        let value = self.value(inner)?;
        match self.view.info.type_of(&ty).kind {
            Kind::Scalar(_) | Kind::Pointer(_) => {
                arithmetic::convert(self.view, &value, ty).map_err(at(inner))
            }
            // The same bytes as another type.
            _ if value.address().is_some() => Ok(Value::new(ty, value.contents)),
            _ => fail(inner, "the value is not in memory: cast a pointer to it"),
        }
    }

    fn both(&self, left: &Node, right: &Node, is_and: bool) -> Result<Value> {
        let left = self.number(left)? != 0;
        let is_decided = left != is_and;
        let result = if is_decided { left } else { self.number(right)? != 0 };
        Ok(arithmetic::truth(result))
    }

    fn compare(&self, sign: &str, left: &Node, right: &Node) -> Result<Operand> {
        let is_equal = match (self.operand(left)?, self.operand(right)?) {
            (Operand::Text(a), Operand::Text(b)) => a == b,
            (Operand::Text(text), Operand::Value(value)) => self.is_text(right, &value, &text)?,
            (Operand::Value(value), Operand::Text(text)) => self.is_text(left, &value, &text)?,
            (Operand::Value(a), Operand::Value(b)) => self.are_equal(left, right, &a, &b)?,
        };
        Ok(Operand::Value(arithmetic::truth(is_equal == (sign == "=="))))
    }

    /// Compares numbers, and other values of one size by their bytes.
    fn are_equal(&self, left: &Node, right: &Node, a: &Value, b: &Value) -> Result<bool> {
        let view = self.view;
        if view.number(a).is_ok() || view.number(b).is_ok() {
            let numbers = (view.number(a).map_err(at(left))?, view.number(b).map_err(at(right))?);
            return Ok(arithmetic::same(numbers.0, numbers.1));
        }
        let size = |value: &Value| view.info.type_of(&value.ty).size;
        if size(a) != size(b) {
            return fail(right, "values of different sizes cannot be compared");
        }
        let a = view.bytes(&a.contents, size(a)).map_err(at(left))?;
        Ok(a == view.bytes(&b.contents, size(b)).map_err(at(right))?)
    }

    /// Compares a string, an address or a named number with a text.
    fn is_text(&self, node: &Node, value: &Value, text: &str) -> Result<bool> {
        let target = self.view.target(value).unwrap_or_else(|_| value.clone());
        match self.view.shape(&target).map_err(at(node))? {
            Shape::Text(bytes, len) => Ok(len == text.len() as u64 && bytes == text.as_bytes()),
            Shape::Named(name) => Ok(name == text),
            Shape::Fields(name, _) => Ok(name == text),
            _ => fail(node, "it is neither a text nor an address"),
        }
    }
}

/// Returns the plain type of a name.
fn plain_type(name: &str) -> Option<TypeRef> {
    if !PLAIN_TYPES.contains(&name) {
        return None;
    }
    let scalar = match name.as_bytes()[0] {
        b'u' => Scalar::Unsigned,
        b'i' => Scalar::Signed,
        b'f' => Scalar::Float,
        b'b' => Scalar::Bool,
        _ => Scalar::Char,
    };
    let size = match name {
        "bool" => 1,
        "char" => 4,
        "usize" | "isize" => 8,
        _ => name[1..].parse::<u8>().ok()? / 8,
    };
    Some(TypeRef::Scalar(scalar, size))
}
