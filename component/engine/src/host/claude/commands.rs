//! What a prompt may begin with (Claude adapter, section 14).
//!
//! Pure. Invariant: what is hidden here still works when it is typed.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::session::Session;
use super::wire::{Frame, part};
use crate::host::{Cx, Fact, Skill};

/// These mean nothing in an editor, or are done there in another way.
const HIDDEN: [&str; 8] = [
    "clear",
    "cost",
    "keybindings-help",
    "login",
    "logout",
    "output-style:new",
    "release-notes",
    "todos",
];

/// Shown last, with a hint of our own.
const SERVERS: &str = "mcp";
const SERVERS_HINT: &str = "[reconnect|enable|disable [<server>|all]]";

/// How the program marks a command of an MCP server.
const OF_SERVER: &str = " (MCP)";

/// The commands of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Commands {
    all: Vec<Known>,
    /// Those that need a terminal.
    terminal: Vec<String>,
    /// Those that are skills.
    #[serde(default)]
    taught: Vec<Taught>,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taught {
    /// Its name.
    pub name: String,
    /// Its file, unless it is the program's own.
    pub path: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Known {
    name: String,
    description: String,
    argument_hint: String,
}

impl Commands {
    /// What the greeting says.
    pub fn greeted(&mut self, greeting: Option<&RawValue>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Greeting<'a> {
            #[serde(borrow)]
            commands: Option<&'a RawValue>,
        }
        let greeting: Greeting<'_> = part(greeting);
        self.are(greeting.commands);
    }

    /// All that there are now.
    pub fn are(&mut self, commands: Option<&RawValue>) {
        let rows: Vec<&RawValue> = part(commands);
        let read = |row: &&RawValue| serde_json::from_str(row.get()).ok();
        self.all = rows.iter().filter_map(read).collect();
    }

    /// Those of them that need a terminal. Whether that is new.
    pub fn need_terminal(&mut self, names: &[Cow<'_, str>]) -> bool {
        let same = self.terminal.iter().eq(names.iter());
        if !same {
            self.terminal = names.iter().map(|name| name.clone().into_owned()).collect();
        }
        !same
    }

    /// These are skills.
    pub fn teach(&mut self, taught: Vec<Taught>) {
        self.taught = taught;
    }

    fn file_of(&self, name: &str) -> Option<String> {
        let mut taught = self.taught.iter();
        taught.find(|it| it.name == name)?.path.clone()
    }

    /// As they are offered.
    pub fn skills(&self) -> Vec<Skill> {
        let mut skills: Vec<Skill> = Vec::new();
        let mut servers = None;
        for known in &self.all {
            let Some(id) = offered(&known.name) else {
                continue;
            };
            if self.terminal.contains(&known.name) || skills.iter().any(|skill| skill.id == id) {
                continue;
            }
            let hint = Some(&known.argument_hint).filter(|hint| !hint.is_empty());
            let skill = Skill {
                description: known.description.clone(),
                hint: hint.cloned(),
                teaches: self.taught.iter().any(|it| it.name == known.name),
                path: self.file_of(&known.name),
                id,
            };
            if skill.id == SERVERS {
                servers = Some(Skill {
                    hint: Some(SERVERS_HINT.to_owned()),
                    ..skill
                });
            } else {
                skills.push(skill);
            }
        }
        skills.extend(servers);
        skills
    }
}

/// The name that an editor shows, unless it is hidden.
fn offered(name: &str) -> Option<String> {
    if name.is_empty() || HIDDEN.contains(&name) {
        return None;
    }
    let (name, prefix) = match name.strip_suffix(OF_SERVER) {
        Some(name) => (name, "mcp:"),
        None => (name, ""),
    };
    (!name.contains(char::is_whitespace)).then(|| format!("{prefix}{name}"))
}

impl Session {
    /// Tells what a prompt may begin with.
    pub(super) fn tell_commands(&self, cx: &mut Cx<'_, '_>) {
        cx.answer(Fact::Skills {
            session_id: &self.id,
            skills: self.commands.skills(),
        });
    }

    /// The process says which commands need a terminal.
    pub(super) fn terminal_commands(&mut self, cx: &mut Cx<'_, '_>, frame: &Frame<'_>) {
        let names: Vec<Cow<'_, str>> = part(frame.terminal_slash_commands);
        if self.commands.need_terminal(&names) {
            self.tell_commands(cx);
        }
    }

    /// All commands are these now.
    pub(super) fn commands_are(&mut self, cx: &mut Cx<'_, '_>, all: Option<&RawValue>) {
        self.commands.are(all);
        self.tell_commands(cx);
        self.ask_skills(cx);
    }
}
