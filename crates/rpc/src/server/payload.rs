//! [`Payload`]: what a notification says, made once for all who get it.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::OnceCell;

use crate::{
    budget::{Budget, Hold, QUICK_BYTES_MAX, Text},
    error::RpcError,
};

/// What makes a long result: writes it to a text.
type Make = Box<dyn FnOnce(&mut Text) -> Result<(), RpcError> + Send>;

/// The result of a notification. A long one is encoded when the first client takes it, not when the change
/// is published: one without a client costs nothing, and a slow one delays no other.
pub(crate) struct Payload {
    result: OnceCell<Option<Text>>,
    make: Mutex<Option<Make>>,
    /// The length of the result, or about that.
    len: usize,
    empty: Text,
    _hold: Hold,
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("len", &self.len).finish_non_exhaustive()
    }
}

/// What payloads are made in: the memory of all, and the limit of one.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) budget: Arc<Budget>,
    pub(crate) bytes_max: usize,
}

/// What a payload takes beside its text, in bytes.
const OVERHEAD_BYTES: usize = 256;

impl Payload {
    /// Makes a short result at once. `None` if there is no space for it.
    pub(crate) fn new(space: &Space, result: &impl Serialize) -> Option<Arc<Self>> {
        Self::write(space, |text| text.json(result))
    }

    /// Writes a short result at once. `None` if there is no space for it.
    pub(crate) fn write(
        space: &Space,
        write: impl FnOnce(&mut Text) -> Result<(), RpcError>,
    ) -> Option<Arc<Self>> {
        let mut text = Text::new(&space.budget, space.bytes_max);
        write(&mut text).ok()?;
        let hold = space.budget.hold(OVERHEAD_BYTES)?;
        let (len, empty) = (text.len(), text.another());
        let result = OnceCell::new_with(Some(Some(text)));
        Some(Arc::new(Self { result, make: Mutex::default(), len, empty, _hold: hold }))
    }

    /// Prepares a result of about `len` bytes, of which `kept` bytes are kept until then. `None` if there
    /// is no space for them.
    pub(crate) fn later(
        space: &Space,
        len: usize,
        kept: usize,
        make: impl FnOnce(&mut Text) -> Result<(), RpcError> + Send + 'static,
    ) -> Option<Arc<Self>> {
        let hold = space.budget.hold(kept.saturating_add(OVERHEAD_BYTES))?;
        let empty = Text::new(&space.budget, space.bytes_max);
        let make: Make = Box::new(make);
        let make = Mutex::new(Some(make));
        Some(Arc::new(Self { result: OnceCell::new(), make, len, empty, _hold: hold }))
    }

    /// Returns the length of the result, or about that.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the result, which is made now if it was not before; `None` if there is no space for it.
    pub(crate) async fn result(self: &Arc<Self>) -> Option<&str> {
        let result = self.result.get_or_init(async || {
            let payload = Arc::clone(self);
            match self.len > QUICK_BYTES_MAX {
                true => tokio::task::spawn_blocking(move || payload.make()).await.unwrap_or(None),
                false => payload.make(),
            }
        });
        result.await.as_ref().map(Text::as_str)
    }

    fn make(&self) -> Option<Text> {
        let make = self.make.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut text = self.empty.another();
        make(&mut text).is_ok().then_some(text)
    }
}
