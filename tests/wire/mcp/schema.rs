//! The protocol's JSON Schemas, and a checker of those keywords that they use; one that it does not
//! know fails, so that it is never more lenient than they are.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;

/// A revision of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    March2025,
    June2025,
    November2025,
    July2026,
}

impl Revision {
    pub const ALL: [Self; 4] =
        [Self::March2025, Self::June2025, Self::November2025, Self::July2026];

    /// Its date.
    pub fn as_str(self) -> &'static str {
        ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"][self as usize]
    }
}

/// The schemas of all revisions, if they are there.
pub struct Schemas(Vec<Value>);

impl Schemas {
    #[expect(clippy::print_stderr, reason = "what is skipped is said")]
    fn get() -> Option<&'static Self> {
        static SCHEMAS: OnceLock<Option<Schemas>> = OnceLock::new();
        let load = || {
            let Some(folder) = std::env::var_os("PARLEY_VECTORS") else {
                eprintln!("SKIPPED: set PARLEY_VECTORS to check messages against the schemas");
                return None;
            };
            let read = |revision: Revision| {
                let folder = PathBuf::from(&folder).join("mcp-schemas");
                let path = folder.join(format!("{}.json", revision.as_str()));
                let text = std::fs::read(&path).unwrap_or_else(|error| {
                    panic!("{}: {error}", path.display());
                });
                serde_json::from_slice(&text).expect("a schema")
            };
            Some(Self(Revision::ALL.map(read).into()))
        };
        SCHEMAS.get_or_init(load).as_ref()
    }

    /// Holds a message to the definition `name`.
    pub fn check(revision: Revision, name: &str, message: &Value) {
        let Some(schemas) = Self::get() else { return };
        let root = &schemas.0[revision as usize];
        let definitions = root.get("$defs").or_else(|| root.get("definitions"));
        let schema = definitions.and_then(|all| all.get(name));
        let schema = schema.unwrap_or_else(|| panic!("{revision:?} has no {name}"));
        let faults = faults(root, schema, message, "");
        assert!(faults.is_empty(), "{revision:?} {name}: {faults:?}\n{message}");
    }

    /// Holds a response with a result to the definition of what `method` results in.
    pub fn check_result(revision: Revision, method: &str, message: &Value) {
        let name = match method {
            "initialize" => "InitializeResult",
            "server/discover" => "DiscoverResult",
            "ping" | "logging/setLevel" => "EmptyResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "resources/list" => "ListResourcesResult",
            "resources/templates/list" => "ListResourceTemplatesResult",
            "resources/read" => "ReadResourceResult",
            "prompts/list" => "ListPromptsResult",
            "prompts/get" => "GetPromptResult",
            "subscriptions/listen" => "SubscriptionsListenResult",
            other => panic!("{other} has no result"),
        };
        Self::check(revision, name, &message["result"]);
        let response = match revision {
            Revision::March2025 | Revision::June2025 => "JSONRPCResponse",
            Revision::November2025 | Revision::July2026 => "JSONRPCResultResponse",
        };
        Self::check(revision, response, message);
    }

    /// Holds a response with an error to what an error of its code must be.
    pub fn check_error(revision: Revision, message: &Value) {
        let name = match (revision, message["error"]["code"].as_i64()) {
            (Revision::July2026, Some(-32_020)) => "HeaderMismatchError",
            (Revision::July2026, Some(-32_022)) => "UnsupportedProtocolVersionError",
            (Revision::July2026 | Revision::November2025, _) => "JSONRPCErrorResponse",
            // These two have no error without an id.
            _ if message.get("id").is_none() => return,
            _ => "JSONRPCError",
        };
        Self::check(revision, name, message);
    }
}

