//! Frames as they came, each object of which must be whole.

use parley_kit::{ExpectedFrame, Frame};
use parley_protocol::wire::frame::FrameType;
use serde_json::Value;

/// What a frame tells, its objects being whole.
pub fn read(frame: &Frame) -> ExpectedFrame {
    let json = &frame.json;
    let kinds = FrameType::ALL.into_iter();
    let kind = kinds.into_iter().find(|kind| kind.as_str() == frame.kind()).unwrap();
    let members = match kind {
        FrameType::Message | FrameType::Awaiting => &[("message", MESSAGE), ("thread", THREAD)][..],
        FrameType::Event => &[("event", EVENT), ("thread", THREAD)],
        FrameType::Claim => &[("claim", CLAIM)],
        FrameType::Settled => &[],
        other => panic!("{other:?} tells of nothing: {json}"),
    };
    for (member, names) in members {
        whole(&json[member], names);
    }
    if kind == FrameType::Message {
        assert_eq!(json["message"]["thread"], json["thread"]["id"]);
    }
    ExpectedFrame::read(kind, frame.position, json)
}

const MESSAGE: &str = "author_kind awaiting body created_at from id kind label parent provenance \
                       retracted thread";
const THREAD: &str = "author_kind awaiting claim_count created_at creator cursor id locked \
                      message_count number state state_confirmed_at state_label state_origin \
                      subject turn updated_at";
const EVENT: &str = "at by confirmed from id label message origin reason thread to";
const CLAIM: &str = "attestations author author_kind created_at evidence expired id refutation \
                     statement status superseded_by supersedes thread valid_until";

fn whole(object: &Value, members: &str) {
    let object = object.as_object().unwrap_or_else(|| panic!("no object: {object}"));
    let mut names: Vec<_> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names.join(" "), members);
}
