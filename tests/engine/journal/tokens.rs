//! Tokens: who may speak, durable before it is answered, whatever the disk does.

use std::collections::BTreeMap;
use std::sync::Arc;

use parley::clock::SystemClock;
use parley::storage::error::StoreError;
use parley::tokens::{NewToken, Tokens};
use parley_kit::{Cut, Faults, FaultyDisk};
use parley_protocol::ids::TokenId;
use parley_protocol::refusal::Reason;
use parley_protocol::time::Millis;

use super::{interrupted, nth_fault};

const NOW: Millis = Millis(1_000_000);

fn try_open(disk: &FaultyDisk) -> Result<Tokens, StoreError> {
    Tokens::open(Arc::new(disk.clone()), "local", Arc::new(SystemClock))
}

fn open(disk: &FaultyDisk) -> Tokens {
    try_open(disk).unwrap()
}

fn new(body: &str) -> NewToken {
    NewToken::read(body.as_bytes(), NOW).unwrap()
}

/// Goal: whatever fails at whatever moment, a token that was given works after a restart, one that
/// was revoked does not, and no identifier is given twice. Method: tokens made and revoked in
/// turn; at the n-th write or sync the disk fails once, or goes on failing for a while; then, or
/// right at the failure, the power goes or the process, and after a few more the power once more.
#[test]
fn sweep() {
    for n in 1..=30 {
        for kind in 0..3 {
            let faults = nth_fault(n, n, kind);
            for cut in [Cut::ForgetAll, Cut::Kill, Cut::KeepSome(n * 7 + kind)] {
                swept(faults, cut, false);
                swept(faults, cut, true);
            }
        }
    }
}

