//! Descriptions that Anchor writes.

use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::{
    DEPTH_MAX, Idl, IdlError, Place, Seed, Types, discriminator, errors, field, flag, instructions,
    key, list, row, text,
};
use selkie_layout::{
    account::Layout,
    instruction::Instruction,
    kind::{Field, Kind, Lens, Name, Ref, Tag, Variant},
    role::{Role, Take},
};

pub(super) fn program(idl: &Value) -> Result<Idl, IdlError> {
    let mut types = Types {
        read: kind,
        described: Default::default(),
        kinds: Default::default(),
        open: Default::default(),
    };
    // Older descriptions list the types of accounts apart.
    for value in list(idl, "types").iter().chain(list(idl, "accounts")) {
        if let (Some(name), Some(it)) = (text(value, "name"), value.get("type")) {
            types.described.insert(name, it);
        }
    }
    let instructions = instructions(list(idl, "instructions"), |it| entry(it, &mut types))?;
    let accounts = list(idl, "accounts").iter().filter_map(|it| account(it, &mut types)).collect();
    Ok(Idl {
        address: key(idl, "address").or_else(|| key(idl.get("metadata")?, "address")),
        instructions,
        accounts,
        errors: errors(list(idl, "errors"), "msg"),
    })
}

fn entry<'a>(
    value: &'a Value,
    types: &mut Types<'a>,
) -> Result<(Instruction, Vec<Place>), IdlError> {
    let name = text(value, "name").ok_or_else(|| IdlError("it has no `name`".to_owned()))?;
    let mut accounts = Vec::new();
    flatten(list(value, "accounts"), &mut accounts, 0);
    let args = list(value, "args").iter().filter_map(|arg| {
        let kind = arg.get("type").map_or(Kind::Unknown, |it| kind(types, it, 0));
        Some(field(text(arg, "name")?.to_owned(), kind))
    });
    let args: Vec<Field> = args.collect();
    let tag = value.get("discriminator").and_then(bytes_of);
    let tag = tag.unwrap_or_else(|| discriminator(&format!("global:{}", snake_case(name))));
    row(name, tag, accounts, args)
}

fn account<'a>(value: &'a Value, types: &mut Types<'a>) -> Option<Layout> {
    let name = text(value, "name")?;
    let tag = value.get("discriminator").and_then(bytes_of);
    let tag = tag.unwrap_or_else(|| discriminator(&format!("account:{name}")));
    let Kind::Struct(fields) = types.named(name, 0) else { return None };
    Some(Layout { tag: Ref::Shared(tag.into()), name: Name::Owned(name.to_owned()), fields })
}

/// Lists the accounts of an instruction. Some are grouped.
fn flatten(values: &[Value], accounts: &mut Vec<(Role, Place)>, depth: usize) {
    for value in values {
        match value.get("accounts").and_then(Value::as_array) {
            Some(group) if depth < DEPTH_MAX => flatten(group, accounts, depth.saturating_add(1)),
            _ => accounts.extend(role(value)),
        }
    }
}

fn role(value: &Value) -> Option<(Role, Place)> {
    let either = |names: [&str; 2]| names.iter().any(|it| flag(value, it));
    let pda = value.get("pda").and_then(|pda| {
        let seeds = pda.get("seeds")?.as_array()?.iter().map(seed).collect::<Option<_>>()?;
        let program = pda.get("program").and_then(|it| bytes_of(it.get("value")?));
        Some((seeds, program.and_then(|it| Pubkey::try_from(it).ok())))
    });
    let name = text(value, "name")?;
    let role = Role {
        name: Name::Owned(name.to_owned()),
        is_signer: either(["signer", "isSigner"]),
        is_writable: either(["writable", "isMut"]),
        address: key(value, "address").or_else(|| well_known(name)),
        take: Take::One,
    };
    Some((role, Place { is_optional: either(["optional", "isOptional"]), pda }))
}

