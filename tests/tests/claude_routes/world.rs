//! An editor and a Claude Code without sessions, and what is asked of it besides prompts.

use airlock_tests::desk::Ran;
use airlock_tests::scripted_cli::ScriptedCli;
use airlock_tests::{Cut, Desk, Say};
use serde_json::{Value, json};

pub const CWD: &str = "/srv/work";

/// An editor that has initialized, and a Claude Code without sessions.
pub struct World {
    pub desk: Desk<ScriptedCli>,
    pub welcome: Value,
}

impl World {
    pub fn new() -> World {
        World::with(&json!({}), &json!({ "HOME": "/srv/home" }), 0)
    }

    pub fn with(capabilities: &Value, environment: &Value, way: usize) -> World {
        let config = json!({
            "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0",
                       "command": "/opt/host-runner",
                       "arguments": ["--claude", "/opt/claude"] },
            "host": { "kind": "claude", "name": "claude", "environment": environment } });
        let mut desk = Desk::with_config(ScriptedCli::default(), &config);
        desk.host_speaks = false;
        desk.restoring = way == 1;
        desk.batching = way == 3;
        let mut desk = match way {
            2 => desk.cut(Cut::Bytes(1)),
            3 => desk.cut(Cut::Read),
            _ => desk,
        };
        desk.host.asides = [
            ("auth logout", ran("Successfully logged out.\n", "", 0)),
            (
                "auth status --json",
                ran(
                    r#"{ "loggedIn": false, "authMethod": "none", "apiProvider": "firstParty" }"#,
                    "",
                    1,
                ),
            ),
        ]
        .map(|(words, ran)| (words.to_owned(), ran))
        .into();
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        let id = desk.request("initialize", &params);
        let welcome = desk.answer(id)["result"].clone();
        World { desk, welcome }
    }

    pub fn settle(&mut self) {
        while self.desk.step() {}
    }

    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.desk.request(method, params);
        self.settle();
        id
    }

    pub fn got(&self) -> Vec<Value> {
        let got = self.desk.log.iter();
        let got = got.filter_map(|line| line.strip_prefix("< "));
        got.map(|line| serde_json::from_str(line).expect("checked before"))
            .collect()
    }

    pub fn answer(&self, id: u64) -> Option<Value> {
        let mut got = self.got().into_iter();
        got.find(|it| it.get("method").is_none() && it["id"] == id)
    }

    pub fn result(&self, id: u64) -> Value {
        let answer = self.answer(id);
        let answer = answer.unwrap_or_else(|| panic!("no answer:\n{}", self.desk.log.join("\n")));
        assert_eq!(answer["error"], Value::Null);
        answer["result"].clone()
    }

    pub fn error(&self, id: u64) -> Value {
        self.answer(id).expect("an answer")["error"].clone()
    }

    /// A request that is to succeed.
    pub fn asks(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.result(id)
    }

    pub fn new_session(&mut self) -> String {
        let result = self.asks("session/new", &json!({ "cwd": CWD, "mcpServers": [] }));
        result["sessionId"].as_str().expect("an id").to_owned()
    }

    /// Who the editor was told is signed in, each time.
    pub fn statuses(&self) -> Vec<Value> {
        let got = self.got().into_iter();
        let told = got.filter(|it| it["method"] == "_auth/status_update");
        told.map(|it| it["params"]["authStatus"].clone()).collect()
    }

    /// A variable of the process with this number.
    pub fn variable(&self, number: usize, name: &str) -> Option<Option<String>> {
        let all = &self.desk.host.variables[number];
        let found = all.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    pub fn provider(&mut self) -> Value {
        self.asks("providers/list", &json!({}))["providers"][0].clone()
    }

    /// The process that was started last says these frames.
    pub fn says(&mut self, frames: &[Value]) {
        let prompt = self.desk.host.users.last().map(|it| it["uuid"].to_string());
        let line = |frame: &Value| match &prompt {
            Some(prompt) => frame.to_string().replace("\"@1\"", prompt),
            None => frame.to_string(),
        };
        let said: Vec<Say> = frames.iter().map(|frame| Say::Line(line(frame))).collect();
        self.desk.host_says(said);
        self.settle();
    }
}

pub fn ran(out: &str, said: &str, code: i32) -> Ran {
    Ran {
        out: out.to_owned(),
        said: said.to_owned(),
        code: Some(code),
    }
}

pub fn api_key() -> Value {
    json!({ "kind": "api_key", "label": "Anthropic API key", "detail": "ANTHROPIC_API_KEY" })
}

pub fn ids(methods: &Value) -> Vec<&str> {
    let methods = methods.as_array().expect("a list").iter();
    methods
        .map(|it| it["id"].as_str().expect("an id"))
        .collect()
}
