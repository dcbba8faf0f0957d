//! How much memory the layout of an account takes.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use selkie_layout::{
    account::Layout,
    kind::{Field, Kind, Name, Ref, Variant},
};

/// Returns how many bytes of memory a layout takes, as far as it was read at run time. A part that occurs
/// repeatedly counts once.
pub(super) fn held_bytes(layout: &Layout) -> usize {
    let mut held = Held::default();
    held.is_new(&layout.tag);
    held.name(&layout.name);
    held.fields(&layout.fields);
    held.bytes
}

#[derive(Default)]
struct Held {
    /// The addresses of the parts that were counted.
    seen: BTreeSet<usize>,
    bytes: usize,
}

impl Held {
    /// Counts a part, without what it refers to, unless it was counted before.
    fn is_new<T: ?Sized>(&mut self, part: &Ref<T>) -> bool {
        let Ref::Shared(part) = part else { return false };
        let is_new = self.seen.insert(Arc::as_ptr(part).cast::<()>().addr());
        if is_new {
            self.bytes = self.bytes.saturating_add(size_of_val::<T>(part));
        }
        is_new
    }

    fn name(&mut self, name: &Name) {
        if let Cow::Owned(name) = name {
            self.bytes = self.bytes.saturating_add(name.capacity());
        }
    }

    fn fields(&mut self, fields: &Ref<[Field]>) {
        if self.is_new(fields) {
            for Field { name, kind, .. } in fields.iter() {
                self.name(name);
                self.kind(kind);
            }
        }
    }

    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Option(_, inner) | Kind::List(_, inner) | Kind::Array(_, inner)
                if self.is_new(inner) =>
            {
                self.kind(inner);
            }
            Kind::Struct(fields) => self.fields(fields),
            Kind::Enum(_, variants) if self.is_new(variants) => {
                for Variant { name, fields } in variants.iter() {
                    self.name(name);
                    self.fields(fields);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use selkie_layout::kind::Show;

    use super::*;

    #[test]
    fn what_was_read_at_run_time_is_counted_once() {
        let field = |name: &str, kind| {
            let name = Name::Owned(name.to_owned());
            Field { name, kind, show: Show::Plain }
        };
        let inner: Ref<[Field]> = Ref::Shared([field("xyz", Kind::Bool)].into());
        let fields = [field("a", Kind::Struct(inner.clone())), field("b", Kind::Struct(inner))];
        let tag = Ref::Shared([7; 8].into());
        let layout = Layout { tag, name: "Pot".into(), fields: Ref::Shared(fields.into()) };
        assert_eq!(held_bytes(&layout), 8 + 3 * size_of::<Field>() + 3 + 1 + 1);
        let declared = Layout { tag: Ref::Static(&[]), fields: Ref::Static(&[]), ..layout };
        assert_eq!(held_bytes(&declared), 0);
    }
}
