//! What a client says to Claude Code alone, in `_meta` of `session/new`, `load` and `resume`
//! (Claude adapter, section 4): options for the program, other instructions, raw frames.
//!
//! Pure. Invariants: what cannot be read is as if it had not been said, and is named so that
//! it can be logged; what is the adapter's own business (`cwd`, `permissionMode`, ...) is not
//! taken from a client.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{Frame, Origin, part};
use crate::host::{Instructions, Setup};
use crate::json::Object;

/// These are decided here.
const OURS: [&str; 9] = [
    "canUseTool",
    "cwd",
    "executable",
    "includePartialMessages",
    "pathToClaudeCodeExecutable",
    "permissionMode",
    "permissionPromptToolName",
    "sessionId",
    "systemPrompt",
];

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extras {
    /// Arguments about thinking, instead of the environment's.
    pub thinking: Vec<String>,
    /// Arguments between these and the way of asking for permissions.
    pub model: Vec<String>,
    /// The session of before that goes on.
    pub resume: Option<String>,
    /// It goes on as another one.
    pub fork: bool,
    /// It goes on from this message.
    pub resume_at: Option<String>,
    /// Tools that need no permission.
    pub allowed: Vec<String>,
    /// Tools that are not there.
    pub disallowed: Vec<String>,
    /// The built-in tools, if not all.
    pub tools: Option<String>,
    /// MCP servers by their names.
    pub servers: Object,
    /// Which files of settings count.
    pub sources: Option<String>,
    /// No other MCP servers than those that are named.
    pub strict: bool,
    /// Permissions may not be turned off.
    pub no_bypass: bool,
    /// Arguments before the partial messages.
    pub before_partial: Vec<String>,
    /// More folders.
    pub folders: Vec<String>,
    /// Arguments behind the folders.
    pub behind_folders: Vec<String>,
    /// Arguments behind the session's id.
    pub last: Vec<String>,
    /// Settings, as JSON or as the path of a file.
    pub settings: Option<String>,
    /// Arguments that have no name here.
    pub more: Vec<String>,
    /// Variables to set, or to remove.
    pub env: Vec<(String, Option<String>)>,
    /// Agents by their names.
    pub agents: Option<Object>,
    /// What the model is told.
    pub prompt: Prompt,
    /// Which frames are passed on.
    pub raw: Raw,
    /// What was not understood.
    pub unread: Vec<String>,
}

/// What the model is told before everything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// This, and nothing of the program's own.
    pub instead: Option<String>,
    /// This besides.
    pub append: Option<String>,
    /// Nothing of the program's own that changes from session to session.
    pub no_dynamic: bool,
}

/// Which frames a client wants as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Raw {
    /// None.
    #[default]
    Nothing,
    /// All messages.
    All,
    /// Those that one of these fits.
    Some(Vec<Filter>),
}

/// Frames of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    origin: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta<'a> {
    #[serde(borrow)]
    claude_code: Option<&'a RawValue>,
    #[serde(borrow)]
    system_prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_roots: Option<&'a RawValue>,
    #[serde(borrow)]
    disable_built_in_tools: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Own<'a> {
    #[serde(borrow)]
    options: Option<&'a RawValue>,
    #[serde(borrow, rename = "emitRawSDKMessages")]
    raw: Option<&'a RawValue>,
}

impl Extras {
    /// What the setup of a session says.
    pub fn of(setup: &Setup) -> Extras {
        let meta = setup.extra.as_deref().unwrap_or("null");
        let meta: Option<&RawValue> = serde_json::from_str(meta).ok();
        let meta: Meta<'_> = part(meta);
        let own: Own<'_> = part(meta.claude_code);
        let mut extras = Extras::default();
        if meta
            .disable_built_in_tools
            .is_some_and(|it| it.get() == "true")
        {
            extras.tools = Some(String::new());
        }
        let roots: Vec<String> = part(meta.additional_roots);
        extras.prompt = prompt(setup.instructions.as_ref(), meta.system_prompt);
        extras.raw = raw(own.raw);
        extras.options(own.options);
        extras.folders.extend(roots);
        extras
    }

    /// Whether a process that was started with `self` does what `wanted` asks for.
    pub fn serves(&self, wanted: &Extras) -> bool {
        let without = |extras: &Extras| Extras {
            raw: Raw::Nothing,
            // Where it began is not where it is.
            resume: None,
            resume_at: None,
            fork: false,
            ..extras.clone()
        };
        without(self) == without(wanted)
    }

