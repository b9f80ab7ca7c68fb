//! What is played over both ways: who does what, and how it ends.

use parley_kit::artifact::{artifact, claim};
use serde_json::{Value, json};

/// Limits small enough to be reached.
pub const SETTINGS: &[(&str, &str)] = &[
    ("limits.consecutive_max", "3"),
    ("limits.exchange_max", "4"),
    ("limits.thread_depth_max", "3"),
    ("limits.claims_per_thread_max", "5"),
    ("limits.request_bytes_max", "4000"),
    ("limits.writes_per_minute", "1"),
    ("limits.writes_burst", "40"),
];

/// One act.
#[derive(Debug)]
pub struct Step {
    /// Who, by handle.
    pub who: &'static str,
    /// The operation.
    pub operation: &'static str,
    /// Its arguments, the key beside them.
    pub arguments: Value,
    /// The reason of the refusal, or `ok`.
    pub outcome: &'static str,
}

/// A message in a thread.
fn say(kind: &str, thread: u64, body: &str) -> Value {
    json!({ "kind": kind, "thread": thread, "body": body })
}

/// A message about another one.
fn reply(kind: &str, thread: u64, parent: u64, body: &str) -> Value {
    json!({ "kind": kind, "thread": thread, "parent": parent, "body": body })
}

/// The script. Identifiers rise from 1 in the order of what succeeds.
pub fn script() -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |who, operation, arguments, outcome| {
        steps.push(Step { who, operation, arguments, outcome });
    };
    core(&mut add);
    states(&mut add);
    limits(&mut add);
    dialectic(&mut add);
    artifacts(&mut add);
    rights(&mut add);
    // A question that waits for anyone, so that an inbox has an item.
    add("ada", "post_message", json!({ "kind": "ask", "body": "Who knows?" }), "ok");
    add("bob", "read_inbox", json!({}), "ok");
    steps
}

