//! `session/load` and `session/resume`: the session is looked up, its folder compared, its
//! feed attached, its past told, and from then on everything that happens in it.
//!
//! Invariants: every load is answered once; one that fails leaves everything as it was
//! (what it opened for itself is closed, no turn is stopped) except for a mark, so that the
//! next one does not tell a row twice.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::effect::FileDeparture;
use crate::host::{Fact, Failure, Outcome, SessionKey};
use crate::input::{FileArrival, FileRefusal, Root};
use crate::limits;
use crate::object;
use crate::plumbing::FileOwner;
use crate::rpc::Ticket;

use super::calls::Purpose;
use super::catalog::normal;
use super::feed::{Attached, Feed};
use super::history::Observer;
use super::models::Waiting;
use super::options::Configuration;
use super::turn::Turn;
use super::wire::current::{self as w, op};
use super::{Answer, Cx, Maka, failure};

/// A load before its session is attached.
#[derive(Debug, Serialize, Deserialize)]
pub struct Load {
    session: SessionKey,
    session_id: String,
    cwd: String,
    /// Where the Host says that the session works.
    host_cwd: String,
    replay: bool,
    /// Its name, and how it is set.
    title: String,
    configuration: Option<Configuration>,
}

/// A load after that.
#[derive(Debug, Serialize, Deserialize)]
pub struct Loading {
    ticket: Ticket,
    /// Whether the past is told.
    pub replay: bool,
    /// Whether it goes on: its feed is there.
    pub begun: bool,
    /// Through which row anything was told for it, or for one before it that failed.
    pub told: Option<u64>,
    /// Whether the session is attached for it alone.
    fresh: bool,
    /// Who looked at the session before.
    before: Option<Observer>,
    /// Its name, and how it is set.
    title: String,
    configuration: Option<Configuration>,
}

impl Maka {
    /// The first step: what the Host knows of the session.
    pub(super) fn load(
        &mut self,
        cx: &mut Cx<'_, '_>,
        session: SessionKey,
        session_id: String,
        ticket: Ticket,
        cwd: String,
        replay: bool,
    ) {
        let refusal = if self.ending {
            Some(failure::closing(op::OPEN))
        } else if !w::entity_id(&session_id) {
            Some(failure::unknown(&session_id))
        } else {
            None
        };
        if let Some(failure) = refusal {
            return cx.answer(Fact::Refused { ticket, failure });
        }
        let input = object! { "kind": "get", "sessionId": session_id };
        let load = Load {
            session,
            session_id,
            cwd: normal(&cwd),
            host_cwd: String::new(),
            replay,
            title: String::new(),
            configuration: None,
        };
        self.loads.insert(ticket, load);
        let timeout = Some(limits::MAKA_FIRST_MS);
        self.call(cx, op::CATALOG, input, Purpose::Look { ticket }, timeout);
    }

    /// The Host told what it knows: the second step is the folder.
    pub(super) fn looked(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, answer: Answer<'_>) {
        let Some(mut load) = self.loads.remove(&ticket) else {
            return;
        };
        let catalog = match &answer {
            Answer::Result(result) => serde_json::from_str::<w::Catalog<'_>>(result.get()).ok(),
            _ => None,
        };
        let failure = match catalog.map(|catalog| catalog.session) {
            Some(Some(item)) if item.id != load.session_id => {
                failure::catalog_read(op::CATALOG, "invalid_projection")
            }
            Some(Some(item)) if item.is_archived => failure::archived(&load.session_id),
            Some(Some(item)) => match &item.workspace {
                Some(workspace) => {
                    load.configuration = Configuration::of(&item);
                    load.title = item.name.to_string();
                    load.host_cwd = workspace.host_cwd.to_string();
                    let stat = FileDeparture::Stat(Root::Linked, load.cwd.clone());
                    cx.core.file(FileOwner::Load(ticket), stat);
                    self.loads.insert(ticket, load);
                    return;
                }
                // A record of an older Maka that this epoch cannot tell.
                None => failure::catalog_read(op::CATALOG, "invalid_projection"),
            },
            Some(None) => failure::unknown(&load.session_id),
            None => answer.failure(op::CATALOG),
        };
        cx.answer(Fact::Refused { ticket, failure });
    }

    /// The folder as it really is (`None`: that could not be handled), compared with the
    /// Host's: the third step is what can be set, the fourth the feed.
    pub fn load_folder(
        &mut self,
        cx: &mut Cx<'_, '_>,
        ticket: Ticket,
        arrival: Option<FileArrival>,
    ) {
        if let Some(load) = self.loads.remove(&ticket) {
            let refused = match arrival {
                Some(FileArrival::Facts(facts)) => facts.canonical_path != load.host_cwd,
                Some(FileArrival::Refused(FileRefusal::Error(name)))
                    if name != "ENOENT" && name != "ENOTDIR" =>
                {
                    let failure = failure::folder(&name);
                    return self.refuse_load(cx, ticket, failure);
                }
                // Gone, or not to be looked at: the name as given is all there is.
                Some(FileArrival::Refused(FileRefusal::Error(_) | FileRefusal::NotAllowed)) => {
                    load.cwd != load.host_cwd
                }
                _ => return self.refuse_load(cx, ticket, failure::folder("internal_failure")),
            };
            if refused {
                return self.refuse_load(cx, ticket, failure::other_folder(&load.host_cwd));
            }
            self.loads.insert(ticket, load);
            self.read_models(cx, Waiting::Loading(ticket));
        }
        self.pump(cx);
    }

    /// The models were read, or could not be.
    pub(super) fn load_modeled(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket) {
        if let Some(load) = self.loads.remove(&ticket) {
            self.attach_load(cx, ticket, load);
        }
    }

