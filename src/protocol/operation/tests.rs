use std::borrow::Cow;

use super::*;

/// Goal: the table lies in the order of the enum and says what the pages ask of each row. Method:
/// every row is looked at.
#[test]
fn rows() {
    for (index, row) in TABLE.iter().enumerate() {
        assert_eq!(row.operation.index(), index, "{}", row.name);
        assert_eq!(Operation::parse(row.name), Some(row.operation));
        assert!(row.description.chars().count() < 1_000, "{}", row.name);
        assert!(!row.title.is_empty() && row.path.starts_with("/v1/"));
        let writes = row.operation.writes();
        assert_eq!(row.rights.contains(&Right::Write), writes, "{}", row.name);
        let read = row.rights.contains(&Right::Read);
        assert_eq!(read, !writes && row.operation != Operation::GetManifest, "{}", row.name);
        for field in row.fields {
            let in_path = row.path.contains(&format!("{{{}}}", field.name));
            assert_eq!(in_path, field.place == Place::Path, "{} {}", row.name, field.name);
            assert!(writes || field.place != Place::Body, "{} {}", row.name, field.name);
        }
    }
}

/// Goal: paths and methods lead to operations, and profiles hide theirs. Method: a row a case.
#[test]
fn paths() {
    use Operation::*;
    let thread = |text| Some(("thread", Cow::Borrowed(text)));
    for (method, path, want) in [
        ("GET", "/v1/manifest", Found::Operation(GetManifest, None)),
        ("HEAD", "/v1/manifest", Found::Operation(GetManifest, None)),
        ("POST", "/v1/messages", Found::Operation(PostMessage, None)),
        ("GET", "/v1/messages", Found::OtherMethod(vec!["POST"])),
        ("HEAD", "/v1/messages", Found::OtherMethod(vec!["POST"])),
        ("DELETE", "/v1/threads", Found::OtherMethod(vec!["GET", "HEAD"])),
        ("GET", "/v1/threads/th_1", Found::Operation(ReadThread, thread("th_1"))),
        ("GET", "/v1/threads/th%5F1", Found::Operation(ReadThread, thread("th_1"))),
        ("GET", "/v1/threads/a%2Fb", Found::Operation(ReadThread, thread("a/b"))),
        ("GET", "/v1/threads/%ff", Found::Operation(ReadThread, thread("%ff"))),
        ("GET", "/v1/threads/1/claims", Found::Operation(ListClaims, thread("1"))),
        ("POST", "/v1/threads/1/claims", Found::Operation(AssertClaim, thread("1"))),
        ("PUT", "/v1/threads/1/claims", Found::OtherMethod(vec!["POST", "GET", "HEAD"])),
        ("GET", "/v1/threads/", Found::Nothing),
        ("GET", "/v1/threads/1/", Found::Nothing),
        ("GET", "/v1/threads//events", Found::Nothing),
        ("GET", "/v1/threads/1/nothing", Found::Nothing),
        ("GET", "v1/threads", Found::Nothing),
        ("GET", "/", Found::Nothing),
    ] {
        assert_eq!(find(method, path, Profiles::ALL), want, "{method} {path}");
    }
    assert_eq!(find("GET", "/v1/artifacts", Profiles::CORE), Found::Nothing);
    let some = Profiles::from_iter([Profile::Artifacts]);
    assert_eq!(find("GET", "/v1/artifacts", some), Found::Operation(ListArtifacts, None));
    assert_eq!(find("GET", "/v1/claims/1", some), Found::Nothing);
}
