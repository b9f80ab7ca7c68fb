//! `parley artifact …` (artifacts.md §4): exact forms, from files, folders and standard input.

use parley_kit::Folder;
use parley_kit::process::{run, run_with};

/// A claim, and its identifier as SHA-256 of its canonical bytes gives it.
const CLAIM: &str = r#"{ "payload": {"statement": "It holds."}, "references": [],
  "protocol_version": "0.1", "artifact_type": "CLAIM" }"#;
const CLAIM_CANONICAL: &str = "{\"artifact_type\":\"CLAIM\",\"payload\":{\"statement\":\
                               \"It holds.\"},\"protocol_version\":\"0.1\",\"references\":[]}";

fn id_of(artifact: &str) -> String {
    let line = run_with(&["artifact", "id", "-"], artifact.as_bytes()).json();
    assert_eq!(line["ok"], true);
    line["artifact_id"].as_str().expect("an identifier").to_owned()
}

/// The artifact with the identifier that it must have.
fn named(artifact: &str) -> (String, String) {
    let id = id_of(artifact);
    let named = artifact.replacen('{', &format!("{{\"artifact_id\":\"{id}\","), 1);
    (id, named.replace('\n', " "))
}

fn decision(disposes: &str, references: &str) -> String {
    format!(
        r#"{{"protocol_version":"0.1","artifact_type":"DECISION","payload":{{"outcome":"Yes.",
        "status":"final","objection_dispositions":[{disposes}],"unresolved_issues":[]}},
        "references":[{references}]}}"#
    )
}

/// Goal: `id` and `canonical` print exactly what the page says. Method: compared byte by byte,
/// from a file and from standard input.
#[test]
fn id_and_canonical() {
    let folder = Folder::new("id-and-canonical");
    let file = folder.file("claim.json", CLAIM);
    let canonical = format!("{CLAIM_CANONICAL}\n");
    assert_eq!(run(&["artifact", "canonical", &file]).succeeded(), canonical);
    let id = id_of(CLAIM);
    assert_eq!(id_of(CLAIM_CANONICAL), id);
    let line = format!("{{\"ok\":true,\"artifact_id\":\"{id}\"}}\n");
    assert_eq!(run(&["artifact", "id", &file]).succeeded(), line);
    // A given identifier is kept in the canonical bytes and does not change the identifier.
    let (_, named) = named(CLAIM);
    let kept = run_with(&["artifact", "canonical", "-"], named.as_bytes());
    assert!(kept.succeeded().starts_with(&format!("{{\"artifact_id\":\"{id}\",")), "{kept:?}");
    assert_eq!(id_of(&named), id);
}

/// Goal: what is refused is named on standard output, said on standard error, and exit code 1.
/// Method: a row a class.
#[test]
fn refusals() {
    for (text, class, pointer) in [
        ("", "malformed_input", ""),
        ("{} {}", "malformed_input", ""),
        ("\u{feff}{}", "malformed_input", ""),
        ("{\"a\":1.0}", "unsupported_value", "/a"),
        ("[]", "unsupported_value", ""),
        ("{\"\u{e9}\":1,\"e\u{301}\":2}", "normalization_collision", "/\u{e9}"),
    ] {
        for command in ["id", "canonical"] {
            let ended = run_with(&["artifact", command, "-"], text.as_bytes());
            let line: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
            assert!(ended.failed(1).starts_with(class), "{text:?}: {ended:?}");
            let said = (line["ok"].as_bool(), line["class"].as_str(), line["pointer"].as_str());
            assert_eq!(said, (Some(false), Some(class), Some(pointer)), "{text:?}");
            assert!(line["detail"].is_string(), "{text:?}");
        }
    }
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    let ended = run_with(&["artifact", "id", "-"], long.as_bytes());
    assert!(ended.failed(1).starts_with("limit_exceeded"), "{ended:?}");
}

