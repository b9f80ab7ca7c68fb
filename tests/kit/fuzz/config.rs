//! The configuration file.

use parley::config::Config;

/// The target.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Config::of_document(text) {
        Ok(config) => {
            let written = toml::to_string(&config).expect("a configuration");
            assert_eq!(Config::of_document(&written), Ok(config), "{written}");
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.chars().any(char::is_control), "{line:?}");
        }
    }
}