type Add<'a> = &'a mut dyn FnMut(&'static str, &'static str, Value, &'static str);

fn core(add: Add<'_>) {
    add("nobody", "get_manifest", json!({}), "ok");
    add("ada", "get_manifest", json!({ "lang": "de" }), "ok");
    add("ada", "get_manifest", json!({ "lang": "xx" }), "invalid_parameter");
    add("wrong", "get_manifest", json!({}), "token_unknown");
    add("nobody", "list_threads", json!({}), "token_missing");
    add("wrong", "list_threads", json!({}), "token_unknown");
    let post = "post_message";
    // th_1: msg_1 ask, msg_2 answer, msg_3 inform.
    add("ada", post, json!({ "kind": "ask", "body": "One?", "parley": "1" }), "ok");
    add("bob", post, json!({ "kind": "answer", "thread": "th_1", "body": "Yes." }), "ok");
    let mut aside = say("inform", 1, "By the way.");
    aside["from"] = json!({ "extension": "w" });
    aside["provenance"] = json!({ "model": "m" });
    add("bob", post, aside, "ok");
    for arguments in [
        json!({ "kind": "ask" }),
        json!({ "kind": "ask", "body": "" }),
        json!({ "kind": "ask", "body": " \u{200b}" }),
        json!({ "kind": "ask", "body": 7 }),
        json!({ "kind": "ask", "body": "a\u{1}" }),
        json!({ "kind": "ask", "body": "x".repeat(501) }),
        json!({ "kind": "nonsense", "body": "x" }),
        json!({ "kind": "ask", "body": "x", "nonsense": null }),
        json!({ "kind": "ask", "body": "x", "from": { "nonsense": 1 } }),
        json!({ "kind": "ask", "body": "x", "thread": "x" }),
        json!({ "kind": "inform", "body": "x" }),
        say("answer", 1, "Nothing is awaited."),
        json!({ "kind": "ask", "body": "x", "parley": "2" }),
    ] {
        add("ada", post, arguments, "invalid_body");
    }
    refused(add);
    reading(add);
}

fn refused(add: Add<'_>) {
    let post = "post_message";
    add("ada", post, json!({ "kind": "ask", "body": "x".repeat(5_000) }), "request_too_large");
    add("ada", post, say("inform", 99, "x"), "thread_not_found");
    add("ada", post, reply("answer", 1, 99, "x"), "message_not_found");
    add("ada", post, reply("answer", 1, 1, "x"), "self_reply");
    add("bob", post, say("decide", 1, "x"), "thread_authority_missing");
    for (body, key, outcome) in [
        ("Once.", "k", "ok"),
        ("Once.", "k", "ok"),
        ("x", "k", "idempotency_conflict"),
        ("x", "", "invalid_parameter"),
    ] {
        let mut arguments = say("inform", 1, body);
        arguments["idempotency_key"] = key.into();
        add("ada", post, arguments, outcome);
    }
    // msg_5 takes msg_2 back.
    add("bob", post, reply("retract", 1, 2, "No."), "ok");
    add("ada", post, reply("agree", 1, 2, "x"), "message_retracted");
}

fn reading(add: Add<'_>) {
    for arguments in [
        json!({}),
        json!({ "state": "answered", "creator": "local:ada", "awaiting": false, "locked": false }),
        json!({ "limit": 1, "order": "-updated" }),
        json!({ "state": null }),
    ] {
        add("reader", "list_threads", arguments, "ok");
    }
    for arguments in [
        json!({ "state": "nonsense" }),
        json!({ "creator": "nonsense" }),
        json!({ "awaiting": "perhaps" }),
        json!({ "limit": 0 }),
        json!({ "limit": 201 }),
        json!({ "nonsense": 1 }),
    ] {
        add("reader", "list_threads", arguments, "invalid_parameter");
    }
    add("reader", "list_threads", json!({ "cursor": "nonsense" }), "invalid_cursor");
    add("reader", "read_thread", json!({ "thread": "th_1" }), "ok");
    add("reader", "read_thread", json!({ "thread": "1", "format": "flat", "limit": 2 }), "ok");
    add("reader", "read_thread", json!({ "thread": 1, "limit": 2 }), "invalid_parameter");
    let since = json!({ "thread": 1, "format": "flat", "since": "1.1.1" });
    add("reader", "read_thread", since, "invalid_cursor");
    for thread in [json!(99), json!("x"), json!("th_01"), json!("9007199254740992")] {
        add("reader", "read_thread", json!({ "thread": thread }), "thread_not_found");
    }
    add("reader", "read_events", json!({ "thread": 1 }), "ok");
    add("reader", "read_events", json!({ "thread": 1, "cursor": "x" }), "invalid_cursor");
    add("reader", "read_events", json!({ "thread": 99 }), "thread_not_found");
    add("ada", "read_inbox", json!({}), "ok");
    add("bob", "read_inbox", json!({ "extension": "w", "anyone": false, "limit": 1 }), "ok");
    add("bob", "read_inbox", json!({ "since": "x" }), "invalid_cursor");
    add("bob", "read_inbox", json!({ "wait_seconds": 26 }), "invalid_parameter");
    add("bob", "read_inbox", json!({ "extension": "a b" }), "invalid_parameter");
}

fn states(add: Add<'_>) {
    let mark = |state: &str| json!({ "thread": 1, "state": state });
    add("bob", "mark_thread", mark("decided"), "thread_authority_missing");
    add("ada", "mark_thread", json!({ "thread": 1, "state": "decided", "reason": "So." }), "ok");
    add("ada", "mark_thread", mark("decided"), "ok");
    add("ada", "mark_thread", mark("answered"), "invalid_transition");
    add("ada", "mark_thread", mark("nonsense"), "invalid_body");
    add("ada", "mark_thread", json!({ "thread": 1 }), "invalid_body");
    add("ada", "mark_thread", json!({ "thread": 99, "state": "open" }), "thread_not_found");
    add("ada", "confirm_thread", mark("decided"), "token_right_missing");
    add("mod", "confirm_thread", mark("closed"), "state_moved");
    add("mod", "confirm_thread", mark("decided"), "ok");
    add("ada", "reopen_thread", json!({ "thread": 1 }), "invalid_transition");
    add("mod", "mark_thread", mark("closed"), "ok");
    add("ada", "post_message", say("inform", 1, "x"), "thread_closed");
    add("ada", "assert_claim", json!({ "thread": 1, "statement": "x" }), "thread_closed");
    add("bob", "reopen_thread", json!({ "thread": 1 }), "thread_authority_missing");
    add("ada", "reopen_thread", json!({ "thread": 1, "reason": "New." }), "ok");
    add("ada", "reopen_thread", json!({ "thread": 1, "reason": " " }), "invalid_body");
}

fn limits(add: Add<'_>) {
    let post = "post_message";
    // th_2: three in a row, no fourth.
    add("ada", post, json!({ "kind": "ask", "body": "Two?" }), "ok");
    for _ in 0..2 {
        add("ada", post, say("inform", 2, "More."), "ok");
    }
    add("ada", post, say("inform", 2, "x"), "consecutive_limit");
    // th_3: two models that go on and on; msg_9 opens.
    add("ada", post, json!({ "kind": "ask", "body": "Three?" }), "ok");
    add("bob", post, reply("clarify", 3, 9, "How?"), "ok");
    add("ada", post, reply("clarify", 3, 10, "What?"), "ok");
    add("cyd", post, reply("agree", 3, 11, "x"), "depth_limit");
    add("bob", post, say("ask", 3, "Again?"), "ok");
    add("ada", post, say("ask", 3, "x"), "loop_limit");
    add("hasty", "list_threads", json!({}), "ok");
    for _ in 0..40 {
        add("hasty", "mark_thread", json!({ "thread": 99, "state": "open" }), "thread_not_found");
    }
    add("hasty", "mark_thread", json!({ "thread": 99, "state": "open" }), "rate_limited");
}

fn dialectic(add: Add<'_>) {
    let url = json!([{ "kind": "url", "ref": "https://example.org/", "note": "see" }]);
    let commit = json!([{ "kind": "commit", "ref": "x" }]);
    for (statement, member, value, outcome) in [
        ("First.", "evidence", url.clone(), "ok"),
        ("Second.", "supersedes", json!(["cl_1"]), "ok"),
        ("x", "supersedes", json!([1]), "claim_settled"),
        ("x", "supersedes", json!([9]), "claim_not_found"),
        ("x", "supersedes", json!([2, 2]), "invalid_body"),
        ("x", "valid_until", json!("yesterday"), "invalid_body"),
        ("x", "evidence", commit, "invalid_body"),
    ] {
        let arguments = json!({ "thread": 2, "statement": statement, member: value });
        add("ada", "assert_claim", arguments, outcome);
    }
    proofs(add, &url);
}

fn proofs(add: Add<'_>, url: &Value) {
    let note = json!([{ "kind": "note", "ref": "x" }]);
    let (assert, attest, refute) = ("assert_claim", "attest_claim", "refute_claim");
    add("ada", attest, json!({ "claim": 2, "evidence": url }), "self_attest");
    add("bob", attest, json!({ "claim": 2 }), "proof_missing");
    add("bob", attest, json!({ "claim": 2, "evidence": note }), "proof_missing");
    let seal = json!({ "claim": 2, "evidence": url, "seal": true });
    add("vera", attest, seal.clone(), "claim_not_supported");
    add("bob", attest, seal.clone(), "token_right_missing");
    add("bob", attest, json!({ "claim": "cl_2", "evidence": url }), "ok");
    add("bob", attest, json!({ "claim": 2, "evidence": url }), "already_attested");
    add("vera", attest, seal, "ok");
    add("bob", attest, json!({ "claim": 99, "evidence": url }), "claim_not_found");
    add("bob", attest, json!({ "claim": "x", "evidence": url }), "claim_not_found");
    add("bob", refute, json!({ "claim": 2, "evidence": [] }), "proof_missing");
    add("bob", refute, json!({ "claim": 2, "evidence": url, "from": { "extension": "w" } }), "ok");
    add("cyd", refute, json!({ "claim": 2, "evidence": url }), "claim_settled");
    for statement in ["Third.", "Fourth.", "Fifth."] {
        add("ada", assert, json!({ "thread": 2, "statement": statement }), "ok");
    }
    add("ada", assert, json!({ "thread": 2, "statement": "x" }), "thread_full");
    add("reader", "read_claim", json!({ "claim": 2 }), "ok");
    add("reader", "read_claim", json!({ "claim": "cl_99" }), "claim_not_found");
    add("reader", "list_claims", json!({ "thread": 2, "status": "refuted" }), "ok");
    add("reader", "list_claims", json!({ "thread": 2, "limit": 2 }), "ok");
    add("reader", "list_claims", json!({ "thread": 2, "status": "x" }), "invalid_parameter");
    add("reader", "list_claims", json!({ "thread": 99 }), "thread_not_found");
}

fn artifacts(add: Add<'_>) {
    let first = claim("So it is.");
    let id = first["artifact_id"].clone();
    let missing = format!("sha256:{}", "1".repeat(64));
    let payload = json!({ "outcome": "Nothing.", "status": "final",
        "objection_dispositions": [], "unresolved_issues": [] });
    let decision = artifact("DECISION", &payload, &[(&missing, "decides")]);
    let publish = "publish_artifact";
    add("ada", publish, json!({ "artifact": first }), "ok");
    add("bob", publish, json!({ "artifact": first }), "ok");
    add("ada", publish, json!({ "artifact": decision }), "closure_refused");
    for wrong in [json!({ "artifact_id": 1.5 }), json!({}), json!([]), json!({ "a": null })] {
        add("ada", publish, json!({ "artifact": wrong }), "artifact_invalid");
    }
    let long = claim(&"x".repeat(4_000));
    add("ada", publish, json!({ "artifact": long }), "request_too_large");
    let none = format!("sha256:{}", "2".repeat(64));
    add("reader", "read_artifact", json!({ "artifact_id": id }), "ok");
    add("reader", "read_artifact", json!({ "artifact_id": none }), "artifact_not_found");
    add("reader", "read_artifact", json!({ "artifact_id": "x" }), "artifact_not_found");
    add("reader", "verify_closure", json!({ "artifact_id": id }), "ok");
    add("reader", "verify_closure", json!({ "artifact_id": id, "strict": false }), "ok");
    add("reader", "verify_closure", json!({ "artifact_id": none }), "artifact_not_found");
    add("reader", "list_artifacts", json!({}), "ok");
    add("reader", "list_artifacts", json!({ "type": "CLAIM", "limit": 1 }), "ok");
    add("reader", "list_artifacts", json!({ "type": "x" }), "invalid_parameter");
    add("reader", "list_artifacts", json!({ "references": "x" }), "invalid_parameter");
    add("reader", "list_artifacts", json!({ "cursor": "x" }), "invalid_cursor");
    add("reader", "export_thread", json!({ "thread": 2, "limit": 3 }), "ok");
    add("reader", "export_thread", json!({ "thread": 99 }), "thread_not_found");
}

fn rights(add: Add<'_>) {
    add("reader", "post_message", json!({ "nonsense": 1 }), "token_right_missing");
    add("writer", "read_inbox", json!({ "nonsense": 1 }), "token_right_missing");
    add("writer", "confirm_thread", json!({ "thread": 1, "state": "open" }), "token_right_missing");
    add("reader", "publish_artifact", json!({ "artifact": {} }), "token_right_missing");
}
