//! A Claude Code process without a will of its own: the test decides every frame.
//!
//! It greets, and it answers by itself what no race is about (how large the context is, a
//! name for the session); an interrupt waits until the test answers it, and so does taking a
//! prompt back, unless the test says what comes of it. Sans-IO. Invariant: nothing is said
//! that the test did not ask for.

pub mod post_cancel;
mod scene;
pub mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airlock_engine::{HostRefusal, Target};
use serde_json::{Value, json};

use crate::desk::{Peer, Ran};
use crate::recorded_host::Say;
pub use post_cancel::{Act, POST_CANCEL, Scenario, Step};
pub use scene::{Scene, answer_frames, each_way, every_way, told};

/// Which process knows the models of a gateway.
const DISCOVERY: &str = "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY";

/// The process.
#[derive(Clone, Debug)]
pub struct ScriptedCli {
    /// Why it cannot be started, if so.
    pub refusal: Option<HostRefusal>,
    /// Its answer to `initialize`; `None`: it keeps silent.
    pub greeting: Option<Value>,
    /// Its answer to `get_settings`, unless nothing is set.
    pub settings: Option<Value>,
    /// What comes of taking a prompt back; `None`: the test answers.
    pub takes_back: Option<bool>,
    /// Whether it ends when it is asked to.
    pub obedient: bool,
    /// What comes of its processes beside the sessions, by their arguments: `auth status --json`,
    /// `auth logout`. What is not here is refused.
    pub asides: BTreeMap<String, Ran>,
    /// Those that ran, in order.
    pub ran: Vec<String>,
    /// What its process that knows a gateway's models knows, each time that it is asked; `None`:
    /// that one cannot be started.
    pub gateway: Option<VecDeque<Vec<Value>>>,
    /// The environment that this process was given, each time.
    pub inquiries: Vec<Vec<(String, Option<String>)>>,
    /// The environment that it was given, each time.
    pub variables: Vec<Vec<(String, Option<String>)>>,
    /// With which arguments it was started, each time.
    pub started: Vec<Vec<String>>,
    /// The messages that it got, in order.
    pub users: Vec<Value>,
    /// What it was asked, in order: `interrupt`, ...
    pub asked: Vec<String>,
    /// How many prompts it had when each interrupt came.
    pub interrupts: Vec<usize>,
    /// The prompts that were taken back, by their ids.
    pub taken_back: Vec<Value>,
    /// The answers that it got, in order.
    pub answers: Vec<Value>,
    by_hand: BTreeSet<String>,
    held: VecDeque<Value>,
}

impl Default for ScriptedCli {
    fn default() -> ScriptedCli {
        ScriptedCli {
            refusal: None,
            greeting: Some(greeting()),
            settings: None,
            takes_back: None,
            obedient: true,
            asides: BTreeMap::new(),
            ran: Vec::new(),
            gateway: None,
            inquiries: Vec::new(),
            variables: Vec::new(),
            started: Vec::new(),
            users: Vec::new(),
            asked: Vec::new(),
            interrupts: Vec::new(),
            taken_back: Vec::new(),
            answers: Vec::new(),
            by_hand: BTreeSet::new(),
            held: VecDeque::new(),
        }
    }
}

/// The configuration of Claude Code, as the runner writes it.
pub fn config() -> Value {
    json!({ "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0" },
            "host": { "kind": "claude", "name": "claude" } })
}

fn greeting() -> Value {
    let model = json!({ "value": "default", "resolvedModel": words::MODEL,
                        "displayName": "Default (recommended)", "description": "Opus",
                        "supportsEffort": true,
                        "supportedEffortLevels": ["low", "medium", "high"],
                        "supportsAutoMode": true });
    json!({ "commands": [], "agents": [], "output_style": "default",
            "available_output_styles": [], "models": [model], "hooks_applied": true,
            "account": { "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty" } })
}

impl ScriptedCli {
    /// From now on the test answers this request.
    pub fn by_hand(&mut self, subtype: &str) {
        self.by_hand.insert(subtype.to_owned());
    }

    /// Takes the oldest request of this kind that waits.
    pub fn take(&mut self, subtype: &str) -> Option<Value> {
        let at = self
            .held
            .iter()
            .position(|it| it["request"]["subtype"] == subtype)?;
        self.held.remove(at)
    }

