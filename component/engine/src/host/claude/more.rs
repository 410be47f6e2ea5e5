//! What only some editors are shown, as far as it has no file of its own: suggestions, what
//! skills there are, MCP servers that cannot be used, limits of the account.
//!
//! Invariant: what an editor did not ask for costs the program nothing.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::commands::Taught;
use super::control::Purpose;
use super::goals::Goals;
use super::mcp_auth::{NEEDS_AUTH, SignIns};
use super::previews::Previews;
use super::records::{Notice, Records, read};
use super::reports::Reports;
use super::session::Session;
use super::wire::more::{Context, PostCompact, RateLimit, Servers, Suggestion};
use super::wire::{Response, part};
use crate::host::more::{More, Severity};
use crate::host::{Cx, Fact};
use crate::{limits, object};

/// What a session keeps for such editors.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Beyond {
    /// Incidents.
    pub records: Records,
    /// Files of prompts.
    pub reports: Reports,
    /// What it works towards.
    pub goals: Goals,
    /// Changes that are shown before they are made.
    pub previews: Previews,
    /// What is left of the conversation, until the compaction is told to be done.
    pub summary: Option<String>,
    /// What this editor said, to be told from what the user says elsewhere.
    pub sent: Sent,
    /// The process said that it is being shut down.
    pub shutting_down: bool,
    /// Sign-ins to MCP servers.
    pub sign_ins: SignIns,
    /// Notices that the processes of the session gave.
    pub notices: Notices,
    /// MCP servers that were said not to work.
    servers: Vec<String>,
    /// It was asked which skills there are.
    skills: bool,
}

impl Beyond {
    /// Another process has to be asked which skills there are, and says again what the one
    /// before it said.
    pub fn ask_again(&mut self) {
        self.skills = false;
        self.notices.known.clone_from(&self.notices.told);
    }
}

/// What the program says by itself, such as when it starts. Each process of a session says it
/// anew; the user has heard it then.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Notices {
    /// The last ones that the editor was told.
    told: VecDeque<String>,
    /// Those of processes before, which this one has not said yet.
    known: VecDeque<String>,
}

impl Notices {
    /// The process says this; whether the user is to hear it.
    pub fn is_news(&mut self, text: &str) -> bool {
        if let Some(at) = self.known.iter().position(|it| it == text) {
            self.known.remove(at);
            return false;
        }
        if !self.told.iter().any(|it| it == text) {
            self.told.push_back(text.to_string());
        }
        if self.told.len() as u64 > limits::CLAUDE_NOTICES {
            self.told.pop_front();
        }
        true
    }
}

/// The ids of the last messages for the process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sent(VecDeque<String>);

impl Sent {
    /// One more.
    pub fn add(&mut self, uuid: &str) {
        self.0.push_back(uuid.to_string());
        if self.0.len() as u64 > limits::CLAUDE_SENT {
            self.0.pop_front();
        }
    }

    /// Whether it is one of them.
    pub fn has(&self, uuid: &str) -> bool {
        self.0.iter().any(|it| it == uuid)
    }
}

impl Session {
    /// `prompt_suggestion`.
    pub(super) fn suggested(&self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let Suggestion { suggestion } = read(line);
        let text = suggestion.filter(|text| !text.trim().is_empty());
        if let Some(text) = text.filter(|_| self.setup.client.extras.on) {
            let texts = Vec::from([text.into_owned()]);
            self.tell(cx, Fact::More(More::Suggestions(texts)));
        }
    }

    /// `rate_limit_event`.
    pub(super) fn limited(&self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        let RateLimit { rate_limit_info } = read(line);
        if let Some(info) = rate_limit_info.filter(|info| info.get() != "null") {
            let usage = self.meter.limited(info);
            self.tell(cx, Fact::Usage(usage));
        }
    }

    /// `system/init`: which skills there are is asked once; which of the editor's MCP
    /// servers do not work is said once, unless the user is signing in to it.
    pub(super) fn begun(&mut self, cx: &mut Cx<'_, '_>, line: &[u8]) {
        if self.setup.client.extras.on && !core::mem::replace(&mut self.more.skills, true) {
            self.ask_skills(cx);
        }
        let Servers { mcp_servers } = read(line);
        for server in mcp_servers {
            let mine = self.setup.servers.iter().any(|it| it.name == server.name);
            let what = match &*server.status {
                "failed" => "could not be started or reached",
                NEEDS_AUTH if self.signs_in(cx, &server.name) => continue,
                NEEDS_AUTH => "needs you to sign in",
                _ => continue,
            };
            let name = server.name.to_string();
            if !mine || self.more.servers.contains(&name) {
                continue;
            }
            let text = format!("The MCP server {name} {what}; its tools are missing.");
            let names = object! { "kind": "mcp_server", "server": name, "status": server.status };
            let id = cx.core.uuid();
            self.notify(
                cx,
                Notice {
                    severity: Severity::Warning,
                    title: "MCP server unavailable",
                    text: &text,
                    words: &format!("**MCP server unavailable:** {text}"),
                    id: &id,
                    meta: Some(object! { "claudeCode": names }),
                },
            );
            self.more.servers.push(name);
        }
    }

    /// Asks which skills there are.
    pub(super) fn ask_skills(&mut self, cx: &mut Cx<'_, '_>) {
        if self.setup.client.extras.on {
            let request = object! { "subtype": "get_context_usage" };
            self.request(cx, Purpose::Skills, &request);
        }
    }

    /// The skills that there are: commands that teach, each perhaps with a file.
    pub(super) fn skills_are(&mut self, cx: &mut Cx<'_, '_>, response: &Response<'_>) {
        let Context { skills } = part(response.response);
        let Some(skills) = skills else { return };
        let mut files = Vec::new();
        let mut taught = Vec::new();
        for skill in skills.skill_frontmatter {
            let path = skill.path.map(|path| path.into_owned());
            if let Some(path) = &path {
                files.push((skill.name.to_string(), path.clone()));
            }
            // A file of a command is no skill's.
            if path.as_ref().is_none_or(|path| path.ends_with("/SKILL.md")) {
                let name = skill.name.into_owned();
                taught.push(Taught { name, path });
            }
        }
        self.cards.skills_are(files);
        self.commands.teach(taught);
        self.tell_commands(cx);
    }

    /// The `PostCompact` hook.
    pub(super) fn summarized(&mut self, input: Option<&RawValue>) {
        let PostCompact { compact_summary } = part(input);
        self.more.summary = compact_summary.map(|it| it.into_owned());
    }
}
