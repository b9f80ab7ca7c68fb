//! The public vectors of the canonical profile, which are not part of this repository.

use std::fs;
use std::path::{Path, PathBuf};

use parley_protocol::artifact::{ArtifactFault, canonicalize, identity};
use serde_json::Value;

fn folder() -> Option<PathBuf> {
    let vectors = PathBuf::from(std::env::var_os("PARLEY_VECTORS")?);
    Some(vectors.join("canonical-json-profile-0.1"))
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names<'a>(manifest: &'a Value, list: &str) -> Vec<&'a Value> {
    manifest[list].as_array().expect("a list").iter().collect()
}

/// All fifteen public vectors pass with the exact bytes, identifiers and classes: read from
/// the folder that `PARLEY_VECTORS` names, skipped with a line on standard error without it.
#[test]
fn public_vectors() {
    let Some(folder) = folder() else {
        eprintln!("SKIPPED: set PARLEY_VECTORS to the folder of the public vectors");
        return;
    };
    let manifest: Value =
        serde_json::from_slice(&read(&folder, "manifest.json")).expect("a manifest");
    let positive = names(&manifest, "positive");
    for vector in &positive {
        let name = vector["name"].as_str().expect("a name");
        let file = |kind: &str| read(&folder, &format!("positive/{name}.{kind}"));
        let canonical = canonicalize(&file("input.json")).expect(name);
        let text = String::from_utf8(file("canonical.json")).expect("text");
        // The files show either form: with the identifier left out if the input has one.
        let bytes = String::from_utf8(canonical.bytes_without_identifier()).expect("text");
        assert_eq!(bytes, text.trim_end_matches('\n'), "{name}");
        let id = String::from_utf8(file("artifact-id.txt")).expect("text");
        assert_eq!(identity::compute(&canonical).to_string(), id.trim_end(), "{name}");
    }
    let negative = names(&manifest, "negative");
    for vector in &negative {
        let name = vector["name"].as_str().expect("a name");
        let bytes = read(&folder, &format!("negative/{name}.input.json"));
        let verify = |bytes: &[u8]| -> Result<(), ArtifactFault> {
            let canonical = canonicalize(bytes)?;
            match vector["operation"].as_str() {
                Some("calculate") => drop(identity::compute(&canonical)),
                _ => drop(identity::verify(&canonical)?),
            }
            Ok(())
        };
        let fault = verify(&bytes).expect_err(name);
        assert_eq!(Some(fault.class.as_str()), vector["error_class"].as_str(), "{name}");
    }
    assert_eq!((positive.len(), negative.len()), (4, 11));
}