    /// What was answered to a question of its own.
    pub fn answer_to(&self, question: &str) -> Option<&Value> {
        let mut answers = self.answers.iter();
        answers.find(|it| it["request_id"] == question)
    }

    /// Whether a request of this kind waits.
    pub fn waits(&self, subtype: &str) -> bool {
        let mut held = self.held.iter();
        held.any(|it| it["request"]["subtype"] == subtype)
    }

    /// How often it was asked this.
    pub fn times_asked(&self, subtype: &str) -> usize {
        self.asked.iter().filter(|it| *it == subtype).count()
    }

    /// Its own models, led away, and those of the gateway.
    fn gateways(&mut self) -> Value {
        let led = |name: &str| {
            json!({ "value": name, "resolvedModel": "none", "displayName": name,
                                       "description": "Custom model" })
        };
        let mut models = Vec::from(["default", "opus", "sonnet"].map(led));
        let all = self.gateway.as_mut().expect("it was started");
        models.extend(all.pop_front().unwrap_or_default());
        json!({ "models": models })
    }

    fn of_itself(&self, subtype: &str) -> Option<Value> {
        if self.by_hand.contains(subtype) {
            return None;
        }
        Some(match subtype {
            "initialize" => self.greeting.clone()?,
            "get_settings" => match &self.settings {
                Some(settings) => settings.clone(),
                None => json!({ "effective": {}, "sources": [], "applied": {
                    "model": words::MODEL, "effort": "medium", "ultracodeRequested": false,
                    "ultracodeAvailable": false } }),
            },
            "get_context_usage" => json!({ "categories": [], "totalTokens": 0,
                "maxTokens": 200_000, "rawMaxTokens": 200_000 }),
            "generate_session_title" => json!({ "title": null }),
            "cancel_async_message" => json!({ "cancelled": self.takes_back? }),
            "interrupt" => return None,
            _ => json!({}),
        })
    }
}

/// An answer to a request, as a line.
pub fn answer(request: &Value, response: &Value) -> String {
    json!({ "type": "control_response", "response": { "subtype": "success",
            "request_id": request["request_id"], "response": response } })
    .to_string()
}

impl Peer for ScriptedCli {
    fn open(&mut self, target: &Target) -> Result<Vec<(String, String)>, HostRefusal> {
        let Target::Process(command) = target else {
            panic!("Claude Code is a program: {target:?}");
        };
        if command.env.iter().any(|(name, _)| name == DISCOVERY) {
            self.inquiries.push(command.env.clone());
            let known = self.gateway.is_some();
            return known.then(Vec::new).ok_or(HostRefusal::Absent);
        }
        self.started.push(command.args.clone());
        self.variables.push(command.env.clone());
        self.refusal.clone().map_or(Ok(Vec::new()), Err)
    }

    fn runs(&mut self, target: &Target) -> Option<Ran> {
        let Target::Process(command) = target else {
            return None;
        };
        let words = command.args.join(" ");
        let ran = self.asides.get(&words)?.clone();
        self.ran.push(words);
        Some(ran)
    }

    fn line(&mut self, line: &str) -> Vec<Say> {
        let frame: Value = serde_json::from_str(line).expect("the engine speaks JSON");
        match frame["type"].as_str().unwrap_or_default() {
            "user" => self.users.push(frame),
            "control_response" => self.answers.push(frame["response"].clone()),
            "control_request" => {
                let subtype = frame["request"]["subtype"].as_str();
                let subtype = subtype.expect("a request has a subtype").to_owned();
                let id = frame["request_id"].as_str().unwrap_or_default();
                if id.starts_with("models-") {
                    self.asked.push("models".to_owned());
                    let models = self.gateways();
                    return vec![Say::Line(answer(&frame, &models))];
                }
                let response = self.of_itself(&subtype);
                if subtype == "cancel_async_message" {
                    let uuid = frame["request"]["message_uuid"].clone();
                    self.taken_back.push(uuid);
                }
                if subtype == "interrupt" {
                    self.interrupts.push(self.users.len());
                }
                self.asked.push(subtype);
                match response {
                    Some(response) => return vec![Say::Line(answer(&frame, &response))],
                    None => self.held.push_back(frame),
                }
            }
            other => panic!("Claude Code knows no {other}: {line}"),
        }
        Vec::new()
    }

    fn next(&mut self) -> Option<Say> {
        None
    }

    fn closed(&mut self) {
        self.held.clear();
    }

    fn obeys(&self) -> bool {
        self.obedient
    }
}
