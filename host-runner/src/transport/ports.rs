//! Everything that is open: carries effects out.
//!
//! The table of channels, the editor, the files. It opens what [`Grants`] allows, through
//! the rooms beside it. Invariant: [`Ports::carry`] never waits. An effect is carried out
//! when it is queued for the thread that does it, and every `open` gets exactly one answer.

use std::collections::BTreeMap;
use std::io;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::child::{self, Group};
use super::flow::{self, Living, Stop};
use super::mailbox::{Feed, Mailbox};
use super::outbox::{NotTaken, Outbox};
use super::stdio::{EditorLink, EditorPipe};
use super::supervisor::Supervisor;
use super::{http, limits, unix};
use crate::files::Files;
use crate::grants::Grants;
use crate::words::{
    AcpDeparture, Channel, Effect, Ending, HostArrival, HostDeparture, HostRefusal, Target,
};

/// What one ACP connection has open.
pub struct Ports {
    mailbox: Mailbox,
    editor: EditorLink,
    grants: Arc<Grants>,
    files: Files,
    /// `None`: used, and gone. A number is never used twice.
    channels: BTreeMap<Channel, Option<Link>>,
    supervisor: Supervisor,
    writers: Living,
    groups: Living,
}

/// One open channel. Dropping it closes it at once.
struct Link {
    outbox: Outbox,
    feed: Feed,
    group: Option<Group>,
    _stop: Stop,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.outbox.close();
        if let Some(group) = &self.group {
            group.signal(Signal::KILL);
        }
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        // Nobody waits for a round that never comes.
        self.mailbox.shut();
    }
}

impl Ports {
    /// Starts the editor's threads and the files' thread. Children are then unsupervised;
    /// see [`Ports::supervised_by`].
    ///
    /// # Errors
    /// When the system gives no descriptors or threads.
    pub fn new(mailbox: Mailbox, editor: EditorPipe, grants: Grants) -> io::Result<Ports> {
        let writers = Living::default();
        let grants = Arc::new(grants);
        Ok(Ports {
            editor: editor.start(mailbox.editor(), writers.enter())?,
            files: Files::start(mailbox.clone(), Arc::clone(&grants))?,
            mailbox,
            grants,
            channels: BTreeMap::new(),
            supervisor: Supervisor::default(),
            writers,
            groups: Living::default(),
        })
    }

    /// Names the command that starts the supervisor of child processes, for programs:
    /// [`super::supervisor::this_program`]. It is started with the first child.
    #[must_use]
    pub fn supervised_by(mut self, start: impl Fn() -> process::Command + Send + 'static) -> Ports {
        self.supervisor = Supervisor::started_by(start);
        self
    }

    /// Carries out one effect for the editor, a Host or a file: queues it. Other effects
    /// are `drive`'s, and are ignored here.
    pub fn carry(&mut self, effect: Effect) {
        match effect {
            Effect::Acp(AcpDeparture::Bytes(bytes)) => self.editor.send(bytes),
            Effect::Acp(AcpDeparture::Finish) => self.editor.finish(),
            Effect::Host((channel, HostDeparture::Open(target))) => self.open(channel, target),
            Effect::Host((channel, departure)) => self.use_channel(channel, departure),
            Effect::File((handle, departure)) => self.files.carry(handle, departure),
            Effect::Arm(_) | Effect::Disarm(_) | Effect::Note(_) | Effect::Done(_) => {
                tracing::warn!("an effect that is not for the edge was ignored");
            }
        }
    }

    fn open(&mut self, channel: Channel, target: Target) {
        if self.channels.contains_key(&channel) {
            tracing::warn!("channel {channel} was opened twice; the second time was ignored");
            return;
        }
        // The links of channels that ended by themselves.
        for link in self.channels.values_mut() {
            link.take_if(|link| link.feed.is_gone());
        }
        let feed = self.mailbox.open(channel);
        let link = if self.channels.values().flatten().count() < limits::CHANNELS {
            self.start(target, feed)
        } else {
            let why = format!(
                "{} channels are open, and no more are allowed.",
                limits::CHANNELS
            );
            feed.opening(HostArrival::Refused(HostRefusal::Failed(why)));
            None
        };
        self.channels.insert(channel, link);
    }

