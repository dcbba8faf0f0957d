//! The notation of rows: macros that turn a declaration into a type with reader and writer, and into data.

/// Declares fields that follow each other, as a struct of their values.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty $(as $show:ident)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            /// The fields in their order.
            pub const FIELDS: &'static [$crate::kind::Field] = &[$(
                $crate::declare::field!($field: $type $(as $show)?),
            )*];
        }

        impl<'a> $crate::wire::Wire<'a> for $name {
            const KIND: $crate::kind::Kind =
                $crate::kind::Kind::Struct($crate::kind::Ref::Static(Self::FIELDS));

            #[inline]
            fn read(it: &mut $crate::wire::Reader<'a>) -> Result<Self, $crate::wire::Malformed> {
                Ok(Self { $($field: $crate::wire::Wire::read(it)?,)* })
            }

            #[inline]
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }
        }
    };
}

/// Declares fields at fixed places: a [`record!`], and where each of them is.
macro_rules! layout {
    (
        $(#[$meta:meta])*
        $name:ident, $at:ident, $constant:ident {
            $($(#[$field_meta:meta])* $field:ident: $type:ty $(as $show:ident)?,)*
        }
    ) => {
        $crate::declare::record! {
            $(#[$meta])*
            $name { $($(#[$field_meta])* $field: $type $(as $show)?,)* }
        }

        impl $name {
            /// Reads the fields at the start of `data`; `None` if they are too short, or have other values.
            #[must_use]
            pub fn at_start_of(data: &[u8]) -> Option<Self> {
                $crate::account::At::new(0).get(data)
            }

            /// Returns the bytes of the fields.
            #[must_use]
            pub fn bytes(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(<Self as $crate::wire::Fixed>::BYTES);
                $crate::wire::Wire::write(self, &mut out);
                out
            }
        }

        impl $crate::wire::Fixed for $name {
            const BYTES: usize = $constant.bytes;
        }

        #[doc = concat!("Where the fields of a [`", stringify!($name), "`] are.")]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the fields are documented where they are declared")]
        pub struct $at {
            $(pub $field: $crate::account::At<$type>,)*
            /// The size of all fields in bytes.
            pub bytes: usize,
        }

        #[doc = concat!("Where the fields of a [`", stringify!($name), "`] are.")]
        pub const $constant: $at = {
            let end = 0;
            $(
                let $field = $crate::account::At::<$type>::new(end);
                let end = $field.end();
            )*
            $at { $($field,)* bytes: end }
        };
    };
}

/// Declares an enumeration without fields, whose number is a `u8`, a `u16` or a `u32`.
macro_rules! names {
    (
        $(#[$meta:meta])*
        $name:ident: $number:ident { $($(#[$variant_meta:meta])* $variant:ident,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, reason = "the names are those of the protocol")]
        #[repr($number)]
        pub enum $name { $($(#[$variant_meta])* $variant,)* }

        impl $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];
            const VARIANTS: &'static [$crate::kind::Variant] =
                &[$($crate::kind::Variant::unit(stringify!($variant)),)*];
        }

        impl<'a> $crate::wire::Wire<'a> for $name {
            const KIND: $crate::kind::Kind = $crate::kind::Kind::Enum(
                $crate::declare::lens!($number),
                $crate::kind::Ref::Static(Self::VARIANTS),
            );

            fn read(it: &mut $crate::wire::Reader<'a>) -> Result<Self, $crate::wire::Malformed> {
                let number = <$number as $crate::wire::Wire>::read(it)?;
                let index = usize::try_from(number).map_err(|_| $crate::wire::Malformed)?;
                Self::ALL.get(index).copied().ok_or($crate::wire::Malformed)
            }

            fn write(&self, out: &mut Vec<u8>) {
                (*self as $number).write(out);
            }
        }

        impl $crate::wire::Fixed for $name {
            const BYTES: usize = size_of::<$number>();
        }
    };
}

macro_rules! lens {
    (u8) => {
        $crate::kind::Lens::One
    };
    (u16) => {
        $crate::kind::Lens::Two
    };
    (u32) => {
        $crate::kind::Lens::Four
    };
}

/// Declares the instructions of a program: an enumeration with reader and writer, and a row for each.
///
/// A row has the bytes that the data begin with, the name, the accounts, how many accounts there must be,
/// and the fields.
macro_rules! instructions {
    (
        $(#[$meta:meta])*
        for<$a:lifetime> $name:ident $(<$b:lifetime>)?, $number:tt {
            $(
                $(#[$row_meta:meta])*
                $tag:tt => $variant:ident $(= $shown:literal)? [$($role:expr),* $(,)?]
                $(at least $least:literal)?
                { $($field:ident: $type:ty $(as $show:ident)?),* $(,)? }
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs, reason = "the names are those of the protocol")]
        pub enum $name $(<$b>)? {
            $($(#[$row_meta])* $variant { $($field: $type),* },)*
        }

        impl<$a> $name $(<$b>)? {
            /// The rows, in the order of the variants.
            pub const ROWS: &'static [$crate::instruction::Instruction] = &[$(
                $crate::instruction::Instruction {
                    tag: $crate::kind::Ref::Static($crate::declare::tag!($number, $tag)),
                    name: $crate::declare::shown!($variant $(, $shown)?),
                    roles: $crate::kind::Ref::Static({
                        #[allow(unused_imports, reason = "not every program needs all of them")]
                        use $crate::role::*;
                        const ROLES: &[$crate::role::Role] = &[$($role),*];
                        ROLES
                    }),
                    accounts_min: { let least = 0; $(let least = { let _ = least; $least };)? least },
                    fields: $crate::kind::Ref::Static(
                        &[$($crate::declare::field!($field: $type $(as $show)?)),*],
                    ),
                },
            )*];

            /// Reads the data of an instruction. Bytes after the last field are ignored.
            ///
            /// # Errors
            /// If no instruction begins with the first bytes, or the others are too few or not its fields.
            #[inline]
            pub fn read(data: &$a [u8]) -> Result<Self, $crate::wire::Malformed> {
                let mut reader = $crate::wire::Reader::instruction(data);
                let it = &mut reader;
                Ok(match <$number as $crate::wire::Wire>::read(it)? {
                    $($tag => Self::$variant { $($field: $crate::wire::Wire::read(it)?),* },)*
                    _ => return Err($crate::wire::Malformed),
                })
            }

            /// Returns the data of the instruction.
            #[must_use]
            #[inline]
            pub fn data(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(size_of::<Self>());
                match self {
                    $(Self::$variant { $($field),* } => {
                        const TAG: $number = $tag;
                        $crate::wire::Wire::write(&TAG, &mut out);
                        $($crate::wire::Wire::write($field, &mut out);)*
                    })*
                }
                out
            }

            /// Returns the row of the instruction.
            #[must_use]
            pub fn row(&self) -> &'static $crate::instruction::Instruction {
                #[allow(clippy::enum_variant_names, reason = "the names are those of the protocol")]
                enum Index { $($variant),* }
                let index = match self { $(Self::$variant { .. } => Index::$variant,)* };
                &Self::ROWS[index as usize]
            }

            /// Returns the instruction for accounts in their order; those with an address of their own are
            /// left out.
            #[must_use]
            pub fn instruction(
                &self,
                program_id: &solana_pubkey::Pubkey,
                keys: &[solana_pubkey::Pubkey],
            ) -> solana_instruction::Instruction {
                let accounts = $crate::role::metas(&self.row().roles, keys);
                solana_instruction::Instruction { program_id: *program_id, accounts, data: self.data() }
            }
        }
    };
}

macro_rules! field {
    ($field:ident: $type:ty) => {
        $crate::declare::field!($field: $type as Plain)
    };
    ($field:ident: $type:ty as $show:ident) => {
        $crate::kind::Field {
            name: $crate::kind::Name::Borrowed(stringify!($field)),
            kind: <$type as $crate::wire::Wire>::KIND,
            show: $crate::kind::Show::$show,
        }
    };
}

macro_rules! tag {
    (u8, $tag:tt) => {
        &[$tag]
    };
    (u32, $tag:tt) => {{
        const TAG: [u8; 4] = ($tag as u32).to_le_bytes();
        &TAG
    }};
    ($array:tt, $tag:tt) => {
        &$tag
    };
}

macro_rules! shown {
    ($variant:ident) => {
        $crate::kind::Name::Borrowed(stringify!($variant))
    };
    ($variant:ident, $shown:literal) => {
        $crate::kind::Name::Borrowed($shown)
    };
}

pub(crate) use {field, instructions, layout, lens, names, record, shown, tag};