/// Returns the address of an account that older descriptions only name.
fn well_known(name: &str) -> Option<Pubkey> {
    Some(match snake_case(name).as_str() {
        "system_program" => selkie_layout::system::ID,
        "token_program" => selkie_layout::token::ID,
        "associated_token_program" => selkie_layout::associated_token::ID,
        "rent" => solana_sdk_ids::sysvar::rent::ID,
        "clock" => solana_sdk_ids::sysvar::clock::ID,
        _ => return None,
    })
}

fn seed(value: &Value) -> Option<Seed> {
    // Fields of accounts and arguments cannot be followed.
    let path = || text(value, "path").filter(|path| !path.contains('.')).map(str::to_owned);
    match text(value, "kind")? {
        "const" => Some(Seed::Bytes(bytes_of(value.get("value")?)?)),
        "account" => Some(Seed::Account(path()?)),
        "arg" => Some(Seed::Argument(path()?)),
        _ => None,
    }
}

/// Returns a list of bytes, or a text as bytes.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let byte = |it: &Value| it.as_u64().and_then(|it| u8::try_from(it).ok());
    value.as_array()?.iter().map(byte).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Reads a type, or the definition of one.
fn kind<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Kind {
    if let Some(name) = value.as_str() {
        return plain(name);
    }
    if let Some(element) = value.get("vec") {
        return Kind::List(Some(Lens::Four), types.inner(element, depth));
    }
    if let Some(inner) = value.get("option") {
        return Kind::Option(Tag::One, types.inner(inner, depth));
    }
    if let Some(inner) = value.get("coption") {
        return Kind::Option(Tag::Four, types.inner(inner, depth));
    }
    if let Some([element, count]) = value.get("array").and_then(Value::as_array).map(Vec::as_slice)
    {
        let count = count.as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
        if element == "u8" {
            return Kind::Bytes(count);
        }
        return Kind::Array(count, types.inner(element, depth));
    }
    if let Some(defined) = value.get("defined") {
        let name = defined.as_str().or_else(|| text(defined, "name"));
        return name.map_or(Kind::Unknown, |name| types.named(name, depth));
    }
    definition(types, value, depth)
}

fn definition<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Kind {
    match text(value, "kind") {
        Some("enum") => {
            let variants = list(value, "variants").iter().map(|variant| Variant {
                name: Name::Owned(text(variant, "name").unwrap_or("?").to_owned()),
                fields: fields(types, variant, depth),
            });
            let variants: Vec<Variant> = variants.collect();
            Kind::Enum(Lens::One, Ref::Shared(variants.into()))
        }
        Some("type" | "alias") => {
            let aliased = value.get("alias").or_else(|| value.get("value"));
            aliased.map_or(Kind::Unknown, |it| kind(types, it, depth.saturating_add(1)))
        }
        _ if value.get("fields").is_some() || text(value, "kind") == Some("struct") => {
            Kind::Struct(fields(types, value, depth))
        }
        _ => Kind::Unknown,
    }
}

/// Reads the fields of a struct or variant, which have names or only types.
fn fields<'a>(types: &mut Types<'a>, value: &'a Value, depth: usize) -> Ref<[Field]> {
    let fields = list(value, "fields").iter().enumerate().map(|(index, it)| {
        let name = text(it, "name").map_or_else(|| index.to_string(), str::to_owned);
        let inner = it.get("type").filter(|_| text(it, "name").is_some()).unwrap_or(it);
        field(name, (*types.inner(inner, depth)).clone())
    });
    let fields: Vec<Field> = fields.collect();
    Ref::Shared(fields.into())
}

fn plain(name: &str) -> Kind {
    match name {
        "bool" => Kind::Bool,
        "f32" => Kind::F32,
        "f64" => Kind::F64,
        "u256" | "i256" => Kind::Bytes(32),
        "pubkey" | "publicKey" => Kind::Key,
        "string" => Kind::Text(Lens::Four),
        "bytes" => Kind::Blob(Lens::Four),
        _ => crate::number(name).unwrap_or(Kind::Unknown),
    }
}