    /// Whether the client wants this frame as it is.
    pub fn wants(&self, frame: &Frame<'_>) -> bool {
        if frame.kind.starts_with("control_")
            || matches!(&*frame.kind, "keep_alive" | "transcript_mirror")
        {
            return false;
        }
        match &self.raw {
            Raw::Nothing => false,
            Raw::All => true,
            Raw::Some(filters) => {
                let origin: Origin<'_> = part(frame.origin);
                let is = |wanted: &Option<String>, it: &str| {
                    wanted.as_ref().is_none_or(|wanted| wanted == it)
                };
                filters.iter().any(|filter| {
                    filter.kind == frame.kind
                        && is(&filter.subtype, &frame.subtype)
                        && is(&filter.origin, &origin.kind)
                })
            }
        }
    }

    /// `_meta.claudeCode.options`: the options of the program's own SDK, as far as they can
    /// be written in JSON.
    fn options(&mut self, raw: Option<&RawValue>) {
        let mut from = Reader {
            fields: part(raw),
            unread: Vec::new(),
        };
        self.thinking = thinking(&mut from);
        let arg = |name: &str, value: Option<String>| value.map(|it| format!("--{name}={it}"));
        let number = |it: f64| it.to_string();
        self.model.extend(arg("effort", from.text("effort")));
        self.model.extend(arg(
            "max-turns",
            from.read("maxTurns").map(|it: u64| it.to_string()),
        ));
        self.model
            .extend(arg("max-budget-usd", from.read("maxBudgetUsd").map(number)));
        self.model.extend(arg("model", from.text("model")));
        self.model.extend(arg("agent", from.text("agent")));
        self.model
            .extend(arg("betas", from.list("betas").map(|it| it.join(","))));
        self.model.extend(arg("json-schema", schema(&mut from)));
        match from.text("debugFile") {
            Some(file) => self.model.push(format!("--debug-file={file}")),
            None if from.yes("debug") => self.model.push("--debug".to_string()),
            None => {}
        }
        self.resume = from.text("resume");
        self.fork = from.yes("forkSession") && self.resume.is_some();
        self.allowed = from.list("allowedTools").unwrap_or_default();
        self.disallowed = from.list("disallowedTools").unwrap_or_default();
        if let Some(tools) = tools(&mut from) {
            self.tools = Some(tools);
        }
        self.servers = from.read("mcpServers").unwrap_or_default();
        self.sources = from.list("settingSources").map(|it| it.join(","));
        self.strict = from.yes("strictMcpConfig");
        self.no_bypass = from.read("allowDangerouslySkipPermissions") == Some(false);
        self.before_partial
            .extend(arg("fallback-model", from.text("fallbackModel")));
        if from.yes("includeHookEvents") {
            self.before_partial
                .push("--include-hook-events".to_string());
        }
        self.folders = from.list("additionalDirectories").unwrap_or_default();
        self.behind_folders.extend(plugins(&mut from));
        let at = from
            .text("resumeSessionAt")
            .filter(|_| self.resume.is_some());
        self.resume_at = at;
        if from.read("persistSession") == Some(false) {
            self.last.push("--no-session-persistence".to_string());
        }
        if let Some(managed) = from.read::<Object>("managedSettings") {
            self.last.push("--managed-settings".to_string());
            self.last
                .push(serde_json::to_string(&managed).unwrap_or_default());
        }
        self.settings = settings(&mut from);
        self.more = more(&mut from);
        self.env = variables(&mut from);
        self.agents = from.read("agents");
        let known = |name: &&Cow<'_, str>| !OURS.contains(&name.as_ref());
        let strange = from.fields.keys().filter(known).map(ToString::to_string);
        self.unread = strange.collect();
        self.unread.append(&mut from.unread);
    }
}

/// The options that were not looked at yet.
struct Reader<'a> {
    fields: BTreeMap<Cow<'a, str>, &'a RawValue>,
    unread: Vec<String>,
}

impl<'a> Reader<'a> {
    fn read<T: Deserialize<'a>>(&mut self, name: &str) -> Option<T> {
        let raw = self.fields.remove(name).filter(|raw| raw.get() != "null")?;
        let read = serde_json::from_str(raw.get()).ok();
        if read.is_none() {
            self.unread.push(name.to_string());
        }
        read
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.read(name).filter(|text: &String| !text.is_empty())
    }

    fn list(&mut self, name: &str) -> Option<Vec<String>> {
        self.read(name)
    }

    fn yes(&mut self, name: &str) -> bool {
        self.read(name) == Some(true)
    }
}