    fn start(&self, target: Target, feed: Feed) -> Option<Link> {
        let outbox = Outbox::default();
        let (stop, stopped) = match flow::stop() {
            Ok(pair) => pair,
            Err(error) => {
                feed.opening(HostArrival::Refused(HostRefusal::Failed(error.to_string())));
                return None;
            }
        };
        let mut link = Link {
            outbox: outbox.clone(),
            feed: feed.clone(),
            group: None,
            _stop: stop,
        };
        match target {
            Target::Host(name) => {
                let host = self.grants.host(&name).or_refuse(&feed)?;
                let living = self.writers.clone();
                unix::open(
                    &name,
                    host,
                    unix::Opening {
                        feed,
                        outbox,
                        stopped,
                        living,
                    },
                );
            }
            Target::Process(command) => {
                let program = self.grants.program(&command.program).or_refuse(&feed)?;
                let (alive, supervisor) = (self.groups.enter(), self.supervisor.clone());
                let opening = child::Opening {
                    feed,
                    outbox,
                    stopped,
                    alive,
                    supervisor,
                };
                link.group = Some(child::open(program, command, opening));
            }
            Target::Http(request) => {
                http::open(&request, &self.grants, &feed);
                return None;
            }
        }
        Some(link)
    }

    fn use_channel(&mut self, channel: Channel, departure: HostDeparture) {
        let Some(entry) = self.channels.get_mut(&channel) else {
            tracing::warn!("channel {channel} was used before it was opened; that was ignored");
            return;
        };
        if matches!(departure, HostDeparture::Close) {
            *entry = None;
            self.mailbox.close(channel);
            return;
        }
        let Some(link) = entry else {
            tracing::warn!(
                "channel {channel} was used after it was closed or refused; that was ignored"
            );
            return;
        };
        match departure {
            HostDeparture::Bytes(bytes) => match link.outbox.send(bytes) {
                Ok(()) => {}
                // Its end is on the way, or it asked to finish.
                Err(NotTaken::Over) => {
                    tracing::debug!("bytes after the end of channel {channel} were dropped")
                }
                Err(NotTaken::Full) => {
                    link.feed.end(Ending::Broken(
                        "It does not read: too much waits for it.".to_owned(),
                    ));
                    *entry = None;
                }
            },
            HostDeparture::Read(reading) => self.mailbox.read(channel, reading),
            HostDeparture::Finish => link.outbox.finish(),
            HostDeparture::Terminate => match &link.group {
                Some(group) => group.signal(Signal::TERM),
                None => tracing::warn!("channel {channel} is no process; terminate was ignored"),
            },
            HostDeparture::Open(_) | HostDeparture::Close => {}
        }
    }

    /// Closes everything and ends all child process groups within `grace`, by the one
    /// ladder: the end of input at once, `SIGTERM` after two fifths, `SIGKILL` after four.
    /// What waits for the editor and for Hosts is written as far as they take it within the
    /// first two fifths.
    pub fn shutdown(mut self, grace: Duration) {
        let step = grace / 5;
        self.mailbox.shut();
        self.editor.finish();
        for link in self.links() {
            link.outbox.finish();
        }
        let (writers, groups) = (self.writers.clone(), self.groups.clone());
        let groups_gone = groups.wait_until_none(step * 2);
        writers.wait_until_none(if groups_gone {
            step * 2
        } else {
            Duration::ZERO
        });
        self.editor.close();
        for group in self.links().filter_map(|link| link.group.as_ref()) {
            group.signal(Signal::TERM);
        }
        if !groups.wait_until_none(step * 2) {
            // Dropping a link kills its group.
            self.channels.clear();
            if !groups.wait_until_none(step) {
                tracing::error!("a child process did not end");
            }
        }
    }

    fn links(&mut self) -> impl Iterator<Item = &Link> {
        self.channels.values().flatten()
    }
}

/// A grant that is missing is answered at once.
trait OrRefuse<T> {
    fn or_refuse(self, feed: &Feed) -> Option<T>;
}

impl<T> OrRefuse<T> for Option<T> {
    fn or_refuse(self, feed: &Feed) -> Option<T> {
        if self.is_none() {
            feed.opening(HostArrival::Refused(HostRefusal::NotAllowed));
        }
        self
    }
}

// They follow processes by descriptors, which only Linux has.
#[cfg(all(test, target_os = "linux"))]
#[path = "ports_tests/mod.rs"]
mod tests;
