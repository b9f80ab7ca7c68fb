//! The faults of a call's arguments: all are named in one refusal (bindings.md §1).

use std::borrow::Cow;

use super::at_fault;
use crate::operation::FieldPlace;
use crate::refusal::Refusal;

/// Faults that one refusal names, at most; of the others it gives the number.
pub(super) const NAMED_MAX: usize = 20;

/// A member at fault.
struct ArgumentFault {
    place: FieldPlace,
    /// A JSON Pointer without the first slash.
    field: String,
    detail: Cow<'static, str>,
}

/// The members at fault so far, in the order in which they were read.
#[derive(Default)]
pub(super) struct ArgumentFaults {
    named: Vec<ArgumentFault>,
    others: usize,
}

impl ArgumentFaults {
    /// Adds a member at fault.
    pub(super) fn push(
        &mut self,
        place: FieldPlace,
        field: String,
        detail: impl Into<Cow<'static, str>>,
    ) {
        if self.named.len() < NAMED_MAX {
            self.named.push(ArgumentFault { place, field, detail: detail.into() });
        } else {
            self.others += 1;
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Refuses at the first of them; the detail names all.
    ///
    /// # Errors
    /// 400 `invalid_parameter` or `invalid_body`, by the place of the first; none without a fault.
    pub(super) fn refuse(self) -> Result<(), Refusal> {
        let count = self.named.len() + self.others;
        let mut named = self.named.into_iter();
        let Some(ArgumentFault { place, field, detail }) = named.next() else { return Ok(()) };
        if count == 1 {
            return Err(at_fault(place, Some(field), detail));
        }
        let mut all = format!("{count} members are wrong. `{field}`: {detail}");
        for fault in named {
            all = format!("{all} `{}`: {}", fault.field, fault.detail);
        }
        if self.others > 0 {
            all = format!("{all} And {} more.", self.others);
        }
        Err(at_fault(place, Some(field), all.into()))
    }
}