/// The older form loses against the newer one.
fn prompt(instructions: Option<&Instructions>, older: Option<&RawValue>) -> Prompt {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Preset {
        append: Option<String>,
        exclude_dynamic_sections: bool,
    }
    if let Some(Instructions { text, instead }) = instructions {
        let text = Some(text.clone());
        let (instead, append) = if *instead { (text, None) } else { (None, text) };
        return Prompt {
            instead,
            append,
            no_dynamic: false,
        };
    }
    let text: Option<String> = older.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let preset: Preset = part(older.filter(|_| text.is_none()));
    Prompt {
        instead: text,
        append: preset.append,
        no_dynamic: preset.exclude_dynamic_sections,
    }
}

fn raw(raw: Option<&RawValue>) -> Raw {
    let Some(raw) = raw else {
        return Raw::Nothing;
    };
    if raw.get() == "true" {
        return Raw::All;
    }
    let rows: Vec<&RawValue> = part(Some(raw));
    let read = |row: &&RawValue| serde_json::from_str(row.get()).ok();
    let filters: Vec<Filter> = rows.iter().filter_map(read).collect();
    if filters.is_empty() {
        Raw::Nothing
    } else {
        Raw::Some(filters)
    }
}

/// `thinking {type, budgetTokens?, display?}`, or the older `maxThinkingTokens`.
fn thinking(from: &mut Reader<'_>) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Thinking<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(default)]
        budget_tokens: Option<u64>,
        #[serde(default)]
        display: Option<String>,
    }
    let older: Option<u64> = from.read("maxThinkingTokens");
    let Some(thinking) = from.read::<Thinking<'_>>("thinking") else {
        return match older {
            Some(0) => Vec::from(["--thinking=disabled".to_string()]),
            Some(tokens) => Vec::from([format!("--max-thinking-tokens={tokens}")]),
            None => Vec::new(),
        };
    };
    let mut args = Vec::new();
    match (&*thinking.kind, thinking.budget_tokens.or(older)) {
        ("disabled", _) => return Vec::from(["--thinking=disabled".to_string()]),
        ("enabled", Some(tokens)) => args.push(format!("--max-thinking-tokens={tokens}")),
        ("enabled" | "adaptive", _) => args.push("--thinking=adaptive".to_string()),
        _ => from.unread.push("thinking".to_string()),
    }
    if let Some(display) = thinking.display {
        args.push(format!("--thinking-display={display}"));
    }
    args
}

/// `outputFormat {type:"json_schema", schema}`.
fn schema(from: &mut Reader<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Format<'a> {
        #[serde(borrow)]
        schema: &'a RawValue,
    }
    let format: Format<'_> = from.read("outputFormat")?;
    Some(format.schema.get().to_string())
}

/// A list, or the preset that is all of them.
fn tools(from: &mut Reader<'_>) -> Option<String> {
    let raw: &RawValue = from.read("tools")?;
    if raw.get().starts_with('{') {
        return Some("default".to_string());
    }
    let tools: Option<Vec<String>> = serde_json::from_str(raw.get()).ok();
    if tools.is_none() {
        from.unread.push("tools".to_string());
    }
    tools.map(|tools| tools.join(","))
}

fn plugins(from: &mut Reader<'_>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Plugin {
        path: String,
    }
    let plugins: Vec<Plugin> = from.read("plugins").unwrap_or_default();
    let named = plugins.iter().map(|it| format!("--plugin-dir={}", it.path));
    named.collect()
}

/// An object, or the path of a file.
fn settings(from: &mut Reader<'_>) -> Option<String> {
    let raw: &RawValue = from.read("settings")?;
    if raw.get().starts_with('{') {
        return Some(raw.get().to_string());
    }
    let path = serde_json::from_str(raw.get()).ok();
    if path.is_none() {
        from.unread.push("settings".to_string());
    }
    path
}

/// Two words each; `null` is a flag without a value.
fn more(from: &mut Reader<'_>) -> Vec<String> {
    let all: BTreeMap<String, Option<String>> = from.read("extraArgs").unwrap_or_default();
    let mut words = Vec::new();
    for (name, value) in all {
        match value {
            Some(value) if value.starts_with('-') => words.push(format!("--{name}={value}")),
            Some(value) => words.extend([format!("--{name}"), value]),
            None => words.push(format!("--{name}")),
        }
    }
    words
}

fn variables(from: &mut Reader<'_>) -> Vec<(String, Option<String>)> {
    let all: BTreeMap<String, Option<String>> = from.read("env").unwrap_or_default();
    all.into_iter().collect()
}
