//! Parsing of the command line.

use clap::CommandFactory;

use super::*;

fn parsed(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

/// Goal: the tree of commands is consistent. Method: clap's own assertions.
#[test]
fn the_tree_is_sound() {
    Cli::command().debug_assert();
}

/// Goal: the synopsis of operations.md §1 is accepted. Method: a line a form.
#[test]
fn synopsis() {
    for line in [
        "parley serve --config c.toml --listen 127.0.0.1:0 --data d --realm r",
        "parley serve --log-level info --log-format json --set a=1 --set b=2",
        "parley token create --handle ada --rights read,write --expires 30d",
        "parley token create --handle ada --rights read,write,lock --label L --json",
        "parley token create --human grace --rights admin --url http://h:1 --token t",
        "parley token list --data d",
        "parley token revoke tok_1",
        "parley post --thread th_1 --parent msg_1 --kind answer --extension e --key k body",
        "parley post - --url http://h:1 --token t --json",
        "parley post -- -1",
        "parley read th_1 --flat --json",
        "parley inbox --extension e --since c --wait 5 --anyone=false",
        "parley watch --scope threads --threads th_1,th_2 --since c",
        "parley watch --scope all --extension e --anyone=false --json",
        "parley mark th_1 decided --reason r",
        "parley confirm th_1 decided",
        "parley reopen th_1 --reason r",
        "parley claim assert th_1 s --evidence log:a --evidence url:http://h --supersedes cl_1,2",
        "parley claim attest cl_1 --seal --evidence log:a",
        "parley claim refute cl_1 --evidence log:a",
        "parley claim show cl_1",
        "parley backup f",
        "parley restore f --data d",
        "parley check --data d --json",
        "parley artifact id f",
        "parley artifact canonical -",
        "parley artifact verify f",
        "parley artifact validate f",
        "parley demo",
    ] {
        assert!(parsed(line).is_ok(), "{line}: {}", parsed(line).unwrap_err());
    }
    let id = format!("sha256:{}", "0".repeat(64));
    let line = format!("parley artifact closure --target {id} --target {id} --strict a.json d");
    assert!(parsed(&line).is_ok());
}

/// Goal: wrong usage is refused by the parser. Method: a line a mistake.
#[test]
fn wrong_usage() {
    for line in [
        "parley",
        "parley speak",
        "parley post",
        "parley post --kind shout body",
        "parley read",
        "parley mark th_1 finished",
        "parley confirm th_1",
        "parley inbox --wait soon",
        "parley inbox --anyone=perhaps",
        "parley watch --scope everything",
        "parley token create --rights read",
        "parley token create --handle a --human b --rights read",
        "parley claim attest cl_1 --evidence log",
        "parley artifact closure --target sha256:00 d",
        "parley artifact closure d",
        "parley demo now",
    ] {
        let error = parsed(line).expect_err(line);
        assert!(error.use_stderr(), "{line}");
    }
}

/// Goal: every command shows examples, and help shows no token. Method: the help of each.
#[test]
fn help_shows_examples_and_no_secret() {
    let command = Cli::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    for name in std::iter::once("").chain(names) {
        let line = format!("parley {name} --help");
        let error = parsed(&line).expect_err("help comes as an error");
        let help = error.render().to_string();
        assert!(!error.use_stderr(), "{line}");
        assert_eq!(help.contains("Example"), name != "demo", "{line}");
        assert!(!help.contains("PARLEY_TOKEN="), "{line}");
    }
    let listen = crate::config::Config::default().listen;
    assert!(EXAMPLES.contains(&format!("http://{listen}")), "the default of `listen`: {listen}");
}
