//! Configuration: its example, its layers, and what stops a start (operations.md §2).

use std::ffi::OsString;
use std::path::Path;

use parley::config::keys::{self, KEYS};
use parley::config::{Config, ConfigSources};
use parley_kit::Folder;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(key, value)| (key.into(), value.into())).collect()
}

fn of_file(path: &Path) -> ConfigSources {
    ConfigSources { file: Some(path.to_owned()), ..ConfigSources::default() }
}

fn of_flag(key: &str, value: &str) -> ConfigSources {
    ConfigSources { flags: pairs(&[(key, value)]), ..ConfigSources::default() }
}

fn load(sources: &ConfigSources) -> Config {
    Config::load(sources).expect("good settings")
}

fn of_variable(name: &str, value: &str) -> ConfigSources {
    ConfigSources { environment: environment(&[(name, value)]), ..ConfigSources::default() }
}

/// Goal: `config/parley.toml` names every key with its default and its range. Method: it is what
/// the table of keys makes (`UPDATE=1` writes it), and read as a file it gives the defaults.
#[test]
fn example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/parley.toml");
    let wanted = keys::example();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).expect("the example can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the example is there");
    assert_eq!(found, wanted, "run the tests with UPDATE=1 to write it anew");
    assert_eq!(Config::load(&of_file(&path)), Ok(Config::default()));
    for key in KEYS {
        let (section, name) = key.name.split_once('.').unwrap_or(("", key.name));
        let part = match section {
            "" => found.split("\n[").next(),
            _ => found.split("\n[").find(|part| part.starts_with(&format!("{section}]"))),
        };
        let part = part.unwrap_or_else(|| panic!("the section of {}", key.name));
        let line = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} ="));
        assert!(part.lines().any(line), "{}", key.name);
    }
}

/// Goal: the table of keys and the configuration are the same set. Method: every leaf of the
/// defaults is a key, and every key either is one or can be set.
#[test]
fn keys_and_configuration_agree() {
    let defaults = toml::Table::try_from(Config::default()).expect("it serializes");
    let mut leaves = Vec::new();
    for (name, value) in &defaults {
        match value {
            toml::Value::Table(inner) => {
                leaves.extend(inner.keys().map(|member| format!("{name}.{member}")));
            }
            _ => leaves.push(name.clone()),
        }
    }
    for leaf in &leaves {
        assert!(keys::key(leaf).is_some(), "{leaf} is no key");
    }
    let unset: Vec<_> =
        KEYS.iter().map(|key| key.name).filter(|name| !leaves.iter().any(|l| l == name)).collect();
    assert_eq!(unset, ["metrics_listen", "public_url", "log.format"]);
}

/// Goal: flags go before the environment, that before the file, that before the defaults; a named
/// flag before `--set`. Method: one key in more and more places.
#[test]
fn layers() {
    let folder = Folder::new("config");
    let file = folder.path().join("parley.toml");
    std::fs::write(&file, "realm = \"file\"\n[limits]\npage_max = 7\n").expect("a file");
    let mut sources = of_file(&file);
    assert_eq!(load(&ConfigSources::default()).realm, "local");
    let config = load(&sources);
    let limits = &config.limits;
    assert_eq!((&*config.realm, limits.page_max, limits.tree_max), ("file", 7, 1_000));
    sources.environment = environment(&[
        ("PARLEY_REALM", "variable"),
        ("PARLEY_URL", "not a key"),
        ("PARLEY_TOKEN", "not a key"),
        ("PATH", "whatever"),
        ("PARLEY_LIMITS__WRITES_PER_MINUTE", "0"),
        ("PARLEY_ALLOWED_HOSTS", "a.example, b.example:80"),
        ("PARLEY_METRICS_LISTEN", ""),
    ]);
    let config = load(&sources);
    assert_eq!((&*config.realm, config.limits.page_max), ("variable", 7));
    assert_eq!(config.limits.writes_per_minute, 0);
    let hosts: Vec<String> = config.allowed_hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a.example", "b.example:80"]);
    sources.flags = pairs(&[("realm", "set"), ("realm", "flag"), ("profiles", "")]);
    let config = load(&sources);
    assert_eq!((&*config.realm, config.limits.page_max), ("flag", 7));
    assert!(config.profiles.is_empty());
    let named = [("realm", Some("named".to_owned())), ("data", None)];
    let of_process =
        ConfigSources::of_process(None, &["realm=pair".into()], &named).expect("pairs");
    assert_eq!(of_process.flags, pairs(&[("realm", "pair"), ("realm", "named")]));
    let by_variable = of_variable("PARLEY_CONFIG", file.to_str().expect("a path of text"));
    assert_eq!(load(&by_variable).realm, "file");
}

