//! One ACP connection from beginning to end: chooses the Host, grants what it needs, opens
//! the adapter, and drives it.
//!
//! The place where the rooms meet; it decides nothing that is not in the options.
//! Invariant: what a component may open is fixed before it is started.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant as SystemInstant};

use anyhow::{Context, Result, anyhow};

use crate::adapter::Factory;
use crate::args::Options;
use crate::claude;
use crate::config::{Host, configuration};
use crate::discovery;
use crate::drive::{Clock, Edge, SystemClock, drive};
use crate::embedded;
use crate::grants::Grants;
use crate::journal::{Keeper, Recorder};
use crate::sandbox::{Limits, Sandbox};
use crate::transport::{EditorPipe, Mailbox, Ports, supervisor};
use crate::words::{Effect, Input, Root};

/// Serves the client at the far end of `editor` until it is gone, and returns the exit code
/// that the adapter asked for. `mailbox` is empty; who keeps a clone can raise the end.
///
/// # Errors
/// A sentence; a [`crate::journal::Broken`] when the adapter failed for good.
pub fn serve(options: &Options, editor: EditorPipe, mailbox: Mailbox) -> Result<u8> {
    let clock = SystemClock::start();
    let maka = discovery_options(options);
    let host = Host::choose(options, || discovery::probe(&maka).is_some());
    tell(host);

    let config = configuration(host, options);
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| anyhow!("the operating system gives no random bytes: {error}"))?;
    let factory = component(options)?;
    let recorder = match &options.record {
        Some(path) => Some(Recorder::create(
            path,
            &config,
            &seed,
            &factory.describe()?,
        )?),
        None => None,
    };
    let grants = grants(host, options, maka)?;
    tracing::debug!("{}", grants.describe().trim_end());
    let ports = Ports::new(mailbox.clone(), editor, grants)
        .context("the editor's pipe cannot be used")?
        .supervised_by(supervisor::this_program);
    let (keeper, first) = Keeper::open(Box::new(factory), config, seed, recorder, clock.now())?;
    Ok(drive(Outside { mailbox, ports }, &clock, keeper, first)?)
}

/// The component that the options name, or the built-in one.
///
/// # Errors
/// A sentence when it cannot be used.
pub fn component(options: &Options) -> Result<Sandbox> {
    match &options.component {
        Some(path) => Sandbox::from_file(path, Limits::default()),
        None => Sandbox::built_in(Limits::default()),
    }
}

/// The real edge.
struct Outside {
    mailbox: Mailbox,
    ports: Ports,
}

impl Edge for Outside {
    fn round(&mut self, until: Option<SystemInstant>) -> Vec<Input> {
        self.mailbox.round(until)
    }

    fn carry(&mut self, effect: Effect) {
        self.ports.carry(effect);
    }

    fn shutdown(self, grace: Duration) {
        self.ports.shutdown(grace);
    }
}

fn discovery_options(options: &Options) -> discovery::Options {
    discovery::Options {
        root: options.maka_root.clone(),
        socket: options.maka_socket.clone(),
        hosts_dir: options.hosts_dir.clone(),
    }
}

/// What the component may open: one Host or the program that is one, and files that the editor names.
fn grants(host: Host, options: &Options, maka: discovery::Options) -> Result<Grants> {
    let grants = if options.allow_files.is_empty() {
        Grants::standard()
    } else {
        Grants::confined(&options.allow_files)?
    };
    match host {
        Host::Maka => Ok(grants.with_maka(maka)),
        Host::Claude => Ok(grants
            .with_program(claude::NAME, claude::executable(options))
            .with_files(Root::HostState, claude::sessions())
            .with_files(Root::TaskOutput, claude::task_output())),
        Host::Embedded => {
            let world = embedded::World::new(embedded::Options {
                script: options.embedded_script.clone(),
                state_dir: options.embedded_state.clone(),
                ..embedded::Options::default()
            })?;
            Ok(grants.with_embedded(move |stream| embedded::serve(stream, Arc::clone(&world))))
        }
    }
}

/// People see which Host it is; an editor's log does only when it asks for it.
fn tell(host: Host) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "host-runner: talking to {}", host.title());
    } else {
        tracing::info!("talking to {}", host.title());
    }
}