    fn refuse_load(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, failure: Failure) {
        cx.answer(Fact::Refused { ticket, failure });
        self.pump(cx);
    }

    fn attach_load(&mut self, cx: &mut Cx<'_, '_>, ticket: Ticket, load: Load) {
        let key = load.session;
        let told = self.told.get(&load.session_id).copied();
        let fresh = !self.feeds.contains_key(&key);
        let attached = self
            .feeds
            .entry(key)
            .or_insert_with(|| Attached::new(load.session_id));
        attached.load = Some(Loading {
            ticket,
            replay: load.replay,
            begun: false,
            told: told.filter(|_| load.replay),
            fresh,
            before: None,
            title: load.title,
            configuration: load.configuration,
        });
        self.wake(cx, key);
    }

    /// The feed was live already.
    pub(super) fn load_live(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get(&key) else {
            return;
        };
        // What a turn that nobody looked at has said so far is only told at an opening.
        let unseen = attached.turn.is_none() && attached.root.as_ref().is_some_and(|it| it.live);
        if unseen {
            self.detach(cx, key);
            return self.open(cx, key);
        }
        let replay = attached.load.as_ref().is_some_and(|load| load.replay);
        self.begin_load(cx, key);
        if replay {
            self.hold(cx, key);
        } else {
            self.told_all(cx, key);
            self.look_on(cx, key);
        }
    }

    /// From here on the session is looked at.
    pub(super) fn begin_load(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(load) = attached.load.as_mut().filter(|load| !load.begun) else {
            return;
        };
        load.begun = true;
        load.before = attached.observer.take();
        attached.observer = Some(match &load.before {
            _ if load.replay => Observer::after(load.told),
            Some(before) => before.clone(),
            None => Observer::after(attached.watermark),
        });
        if load.replay {
            self.adopt_again(cx, key);
        }
    }

    /// The session is set otherwise by now. False when no load is there to tell it.
    pub(super) fn load_learns(&mut self, key: SessionKey, configuration: &Configuration) -> bool {
        let load = self.feeds.get_mut(&key).and_then(|it| it.load.as_mut());
        match load {
            Some(load) => {
                load.configuration = Some(configuration.clone());
                true
            }
            None => false,
        }
    }

    /// A load that goes on has told everything.
    pub(super) fn load_done(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        if let Some(load) = attached.load.take_if(|load| load.begun) {
            let session_id = attached.session_id.clone();
            self.told.remove(&session_id);
            let known = self.models.known.as_ref();
            let options = known
                .and(load.configuration)
                .map(|configuration| self.options(&configuration));
            let fact = Fact::Loaded {
                ticket: load.ticket,
                title: load.title,
                options,
            };
            let _fine = cx.tell(key, fact);
            self.ask_skills(cx, &session_id);
            self.domain_changed(cx, key, "plan");
            self.ask_context(cx, key);
        }
    }

    /// The feed that a load waits for cannot be had, or nobody waits any more: all is as it
    /// was before.
    pub(super) fn load_failed(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey, failure: &Failure) {
        let Some(attached) = self.feeds.get_mut(&key) else {
            return;
        };
        let Some(load) = attached.load.take() else {
            return;
        };
        if load.begun {
            attached.observer = load.before;
        }
        if let Some(told) = load.told.filter(|_| load.replay) {
            if self.told.len() as u64 >= limits::MAKA_TOLD_MARKS {
                self.told.pop_first();
            }
            self.told.insert(attached.session_id.clone(), told);
        }
        let failure = failure.clone();
        let ticket = load.ticket;
        if load.fresh && attached.turn.as_ref().is_none_or(|turn| !turn.ours()) {
            attached.observer = None;
            attached.turn = None;
            self.detach(cx, key);
            self.feeds.remove(&key);
            self.changed.remove(&key);
        } else if attached.observer.is_none() && attached.watches() {
            // Adopted for the load alone.
            let turn = attached.turn.take();
            attached.reading.interrupt();
            let outcome = Outcome::Broken {
                failure: failure.clone(),
            };
            if let Some(Turn { id, .. }) = turn {
                let _fine = cx.tell(
                    key,
                    Fact::Settled {
                        turn_id: &id,
                        outcome,
                    },
                );
            }
        }
        cx.answer(Fact::Refused { ticket, failure });
    }

    /// The editor does not wait for the load any more.
    pub(super) fn load_abandoned(&mut self, cx: &mut Cx<'_, '_>, key: SessionKey) {
        self.loads.retain(|_, load| load.session != key);
        let interrupted = self.feeds.get(&key).is_some_and(|it| {
            it.load.as_ref().is_some_and(|load| load.begun)
                && matches!(it.feed, Feed::Hydrating { .. })
        });
        self.load_failed(cx, key, &failure::closing(op::OPEN));
        // What the walk held back goes on, as after any break of the feed.
        if interrupted && self.feeds.contains_key(&key) {
            self.recover(cx, key, "correlation_changed");
        }
    }

    /// `session/close` has come: nobody waits for a load of the session any more, and the
    /// next one tells everything.
    pub(super) fn forget_load(&mut self, key: SessionKey) {
        self.loads.retain(|_, load| load.session != key);
        if let Some(attached) = self.feeds.get_mut(&key) {
            attached.load = None;
            self.told.remove(&attached.session_id);
        }
    }

    /// At the end: every load is answered.
    pub(super) fn refuse_loads(&mut self, cx: &mut Cx<'_, '_>) {
        for ticket in core::mem::take(&mut self.loads).into_keys() {
            let failure = failure::closing(op::OPEN);
            cx.answer(Fact::Refused { ticket, failure });
        }
        for key in self.feeds.keys().copied().collect::<alloc::vec::Vec<_>>() {
            self.load_failed(cx, key, &failure::closing(op::OPEN));
        }
    }
}
