//! From options to what the component is configured with: which Host, which name.
//!
//! Invariant: nothing secret enters the configuration ([`redacted`]), and `auto` is decided
//! from files alone and never fails.

use serde_json::{Map, Value, json};

use crate::args::{HostArg, Options};
use crate::claude;
use crate::journal::redacted;

/// Which Host answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The demonstration inside this program.
    Embedded,
    /// A Maka Runtime Host.
    Maka,
    /// Claude Code, a process for each session.
    Claude,
}

impl Host {
    /// What the options ask for. `living_maka` says whether a Maka Host is registered and
    /// alive; it is asked only by `auto`.
    pub fn choose(options: &Options, living_maka: impl FnOnce() -> bool) -> Host {
        match options.host {
            HostArg::Embedded => Host::Embedded,
            HostArg::Maka => Host::Maka,
            HostArg::Claude => Host::Claude,
            HostArg::Auto if options.maka_socket.is_some() => Host::Maka,
            HostArg::Auto if options.claude.is_some() => Host::Claude,
            HostArg::Auto if living_maka() => Host::Maka,
            HostArg::Auto => Host::Embedded,
        }
    }

    /// The protocol that it speaks. The embedded Host speaks Maka's too.
    fn kind(self) -> &'static str {
        match self {
            Host::Embedded | Host::Maka => "maka",
            Host::Claude => "claude",
        }
    }

    /// Its entry in the grant table.
    pub fn name(self) -> &'static str {
        match self {
            Host::Embedded => "embedded",
            Host::Maka => "maka",
            Host::Claude => claude::NAME,
        }
    }

    /// For people, as the end of "talking to ...".
    pub fn title(self) -> &'static str {
        match self {
            Host::Embedded => "the embedded demonstration Host",
            Host::Maka => "the Maka Runtime Host",
            Host::Claude => "Claude Code",
        }
    }

    /// The agent that the editor is told of: name and title.
    fn agent(self) -> (&'static str, &'static str) {
        match self {
            Host::Embedded => ("airlock-embedded", "Airlock (demonstration Host)"),
            Host::Maka => ("airlock", "Airlock"),
            Host::Claude => ("airlock-claude", "Claude Code (Airlock)"),
        }
    }
}

/// The component's configuration, as JSON.
pub fn configuration(host: Host, options: &Options) -> String {
    let (name, title) = host.agent();
    let mut config = Map::new();
    let mut agent = json!({ "name": name, "title": title, "version": env!("CARGO_PKG_VERSION") });
    if host == Host::Claude {
        agent["command"] = claude::command().into();
        agent["arguments"] = claude::arguments(options).into();
    }
    config.insert("agent".into(), agent);
    let mut chosen = Map::new();
    chosen.insert("kind".into(), host.kind().into());
    chosen.insert("name".into(), host.name().into());
    if host == Host::Claude {
        chosen.insert("environment".into(), claude::environment(options).into());
    }
    config.insert("host".into(), chosen.into());
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
        assert_eq!(Host::choose(&auto, || true), Host::Maka);
        assert_eq!(Host::choose(&auto, || false), Host::Embedded);
        let executable = Options {
            claude: Some("/opt/claude".into()),
            ..auto.clone()
        };
        assert_eq!(Host::choose(&executable, || true), Host::Claude);
        let socket = Options {
            maka_socket: Some("/run/maka.sock".into()),
            ..executable
        };
        assert_eq!(Host::choose(&socket, || false), Host::Maka);
    }

    #[test]
    fn given_a_named_host_when_chosen_then_nothing_is_looked_for() {
        let looked = || panic!("looked for a Host");
        for (word, host) in [
            (HostArg::Embedded, Host::Embedded),
            (HostArg::Maka, Host::Maka),
            (HostArg::Claude, Host::Claude),
        ] {
            assert_eq!(Host::choose(&options(word), looked), host);
        }
    }

    #[test]
    fn given_claude_code_when_configured_then_its_kind_its_program_and_the_environment_are_told() {
        let options = options(HostArg::Claude);
        let config: Value = serde_json::from_str(&configuration(Host::Claude, &options)).unwrap();
        assert_eq!(config["host"]["kind"], "claude");
        assert_eq!(config["host"]["name"], claude::NAME);
        let Value::Object(told) = redacted_environment() else {
            panic!("an object")
        };
        assert_eq!(config["host"]["environment"], Value::Object(told));
    }

    fn redacted_environment() -> Value {
        let told = json!({ "host": { "environment": claude::environment(&Options::default()) } });
        let Value::Object(told) = told else {
            unreachable!()
        };
        Value::Object(redacted(told))["host"]["environment"].clone()
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
