use std::borrow::Cow;
use std::collections::BTreeSet;

use super::*;

/// Goal: each operation has a row of its own, which says what the pages ask of it. Method: every
/// row is checked.
#[test]
fn rows() {
    let routes: BTreeSet<_> = Operation::ALL
        .iter()
        .map(|operation| operation.spec().route)
        .map(|HttpRoute { method, path, .. }| (method.as_str(), path))
        .collect();
    assert_eq!(routes.len(), Operation::COUNT, "each has a row of its own");
    for (index, operation) in Operation::ALL.into_iter().enumerate() {
        let (row, name) = (operation.spec(), operation.as_str());
        assert_eq!(operation.index(), index, "{name}");
        assert_eq!(Operation::parse(name), Some(operation));
        assert!(row.description.chars().count() < 1_000, "{name}");
        assert!(!row.title.is_empty() && row.route.path.starts_with("/v1/"));
        let writes = operation.writes();
        assert_eq!(row.rights.contains(&Right::Write), writes, "{name}");
        let read = row.rights.contains(&Right::Read);
        assert_eq!(read, !writes && operation != Operation::GetManifest, "{name}");
        for field in row.fields {
            let in_path = row.route.path.contains(&format!("{{{}}}", field.name));
            assert_eq!(in_path, field.is_in_path(), "{} {}", name, field.name);
            assert!(writes || field.place != FieldPlace::Body, "{} {}", name, field.name);
        }
    }
}

/// Goal: paths and methods lead to operations, and profiles hide theirs. Method: a row a case.
#[test]
fn paths() {
    use Operation::*;
    let thread = |text| Some(("thread", Cow::Borrowed(text)));
    for (method, path, want) in [
        ("GET", "/v1/manifest", PathMatch::Operation(GetManifest, None)),
        ("HEAD", "/v1/manifest", PathMatch::Operation(GetManifest, None)),
        ("POST", "/v1/messages", PathMatch::Operation(PostMessage, None)),
        ("GET", "/v1/messages", PathMatch::OtherMethod(vec!["POST"])),
        ("HEAD", "/v1/messages", PathMatch::OtherMethod(vec!["POST"])),
        ("DELETE", "/v1/threads", PathMatch::OtherMethod(vec!["GET", "HEAD"])),
        ("GET", "/v1/threads/th_1", PathMatch::Operation(ReadThread, thread("th_1"))),
        ("GET", "/v1/threads/th%5F1", PathMatch::Operation(ReadThread, thread("th_1"))),
        ("GET", "/v1/threads/a%2Fb", PathMatch::Operation(ReadThread, thread("a/b"))),
        ("GET", "/v1/threads/%ff", PathMatch::Operation(ReadThread, thread("%ff"))),
        ("GET", "/v1/threads/1/claims", PathMatch::Operation(ListClaims, thread("1"))),
        ("POST", "/v1/threads/1/claims", PathMatch::Operation(AssertClaim, thread("1"))),
        ("PUT", "/v1/threads/1/claims", PathMatch::OtherMethod(vec!["POST", "GET", "HEAD"])),
        ("GET", "/v1/threads/", PathMatch::Nothing),
        ("GET", "/v1/threads/1/", PathMatch::Nothing),
        ("GET", "/v1/threads//events", PathMatch::Nothing),
        ("GET", "/v1/threads/1/nothing", PathMatch::Nothing),
        ("GET", "v1/threads", PathMatch::Nothing),
        ("GET", "/", PathMatch::Nothing),
    ] {
        assert_eq!(find(method, path, Profiles::ALL), want, "{method} {path}");
    }
    assert_eq!(find("GET", "/v1/artifacts", Profiles::CORE), PathMatch::Nothing);
    let some = Profiles::from_iter([Profile::Artifacts]);
    assert_eq!(find("GET", "/v1/artifacts", some), PathMatch::Operation(ListArtifacts, None));
    assert_eq!(find("GET", "/v1/claims/1", some), PathMatch::Nothing);
}
