use serde_json::Value;

use super::*;
use crate::act::Kind;

fn read(profiles: Profiles, language: Language) -> Value {
    read_part(profiles, language, ManifestPart::All)
}

fn read_part(profiles: Profiles, language: Language, part: ManifestPart) -> Value {
    let limits = Limits { page_max: 77, ..Limits::default() };
    let facts = ManifestFacts {
        version: "9.9.9",
        realm: "local",
        instance: "i",
        era: 3,
        profiles,
        limits: &limits,
    };
    let bytes = manifest(&facts, language, part);
    assert_eq!(bytes, manifest(&facts, language, part), "the same facts give the same bytes");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn words<'v>(manifest: &'v Value, list: &str, name: &str) -> Vec<&'v str> {
    let rows = manifest[list].as_array().expect(list);
    rows.iter().map(|row| row[name].as_str().expect(name)).collect()
}

/// Goal: nothing that the language has is left out of its manifest. Method: every table is
/// compared with what decides.
#[test]
fn complete() {
    let manifest = read(Profiles::ALL, Language::En);
    assert_eq!(words(&manifest, "acts", "kind"), Kind::ALL.map(Kind::as_str));
    assert_eq!(words(&manifest, "states", "state"), State::ALL.map(State::as_str));
    assert_eq!(words(&manifest, "rights", "right"), Right::ALL.map(Right::as_str));
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(words(&manifest, "reasons", "reason"), reasons);
    let operations = Operation::ALL.map(Operation::as_str);
    assert_eq!(words(&manifest, "operations", "name"), operations);
    let fields: Vec<_> = Operation::PostMessage.spec().fields.iter().map(|f| f.name).collect();
    assert_eq!(words(&manifest["envelope"], "fields", "name"), fields);
    let of_profiles = manifest["profiles"].as_array().expect("profiles").iter();
    let of_profiles = of_profiles.flat_map(|row| row["operations"].as_array().expect("list"));
    assert_eq!(of_profiles.count(), Operation::COUNT);
    assert_eq!(words(&manifest, "profiles", "name"), ["core", "dialectic", "feed", "artifacts"]);
    assert_eq!(manifest["limits"]["body_max"], 500);
    assert_eq!(manifest["limits"]["extension_max"], 64);
    assert_eq!(manifest["limits"]["page_max"], 77);
    assert_eq!(manifest["limits"].as_object().expect("limits").len(), 16);
    assert_eq!(manifest["unicode"], UNICODE_VERSION);
    assert_eq!(manifest["era"], 3);
}

/// Goal: what the tables say of acts and states is published. Method: the rows written out.
#[test]
fn acts_and_states() {
    let manifest = read(Profiles::ALL, Language::En);
    let acts = manifest["acts"].as_array().expect("acts").iter();
    let acts = acts.map(|act| {
        format!("{} {} {} {}", act["kind"], act["parent"], act["expects_reply"], act["mark"])
    });
    let acts = acts.collect::<Vec<_>>().join("\n").replace('"', "");
    assert_eq!(
        acts,
        "ask optional true open\nanswer reply false answered\nclarify reply true null\n\
         propose optional true null\nobject reply true null\nagree reply false null\n\
         inform optional false null\ndecide optional false decided\nretract required false null"
    );
    let states = manifest["states"].as_array().expect("states").iter();
    let states =
        states.map(|state| format!("{} {} {}", state["state"], state["kind"], state["next"]));
    let states = states.collect::<Vec<_>>().join("\n").replace('"', "");
    assert_eq!(
        states,
        "open line [answered,decided,deferred,obsolete,rejected]\n\
         answered line [decided,closed,deferred,obsolete,rejected]\n\
         decided line [closed,deferred,obsolete,rejected]\n\
         closed line [deferred,obsolete,rejected]\n\
         deferred side []\nobsolete side []\nrejected side []"
    );
}

