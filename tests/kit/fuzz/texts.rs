//! Short texts: identifiers, times, cursors, hosts, origins, networks, handles, references. What
//! is read is written again as a text that means the same.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use parley::config::{HostPort, Network, PublicUrl, WebOrigin};
use parley::fuzzing;
use parley_protocol::arguments::idempotency_key;
use parley_protocol::artifact::Identifier;
use parley_protocol::claim::EvidenceKind;
use parley_protocol::ids::{ClaimId, EventId, ID_END, MessageId, ThreadId, TokenId};
use parley_protocol::text;
use parley_protocol::time::Millis;
use parley_protocol::url::percent_decode;

use super::Taps;

/// What is read comes back when it is written and read again.
fn there_and_back<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().unwrap_or_else(|_| panic!("{text:?} {written:?}"));
    assert_eq!(again, value, "{text:?} {written:?}");
}

fn identifiers(text: &str) {
    let readings = [
        ("th_", ThreadId::parse(text).map(|id| (id.0, id.to_string()))),
        ("msg_", MessageId::parse(text).map(|id| (id.0, id.to_string()))),
        ("cl_", ClaimId::parse(text).map(|id| (id.0, id.to_string()))),
        ("ev_", EventId::parse(text).map(|id| (id.0, id.to_string()))),
        ("tok_", TokenId::parse(text).map(|id| (id.0, id.to_string()))),
    ];
    for (prefix, read) in readings {
        let bare = text.strip_prefix(prefix).unwrap_or(text);
        let number = bare.parse::<u64>().ok().filter(|it| it.to_string() == bare);
        let want = number.filter(|number| (1..ID_END).contains(number));
        assert_eq!(read, want.map(|number| (number, format!("{prefix}{number}"))), "{text:?}");
    }
}

fn times(text: &str) {
    let Some(at) = Millis::parse(text) else { return };
    assert_eq!(Millis::parse(&at.to_string()), Some(at), "{text:?}");
    // The other reader takes nine digits of a second at most.
    let digits = text.split('.').nth(1).unwrap_or_default();
    if digits.bytes().take_while(u8::is_ascii_digit).count() <= 9 {
        let other: jiff::Timestamp = text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"));
        let millis = other.as_nanosecond().div_euclid(1_000_000);
        assert_eq!(i128::from(at.0), millis, "{text:?}");
    }
}

fn cursors(text: &str, bytes: &[u8]) {
    let (key, kind) = ([7; 16], "threads");
    if let Some(numbers) = fuzzing::read_cursor(key, text) {
        assert_eq!(fuzzing::write_cursor(key, numbers), text);
    }
    if let Some(numbers) = fuzzing::read_list_cursor(key, kind, text) {
        assert_eq!(fuzzing::write_list_cursor(key, kind, numbers), text);
    }
    let mut taps = Taps(bytes);
    let [one, two, three] = [taps.number(), taps.number(), taps.number()];
    let written = fuzzing::write_cursor(key, [one, two]);
    assert_eq!(fuzzing::read_cursor(key, &written), Some([one, two]));
    assert_eq!(fuzzing::read_list_cursor(key, kind, &written), None);
    assert_eq!(fuzzing::read_cursor([8; 16], &written), None);
    let written = fuzzing::write_list_cursor(key, kind, [one, two, three]);
    assert_eq!(fuzzing::read_list_cursor(key, kind, &written), Some([one, two, three]));
    assert_eq!(fuzzing::read_list_cursor(key, "claims", &written), None);
    // The numbers of the input under the right tag, spoilt by the rest of it.
    let spoilt = format!("{written}{text}");
    assert_eq!(fuzzing::read_list_cursor(key, kind, &spoilt).is_some(), text.is_empty());
}

/// The target.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    identifiers(text);
    times(text);
    cursors(text, bytes);
    there_and_back::<HostPort>(text);
    there_and_back::<WebOrigin>(text);
    there_and_back::<PublicUrl>(text);
    there_and_back::<Network>(text);
    if let Ok(id) = text.parse::<Identifier>() {
        assert_eq!(id.to_string(), text);
    }
    if text::is_handle(text) {
        assert!(text::is_visible(text) && !text::has_forbidden_control(text));
    }
    assert_eq!(idempotency_key(text).is_ok(), {
        let visible = text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        visible && (1..=128).contains(&text.len())
    });
    for kind in EvidenceKind::ALL {
        let hexadecimal = matches!(kind, EvidenceKind::Commit | EvidenceKind::Hash);
        if kind.admits(text) && hexadecimal {
            assert!(text.is_ascii() && text == text.to_ascii_lowercase(), "{text:?}");
        }
        if kind.admits(text) && kind == EvidenceKind::Url {
            let scheme = text.split("://").next().unwrap_or_default().to_ascii_lowercase();
            assert!(matches!(&*scheme, "http" | "https"), "{text:?}");
        }
    }
    for plus in [false, true] {
        let decoded = percent_decode(text, plus);
        let plain = !(text.contains('%') || plus && text.contains('+'));
        assert!(!plain || decoded.as_deref() == Some(text), "{text:?}");
    }
}
