//! Values as text.

use core::fmt::Write as _;

use super::{Field, Format, Items, Number, READ_BYTES_MAX, Shape, Value, View};
use crate::info::{Scalar, TypeRef};

/// How deep parts of values are shown.
const DEPTH_MAX: usize = 6;

/// The elements of a sequence that are shown in a text.
const ITEMS_SHOWN: u64 = 32;

/// The length of a text in bytes after which it is cut.
const TEXT_BYTES_MAX: usize = 800;

/// The parts of a value that are listed at a time.
const CHILDREN_MAX: u64 = 1000;

/// A text that is being written.
struct Writer<'a> {
    view: &'a View<'a>,
    format: Format,
    text: String,
}

impl View<'_> {
    /// Returns a value as text on one line, shortened if it is long.
    #[must_use]
    pub fn text(&self, value: &Value, format: Format) -> String {
        let mut writer = Writer { view: self, format, text: String::new() };
        writer.value(value, 0);
        writer.text
    }

    /// Returns how many parts a value has that can be listed.
    #[must_use]
    pub fn child_count(&self, value: &Value) -> u64 {
        match self.shape(value) {
            Ok(Shape::Items(items)) => items.count,
            Ok(Shape::Fields(_, fields)) => fields.len() as u64,
            Ok(Shape::Pointer(_)) => u64::from(self.pointee(value).is_some()),
            _ => 0,
        }
    }

    /// Returns parts of a value from the one at `start`: fields, elements, or what it points to.
    #[must_use]
    pub fn children(&self, value: &Value, start: u64, count: u64) -> Vec<Field> {
        let count = count.min(CHILDREN_MAX);
        match self.shape(value) {
            Ok(Shape::Items(items)) => {
                let end = start.saturating_add(count).min(items.count);
                let item =
                    |index| Field { name: format!("[{index}]"), value: self.item(&items, index) };
                (start..end).map(item).collect()
            }
            Ok(Shape::Fields(_, fields)) => {
                let skipped = usize::try_from(start).unwrap_or(usize::MAX);
                let fields = fields.into_iter().skip(skipped);
                let fields = fields.take(usize::try_from(count).unwrap_or(usize::MAX));
                fields.map(|it| Field { name: shown(&it.name), ..it }).collect()
            }
            Ok(Shape::Pointer(_)) if start == 0 => {
                let target = self.pointee(value);
                target.map(|value| Field { name: "*".to_owned(), value }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns what a pointer points to, if that is something that can be read.
    fn pointee(&self, value: &Value) -> Option<Value> {
        let target = self.target(value).ok()?;
        let size = self.info.type_of(&target.ty).size;
        let is_known = !matches!(target.ty, TypeRef::Unknown) && size > 0;
        (is_known && self.bytes(&target.contents, 1).is_ok()).then_some(target)
    }
}

/// Returns the name of a field as it is written in an expression.
fn shown(name: &str) -> String {
    name.strip_prefix("__").unwrap_or(name).to_owned()
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        if depth > DEPTH_MAX || self.text.len() > TEXT_BYTES_MAX {
            self.text.push('…');
            return;
        }
        match self.view.shape(value) {
            Err(missing) => drop(write!(self.text, "<{missing}>")),
            Ok(Shape::Number(number, size)) => self.number(value, number, size),
            Ok(Shape::Named(name)) => self.text.push_str(&name),
            Ok(Shape::Text(bytes, len)) => self.string(&bytes, len),
            Ok(Shape::Pointer(address)) => self.pointer(value, address, depth),
            Ok(Shape::Items(items)) => self.items(&items, depth),
            Ok(Shape::Fields(name, fields)) => self.fields(&name, &fields, depth),
        }
    }

    fn number(&mut self, value: &Value, number: Number, size: u64) {
        self.text.push_str(&number.text(self.format, size));
        let is_char = self.format == Format::Natural
            && size == 1
            && self.view.info.type_of(&value.ty).name == "char";
        // C's characters are numbers as well.
        if is_char && let Ok(byte) = u8::try_from(number.integer()) {
            let _ = write!(self.text, " {:?}", char::from(byte));
        }
    }

    fn string(&mut self, bytes: &[u8], len: u64) {
        let _ = write!(self.text, "{:?}", String::from_utf8_lossy(bytes));
        if len > bytes.len() as u64 {
            let _ = write!(self.text, "… ({len} bytes)");
        }
    }

    /// Writes an address, and what is there.
    fn pointer(&mut self, value: &Value, address: u64, depth: usize) {
        let _ = write!(self.text, "{address:#x}");
        if let Some(target) = self.view.pointee(value).filter(|_| depth < 2) {
            self.text.push_str(" → ");
            self.value(&target, depth + 1);
        }
    }

    fn items(&mut self, items: &Items, depth: usize) {
        let size = self.view.info.type_of(&items.element).size.min(READ_BYTES_MAX);
        if let (1.., Err(missing)) = (items.count, self.view.bytes(&items.contents, size)) {
            let _ = write!(self.text, "<{missing}>");
            return;
        }
        self.text.push('[');
        for index in 0..items.count.min(ITEMS_SHOWN) {
            if index > 0 {
                self.text.push_str(", ");
            }
            if self.text.len() > TEXT_BYTES_MAX {
                break;
            }
            self.value(&self.view.item(items, index), depth + 1);
        }
        let more = if items.count > ITEMS_SHOWN { ", …]" } else { "]" };
        self.text.push_str(more);
        if items.count > ITEMS_SHOWN {
            let _ = write!(self.text, " ({} items)", items.count);
        }
        self.note(items);
    }

    /// Adds what eight bytes are as a number: accounts keep their numbers so.
    fn note(&mut self, items: &Items) {
        if items.count == 8
            && items.element_is_byte(self.view)
            && let Ok(bytes) = self.view.bytes(&items.contents, 8)
        {
            let _ = write!(
                self.text,
                " = {} u64",
                Number::from_bytes(Scalar::Unsigned, &bytes).text(self.format, 8)
            );
        }
    }

    fn fields(&mut self, name: &str, fields: &[Field], depth: usize) {
        let is_tuple = fields.iter().all(|it| it.name.starts_with("__"));
        // The name of a tuple is its type.
        self.text.push_str(if name.starts_with('(') { "" } else { name });
        if fields.is_empty() {
            self.text.push_str(if name.starts_with('(') { "()" } else { "" });
            return;
        }
        self.text.push_str(if is_tuple { "(" } else { " { " });
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if self.text.len() > TEXT_BYTES_MAX {
                self.text.push('…');
                break;
            }
            if !is_tuple {
                let _ = write!(self.text, "{}: ", shown(&field.name));
            }
            self.value(&field.value, depth + 1);
        }
        self.text.push_str(if is_tuple { ")" } else { " }" });
    }
}

impl Items {
    fn element_is_byte(&self, view: &View<'_>) -> bool {
        let ty = view.info.type_of(&self.element);
        ty.size == 1 && ty.kind == crate::info::Kind::Scalar(Scalar::Unsigned)
    }
}
