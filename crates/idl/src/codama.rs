//! Descriptions that Codama writes: nodes, each of which has a `kind`.

use serde_json::Value;

use crate::{
    Idl, IdlError, Place, Types, errors, field, flag, instructions, key, list, number, row, text,
};
use selkie_layout::{
    account::Layout,
    instruction::Instruction,
    kind::{Field, Kind, Lens, Name, Ref, Tag, Variant},
    role::{Role, Take},
};

pub(super) fn program(program: &Value) -> Result<Idl, IdlError> {
    let mut types = Types {
        read: kind,
        described: Default::default(),
        kinds: Default::default(),
        open: Default::default(),
    };
    for value in list(program, "definedTypes") {
        if let (Some(name), Some(it)) = (text(value, "name"), value.get("type")) {
            types.described.insert(name, it);
        }
    }
    let instructions = instructions(list(program, "instructions"), |it| entry(it, &mut types))?;
    let accounts = list(program, "accounts").iter();
    Ok(Idl {
        address: key(program, "publicKey"),
        instructions,
        accounts: accounts.filter_map(|it| account(it, &mut types)).collect(),
        errors: errors(list(program, "errors"), "message"),
    })
}

fn entry<'a>(
    value: &'a Value,
    types: &mut Types<'a>,
) -> Result<(Instruction, Vec<Place>), IdlError> {
    let name = text(value, "name").ok_or_else(|| IdlError("it has no `name`".to_owned()))?;
    let accounts = list(value, "accounts").iter().filter_map(role).collect();
    let (tag, fields) = tagged(value, list(value, "arguments"), types);
    row(name, tag, accounts, fields)
}

fn account<'a>(value: &'a Value, types: &mut Types<'a>) -> Option<Layout> {
    let name = text(value, "name")?;
    // A prefix or a suffix may be around the struct.
    let mut data = value.get("data")?;
    while let Some(inner) = data.get("type").filter(|_| data.get("fields").is_none()) {
        data = inner;
    }
    let (tag, fields) = tagged(value, list(data, "fields"), types);
    let (tag, fields) = (Ref::Shared(tag.into()), Ref::Shared(fields.into()));
    Some(Layout { tag, name: Name::Owned(name.to_owned()), fields })
}

fn role(value: &Value) -> Option<(Role, Place)> {
    let name = text(value, "name")?;
    let fixed =
        value.get("defaultValue").filter(|it| text(it, "kind") == Some("publicKeyValueNode"));
    let role = Role {
        name: Name::Owned(name.to_owned()),
        // A signer that may also be a program derived address is `either`.
        is_signer: flag(value, "isSigner"),
        is_writable: flag(value, "isWritable"),
        address: fixed.and_then(|it| key(it, "publicKey")),
        take: Take::One,
    };
    Some((role, Place { is_optional: flag(value, "isOptional"), pda: None }))
}

/// Splits the fields of an instruction or account into the bytes that tell it and those behind them.
fn tagged<'a>(
    value: &'a Value,
    fields: &'a [Value],
    types: &mut Types<'a>,
) -> (Vec<u8>, Vec<Field>) {
    let mut tag = Vec::new();
    let discriminators = list(value, "discriminators");
    let tells = |name: &str| {
        let is_it = |it: &&Value| text(it, "kind") == Some("fieldDiscriminatorNode");
        discriminators.iter().filter(is_it).any(|it| text(it, "name") == Some(name))
    };
    let mut rest = fields;
    while let [first, others @ ..] = rest {
        let (Some(name), Some(kind_of)) = (text(first, "name"), first.get("type")) else { break };
        let constant = first.get("defaultValue").and_then(|it| constant(kind_of, it));
        let Some(bytes) = constant.filter(|_| tells(name)) else { break };
        tag.extend(bytes);
        rest = others;
    }
    if tag.is_empty() {
        let at_start = discriminators.iter().find(|it| {
            text(it, "kind") == Some("constantDiscriminatorNode")
                && it.get("offset").and_then(Value::as_u64) == Some(0)
        });
        let found = at_start.and_then(|it| {
            let it = it.get("constant")?;
            constant(it.get("type")?, it.get("value")?)
        });
        tag.extend(found.unwrap_or_default());
    }
    let fields = rest.iter().filter_map(|it| {
        let kind = it.get("type").map_or(Kind::Unknown, |it| kind(types, it, 0));
        Some(field(text(it, "name")?.to_owned(), kind))
    });
    (tag, fields.collect())
}

/// Returns the bytes of a constant value of a type: a number, or bytes in hexadecimal.
fn constant(kind_of: &Value, value: &Value) -> Option<Vec<u8>> {
    match text(value, "kind")? {
        "numberValueNode" => {
            let number = value.get("number")?.as_u64()?;
            let bytes = match number_kind(kind_of)? {
                Kind::Unsigned(bytes) | Kind::Signed(bytes) => bytes,
                _ => return None,
            };
            u128::from(number).to_le_bytes().get(..bytes).map(<[u8]>::to_vec)
        }
        "bytesValueNode" if text(value, "encoding") == Some("base16") => {
            let digits = text(value, "data")?;
            let byte = |at: usize| u8::from_str_radix(digits.get(at..at.checked_add(2)?)?, 16).ok();
            digits.len().is_multiple_of(2).then_some(())?;
            (0..digits.len()).step_by(2).map(byte).collect()
        }
        "bytesValueNode" if text(value, "encoding") == Some("utf8") => {
            text(value, "data").map(|it| it.as_bytes().to_vec())
        }
        _ => None,
    }
}

