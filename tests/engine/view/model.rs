//! What a view must show, read off a plain list of entries, and the comparison with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use parley::journal::Committed;
use parley::journal::archive::{FirstOutcome, Retraction};
use parley::journal::view::{PlacedAct, Scan, ScanLimits, View};
use parley::storage::error::StoreResult;
use parley_kit::{Rng, ensure, same};
use parley_protocol::act::Kind;
use parley_protocol::claim::{Claim, ClaimStatus};
use parley_protocol::command::{ArtifactQuery, ThreadOrder, ThreadQuery};
use parley_protocol::entry::{Act, Due, Entry, Position, Published};
use parley_protocol::identity::Participant;
use parley_protocol::ids::{ClaimId, MessageId, ThreadId};
use parley_protocol::state::State;
use parley_protocol::thread::Thread;
use parley_protocol::thread_summary::ThreadSummary;

use super::world::{EXTENSIONS, IDENTITIES, participant};

/// A difference, in words.
pub type Found = Result<(), String>;

/// The entries that a view must show.
pub struct Model<'a>(pub &'a [Arc<Committed>]);

/// What is read, which must be readable.
pub fn read<T>(what: impl Debug, got: StoreResult<T>) -> Result<T, String> {
    got.map_err(|error| format!("{what:?}: {error}"))
}

