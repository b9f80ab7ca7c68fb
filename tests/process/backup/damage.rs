//! Flipped bits, in a copy of the data and in a backup.

use std::path::Path;
use std::sync::Arc;

use parley::clock::{Clock, SystemClock};
use parley::maintenance::backup::{restore, verify};
use parley_kit::folder::names;
use parley_kit::process::run;
use parley_kit::{Folder, Rng, number, printed_rng};

use super::forum::{Shown, fill, read};
use super::site::{backup, copy_folder, is_database, start, try_start};

/// Flips where the environment names no number.
const FLIPS: u64 = 60;
/// Bytes of a database's header.
const HEADER: u64 = 320;
/// Starts on a damaged folder are tried every so many flips.
const START_EVERY: u64 = 3;

/// Where a bit is flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// In any byte of any file.
    Anywhere,
    /// In a byte that is not zero: much of a database is room that it has not used yet.
    Filled,
    /// In the header of a database, which a random byte seldom is in.
    Header,
}

/// Flips a bit of a file in `folder`; tells which.
fn flip(folder: &Path, rng: &Rng, place: Where) -> String {
    let files: Vec<_> = names(folder)
        .into_iter()
        .map(|name| (std::fs::read(folder.join(&name)).unwrap(), name))
        .filter(|(bytes, name)| {
            !bytes.is_empty() && (place == Where::Anywhere || is_database(name))
        })
        .collect();
    let (file, byte) = if place == Where::Header {
        let file = rng.below(files.len() as u64) as usize;
        (file, rng.below(HEADER.min(files[file].0.len() as u64)) as usize)
    } else {
        let mut byte = rng.below(files.iter().map(|(bytes, _)| bytes.len() as u64).sum()) as usize;
        let found = files.iter().position(|(bytes, _)| {
            let within = byte < bytes.len();
            byte -= if within { 0 } else { bytes.len() };
            within
        });
        (found.unwrap(), byte)
    };
    let (mut bytes, name) = files.into_iter().nth(file).unwrap();
    let filled = (byte..bytes.len()).find(|byte| bytes[*byte] != 0);
    let byte = if place == Where::Filled { filled.unwrap_or(byte) } else { byte };
    let bit = rng.below(8);
    bytes[byte] ^= 1 << bit;
    std::fs::write(folder.join(&name), bytes).unwrap();
    format!("{name} byte {byte} bit {bit}")
}

/// Goal: no flip of a bit in the data goes unnoticed and changes what is read. Method: copies of a
/// folder, after a stop and after a kill, one bit flipped in each: the check finds it, or a server
/// on it shows every byte as before. A start on a damaged folder serves, or refuses in one line.
#[test]
fn flips_in_the_data() {
    let folder = Folder::new("flips");
    let server = start(&folder.text("killed"));
    fill(&server, 12);
    let (admin, shown) = (server.admin.clone(), read(server.address, &server.admin));
    server.kill();
    copy_folder(&folder.join("killed"), &folder.join("stopped"));
    start(&folder.text("stopped")).stop();
    let (rng, flips) = (printed_rng(), number("PARLEY_FLIPS", FLIPS));
    let (mut found, mut refused) = (0, 0);
    for n in 0..flips {
        let from = if n % 2 == 0 { "stopped" } else { "killed" };
        copy_folder(&folder.join(from), &folder.join("flipped"));
        let places = [Where::Anywhere, Where::Filled, Where::Header, Where::Filled];
        let place = places[(n / 2 % 4) as usize];
        let which = flip(&folder.join("flipped"), &rng, place);
        let which = format!("flip {n} of {from}: {which}");
        let checked = run(&["check", "--data", &folder.text("flipped")]);
        if checked.code == 0 {
            unharmed(&folder.text("flipped"), &admin, &shown, &which);
            continue;
        }
        checked.failed(1);
        found += 1;
        if found % START_EVERY == 0 {
            match try_start(&folder.text("flipped")) {
                Ok(server) => server.kill(),
                Err(ended) => {
                    let said = (ended.code, ended.err.lines().count());
                    assert_eq!(said, (1, 1), "{which} {ended:?}");
                    refused += 1;
                }
            }
        }
    }
    println!(
        "{flips} flips: {found} found by the check, the others without effect; {refused} of \
              the starts tried refused"
    );
    assert!(found > flips / 10, "{found} of {flips}");
}

fn unharmed(data: &str, admin: &str, shown: &Shown, which: &str) {
    let server = try_start(data).unwrap_or_else(|ended| panic!("{which}: {ended:?}"));
    let found = read(server.address, admin);
    assert!(found == *shown, "{which} changed what is read and was not found");
    server.kill();
}

/// Goal: no flip, cut or addition in a backup goes unnoticed, and a restore that fails leaves
/// nothing. Method: at random all over one, and at its ends, through the part that the command
/// calls; some through the command.
#[test]
fn flips_in_a_backup() {
    let folder = Folder::new("backup-flips");
    let server = start(&folder.text("data"));
    fill(&server, 12);
    backup(&server, &folder.text("copy"));
    server.stop();
    let whole = std::fs::read(folder.join("copy")).unwrap();
    let (file, target) = (folder.join("damaged"), folder.join("restored"));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (rng, flips) = (printed_rng(), number("PARLEY_FLIPS", FLIPS).max(200));
    let length = whole.len() as u64;
    let refuse = |bytes: &[u8], which: &str, by_command: bool| {
        std::fs::write(&file, bytes).unwrap();
        assert!(verify(&file).is_err(), "{which}");
        assert!(restore(&file, &target, &clock).is_err(), "{which}");
        if by_command {
            let line = ["restore", file.to_str().unwrap(), "--data", target.to_str().unwrap()];
            run(&line).failed(1);
        }
        assert_eq!(folder.names(), ["copy", "damaged", "data"], "{which}");
    };
    for n in 0..flips {
        // The ends are as likely as the middle.
        let byte = match n % 4 {
            0 => n / 4 % length,
            1 => length - 1 - (n / 4 % length),
            _ => rng.below(length),
        };
        let mut flipped = whole.clone();
        flipped[byte as usize] ^= 1 << rng.below(8);
        refuse(&flipped, &format!("byte {byte}"), n % 50 == 0);
    }
    for n in 0..40 {
        let cut = if n < 20 { n } else { rng.below(length) };
        refuse(&whole[..cut as usize], &format!("cut at {cut}"), n == 30);
        let cut = length - 1 - n;
        refuse(&whole[..cut as usize], &format!("cut at {cut}"), false);
    }
    refuse(&[&whole[..], &[0]].concat(), "one more byte", true);
    refuse(&[&whole[..], &whole].concat(), "twice", false);
    println!("{flips} flips and 80 cuts refused, of {length} bytes");
    assert!(restore(&folder.join("copy"), &target, &clock).is_ok());
}
