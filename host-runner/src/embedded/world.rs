//! The world of the embedded Host: every session, every connection, one lock.
//! Connections and turns run on threads of their own and meet only here; the
//! lock is held for a state change and the queueing of its frames, never for
//! a socket or a pause. Invariant: what a client is told happened in the order
//! in which it is told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::clock::{Clock, Deadline};
use super::faults::{Fate, Fault, Faults};
use super::gate::Gate;
use super::ids;
use super::outbox::Outbox;
use super::script::Script;
use super::session::{Session, Waiter};
use super::store::Store;
use super::subscription::Subscription;
use super::turns;
use super::uploads::Uploads;
use super::wire::{HANDSHAKE, Refusal, code, refuse};

/// What an embedded Host is made of.
#[derive(Debug)]
pub struct Options {
    /// A script file (`docs/embedded-script.md`); the built-in script when absent.
    pub script: Option<PathBuf>,
    /// Where sessions are kept; in memory when absent.
    pub state_dir: Option<PathBuf>,
    /// Faults that are armed from the start, next to those of the script.
    pub faults: Vec<Fault>,
    /// Whose time pauses take.
    pub clock: Clock,
    /// How long a connection may stay silent before its hello.
    pub handshake: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            script: None,
            state_dir: None,
            faults: Vec::new(),
            clock: Clock::system(),
            handshake: HANDSHAKE,
        }
    }
}

/// The state that every connection of one embedded Host shares.
pub struct World {
    state: Mutex<State>,
    changed: Condvar,
    pub(crate) clock: Clock,
    pub(crate) gate: Gate,
    pub(crate) script: Script,
    pub(crate) handshake: Duration,
    root_id: String,
}

pub(crate) struct State {
    pub(crate) host_epoch: String,
    /// How often the Host was restarted; a turn of an earlier life is dead.
    pub(crate) life: u64,
    pub(crate) signing_key: String,
    pub(crate) started_at: u64,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) connections: BTreeMap<u64, Arc<Outbox>>,
    next_connection: u64,
    catalog_revision: u64,
    pub(crate) uploads: Uploads,
    pub(crate) pending_faults: Vec<Fault>,
    pub(crate) store: Store,
}

impl World {
    /// Builds a Host: reads its script, and its sessions if they are on disk.
    ///
    /// # Errors
    /// The script cannot be read or is not valid, or the state folder cannot be used.
    pub fn new(options: Options) -> Result<Arc<World>> {
        let script = match &options.script {
            None => Script::built_in(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read the script {}", path.display()))?;
                Script::parse(&text).with_context(|| path.display().to_string())?
            }
        };
        let store = Store::open(options.state_dir.as_deref())?;
        let root_id = store.root_id()?;
        let sessions = store.load()?;
        let state = State {
            host_epoch: ids::uuid(),
            life: 0,
            signing_key: ids::root(),
            started_at: options.clock.now(),
            sessions,
            connections: BTreeMap::new(),
            next_connection: 1,
            catalog_revision: 0,
            uploads: Uploads::default(),
            pending_faults: Vec::new(),
            store,
        };
        let world = Arc::new(World {
            state: Mutex::new(state),
            changed: Condvar::new(),
            gate: Gate::new(matches!(options.clock, Clock::Stepped(_))),
            clock: options.clock,
            script,
            handshake: options.handshake,
            root_id,
        });
        turns::fail_interrupted(&mut world.lock(), world.clock.now());
        for fault in world.script.faults.iter().chain(&options.faults) {
            world.arm(fault.clone());
        }
        Ok(world)
    }

