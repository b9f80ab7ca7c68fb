//! Publishing, listing, reading and verifying.

use parley_kit::artifact::artifact;
use parley_kit::{Answer, BlockingServer, artifact};
use serde_json::{Value, json};

use super::{agent, export, start};

/// The identifier of an artifact, and its bytes.
fn bytes_of(artifact: &Value) -> (String, Vec<u8>) {
    let id = artifact["artifact_id"].as_str().expect("an identifier").to_owned();
    (id, artifact.to_string().into_bytes())
}

fn claim(text: &str) -> (String, Vec<u8>) {
    bytes_of(&artifact::claim(text))
}

fn objection(text: &str, to: &str) -> (String, Vec<u8>) {
    let payload = json!({"statement": text, "blocking": true});
    bytes_of(&artifact("OBJECTION", &payload, &[(to, "objects-to")]))
}

fn decision(open: &[&str], on: &str) -> (String, Vec<u8>) {
    let payload = json!({
        "outcome": "Yes.",
        "status": "final",
        "objection_dispositions": [],
        "unresolved_issues": open,
    });
    bytes_of(&artifact("DECISION", &payload, &[(on, "decides")]))
}

fn publish(server: &BlockingServer, bytes: &[u8]) -> Answer {
    agent(server, "POST /v1/artifacts", "", bytes)
}

fn get(server: &BlockingServer, path: &str) -> Answer {
    agent(server, &format!("GET {path}"), "", b"")
}

/// Publishes what must be new, with everything there that it refers to.
fn new(server: &BlockingServer, (id, bytes): (String, Vec<u8>)) -> String {
    let answer = publish(server, &bytes);
    let want = json!({"artifact_id": id, "unresolved": []});
    assert_eq!((answer.status, answer.json()), (201, want), "{answer:?}");
    id
}

/// Goal: an export can be published as it is: the final decision and the termination pass, the
/// lists select, and what is read are the bytes. Method: every line of a thread, twice.
#[test]
fn an_export_published() {
    let server = start();
    export::thread(&server);
    let lines = export::lines(&server);
    let lines: Vec<&str> = lines.lines().collect();
    for status in [201, 200] {
        for line in &lines {
            let answer = publish(&server, line.as_bytes());
            assert_eq!((answer.status, &answer.json()["unresolved"]), (status, &json!([])));
        }
    }
    let values: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids = |value: &Value| value["artifact_id"].as_str().expect("an identifier").to_owned();
    for (line, value) in lines.iter().zip(&values) {
        let id = ids(value);
        assert_eq!(get(&server, &format!("/v1/artifacts/{id}")).text(), *line);
    }
    let (first, last) = (ids(&values[0]), ids(&values[values.len() - 1]));
    let refers = |value: &&Value| {
        let mut all = value["references"].as_array().expect("an array").iter();
        all.any(|one| one["artifact_id"] == first.as_str())
    };
    let objects = |value: &&Value| value["artifact_type"] == "OBJECTION";
    for (query, want) in [
        ("thread=1".to_owned(), values.iter().collect::<Vec<_>>()),
        ("thread=2".to_owned(), Vec::new()),
        ("type=OBJECTION".to_owned(), values.iter().filter(objects).collect()),
        (format!("references={first}"), values.iter().filter(refers).collect()),
        (
            format!("references={first}&type=OBJECTION&thread=th_1"),
            values.iter().filter(refers).filter(objects).collect(),
        ),
    ] {
        let page = get(&server, &format!("/v1/artifacts?limit=200&{query}")).json();
        let items: Vec<&Value> = page["items"].as_array().expect("items").iter().collect();
        assert_eq!(items, want, "{query}");
    }
    let report = get(&server, &format!("/v1/artifacts/{last}/closure")).json();
    assert_eq!((&report["ok"], &report["strict"]), (&json!(true), &json!(true)), "{report}");
    assert_eq!(report["artifact_count"], lines.len());
    assert_eq!(report["depth"], lines.len() - 1);
}