/// Goal: an unknown key or a value out of range stops the start with one line that names it.
/// Method: a row a setting, as flag, as variable and in a file.
#[test]
fn what_stops_a_start() {
    for (key, values) in [
        ("limits.page_max", &["0", "-1", "+1", "1.0", "many", ""][..]),
        ("limits.exchange_max", &["1"]),
        ("limits.writes_burst", &["0"]),
        ("limits.writes_per_minute", &["99999999999999999999"]),
        ("overload.wait_ms", &["251"]),
        ("feed.heartbeat_seconds", &["301"]),
        ("gateway.header_seconds", &["0"]),
        ("listen", &["here", "127.0.0.1"]),
        ("data", &[""]),
        ("realm", &["human", "a b", ""]),
        ("public_url", &["forum.example", "ftp://forum.example", "https://forum.example/parley"]),
        ("allowed_origins", &["null", "https://a.example/path"]),
        ("allowed_hosts", &["a.example,", "a.example,a.example"]),
        ("trusted_proxies", &["10.0.0.0/33"]),
        ("profiles", &["dialectic,chess"]),
        ("log.level", &["loud"]),
        ("log.format", &["xml"]),
    ] {
        let variable = keys::key(key).expect("a key").variable();
        for value in values {
            refuses(&of_flag(key, value), key);
            let by_variable = of_variable(&variable, value);
            if value.is_empty() {
                assert_eq!(load(&by_variable), Config::default(), "{variable} is unset");
            } else {
                refuses(&by_variable, key);
            }
        }
    }
    for (key, value) in [("limits", "1"), ("limits.body_max", "1"), ("Realm", "a"), ("a.b.c", "1")]
    {
        refuses(&of_flag(key, value), key);
    }
    let error = ConfigSources::of_process(None, &["realm".into()], &[]).expect_err("no pair");
    assert!(error.to_string().contains("realm"), "{error}");
}

/// Goal: a variable that sets no key is named and changes nothing: an orchestrator sets its own.
/// Method: a row a variable, and those that set a key or are reserved.
#[test]
fn unknown_variables() {
    for variable in [
        "PARLEY_SERVICE_HOST",
        "PARLEY_PORT_7467_TCP",
        "PARLEY_BIN",
        "PARLEY_REALMS",
        "PARLEY_LIMITS",
        "PARLEY_LIMITS_PAGE_MAX",
        "PARLEY_LIMITS__PAGE__MAX",
        "PARLEY_limits__page_max",
        "PARLEY_",
    ] {
        let sources = of_variable(variable, "1");
        assert_eq!(load(&sources), Config::default(), "{variable}");
        assert_eq!(sources.unknown_variables(), [variable]);
    }
    for variable in ["PARLEY_REALM", "PARLEY_URL", "PARLEY_TOKEN", "PATH"] {
        assert!(of_variable(variable, "a").unknown_variables().is_empty(), "{variable}");
    }
}

/// Goal: the same of files, and of a file that cannot be read or is no TOML. Method: a row a
/// text.
#[test]
fn what_stops_a_start_in_a_file() {
    let folder = Folder::new("config");
    let file = folder.path().join("parley.toml");
    for (text, named) in [
        ("realms = \"a\"", "realms"),
        ("[limits]\npages = 1", "limits.pages"),
        ("[limit]\npage_max = 1", "limit"),
        ("[limits]\npage_max = 0", "limits.page_max"),
        ("[limits]\npage_max = \"7\"", "limits.page_max"),
        ("[limits]\npage_max = 7.0", "limits.page_max"),
        ("limits = 7", "limits"),
        ("listen = 7467", "listen"),
        ("profiles = \"feed\"", "profiles"),
        ("profiles = [1]", "profiles"),
        ("realm = \"a\"\nrealm = \"b\"", "line 2"),
        ("realm = ", "line 1"),
    ] {
        std::fs::write(&file, text).expect("a file");
        refuses(&of_file(&file), named);
    }
    std::fs::remove_file(&file).expect("it was there");
    refuses(&of_file(&file), file.to_str().expect("a path of text"));
}

fn refuses(sources: &ConfigSources, named: &str) {
    let error = Config::load(sources).expect_err(named).to_string();
    assert!(error.contains(named), "{named}: {error}");
    assert!(!error.contains('\n'), "{error}");
}
