//! Loads the configuration from its sources and merges them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use thiserror::Error;
use toml::{Table, Value};

use super::Config;
use super::keys::{self, ConfigKey, KEYS, ValueKind, key};

/// Variables that begin with `PARLEY_` and set no key.
const RESERVED: [&str; 4] = ["PARLEY_CONFIG", "PARLEY_URL", "PARLEY_TOKEN", "PARLEY_VECTORS"];

/// The sources of settings, strongest first.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
    /// Keys and values of flags; a later one overrides an earlier one.
    pub flags: Vec<(String, String)>,
    /// The environment, of which variables with the prefix `PARLEY_` are read.
    pub environment: Vec<(OsString, OsString)>,
    /// The file; without one that of `PARLEY_CONFIG`.
    pub file: Option<PathBuf>,
}

impl ConfigSources {
    /// The sources of this process: a file, `KEY=VALUE` pairs, and flags for single keys, which
    /// override the pairs.
    ///
    /// # Errors
    /// A pair without `=`.
    pub fn of_process(
        file: Option<PathBuf>,
        pairs: &[String],
        named: &[(&str, Option<String>)],
    ) -> Result<Self, ConfigError> {
        let mut flags = Vec::new();
        for pair in pairs {
            match pair.split_once('=') {
                Some((key, value)) => flags.push((key.trim().to_owned(), value.to_owned())),
                None => return fail(format!("`--set {pair}` is not of the form KEY=VALUE")),
            }
        }
        let given = named.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)));
        flags.extend(given.map(|(key, value)| (key.to_owned(), value.clone())));
        Ok(Self { flags, environment: std::env::vars_os().collect(), file })
    }

    /// The variables that begin with `PARLEY_` and set no key, to be warned of.
    pub fn unknown_variables(&self) -> Vec<String> {
        let names = self.environment.iter().map(|(name, _)| name.to_string_lossy());
        let is_unknown = |name: &str| {
            name.starts_with("PARLEY_") && !RESERVED.contains(&name) && variable_key(name).is_none()
        };
        names.filter(|name| is_unknown(name)).map(std::borrow::Cow::into_owned).collect()
    }
}

/// A faulty configuration: one line that names the key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConfigError(String);

fn fail<T>(text: String) -> Result<T, ConfigError> {
    // One line, also with control characters in a file or a variable.
    Err(ConfigError(text.replace(|c: char| c.is_control(), " ")))
}

type Settings = BTreeMap<&'static str, Value>;

impl Config {
    /// Merges flags over environment over file over defaults.
    ///
    /// # Errors
    /// One line that names the unknown key, or the key whose value is out of range, and where it
    /// was set.
    pub fn load(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let mut settings = Settings::new();
        let named = |(name, value): &(OsString, OsString)| {
            (name == "PARLEY_CONFIG" && !value.is_empty()).then(|| PathBuf::from(value))
        };
        let file = sources.file.clone();
        if let Some(path) = file.or_else(|| sources.environment.iter().find_map(named)) {
            read_file(&path, &mut settings)?;
        }
        for (name, value) in &sources.environment {
            read_variable(name, value, &mut settings)?;
        }
        for (name, value) in &sources.flags {
            let Some(key) = key(name) else {
                return fail(format!("unknown key `{name}` among the flags; {HINT}"));
            };
            read_text(key, value, "among the flags", &mut settings)?;
        }
        build(settings)
    }

    /// The defaults, changed by a document alone.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn of_document(text: &str) -> Result<Self, ConfigError> {
        let mut settings = Settings::new();
        read_document(text, "document", &mut settings)?;
        build(settings)
    }
}

/// The key that a variable sets.
fn variable_key(name: &str) -> Option<&'static ConfigKey> {
    let dotted = name.strip_prefix("PARLEY_")?.to_ascii_lowercase().replace("__", ".");
    key(&dotted).filter(|key| key.variable() == name)
}

const HINT: &str = "config/parley.toml shows every key";

fn read_variable(
    name: &OsString,
    value: &OsString,
    settings: &mut Settings,
) -> Result<(), ConfigError> {
    let shown = name.to_string_lossy();
    // An orchestrator sets variables of its own, and empty ones for what is unset.
    let Some(key) = variable_key(&shown).filter(|_| !value.is_empty()) else { return Ok(()) };
    let place = format!("in the variable {shown}");
    match value.to_str() {
        Some(value) => read_text(key, value, &place, settings),
        None => fail(format!("`{}` {place} is no Unicode text", key.name)),
    }
}