/// Returns the kind of a number, which may have a unit around it. Those of other byte orders are unknown.
fn number_kind(value: &Value) -> Option<Kind> {
    match text(value, "kind")? {
        "numberTypeNode" if text(value, "endian") == Some("be") => None,
        "numberTypeNode" => match text(value, "format")? {
            "f32" => Some(Kind::F32),
            "f64" => Some(Kind::F64),
            name => number(name),
        },
        "amountTypeNode" | "solAmountTypeNode" | "dateTimeTypeNode" => {
            number_kind(value.get("number")?)
        }
        _ => None,
    }
}

/// Returns how long a length, a count or the number of a variant is.
fn lens(value: Option<&Value>, default: Lens) -> Option<Lens> {
    let Some(value) = value else { return Some(default) };
    match number_kind(value)? {
        Kind::Unsigned(1) => Some(Lens::One),
        Kind::Unsigned(2) => Some(Lens::Two),
        Kind::Unsigned(4) => Some(Lens::Four),
        Kind::Unsigned(8) => Some(Lens::Eight),
        _ => None,
    }
}

fn kind<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Kind {
    known(types, value, depth).unwrap_or(Kind::Unknown)
}

fn known<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Option<Kind> {
    let size = || value.get("size").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
    Some(match text(value, "kind")? {
        "booleanTypeNode" => match value.get("size").and_then(number_kind) {
            None | Some(Kind::Unsigned(1)) => Kind::Bool,
            Some(size) => size,
        },
        "publicKeyTypeNode" => Kind::Key,
        "definedTypeLinkNode" => types.named(text(value, "name")?, depth),
        "stringTypeNode" => Kind::Rest,
        "sizePrefixTypeNode" => {
            let lens = lens(value.get("prefix"), Lens::Four)?;
            match text(value.get("type")?, "kind")? {
                "stringTypeNode" => Kind::Text(lens),
                "bytesTypeNode" => Kind::Blob(lens),
                _ => return None,
            }
        }
        "fixedSizeTypeNode" => Kind::Bytes(size()?),
        "optionTypeNode" if flag(value, "fixed") => match lens(value.get("prefix"), Lens::One)? {
            Lens::Four => Kind::Option(Tag::Four, types.inner(value.get("item")?, depth)),
            _ => return None,
        },
        "optionTypeNode" => match lens(value.get("prefix"), Lens::One)? {
            Lens::One => Kind::Option(Tag::One, types.inner(value.get("item")?, depth)),
            _ => return None,
        },
        "zeroableOptionTypeNode" => Kind::Option(Tag::Zero, types.inner(value.get("item")?, depth)),
        "structTypeNode" => Kind::Struct(fields(types, list(value, "fields"), depth)),
        "tupleTypeNode" => Kind::Struct(items(types, list(value, "items"), depth)),
        "arrayTypeNode" => array(types, value, depth)?,
        "enumTypeNode" => {
            let variants = list(value, "variants").iter().map(|it| Variant {
                name: Name::Owned(text(it, "name").unwrap_or("?").to_owned()),
                fields: match (it.get("struct"), it.get("tuple")) {
                    (Some(inner), _) => fields(types, list(inner, "fields"), depth),
                    (_, Some(inner)) => items(types, list(inner, "items"), depth),
                    _ => Ref::Static(&[]),
                },
            });
            let variants: Vec<Variant> = variants.collect();
            Kind::Enum(lens(value.get("size"), Lens::One)?, Ref::Shared(variants.into()))
        }
        _ => return number_kind(value),
    })
}

fn array<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Option<Kind> {
    let (count, item) = (value.get("count")?, types.inner(value.get("item")?, depth));
    Some(match text(count, "kind")? {
        "fixedCountNode" => Kind::Array(usize::try_from(count.get("value")?.as_u64()?).ok()?, item),
        "prefixedCountNode" => Kind::List(Some(lens(count.get("prefix"), Lens::Four)?), item),
        _ => Kind::List(None, item),
    })
}

fn fields<'a>(types: &mut Types<'a>, values: &'a [Value], depth: usize) -> Ref<[Field]> {
    let fields = values.iter().map(|it| {
        let kind = it.get("type").map_or(Kind::Unknown, |it| (*types.inner(it, depth)).clone());
        field(text(it, "name").unwrap_or("?").to_owned(), kind)
    });
    let fields: Vec<Field> = fields.collect();
    Ref::Shared(fields.into())
}

fn items<'a>(types: &mut Types<'a>, values: &'a [Value], depth: usize) -> Ref<[Field]> {
    let items = values.iter().enumerate();
    let fields =
        items.map(|(index, it)| field(index.to_string(), (*types.inner(it, depth)).clone()));
    let fields: Vec<Field> = fields.collect();
    Ref::Shared(fields.into())
}
