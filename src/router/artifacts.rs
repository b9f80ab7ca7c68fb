//! The operations of artifacts.md §4.

use parley_protocol::command::Call;
use parley_protocol::refusal::{Reason, Refusal, Result};
use parley_protocol::who::Caller;

use super::Forum;
use super::answer::Answer;
use crate::journal::view::View;

impl Forum {
    pub(super) async fn publish(
        &self,
        _caller: &Caller,
        _bytes: Box<[u8]>,
        _key: Option<&str>,
    ) -> Result<Answer> {
        Err(Refusal::new(Reason::NotFound, "There is no store of artifacts here yet."))
    }

    pub(super) async fn read_artifacts(&self, _view: &View, _call: Call) -> Result<Answer> {
        Err(Refusal::new(Reason::NotFound, "There is no store of artifacts here yet."))
    }
}