/// Reads a value given as text: integers in decimal, lists with commas. An empty text unsets a key
/// without default, and is the empty list.
fn read_text(
    key: &ConfigKey,
    text: &str,
    place: &str,
    settings: &mut Settings,
) -> Result<(), ConfigError> {
    let value = match key.takes {
        ValueKind::Integer(..) => match text.parse::<i64>() {
            Ok(integer) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Value::Integer(integer)
            }
            _ => return out_of_range(key, text, place),
        },
        ValueKind::Text(..) if text.is_empty() && is_optional(key) => {
            settings.remove(key.name);
            return Ok(());
        }
        ValueKind::Text(..) => Value::String(text.into()),
        ValueKind::Texts(..) if text.is_empty() => Value::Array(Vec::new()),
        ValueKind::Texts(..) => {
            Value::Array(text.split(',').map(|item| Value::String(item.trim().into())).collect())
        }
    };
    insert(key, value, place, settings)
}

fn is_optional(key: &ConfigKey) -> bool {
    matches!(key.name, "metrics_listen" | "public_url" | "log.format")
}

fn out_of_range<T>(key: &ConfigKey, shown: &str, place: &str) -> Result<T, ConfigError> {
    let (name, takes) = (key.name, key.takes);
    fail(format!("`{name}` = `{shown}` {place} is out of range: it takes {takes}"))
}

/// Inserts a value that is in the range of its key.
fn insert(
    key: &ConfigKey,
    value: Value,
    place: &str,
    settings: &mut Settings,
) -> Result<(), ConfigError> {
    let good = match (key.takes, &value) {
        (ValueKind::Integer(from, to), Value::Integer(integer)) => {
            u64::try_from(*integer).is_ok_and(|integer| (from..=to).contains(&integer))
        }
        (ValueKind::Text(_, check), Value::String(text)) => check(text),
        (ValueKind::Texts(_, check), Value::Array(items)) => items
            .iter()
            .enumerate()
            .all(|(at, item)| item.as_str().is_some_and(check) && !items[..at].contains(item)),
        _ => false,
    };
    if !good {
        let shown = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return out_of_range(key, &shown, place);
    }
    settings.insert(key.name, value);
    Ok(())
}

fn read_file(path: &PathBuf, settings: &mut Settings) -> Result<(), ConfigError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .or_else(|error| fail(format!("the configuration file {shown} cannot be read: {error}")))?;
    read_document(&text, &format!("file {shown}"), settings)
}

/// Reads a TOML document; `shown` names it in errors.
fn read_document(text: &str, shown: &str, settings: &mut Settings) -> Result<(), ConfigError> {
    let table = text.parse::<Table>().or_else(|error| {
        let before = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text.get(..before).unwrap_or_default().matches('\n').count();
        let message = error.message();
        fail(format!("the configuration {shown} is no TOML: line {line}: {message}"))
    })?;
    let place = format!("in the {shown}");
    for (name, value) in table {
        read_member(&name, value, &place, settings)?;
    }
    Ok(())
}

fn read_member(
    name: &str,
    value: Value,
    place: &str,
    settings: &mut Settings,
) -> Result<(), ConfigError> {
    if let Some(key) = key(name) {
        return insert(key, value, place, settings);
    }
    let is_of_section =
        |key: &ConfigKey| key.name.split_once('.').is_some_and(|(section, _)| section == name);
    match value {
        Value::Table(inner) if KEYS.iter().any(is_of_section) => {
            inner.into_iter().try_for_each(|(member, value)| {
                read_member(&format!("{name}.{member}"), value, place, settings)
            })
        }
        _ => fail(format!("unknown key `{name}` {place}; {HINT}")),
    }
}

fn build(settings: Settings) -> Result<Config, ConfigError> {
    let mut table = keys::defaults();
    for (name, value) in settings {
        match name.split_once('.') {
            None => {
                table.insert(name.into(), value);
            }
            Some((section, member)) => {
                // The defaults have every section.
                if let Some(Value::Table(inner)) = table.get_mut(section) {
                    inner.insert(member.into(), value);
                }
            }
        }
    }
    // Every value was checked when it was read.
    table.try_into().or_else(|error: toml::de::Error| fail(error.message().to_owned()))
}