    /// A hand on what goes wrong.
    pub fn faults(&self) -> Faults<'_> {
        Faults(self)
    }

    /// Identity of this life of the Host; another one after a restart.
    pub fn host_epoch(&self) -> String {
        self.lock().host_epoch.clone()
    }

    /// Identity of the Host's state: 64 hexadecimal digits.
    pub fn root_id(&self) -> &str {
        &self.root_id
    }

    pub(crate) fn arm(&self, fault: Fault) {
        match fault {
            Fault::Restart { after: 0 } => self.restart(),
            fault => self.lock().place(fault),
        }
    }

    /// A frame was written to a client.
    pub(crate) fn frame_sent(&self) {
        let is_due = self.lock().counts_frame();
        if is_due {
            self.restart();
        }
    }

    /// What became of every turn: session, turn, status. For tests.
    pub fn turns(&self) -> Vec<(String, String, String)> {
        let state = self.lock();
        let sessions = state.sessions.values();
        let turns = sessions.flat_map(|session| {
            session.turns.keys().map(|turn| {
                let snapshot = session.turn_snapshot(turn).unwrap_or_default();
                let status = snapshot["status"].as_str().unwrap_or_default();
                (session.id.clone(), turn.clone(), status.to_owned())
            })
        });
        turns.collect()
    }

    /// Lets the plays of a stepped Host take so many steps while nobody listens.
    pub fn go_on(&self, steps: usize) {
        for _ in 0..steps {
            if !self.gate.step() {
                return;
            }
        }
    }

    /// Ends every play of a stepped Host. For a test that is done with it.
    pub fn abandon(&self) {
        self.restart();
        self.gate.open();
    }

    /// Ends this life and begins the next: what a crash and a new start do.
    fn restart(&self) {
        let mut state = self.lock();
        state.life += 1;
        state.host_epoch = ids::uuid();
        state.signing_key = ids::root();
        state.started_at = self.clock.now();
        state.uploads = Uploads::default();
        for outbox in std::mem::take(&mut state.connections).into_values() {
            outbox.close();
        }
        for session in state.sessions.values_mut() {
            session.live = Default::default();
        }
        turns::fail_interrupted(&mut state, self.clock.now());
        self.changed.notify_all();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes the turns that wait for something.
    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits until `ready` gives something, or, when a duration is given, for
    /// that long. The world goes on meanwhile.
    pub(crate) fn wait<T>(
        &self,
        duration: Option<Duration>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        let deadline = duration.map(Deadline::after);
        loop {
            if let Some(found) = ready(&mut state) {
                return Some(found);
            }
            state = match deadline {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(|poisoned| poisoned.into_inner()),
                Some(deadline) => {
                    let left = deadline.left();
                    if left.is_zero() {
                        return None;
                    }
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                        .0
                }
            };
        }
    }
}

impl State {
    /// Takes a connection in after its handshake.
    pub(crate) fn connect(&mut self, outbox: Arc<Outbox>) -> u64 {
        let id = self.next_connection;
        self.next_connection += 1;
        self.connections.insert(id, outbox.clone());
        let waiting = self
            .pending_faults
            .iter()
            .position(|fault| matches!(fault, Fault::DropConnection { .. }));
        if let Some(at) = waiting
            && let Fault::DropConnection { after } = self.pending_faults.remove(at)
        {
            outbox.close_after(after);
        }
        id
    }

    /// The client of a connection has gone, or sends no more.
    pub(crate) fn disconnect(&mut self, connection: u64) {
        self.connections.remove(&connection);
        self.uploads.forget(connection);
        for session in self.sessions.values_mut() {
            session
                .live
                .subscriptions
                .retain(|one| one.connection != connection);
        }
    }

    /// Sends an answer, unless a fault has other plans.
    pub(crate) fn respond(
        &mut self,
        world: &Arc<World>,
        to: &Waiter,
        result: Result<Value, Refusal>,
    ) {
        let fate = self.fate(&to.operation);
        let Some(outbox) = self.connections.get(&to.connection).cloned() else {
            return;
        };
        let (request, operation) = (to.request.clone(), to.operation.clone());
        match fate {
            Fate::Send => outbox.answer(&request, &operation, result),
            Fate::Lose => outbox.lose(),
            Fate::Late(ms) => {
                let world = world.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(world.clock.pause(ms));
                    outbox.answer(&request, &operation, result);
                });
            }
        }
    }

    /// Tells every connection that a session's catalog item changed.
    pub(crate) fn catalog_changed(&mut self, session: &str) {
        self.catalog_revision += 1;
        let frame = json!({"kind": "session.catalog.changed", "revision": self.catalog_revision, "sessionId": session});
        for outbox in self.connections.values() {
            outbox.notify(&frame);
        }
    }

    /// Marks a session as changed, and says so.
    pub(crate) fn touch(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.revision += 1;
        }
        self.catalog_changed(session);
    }

    pub(crate) fn project(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.project(&self.host_epoch);
        }
    }

    pub(crate) fn subscription(&self, connection: u64, id: &str) -> Option<&Subscription> {
        self.sessions
            .values()
            .flat_map(|session| &session.live.subscriptions)
            .find(|one| one.id == id && one.connection == connection && one.outbox.has_lane(id))
    }

    /// Writes a session to disk when the Host has one. A disk that fails must
    /// not end a demonstration: it is said, and the session lives on in memory.
    pub(crate) fn save(&self, session: &str) {
        if let Some(session) = self.sessions.get(session)
            && let Err(error) = self.store.save(session)
        {
            tracing::warn!(
                "the embedded Host cannot keep session {}: {error:#}",
                session.id
            );
        }
    }
}

/// The session that an input names.
pub(crate) fn existing<'a>(
    sessions: &'a mut BTreeMap<String, Session>,
    input: &Value,
) -> Result<&'a mut Session, Refusal> {
    match sessions.get_mut(input["sessionId"].as_str().unwrap_or_default()) {
        Some(session) => Ok(session),
        None => refuse(code::NOT_FOUND, "Session does not exist"),
    }
}