/// Goal: a language changes sentences, never a key or a word. Method: the same tree with sentences
/// taken out is equal in all; the purposes of acts differ in each two.
#[test]
fn languages() {
    let english = read(Profiles::ALL, Language::En);
    for (place, language) in Language::ALL.into_iter().enumerate() {
        let manifest = read(Profiles::ALL, language);
        assert_eq!(bare(&english), bare(&manifest), "{}", language.as_str());
        for before in &Language::ALL[..place] {
            let (one, other) = (Texts::of(*before), Texts::of(language));
            let same = one.acts.iter().any(|(act, text)| other.acts[act] == *text);
            assert!(!same, "{} and {}", before.as_str(), language.as_str());
        }
    }
    fn bare(value: &Value) -> Value {
        match value {
            Value::String(text) if text.contains(' ') || text.ends_with('.') => Value::Null,
            Value::Array(items) => items.iter().map(bare).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), bare(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// Goal: no file lacks a text, and none has one that the manifest does not show. Method: the keys
/// of each file against the tables; the lists of each against those of the first.
#[test]
fn texts_are_complete() {
    let fields = Operation::PostMessage.spec().fields.iter().map(|field| field.name);
    let fields: Vec<_> = fields.collect();
    let reasons: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let english = Texts::of(Language::En);
    for language in Language::ALL {
        let texts = Texts::of(language);
        for (given, words) in [
            (&texts.fields, fields.clone()),
            (&texts.acts, Kind::ALL.map(Kind::as_str).into()),
            (&texts.states, State::ALL.map(State::as_str).into()),
            (&texts.rights, Right::ALL.map(Right::as_str).into()),
            (&texts.authority, AUTHORITY.map(|(action, _)| action).into()),
            (&texts.reasons, reasons.clone()),
        ] {
            let mut words = words;
            words.sort_unstable();
            assert_eq!(given.keys().collect::<Vec<_>>(), words, "{}", language.as_str());
            assert!(given.values().all(|text| !text.contains("_MAX}")), "{}", language.as_str());
        }
        let lists = |texts: &'static Texts| {
            let Texts { envelope, turn, marks, reading, hints, dialectic, feed, artifacts, .. } =
                texts;
            [envelope, turn, marks, reading, hints, dialectic, feed, artifacts].map(Vec::len)
        };
        assert_eq!(lists(texts), lists(english), "{}", language.as_str());
    }
}

/// Goal: a profile that is not in force leaves nothing behind.
#[test]
fn core_alone() {
    let manifest = read(Profiles::CORE, Language::En);
    assert_eq!(words(&manifest, "profiles", "name"), ["core"]);
    assert_eq!(manifest["operations"].as_array().expect("operations").len(), 9);
    assert!(manifest["transports"].get("feed").is_none());
}

/// Goal: a representation is named by its bytes, and `If-None-Match` is read as RFC 9110 says.
#[test]
fn etags() {
    let tag = etag(b"a");
    assert_eq!(tag.len(), 34);
    assert_ne!(tag, etag(b"b"));
    for (header, want) in [
        (tag.clone(), true),
        (format!("W/{tag}"), true),
        (format!("\"x\", {tag}"), true),
        ("*".to_owned(), true),
        (etag(b"b"), false),
        (tag.trim_matches('"').to_owned(), false),
        (String::new(), false),
    ] {
        assert_eq!(not_modified(&header, &tag), want, "{header}");
    }
}

/// Goal: the parts make up the whole, each names the instance, and the one to speak by fits into a
/// model's context (mcp.md §4). Method: the members of each part, in each language.
#[test]
fn parts() {
    for language in Language::ALL {
        let whole = read(Profiles::ALL, language);
        let mut together = serde_json::Map::new();
        for part in ManifestPart::ALL.into_iter().filter(|part| *part != ManifestPart::All) {
            let read = read_part(Profiles::ALL, language, part);
            let length = read.to_string().chars().count();
            assert!(part != ManifestPart::Speaking || length < 9_900, "{language}: {length}");
            assert_eq!(read["instance"], whole["instance"], "{part}");
            assert_eq!(read["part"], part.as_str());
            let Value::Object(members) = read else { panic!("an object") };
            together.extend(members);
        }
        together.insert("part".to_owned(), "all".into());
        assert_eq!(Value::Object(together), whole);
    }
    let read = |part| read_part(Profiles::ALL, Language::En, part);
    let speaking = read(ManifestPart::Speaking);
    for name in ["envelope", "acts", "states", "authority", "rights", "limits", "hints", "turn"] {
        assert!(!speaking[name].is_null(), "{name}");
    }
    for (part, name) in [
        (ManifestPart::Reasons, "reasons"),
        (ManifestPart::Operations, "operations"),
        (ManifestPart::Profiles, "profiles"),
    ] {
        assert!(speaking[name].is_null() && !read(part)[name].is_null(), "{name}");
        assert!(read(part)["acts"].is_null(), "{name}");
    }
}