/// Goal: a final decision that hides an objection is refused with the report and a stored FAILURE,
/// the same for the same; one that names it is accepted; what objects later is listed. Method: the
/// same decision before and after, under a key and without.
#[test]
fn closure_refused() {
    let server = start();
    let about = new(&server, claim("It is so."));
    let objection_id = new(&server, objection("It is not.", &about));
    let (hiding, bytes) = decision(&[], &about);
    let key = "idempotency-key: k1\r\n";
    let first = agent(&server, "POST /v1/artifacts", key, &bytes);
    let problem = first.refusal(409, "closure_refused");
    let report = &problem["report"];
    assert_eq!((&report["ok"], &report["strict"]), (&json!(false), &json!(true)), "{problem}");
    assert_eq!(report["targets"], json!([hiding]));
    let failure = &report["failures"][0];
    assert_eq!(
        (&failure["class"], &failure["artifact_id"]),
        (&json!("hidden_objection"), &json!(objection_id))
    );
    let stored = problem["failure_artifact"].as_str().expect("an identifier");
    let stored = get(&server, &format!("/v1/artifacts/{stored}"));
    let failure = stored.json();
    let payload = json!({"code": "closure_refused", "description": "hidden_objection",
        "retryable": false, "subject": hiding});
    assert_eq!((&failure["artifact_type"], &failure["payload"]), (&json!("FAILURE"), &payload));
    let considered = json!([{"artifact_id": objection_id, "relation": "considers"}]);
    assert_eq!(failure["references"], considered);
    // The same refusal gives the same artifact; under the key the first outcome comes again.
    let again = publish(&server, &bytes).refusal(409, "closure_refused");
    assert_eq!(again, problem);
    let replayed = agent(&server, "POST /v1/artifacts", key, &bytes);
    assert!(replayed.header("idempotent-replayed") == Some("true"), "{replayed:?}");
    assert_eq!(replayed.refusal(409, "closure_refused"), problem);
    assert_eq!(get(&server, "/v1/artifacts?type=FAILURE").json()["items"], json!([failure]));
    get(&server, &format!("/v1/artifacts/{hiding}")).refusal(404, "artifact_not_found");
    let honest = new(&server, decision(&[&objection_id], &about));
    let later = new(&server, objection("Still not.", &about));
    let report = get(&server, &format!("/v1/artifacts/{honest}/closure")).json();
    assert_eq!((&report["ok"], &report["failures"]), (&json!(true), &json!([])), "{report}");
    assert_eq!(report["later_objections"][0]["artifact_id"], later);
    let literal = get(&server, &format!("/v1/artifacts/{honest}/closure?strict=false")).json();
    assert_eq!((&literal["strict"], &literal["later_objections"]), (&json!(false), &json!([])));
}

/// Goal: a refusal with many failures shows, and remembers under its key, the first hundred and
/// their number; the FAILURE still names all. Method: a decision that hides 150 objections.
#[test]
fn closure_refused_briefly() {
    let server = start();
    let about = new(&server, claim("It is so."));
    let mut hidden: Vec<String> =
        (0..150).map(|n| new(&server, objection(&format!("It is not: {n}."), &about))).collect();
    hidden.sort_unstable();
    let (_, bytes) = decision(&[], &about);
    let key = "idempotency-key: k1\r\n";
    let first = agent(&server, "POST /v1/artifacts", key, &bytes);
    let problem = first.refusal(409, "closure_refused");
    let report = &problem["report"];
    let named = report["failures"].as_array().expect("a list").iter();
    let named: Vec<_> = named.map(|failure| failure["artifact_id"].clone()).collect();
    assert_eq!(named, hidden[..100]);
    assert_eq!(report["failure_count"], 150);
    assert_eq!(report["objections"].as_array().map(Vec::len), Some(100));
    let replayed = agent(&server, "POST /v1/artifacts", key, &bytes);
    assert!(replayed.header("idempotent-replayed") == Some("true"), "{replayed:?}");
    assert_eq!(replayed.refusal(409, "closure_refused"), problem);
    let stored = problem["failure_artifact"].as_str().expect("an identifier");
    let stored = get(&server, &format!("/v1/artifacts/{stored}")).json();
    assert_eq!(stored["references"].as_array().map(Vec::len), Some(150));
}