/// Goal: `verify` compares identifiers only, `validate` examines too, and both print one form.
/// Method: a right one, one without identifier, one that says nothing.
#[test]
fn verify_and_validate() {
    let (id, right) = named(CLAIM);
    let (_, empty) = named(&CLAIM.replace("It holds.", " "));
    let unnamed = Some("invalid_artifact_identifier_syntax");
    for (text, verify, validate) in [
        (right.as_str(), None, None),
        (CLAIM, unnamed, unnamed),
        (empty.as_str(), None, Some("semantic_violation")),
    ] {
        for (command, want) in [("verify", verify), ("validate", validate)] {
            let ended = run_with(&["artifact", command, "-"], text.as_bytes());
            assert_eq!(ended.code, i32::from(want.is_some()), "{command}: {ended:?}");
            let line: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
            let said = (line["ok"].as_bool(), line["class"].as_str());
            assert_eq!(said, (Some(want.is_none()), want), "{command}: {line}");
            assert_eq!(line["violations"].as_array().map(Vec::is_empty), Some(want.is_none()));
            assert!(line["warnings"].is_array(), "{line}");
        }
    }
    let ended = run_with(&["artifact", "verify", "-"], right.as_bytes());
    let form = format!(
        "{{\"ok\":true,\"artifact_id\":\"{id}\",\"class\":null,\"pointer\":null,\
         \"detail\":null,\"violations\":[],\"warnings\":[]}}\n"
    );
    assert_eq!(ended.succeeded(), form);
}

/// Goal: a closure is verified from files, a folder, lines and standard input alike, strictly only
/// when asked. Method: a decision that passes over an objection which nothing refers to.
#[test]
fn closures() {
    let (claim, claim_text) = named(CLAIM);
    let (_, objection) = named(&format!(
        r#"{{"protocol_version":"0.1","artifact_type":"OBJECTION","payload":{{"statement":"No.",
        "blocking":true}},"references":[{{"artifact_id":"{claim}","relation":"objects-to"}}]}}"#
    ));
    let reference = format!(r#"{{"artifact_id":"{claim}","relation":"decides"}}"#);
    let (target, decision) = named(&decision("", &reference));
    let folder = Folder::new("closures");
    let claim_file = folder.file("claim.json", &claim_text);
    let decision_file = folder.file("decision.json", &decision);
    folder.file("more.jsonl", format!("{objection}\n"));
    folder.file("notes.txt", "not an artifact");
    let all = format!("{claim_text}\n{objection}\n\n{decision}\n");
    let path = folder.text("");

    let literal = ["artifact", "closure", "--target", &target];
    let strict = ["artifact", "closure", "--target", &target, "--strict"];
    let files = run(&[&literal[..], &[&claim_file, &decision_file]].concat());
    assert!(files.succeeded().starts_with("{\"ok\":true,"), "{files:?}");
    let missing = run(&[&literal[..], &[&decision_file]].concat());
    assert!(missing.failed(1).starts_with("reference_unavailable"), "{missing:?}");
    let hidden = run(&[&strict[..], &[&path]].concat());
    assert!(hidden.failed(1).starts_with("hidden_objection"), "{hidden:?}");
    let piped = run_with(&[&strict[..], &["-"]].concat(), all.as_bytes());
    assert_eq!(piped.out, hidden.out, "the same store gives the same report");
    let one = run_with(&[&literal[..], &[&claim_file, "-"]].concat(), decision.as_bytes());
    assert_eq!(one.out, files.out, "standard input may hold one artifact");
}

/// Goal: a file that cannot be part of a store is refused by name. Method: a broken line, a
/// missing file.
#[test]
fn broken_stores() {
    let folder = Folder::new("broken-stores");
    let file = folder.file("a.jsonl", "\n{\n");
    let target = format!("sha256:{}", "0".repeat(64));
    let ended = run(&["artifact", "closure", "--target", &target, &file]);
    assert!(ended.failed(1).contains("a.jsonl:2: "), "{ended:?}");
    let ended = run(&["artifact", "closure", "--target", &target, &folder.text(""), "nowhere"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let ended = run(&["artifact", "id", "nowhere"]);
    assert!(ended.failed(1).starts_with("cannot read nowhere"), "{ended:?}");
}