impl Model<'_> {
    fn acts(&self) -> impl Iterator<Item = (u64, &Act)> {
        self.0.iter().filter_map(|committed| Some((committed.number, committed.entry.act()?)))
    }

    fn heads(&self) -> BTreeMap<ThreadId, Arc<ThreadSummary>> {
        let heads = self.0.iter().filter_map(|committed| committed.summary.clone());
        heads.map(|head| (head.id, head)).collect()
    }

    fn claims(&self) -> BTreeMap<ClaimId, Arc<Claim>> {
        self.0.iter().flat_map(|one| &one.claims).map(|claim| (claim.id, claim.clone())).collect()
    }

    fn artifacts(&self) -> Vec<(u64, &Published)> {
        let published = self.0.iter().filter_map(|committed| match &committed.entry {
            Entry::Artifact(published) => Some((committed.number, &**published)),
            _ => None,
        });
        published.collect()
    }

    fn retractions(&self, thread: ThreadId) -> BTreeMap<MessageId, Retraction> {
        let acts = self.acts().filter(|(_, act)| act.thread == thread);
        acts.filter_map(|(_, act)| {
            let message = act.message().filter(|message| message.kind == Kind::Retract)?;
            let by = act.by.clone();
            Some((message.parent?, Retraction { by, at: act.at, message: message.id }))
        })
        .collect()
    }

    /// Threads that wait for `who`, by the entry that set it, from its rule alone.
    fn inbox(&self, who: &Participant, anyone: bool, since: Position) -> Vec<Arc<ThreadSummary>> {
        let mut waiting: Vec<_> = self.heads().into_values().collect();
        waiting.retain(|head| {
            let Some(awaiting) = &head.awaiting else { return false };
            let set_after = Position(head.awaiting_entry * 16 + 11) > since;
            set_after
                && match &awaiting.due {
                    Due::Anyone => anyone && awaiting.asker != *who,
                    Due::Participant(due) => {
                        due.identity == who.identity && (who.extension.is_none() || due == who)
                    }
                }
        });
        waiting.sort_by_key(|head| head.awaiting_entry);
        waiting
    }

    /// Compares everything that `view` can be asked with what the entries say.
    pub fn compare(&self, view: &View, rng: &Rng) -> Found {
        let last = self.0.last().map_or(0, |committed| committed.number);
        same("position", &view.position(), &Position(last * 16 + 15))?;
        self.compare_threads(view)?;
        self.compare_lists(view, rng)?;
        self.compare_inboxes(view, rng)?;
        self.compare_claims(view, rng)?;
        self.compare_outcomes(view)?;
        self.compare_artifacts(view, rng)
    }

    fn compare_threads(&self, view: &View) -> Found {
        let mut acts: BTreeMap<ThreadId, Vec<(u64, &Act)>> = BTreeMap::new();
        for (number, act) in self.acts() {
            acts.entry(act.thread).or_default().push((number, act));
        }
        for (id, head) in self.heads() {
            same((id, "head"), &read(id, view.summary(id))?.as_deref(), &Some(&*head))?;
            let acts = &acts[&id];
            let mut thread = Thread::open(acts[0].1).expect("the first act opens");
            thread.stamp(acts[0].1, acts[0].0);
            for (number, act) in &acts[1..] {
                thread.apply(act);
                thread.stamp(act, *number);
            }
            same((id, "thread"), &read(id, view.thread(id))?, &Some(thread))?;
            for after in [0, acts[acts.len() / 2].0, acts[acts.len() - 1].0] {
                for max in [1, 3, usize::MAX] {
                    let got = read(id, view.acts(id, after))?.take(max);
                    let got = read(id, got.collect::<StoreResult<Vec<_>>>())?;
                    let got: Vec<_> = got.iter().map(|one| (one.entry, one.act())).collect();
                    let want = acts.iter().copied().filter(|(number, _)| *number > after);
                    same((id, "acts", after, max), &got, &want.take(max).collect())?;
                }
            }
            for (number, act) in acts {
                let got = read(number, view.act_at(id, *number))?;
                same((id, "act", number), &got.as_ref().map(PlacedAct::act), &Some(act))?;
            }
            let retractions = self.retractions(id);
            let every = MessageId(0)..=MessageId(u64::MAX);
            same((id, "retractions"), &read(id, view.retractions(id, every))?, &retractions)?;
            let ids: Vec<_> = acts.iter().filter_map(|(_, act)| Some(act.message()?.id)).collect();
            let some = ids[ids.len() / 3]..=ids[ids.len() * 2 / 3];
            let wanted = retractions.range(some.clone()).map(|(id, how)| (*id, how.clone()));
            let got = read(id, view.retractions(id, some))?;
            same((id, "retractions of a page"), &got, &wanted.collect())?;
            for message in acts.iter().filter_map(|(_, act)| act.message()) {
                let got = read(id, view.retraction(id, message.id))?;
                same((id, "retraction"), &got.as_ref(), &retractions.get(&message.id))?;
            }
        }
        let unknown = ThreadId(1 << 40);
        same("unknown", &read("", view.summary(unknown))?, &None)?;
        same("unknown", &read("", view.acts(unknown, 0))?.count(), &0)
    }

    fn compare_lists(&self, view: &View, rng: &Rng) -> Found {
        for order in ThreadOrder::ALL {
            let state = rng.once_in(2).then(|| rng.pick(&State::ALL));
            let creator = rng.once_in(3).then(|| (rng.pick(&IDENTITIES)).into());
            let awaiting = rng.once_in(3).then(|| rng.once_in(2));
            let locked = rng.once_in(4).then(|| rng.once_in(2));
            let filtered =
                ThreadQuery { state, creator, awaiting, locked, order, ..ThreadQuery::default() };
            for query in [ThreadQuery { order, ..ThreadQuery::default() }, filtered] {
                let mut want: Vec<_> = self.heads().into_values().collect();
                want.retain(|head| {
                    query.state.is_none_or(|state| head.state == state)
                        && query.creator.as_ref().is_none_or(|it| **it == *head.creator.identity)
                        && query.awaiting.is_none_or(|it| head.awaiting.is_some() == it)
                        && query.locked.is_none_or(|it| head.locked() == it)
                });
                match order {
                    ThreadOrder::Created => want.sort_by_key(|head| head.id),
                    ThreadOrder::Updated => want.sort_by_key(|head| head.position),
                    ThreadOrder::CreatedDescending => want.sort_by_key(|it| Reverse(it.id)),
                    ThreadOrder::UpdatedDescending => want.sort_by_key(|it| Reverse(it.position)),
                }
                let got =
                    paged(rng, |after, page| view.threads(&query, after, page, &mut |_| Ok(true)))?;
                same(&query, &got, &want)?;
            }
        }
        Ok(())
    }

    fn compare_inboxes(&self, view: &View, rng: &Rng) -> Found {
        let last = view.position();
        for identity in IDENTITIES.into_iter().chain(["local:nobody"]) {
            for extension in EXTENSIONS {
                let who = participant(identity, extension);
                for anyone in [true, false] {
                    let since = Position(if rng.once_in(2) { 0 } else { rng.number() % last.0 });
                    let want = self.inbox(&who, anyone, since);
                    let (mut got, mut place) = (Vec::new(), since);
                    loop {
                        let page = random_page(rng);
                        let found =
                            read(&who, view.inbox(&who, anyone, place, page, &mut |_| Ok(true)))?;
                        let proper = !found.more || found.next > place;
                        ensure(proper && found.items.len() <= page.limit, || {
                            format!("{who}: no proper page at {place:?}")
                        })?;
                        got.extend(found.items);
                        place = found.next;
                        if !found.more {
                            break;
                        }
                    }
                    same((&who, "now"), &place, &last)?;
                    same((&who, anyone, since), &got, &want)?;
                    for head in got {
                        let placed = read(&who, view.act_at(head.id, head.awaited_entry))?;
                        let message = placed.as_ref().and_then(|one| one.act().message());
                        let awaited = head.awaiting.as_ref().map(|awaiting| awaiting.message);
                        same("awaited", &message.map(|message| message.id), &awaited)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn compare_claims(&self, view: &View, rng: &Rng) -> Found {
        let claims = self.claims();
        for (id, claim) in &claims {
            same(id, &read(id, view.claim(*id))?.as_ref(), &Some(claim))?;
        }
        same("unknown", &read("", view.claim(ClaimId(1 << 40)))?, &None)?;
        for thread in self.heads().into_keys() {
            for status in [None, Some(rng.pick(&ClaimStatus::ALL))] {
                let mut want: Vec<_> = claims.values().cloned().collect();
                want.retain(|claim| {
                    claim.thread == thread && status.is_none_or(|status| claim.status == status)
                });
                let got = paged(rng, |after, page| {
                    view.claims(thread, status, after, page, &mut |_| Ok(true))
                })?;
                same((thread, "claims", status), &got, &want)?;
            }
        }
        Ok(())
    }

    fn compare_outcomes(&self, view: &View) -> Found {
        for committed in self.0 {
            let Some(key) = committed.entry.key() else { continue };
            let got = read(committed.number, view.outcome(&key.key))?;
            let got = got.ok_or_else(|| format!("{}: the outcome is lost", committed.number))?;
            same("content", &got.content, &key.content)?;
            let want = match &committed.entry {
                Entry::Act(act) => match committed.claims.first().cloned() {
                    Some(claim) => FirstOutcome::Claim { entry: committed.number, claim },
                    None => FirstOutcome::Act { thread: act.thread, entry: committed.number },
                },
                Entry::Artifact(_) => FirstOutcome::Published(Box::from(&b"{}"[..])),
                Entry::Outcome(.., outcome) => FirstOutcome::Other(outcome.clone()),
            };
            same((committed.number, "outcome"), &got.outcome, &want)?;
        }
        same("unknown", &read("", view.outcome(&[255; 16]))?, &None)
    }

    fn compare_artifacts(&self, view: &View, rng: &Rng) -> Found {
        let all = self.artifacts();
        let mut queries = vec![ArtifactQuery::default()];
        for (entry, published) in &all {
            let got = read(entry, view.artifact(&published.id))?;
            let got = got.as_ref().map(|one| (one.entry, one.published()));
            same(entry, &got, &Some((*entry, *published)))?;
            // The world writes `objects-to` for every second reference.
            let objects =
                |it: &Published| it.references.iter().step_by(2).any(|id| *id == published.id);
            let objections = all.iter().filter(|(_, it)| &*it.kind == "OBJECTION" && objects(it));
            let objections: BTreeSet<_> = objections.map(|(_, it)| it.id).collect();
            let got = read(entry, view.objections_to(&published.id, usize::MAX))?;
            same((entry, "objections"), &got, &(objections, true))?;
            queries.push(ArtifactQuery {
                kind: rng.once_in(3).then(|| "OBJECTION".into()),
                references: rng.once_in(2).then_some(published.id),
                thread: published.thread,
                ..ArtifactQuery::default()
            });
        }
        for query in &queries {
            let mut want = all.clone();
            want.retain(|(_, it)| {
                query.kind.as_ref().is_none_or(|kind| *kind == it.kind)
                    && query.references.is_none_or(|id| it.references.contains(&id))
                    && query.thread.is_none_or(|thread| it.thread == Some(thread))
            });
            let got =
                paged(rng, |after, page| view.artifacts(query, after, page, &mut |_| Ok(true)))?;
            let got: Vec<_> = got.iter().map(|one| (one.entry, one.published())).collect();
            same(query, &got, &want)?;
        }
        Ok(())
    }
}

fn random_page(rng: &Rng) -> ScanLimits {
    let scan_max = rng.pick(&[1, 2, 5, 1_000]);
    ScanLimits { limit: rng.pick(&[1, 2, 3, 1_000]), scan_max }
}

/// Every item of a list, taken in pages of random sizes.
fn paged<T>(
    rng: &Rng,
    list: impl Fn(Option<u64>, ScanLimits) -> StoreResult<Scan<T>>,
) -> Result<Vec<T>, String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = random_page(rng);
        let scan = read("a list", list(after, page))?;
        ensure(scan.items.len() <= page.limit, || "a page is too long".into())?;
        if scan.more && after == Some(scan.next) {
            return Err(format!("the list stands still at {after:?}"));
        }
        all.extend(scan.items);
        after = Some(scan.next);
        if !scan.more {
            return Ok(all);
        }
    }
}