/// Goal: requests that are refused over and over for what they hide let the folder grow by what
/// is bounded. Method: 80 decisions of 3.8 KB that hide 400 objections, each under a key of its
/// own; the files are measured before and after.
#[test]
fn closure_refused_weighs_little() {
    const REFUSED: usize = 80;
    /// An eighth of what whole reports took: half a megabyte for each, with its FAILURE, the rows
    /// of that, and the room that tables have to spare.
    const GROWN_MAX: u64 = 40 << 20;
    let server = start();
    let about = new(&server, claim("It is so."));
    for n in 0..400 {
        new(&server, objection(&format!("It is not: {n}."), &about));
    }
    let before = server.disk.bytes().expect("a disk");
    for n in 0..REFUSED {
        let payload = json!({
            "outcome": format!("{n} {}", "x".repeat(3_500)),
            "status": "final",
            "objection_dispositions": [],
            "unresolved_issues": [],
        });
        let (_, bytes) = bytes_of(&artifact("DECISION", &payload, &[(&about, "decides")]));
        let key = format!("idempotency-key: refused-{n}\r\n");
        agent(&server, "POST /v1/artifacts", &key, &bytes).refusal(409, "closure_refused");
    }
    let grown = server.disk.bytes().expect("a disk") - before;
    println!("{grown} bytes of {REFUSED} refusals");
    assert!(grown < GROWN_MAX, "{grown} bytes");
}

/// Goal: what is referred to may come later, and says so until then. Method: an objection before
/// its claim, a final decision on it, which is refused as retryable.
#[test]
fn unresolved() {
    let server = start();
    let (about, bytes) = claim("Later.");
    let (objection_id, objecting) = objection("Sooner.", &about);
    let answer = publish(&server, &objecting);
    let want = json!({"artifact_id": objection_id, "unresolved": [about]});
    assert_eq!((answer.status, answer.json()), (201, want));
    let report = get(&server, &format!("/v1/artifacts/{objection_id}/closure")).json();
    assert_eq!(report["failures"][0]["class"], "reference_unavailable");
    assert_eq!(report["failures"][0]["artifact_id"], about);
    let (_, deciding) = decision(&[&objection_id], &about);
    let problem = publish(&server, &deciding).refusal(409, "closure_refused");
    let failure = problem["failure_artifact"].as_str().expect("an identifier");
    let failure = get(&server, &format!("/v1/artifacts/{failure}")).json();
    assert_eq!(failure["payload"]["retryable"], true);
    assert_eq!(failure["references"], json!([]), "nothing named is there");
    assert_eq!(publish(&server, &bytes).status, 201);
    assert_eq!(publish(&server, &deciding).status, 201);
    let again = publish(&server, &objecting);
    assert_eq!((again.status, &again.json()["unresolved"]), (200, &json!([])));
}

/// Goal: a key gives the first outcome again, and refuses other content. Method: one key, two
/// artifacts, over a restart.
#[test]
fn idempotency() {
    let mut server = start();
    let key = "idempotency-key: only once\r\n";
    let key_good = "idempotency-key: once\r\n";
    let (_, one) = claim("One.");
    let (_, other) = claim("Other.");
    let post = |server: &BlockingServer, headers: &str, body: &[u8]| {
        agent(server, "POST /v1/artifacts", headers, body)
    };
    post(&server, key, &one).refusal(400, "invalid_parameter");
    let first = post(&server, key_good, &one);
    assert!(first.status == 201 && first.header("idempotent-replayed").is_none());
    server.restart();
    let again = post(&server, key_good, &one);
    assert!(again.header("idempotent-replayed") == Some("true"), "{again:?}");
    assert_eq!((again.status, &again.body), (201, &first.body));
    post(&server, key_good, &other).refusal(409, "idempotency_conflict");
    assert_eq!(post(&server, "", &one).status, 200);
}

