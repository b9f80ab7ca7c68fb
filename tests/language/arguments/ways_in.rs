//! HTTP and MCP read the same call the same way.

use std::collections::BTreeMap;

use parley_protocol::arguments::{read_http, read_mcp};
use parley_protocol::command::Call;
use parley_protocol::limits::Limits;
use parley_protocol::operation::{FieldPlace, FieldSpec, FieldType, Operation};
use parley_protocol::refusal::Refusal;
use parley_protocol::time::Millis;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const NOW: Millis = Millis(1_796_068_800_000);

/// Values as they stand in a URL, apart by commas: good ones of every shape, and bad ones.
const IN_URL: &str = "1,th_1,th_01,cl_7,0,9007199254740991,9007199254740992,200,201,25,26,\
                      true,false,True,open,closed,decide,local:ada,local,created,-updated,\
                      tree,flat,de,speaking,all,verified,CLAIM,worker-2,a b,é,a&b=c%,\
                      17.1.0123456789abcdef,\
                      sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// Values as they stand in a body, apart by white space, without those taken over MCP only.
const IN_BODY: &str = r#"
    null true false 0 1 1.0 -1 "/" "1" "th_1" "msg_2" "x" "\u0000" "\ud800" "ask"
    "retract" "inform" "closed" [] [1] ["cl_1",2] [1,1] {} {"extension":"e"}
    {"extension":"/"} {"identity":[]} {"model":"m"} {"x":1}
    [{"kind":"log","ref":"r"}] [{"kind":"note","ref":"r"}]
    [{"kind":"url","ref":"r"}] "2100-01-01T00:00:00Z" "2000-01-01T00:00:00Z"
    {"a":1,"a":1} [[[[]]]]
"#;

/// The values that a field of this place is given.
fn values(place: FieldPlace) -> Vec<&'static str> {
    match place {
        FieldPlace::Body => IN_BODY.split_whitespace().collect(),
        FieldPlace::Path(_) | FieldPlace::Query => IN_URL.split(',').collect(),
    }
}

/// The text of a query's value as an argument would be: a number or a truth value where the field
/// is one, else a string.
fn as_argument(field: &FieldSpec, text: &str) -> String {
    let typed = match field.field_type {
        FieldType::Bool => text == "true" || text == "false",
        FieldType::Integer { .. } => text == "0" || text.parse::<u64>().is_ok_and(|n| n > 0),
        _ => false,
    };
    if typed { text.to_owned() } else { serde_json::to_string(text).expect("a string") }
}

fn encoded(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    let bytes = text.bytes();
    let encode = |byte: u8| match byte {
        byte if unreserved(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.map(encode).collect()
}

/// Reads the same fields both ways.
fn both(
    operation: Operation,
    given: &BTreeMap<&'static str, String>,
) -> (Result<Call, Refusal>, Result<Call, Refusal>) {
    let (mut path, mut query, mut body, mut arguments) = (None, vec![], vec![], vec![]);
    for field in operation.spec().fields {
        let Some(value) = given.get(field.name) else { continue };
        let argument = match field.place {
            FieldPlace::Body => value.clone(),
            _ => as_argument(field, value),
        };
        arguments.push(format!("\"{}\":{argument}", field.name));
        match field.place {
            FieldPlace::Path(_) => path = Some((field.name, value.as_str())),
            FieldPlace::Query => query.push(format!("{}={}", field.name, encoded(value))),
            FieldPlace::Body => body.push(format!("\"{}\":{value}", field.name)),
        }
    }
    // What is left out has other defaults over MCP.
    let flat = given.get("format").is_some_and(|format| format == "flat");
    let page = operation.page_over_mcp().filter(|_| operation != Operation::ReadThread || flat);
    if let Some(page) = page.filter(|_| !given.contains_key("limit")) {
        query.push(format!("limit={page}"));
    }
    if operation == Operation::GetManifest && !given.contains_key("part") {
        query.push("part=speaking".to_owned());
    }
    let limits = Limits::default();
    let body = format!("{{{}}}", body.join(","));
    let query = query.join("&");
    let http = read_http(operation, path.as_slice(), &query, Some(body.as_bytes()), &limits, NOW);
    let arguments = format!("{{{}}}", arguments.join(","));
    let mcp = read_mcp(operation, arguments.as_bytes(), &limits, NOW).map(|(call, _)| call);
    (http, mcp)
}

fn operation() -> impl Strategy<Value = Operation> {
    // An artifact is its own body over HTTP and one argument over MCP: a unit test compares those.
    let operations = Operation::ALL.into_iter().filter(|one| *one != Operation::PublishArtifact);
    select(operations.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

    /// Goal: for any input both ways in give the same call or the same refusal. Method: for a
    /// random operation each field is left out or given a value from the tables above.
    #[test]
    fn agree(
        operation in operation(),
        choices in proptest::collection::vec((any::<bool>(), any::<Index>()), 10),
    ) {
        let mut given = BTreeMap::new();
        for (field, (there, index)) in operation.spec().fields.iter().zip(choices) {
            let values = values(field.place);
            if there || field.is_in_path() {
                given.insert(field.name, (*index.get(&values)).to_owned());
            }
        }
        let (http, mcp) = both(operation, &given);
        // Which of several faults is named may differ; that there is one must not.
        match (&http, &mcp) {
            (Ok(_), Ok(_)) => prop_assert_eq!(http, mcp),
            (Err(one), Err(other)) => {
                prop_assert_eq!(one.reason.status(), other.reason.status());
                if given.len() == 1 {
                    prop_assert_eq!(one, other);
                }
            }
            _ => prop_assert!(false, "{:?} {:?} {:?}", given, http, mcp),
        }
    }
}

/// Goal: the property above meets calls that are good, for every operation. Method: each field
/// gets the first value of the tables that is good for it.
#[test]
fn every_operation_can_succeed() {
    for operation in Operation::ALL.into_iter().filter(|one| *one != Operation::PublishArtifact) {
        let mut given = BTreeMap::new();
        for field in operation.spec().fields.iter().filter(|field| field.required) {
            let values = values(field.place);
            let good = values.iter().find(|value| {
                let mut one = given.clone();
                one.insert(field.name, (**value).to_owned());
                let refusal = both(operation, &one).0.err();
                refusal.is_none_or(|refusal| {
                    let at = refusal.field.as_deref().unwrap_or_default();
                    !at.starts_with(field.name) && refusal.reason.status() != 404
                })
            });
            given.insert(field.name, good.expect(field.name).to_string());
        }
        let (http, mcp) = both(operation, &given);
        assert!(http.is_ok(), "{} {given:?} {http:?}", operation.as_str());
        assert_eq!(http, mcp);
    }
}
