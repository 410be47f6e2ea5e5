//! What the process offers to remember of a permission (Claude adapter, section 10): rules,
//! folders, a mode.
//!
//! Pure; everything is borrowed. Invariant: a bundle is understood whole or not at all, so
//! that nobody agrees to more than was said.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Object;
use crate::limits;
use crate::object;

/// One thing to remember.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Update<'a> {
    /// `addRules`, `setMode`, `addDirectories`, ...
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Of `addRules`.
    #[serde(borrow)]
    pub rules: Vec<Rule<'a>>,
    /// Of `addRules`: `allow`, `deny`, `ask`.
    #[serde(borrow)]
    pub behavior: Cow<'a, str>,
    /// Where it is remembered.
    #[serde(borrow)]
    pub destination: Cow<'a, str>,
    /// Of `setMode`.
    #[serde(borrow)]
    pub mode: Cow<'a, str>,
    /// Of `addDirectories`.
    #[serde(borrow)]
    pub directories: Vec<Cow<'a, str>>,
}

/// A tool, and what of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule<'a> {
    /// Which tool.
    #[serde(borrow)]
    pub tool_name: Cow<'a, str>,
    /// All of it, if nothing.
    #[serde(borrow)]
    pub rule_content: Option<Cow<'a, str>>,
}

impl Update<'_> {
    /// Whether it allows something by rules.
    pub fn allows(&self) -> bool {
        self.kind == "addRules" && self.behavior == "allow"
    }

    /// Whether it makes more folders known.
    pub fn adds_folders(&self) -> bool {
        self.kind == "addDirectories"
    }

    /// Whether it is forgotten with the session.
    pub fn of_session(&self) -> bool {
        self.destination == "session"
    }

    fn known(&self) -> bool {
        let destinations = [
            "session",
            "cliArg",
            "userSettings",
            "projectSettings",
            "localSettings",
        ];
        let modes = [
            "default",
            "acceptEdits",
            "bypassPermissions",
            "plan",
            "dontAsk",
            "auto",
        ];
        let within = |count: usize, most: u64| count as u64 <= most;
        destinations.contains(&&*self.destination)
            && match &*self.kind {
                "addRules" | "replaceRules" | "removeRules" => {
                    within(self.rules.len(), limits::CLAUDE_UPDATE_RULES)
                        && (self.kind == "replaceRules" || !self.rules.is_empty())
                        && self.rules.iter().all(Rule::known)
                        && ["allow", "deny", "ask"].contains(&&*self.behavior)
                }
                "setMode" => modes.contains(&&*self.mode),
                "addDirectories" | "removeDirectories" => {
                    within(self.directories.len(), limits::CLAUDE_UPDATE_FOLDERS)
                        && !self.directories.is_empty()
                        && self
                            .directories
                            .iter()
                            .all(|it| plain(it, limits::CLAUDE_UPDATE_FOLDER))
                }
                _ => false,
            }
    }
}

impl Rule<'_> {
    fn known(&self) -> bool {
        let content = self.rule_content.as_deref();
        plain(&self.tool_name, limits::CLAUDE_UPDATE_TOOL)
            && content.is_none_or(|it| plain(it, limits::CLAUDE_UPDATE_RULE))
    }
}

/// The bundle, if all of it can be understood.
pub fn read(raw: Option<&RawValue>) -> Option<Vec<Update<'_>>> {
    let all: Vec<Update<'_>> = serde_json::from_str(raw?.get()).ok()?;
    let fits = !all.is_empty() && all.len() as u64 <= limits::CLAUDE_UPDATES;
    (fits && all.iter().all(Update::known)).then_some(all)
}

/// A text that can be shown as it is.
fn plain(text: &str, most: u64) -> bool {
    let text = text.trim();
    let odd = |c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r');
    !text.is_empty() && text.encode_utf16().count() as u64 <= most && !text.contains(odd)
}

/// A rule of our own making: this tool, or this of it, for this project.
pub fn allow(tool: &str, content: Option<&str>) -> [Object; 1] {
    let mut rule = object! { "toolName": tool.to_string() };
    if let Some(content) = content {
        rule.set("ruleContent", content);
    }
    [object! {
        "type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings",
    }]
}

/// A mode for the session.
pub fn mode(mode: &str) -> [Object; 1] {
    [object! { "type": "setMode", "mode": mode.to_string(), "destination": "session" }]
}
