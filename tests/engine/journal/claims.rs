//! What claims write: each attestation once, however often the claim changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parley_kit::FaultyDisk;
use parley_kit::acts::assertion;
use parley_kit::disk::Op;
use parley_kit::journal::{JournalHarness, came};
use parley_protocol::claim::{Evidence, EvidenceKind};
use parley_protocol::command::{ClaimProof, Command};
use parley_protocol::entry::KeyUse;

/// Bytes of the evidence of one attestation.
const EVIDENCE: usize = 40_000;

/// Bytes written to the archive, and its size, after a claim was attested so often, each time under
/// a key and archived at once.
fn attested(count: u64) -> (u64, u64) {
    let disk = FaultyDisk::default();
    let mut harness = JournalHarness::start(&disk);
    let id = harness.opened("local:ada", "Is it so?");
    let mut holder = harness.load(id);
    let mut made = harness.act(&mut holder, "local:ada", &assertion("It is.", None, None), None);
    harness.work();
    let claim = came(&mut made).stored().claims[0].id;
    harness.archiver.finish().unwrap();
    let written = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&written);
    disk.watch(Some(Arc::new(move |name, op| {
        if let Op::Write(_, _, bytes) = op
            && name == "archive.redb"
        {
            counted.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        true
    })));
    for n in 0..count {
        let reference = "x".repeat(EVIDENCE).into();
        let evidence = vec![Evidence { kind: EvidenceKind::Log, reference, note: None }];
        let proof = Command::Attest(ClaimProof { claim, evidence, seal: false, extension: None });
        let key = Some(KeyUse { key: [u8::try_from(n).unwrap(); 16], content: [1; 16] });
        let mut told = harness.act(&mut holder, &format!("local:w{n}"), &proof, key);
        harness.work();
        came(&mut told).stored();
        harness.archiver.finish().unwrap();
    }
    disk.watch(None);
    // What an outcome remembers is the claim as it was then.
    let view = harness.journal.view();
    for n in 0..count {
        let key = [u8::try_from(n).unwrap(); 16];
        let remembered = format!("{:?}", view.outcome(&key).unwrap().unwrap().outcome);
        assert_eq!(remembered.matches("Attestation {").count() as u64, n + 1);
    }
    (written.load(Ordering::Relaxed), disk.bytes_of("archive.redb").len() as u64)
}

/// Goal: `k` attestations write `k` of them and not their square. Method: four times as many write
/// and keep no more than about four times as many bytes.
#[test]
fn attestations_are_written_once() {
    let ((few, few_kept), (many, many_kept)) = (attested(8), attested(32));
    println!("8: {few} written, {few_kept} kept; 32: {many} written, {many_kept} kept");
    // Its act and itself, and half as much again for the pages.
    let fair = 32 * EVIDENCE as u64 * 3;
    assert!(many < 6 * few, "{few} bytes for 8, {many} for 32");
    assert!(many_kept < 2 * fair, "{many_kept} bytes are kept of 32, {few_kept} of 8");
}