/// Goal: what a failed sync lost is not built on. Method: many tokens; the sync that should have
/// made an early one's revocation durable fails, and the machine takes for written what is not;
/// later changes touch other parts of the file; then the power goes.
#[test]
fn lost_page() {
    for (n, killed) in [(1, false), (1, true), (2, false), (2, true)] {
        let disk = FaultyDisk::default();
        let mut tokens = open(&disk);
        let make = |tokens: &Tokens| {
            tokens.create(&new(r#"{"handle":"ada","rights":["write"]}"#), NOW).unwrap().1
        };
        let mut secrets: Vec<_> = (0..120).map(|_| make(&tokens)).collect();
        disk.set(Faults { sync: n, ..Faults::default() });
        drop(tokens.revoke(TokenId(5), NOW));
        disk.mend();
        if killed {
            disk.cut(Cut::Kill);
            tokens = open(&disk);
        }
        let whole = |disk: &FaultyDisk, secrets: &[String], how: &str| {
            let tokens = open(disk);
            for (at, secret) in secrets.iter().enumerate().filter(|(at, _)| *at != 4) {
                assert!(tokens.find(secret, NOW).is_some(), "{at} is lost: {n} {killed} {how}");
            }
        };
        // The power goes while the next change is on its way, or long after.
        for seed in 0..40 {
            let disk = disk.copy();
            let tokens = open(&disk);
            disk.set(Faults { sync: 1 + seed % 3, lasting: true, ..Faults::default() });
            drop(tokens.revoke(TokenId(5), NOW));
            disk.cut(Cut::KeepSome(seed));
            whole(&disk, &secrets, "next");
        }
        secrets.extend((0..20).map(|_| make(&tokens)));
        disk.cut(Cut::ForgetAll);
        whole(&disk, &secrets, "later");
    }
}

fn swept(faults: Faults, cut: Cut, at_once: bool) {
    let disk = FaultyDisk::default();
    let mut tokens = open(&disk);
    let mut held: BTreeMap<TokenId, (String, bool)> = BTreeMap::new();
    let admin = tokens.create(&new(r#"{"human":"admin","rights":["admin"]}"#), NOW).unwrap();
    held.insert(admin.0.id, (admin.1, true));
    disk.set(faults);
    for round in 0..16 {
        if round == 6 {
            disk.mend();
        }
        if round == 10 {
            disk.cut(cut);
            tokens = open(&disk);
            check(&tokens, &held, faults, cut);
        }
        let made = tokens.create(&new(r#"{"handle":"ada","rights":["write"]}"#), NOW);
        match made {
            Ok((record, secret)) => {
                let before = held.insert(record.id, (secret, true));
                assert!(before.is_none(), "{} twice: {faults:?} {cut:?}", record.id);
                if round % 3 == 1 && tokens.revoke(record.id, NOW).is_ok() {
                    held.get_mut(&record.id).unwrap().1 = false;
                } else if round % 3 == 1 {
                    // Not known to be revoked: either will do.
                    held.remove(&record.id);
                }
            }
            Err(refusal) => {
                assert_eq!(refusal.reason, Reason::StorageUnavailable);
                assert!(round < 6, "it goes on once the disk does: {faults:?} {cut:?}");
                if at_once {
                    disk.cut(cut);
                    tokens = open(&disk);
                }
            }
        }
        check(&tokens, &held, faults, cut);
    }
    disk.cut(Cut::ForgetAll);
    check(&open(&disk), &held, faults, cut);
}

fn check(tokens: &Tokens, held: &BTreeMap<TokenId, (String, bool)>, faults: Faults, cut: Cut) {
    for (id, (secret, good)) in held {
        let found = tokens.find(secret, NOW);
        assert_eq!(found.is_some(), *good, "{id}: {faults:?} {cut:?}");
        assert!(found.is_none_or(|principal| principal.token == *id));
    }
}

/// Goal: a first start that is interrupted leaves a folder that the next one can use. Method: the
/// n-th write or sync of the first opening fails and the power goes, or the process.
#[test]
fn first_opening() {
    interrupted(30, try_open, |tokens| assert!(tokens.list(TokenId(0), 10).is_empty()));
}

/// Goal: names keep their spelling, also those whose tokens are gone; the last administrator
/// stays; a list holds all ever made. Method: a row a rule, before and after a restart.
#[test]
fn rules() {
    let disk = FaultyDisk::default();
    let mut tokens = open(&disk);
    let make = |tokens: &Tokens, body: &str| {
        tokens.create(&new(body), NOW).map(|(record, _)| record).map_err(|error| error.reason)
    };
    let admin = make(&tokens, r#"{"human":"admin","rights":["admin"]}"#).unwrap();
    let ada = make(&tokens, r#"{"handle":"Ada","rights":["read"]}"#).unwrap();
    tokens.revoke(ada.id, NOW).unwrap();
    for _ in 0..2 {
        let conflict = make(&tokens, r#"{"handle":"ada","rights":["read"]}"#);
        assert_eq!(conflict.unwrap_err(), Reason::HandleConflict);
        make(&tokens, r#"{"handle":"Ada","rights":["read"]}"#).unwrap();
        make(&tokens, r#"{"human":"ada"}"#).unwrap();
        assert_eq!(tokens.revoke(admin.id, NOW).unwrap_err().reason, Reason::LastAdmin);
        assert_eq!(tokens.revoke(ada.id, NOW).unwrap_err().reason, Reason::NotFound);
        assert_eq!(tokens.revoke(TokenId(99), NOW).unwrap_err().reason, Reason::NotFound);
        disk.cut(Cut::ForgetAll);
        tokens = open(&disk);
    }
    let ids: Vec<_> = tokens.list(TokenId(0), 100).iter().map(|record| record.id.0).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    let page: Vec<_> = tokens.list(TokenId(2), 2).iter().map(|record| record.id.0).collect();
    assert_eq!(page, [3, 4]);
    // An administrator that expires is none once it has.
    let soon =
        format!(r#"{{"human":"eve","rights":["admin"],"expires_at":"{}"}}"#, Millis(NOW.0 + 5));
    make(&tokens, &soon).unwrap();
    let later = Millis(NOW.0 + 6);
    assert_eq!(tokens.revoke(admin.id, later).unwrap_err().reason, Reason::LastAdmin);
    tokens.revoke(admin.id, NOW).unwrap();
}