/// Goal: what is no artifact is refused with class and pointer, whatever its type. Method: a row a
/// body.
#[test]
fn invalid() {
    let server = start();
    let (id, good) = claim("Good.");
    let text = String::from_utf8(good.clone()).expect("text");
    let wrong = text.replace("Good.", "Bad.");
    let (_, nothing) = claim(" ");
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for (body, class, pointer) in [
        ("", "malformed_input", ""),
        ("{", "malformed_input", ""),
        ("[]", "unsupported_value", ""),
        ("{\"a\":1.0}", "unsupported_value", "/a"),
        ("{\"e\u{301}\":1,\"\u{e9}\":1}", "normalization_collision", "/é"),
        ("{}", "semantic_violation", "/protocol_version"),
        ("{\"artifact_id\":1}", "invalid_artifact_identifier_syntax", "/artifact_id"),
        (&wrong, "artifact_identifier_mismatch", "/artifact_id"),
        (std::str::from_utf8(&nothing).expect("text"), "semantic_violation", "/payload/statement"),
        (&deep, "limit_exceeded", ""),
    ] {
        let problem = publish(&server, body.as_bytes()).refusal(400, "artifact_invalid");
        assert_eq!(problem["class"], class, "{body:.40}: {problem}");
        if class != "limit_exceeded" {
            assert_eq!(problem["pointer"], pointer, "{body:.40}: {problem}");
        }
    }
    publish(&server, &vec![b' '; 65_537]).refusal(413, "request_too_large");
    let post = |kind: &str| {
        agent(&server, "POST /v1/artifacts", &format!("content-type: {kind}\r\n"), &good)
    };
    post("text/plain").refusal(415, "unsupported_media_type");
    assert_eq!(post("application/octet-stream").status, 201);
    assert_eq!(post("application/json").status, 200);
    for path in ["sha256:x", &id.to_uppercase(), &id[..70], &id.replace(':', "%3B")] {
        for end in ["", "/closure"] {
            get(&server, &format!("/v1/artifacts/{path}{end}")).refusal(404, "artifact_not_found");
        }
    }
    get(&server, "/v1/artifacts?references=x").refusal(400, "invalid_parameter");
    get(&server, "/v1/artifacts?type=claim").refusal(400, "invalid_parameter");
}

/// Goal: an absent identifier is filled in, and a wrong one is answered with the right one. Method:
/// a claim without one, with one of another, and with its own.
#[test]
fn identifier_filled_in() {
    let server = start();
    let (id, bytes) = claim("a");
    let (other, _) = claim("b");
    let mut artifact: Value = serde_json::from_slice(&bytes).expect("JSON");
    artifact["artifact_id"] = other.into();
    let refused = publish(&server, artifact.to_string().as_bytes());
    refused.problem("artifact_invalid", "another identifier");
    assert_eq!(refused.json()["class"], "artifact_identifier_mismatch");
    assert!(refused.json()["detail"].as_str().expect("text").contains(&id), "{refused:?}");
    artifact.as_object_mut().expect("an object").remove("artifact_id");
    let answer = publish(&server, artifact.to_string().as_bytes());
    assert_eq!((answer.status, answer.json()["artifact_id"].as_str()), (201, Some(&*id)));
    assert_eq!(publish(&server, &bytes).status, 200);
    assert_eq!(get(&server, &format!("/v1/artifacts/{id}")).body, bytes);
}

/// Goal: a refused closure shows and remembers the first failures and the number of all. Method: a
/// decision that refers to 200 artifacts that are not there, twice under a key.
#[test]
fn bounded_report() {
    let server = start();
    let missing: Vec<String> = (0..200).map(|number| claim(&format!("{number}")).0).collect();
    let references: Vec<(&str, &str)> = missing.iter().map(|id| (&**id, "decides")).collect();
    let payload = json!({
        "outcome": "Yes.",
        "status": "final",
        "objection_dispositions": [],
        "unresolved_issues": [],
    });
    let (_, bytes) = bytes_of(&artifact("DECISION", &payload, &references));
    for replayed in [None, Some("true")] {
        let answer = agent(&server, "POST /v1/artifacts", "Idempotency-Key: k\r\n", &bytes);
        answer.problem("closure_refused", "nothing is there");
        assert_eq!(answer.header("idempotent-replayed"), replayed);
        let report = &answer.json()["report"];
        assert_eq!(report["failure_count"], 200);
        assert_eq!(report["failures"].as_array().map(Vec::len), Some(100));
        assert!(answer.body.len() < 32 << 10, "{} bytes", answer.body.len());
    }
}
