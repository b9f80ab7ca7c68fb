//! The documents under `docs/generated` that come from the table of operations: checked in, so that
//! a change of what clients see shows in review. `UPDATE=1 cargo test` writes them anew.

use std::path::Path;

use parley_protocol::command::{Language, ManifestPart};
use parley_protocol::limits::Limits;
use parley_protocol::manifest::{ManifestFacts, manifest};
use parley_protocol::operation::{Operation, Profiles};
use parley_protocol::schema::{OpenApiFacts, openapi, tool};
use serde_json::Value;

/// The facts that differ between instances.
const VERSION: &str = "0.0.0";

fn check(name: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text = serde_json::to_string_pretty(value).expect("JSON") + "\n";
        std::fs::write(&path, text).expect("written");
        return;
    }
    let text = std::fs::read_to_string(&path).expect(name);
    let known: Value = serde_json::from_str(&text).expect(name);
    assert!(known == *value, "docs/generated/{name} is not current: run the test with UPDATE=1");
}

/// Goal: the OpenAPI document that is checked in is what a server with default limits gives.
#[test]
fn openapi_is_current() {
    let limits = Limits::default();
    let facts = OpenApiFacts { version: VERSION, profiles: Profiles::ALL, limits: &limits };
    check("openapi.json", &openapi(&facts));
}

/// Goal: so are the MCP tools.
#[test]
fn tools_are_current() {
    let limits = Limits::default();
    check(
        "tools.json",
        &Operation::ALL.into_iter().map(|operation| tool(operation, &limits)).collect(),
    );
}

/// Goal: so is the manifest, in each language.
#[test]
fn manifests_are_current() {
    let limits = Limits::default();
    for language in Language::ALL {
        let facts = ManifestFacts {
            version: VERSION,
            realm: "local",
            instance: "example",
            era: 1,
            profiles: Profiles::ALL,
            limits: &limits,
        };
        let value =
            serde_json::from_slice(&manifest(&facts, language, ManifestPart::All)).expect("JSON");
        check(&format!("manifest.{}.json", language.as_str()), &value);
    }
}