/// What is wrong with `value`, each with its place.
pub fn faults(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(schema) = schema.as_object() else {
        // `true` allows everything.
        return found;
    };
    for (keyword, rule) in schema {
        let good = match keyword.as_str() {
            "$ref" => {
                let target = rule.as_str().and_then(|text| text.strip_prefix('#'));
                let target = target.and_then(|pointer| root.pointer(pointer)).expect("a target");
                found.extend(faults(root, target, value, place));
                true
            }
            "type" => match rule {
                Value::String(kind) => is(kind, value),
                kinds => texts(kinds).any(|kind| is(kind, value)),
            },
            "const" => rule == value,
            "enum" => list(rule).any(|one| one == value),
            "anyOf" => list(rule).any(|one| faults(root, one, value, place).is_empty()),
            "allOf" => {
                found.extend(list(rule).flat_map(|one| faults(root, one, value, place)));
                true
            }
            "required" => texts(rule).all(|name| !value.is_object() || value.get(name).is_some()),
            "properties" => {
                for (name, rule) in rule.as_object().into_iter().flatten() {
                    if let Some(member) = value.get(name) {
                        found.extend(faults(root, rule, member, &format!("{place}/{name}")));
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties");
                for (name, member) in value.as_object().into_iter().flatten() {
                    if known.and_then(|known| known.get(name)).is_some() {
                        continue;
                    }
                    if *rule == false {
                        found.push(format!("{place}/{name}: unknown"));
                    }
                    found.extend(faults(root, rule, member, &format!("{place}/{name}")));
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(faults(root, rule, item, &format!("{place}/{index}")));
                }
                true
            }
            "minimum" => value.as_f64() >= rule.as_f64() || !value.is_number(),
            "maximum" => value.as_f64() <= rule.as_f64() || !value.is_number(),
            "minItems" => count(value) >= rule.as_u64() || !value.is_array(),
            "maxItems" => count(value) <= rule.as_u64() || !value.is_array(),
            "minLength" => length(value) >= rule.as_u64() || !value.is_string(),
            "maxLength" => length(value) <= rule.as_u64() || !value.is_string(),
            "format" => !value.is_string() || value.as_str().is_some_and(|text| text.contains(':')),
            "description" | "title" | "default" | "examples" | "$schema" => true,
            other => panic!("the checker does not know {other}"),
        };
        if !good {
            found.push(format!("{place}: {keyword} {rule}"));
        }
    }
    found
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn count(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// Goal: the checker finds what breaks a rule. Method: a schema of each keyword and values on both
/// sides of it.
#[test]
fn checker() {
    use serde_json::json;
    let root = json!({ "$defs": { "A": { "type": "integer", "minimum": 1, "maximum": 2 } } });
    for (schema, good, bad) in [
        (json!({ "$ref": "#/$defs/A" }), json!(2), json!(3)),
        (json!({ "type": ["string", "null"] }), json!(null), json!(1)),
        (json!({ "const": "x" }), json!("x"), json!("y")),
        (json!({ "enum": [1, 2] }), json!(2), json!(3)),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), json!("x"), json!(1)),
        (json!({ "allOf": [{ "type": "string" }, { "minLength": 2 }] }), json!("xy"), json!("x")),
        (json!({ "required": ["a"] }), json!({ "a": 1 }), json!({})),
        (json!({ "properties": { "a": { "type": "null" } } }), json!({}), json!({ "a": 1 })),
        (json!({ "additionalProperties": false }), json!({}), json!({ "a": 1 })),
        (json!({ "items": { "type": "null" } }), json!([null]), json!([1])),
        (json!({ "minItems": 1, "maxItems": 1 }), json!([1]), json!([])),
        (json!({ "maxLength": 1 }), json!("\u{e4}"), json!("ab")),
        (json!({ "format": "uri" }), json!("a:b"), json!("ab")),
    ] {
        assert!(faults(&root, &schema, &good, "").is_empty(), "{schema} {good}");
        assert!(!faults(&root, &schema, &bad, "").is_empty(), "{schema} {bad}");
    }
}
