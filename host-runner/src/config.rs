//! From options to what the component is configured with: which Host, which name.
//!
//! Invariant: nothing secret enters the configuration ([`redacted`]), and `auto` is decided
//! from files alone and never fails.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use crate::args::{HostArg, Options};
use crate::journal::redacted;

/// Which Host answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The demonstration inside this program.
    Embedded,
    /// A Maka Runtime Host.
    Maka,
}

impl Host {
    /// What the options ask for. `living_maka` says whether a Maka Host is registered and
    /// alive; it is asked only by `auto`.
    ///
    /// # Errors
    /// A sentence for a Host that this version cannot talk to.
    pub fn choose(options: &Options, living_maka: impl FnOnce() -> bool) -> Result<Host> {
        match options.host {
            HostArg::Embedded => Ok(Host::Embedded),
            HostArg::Maka => Ok(Host::Maka),
            HostArg::Claude => bail!(
                "this version does not talk to Claude Code yet; use `--host maka` or `--host embedded`"
            ),
            HostArg::Auto if options.maka_socket.is_some() || living_maka() => Ok(Host::Maka),
            HostArg::Auto => Ok(Host::Embedded),
        }
    }

    /// Its entry in the grant table.
    pub fn name(self) -> &'static str {
        match self {
            Host::Embedded => "embedded",
            Host::Maka => "maka",
        }
    }

    /// For people, as the end of "talking to ...".
    pub fn title(self) -> &'static str {
        match self {
            Host::Embedded => "the embedded demonstration Host",
            Host::Maka => "the Maka Runtime Host",
        }
    }

    /// The agent that the editor is told of: name and title.
    fn agent(self) -> (&'static str, &'static str) {
        match self {
            Host::Embedded => ("airlock-embedded", "Airlock (demonstration Host)"),
            Host::Maka => ("airlock", "Airlock"),
        }
    }
}

/// The component's configuration, as JSON.
pub fn configuration(host: Host, options: &Options) -> String {
    let (name, title) = host.agent();
    let mut config = Map::new();
    config.insert(
        "agent".into(),
        json!({ "name": name, "title": title, "version": env!("CARGO_PKG_VERSION") }),
    );
    // The embedded Host speaks Maka's protocol too.
    config.insert(
        "host".into(),
        json!({ "kind": "maka", "name": host.name() }),
    );
    if let Some(fault) = &options.plan_fault {
        config.insert(
            "fault".into(),
            json!({ "kind": fault.kind, "marker": fault.marker }),
        );
    }
    Value::Object(redacted(config)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(host: HostArg) -> Options {
        Options {
            host,
            ..Options::default()
        }
    }

    #[test]
    fn given_auto_when_a_maka_host_lives_then_it_is_taken_and_else_the_embedded_one() {
        let auto = options(HostArg::Auto);
        assert_eq!(Host::choose(&auto, || true).unwrap(), Host::Maka);
        assert_eq!(Host::choose(&auto, || false).unwrap(), Host::Embedded);
        let socket = Options {
            maka_socket: Some("/run/maka.sock".into()),
            ..auto
        };
        assert_eq!(Host::choose(&socket, || false).unwrap(), Host::Maka);
    }

    #[test]
    fn given_a_named_host_when_chosen_then_nothing_is_looked_for() {
        let looked = || panic!("looked for a Host");
        assert_eq!(
            Host::choose(&options(HostArg::Embedded), looked).unwrap(),
            Host::Embedded
        );
        assert_eq!(
            Host::choose(&options(HostArg::Maka), looked).unwrap(),
            Host::Maka
        );
        assert!(Host::choose(&options(HostArg::Claude), looked).is_err());
    }

    #[test]
    fn given_a_planned_fault_when_configured_then_the_component_is_told() {
        let options = Options {
            plan_fault: Some("trap:BOOM".parse().unwrap()),
            ..Options::default()
        };
        let config: Value = serde_json::from_str(&configuration(Host::Embedded, &options)).unwrap();
        assert_eq!(
            config,
            json!({
                "agent": {
                    "name": "airlock-embedded",
                    "title": "Airlock (demonstration Host)",
                    "version": env!("CARGO_PKG_VERSION"),
                },
                "host": { "kind": "maka", "name": "embedded" },
                "fault": { "kind": "trap", "marker": "BOOM" },
            })
        );
    }
}
