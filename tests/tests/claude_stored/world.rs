//! An editor, an engine, a scripted process and the files of Claude Code.

use airlock_engine::{Effect, FileDeparture, FileFacts, FileKind};
use airlock_tests::scripted_cli::{ScriptedCli, every_way};
use airlock_tests::{Cut, Desk};
use serde_json::{Value, json};

pub const CWD: &str = "/srv/work";
pub const PROJECTS: &str = "/srv/home/.claude/projects";
pub const PROJECT: &str = "/srv/home/.claude/projects/-srv-work";
/// The recorded session.
pub const ID: &str = "37ce8b67-88ea-4286-a70e-2763e67cc82b";
/// Another one.
pub const OTHER: &str = "22222222-2222-4222-8222-222222222222";

pub const TURNS: &str = include_str!("../../recordings/claude/stored/turns.jsonl");
pub const SHOWN: &str = include_str!("../../recordings/claude/stored/turns.shown.jsonl");
pub const SUBAGENT: &str = include_str!("../../recordings/claude/stored/subagent.jsonl");
pub const COMMANDS: &str = include_str!("../../recordings/claude/stored/commands.jsonl");

pub struct World {
    pub desk: Desk<ScriptedCli>,
}

/// Plays in every way that may make no difference (rule R9).
pub fn each_way(play: impl Fn(&mut World)) {
    every_way(|way| {
        let mut world = World::in_way(way);
        play(&mut world);
        world.desk.record()
    });
}

/// The same with an editor that agreed on these extensions.
pub fn each_way_agreeing(names: &[&str], play: impl Fn(&mut World)) {
    every_way(|way| {
        let mut world = World::unmet(way);
        world.meets(names);
        play(&mut world);
        world.desk.record()
    });
}

pub fn config(environment: &Value) -> Value {
    json!({ "agent": { "name": "airlock", "title": "Airlock", "version": "0.0.0" },
            "host": { "kind": "claude", "name": "claude", "environment": environment } })
}

pub fn prompt_row(text: &str) -> String {
    json!({ "type": "user", "uuid": format!("u-{text}"), "cwd": CWD, "isSidechain": false,
            "permissionMode": "default", "origin": { "kind": "human" },
            "message": { "role": "user", "content": [{ "type": "text", "text": text }] } })
    .to_string()
        + "\n"
}

/// Something that waited for a turn, as the program stores it.
pub fn queued_row(attachment: &Value) -> String {
    let mut attachment = attachment.clone();
    attachment["type"] = json!("queued_command");
    json!({ "type": "attachment", "uuid": format!("row-{}", attachment["source_uuid"]), "cwd": CWD,
            "isSidechain": false, "timestamp": "2026-12-01T02:49:01.558Z",
            "attachment": attachment })
    .to_string()
        + "\n"
}

pub fn answer_row(text: &str) -> String {
    json!({ "type": "assistant", "uuid": format!("a-{text}"), "cwd": CWD, "isSidechain": false,
            "message": { "id": format!("msg-{text}"), "role": "assistant",
                         "content": [{ "type": "text", "text": text }] } })
    .to_string()
        + "\n"
}

impl World {
    /// A line a call.
    pub fn plain() -> World {
        World::in_way(0)
    }

    /// An editor that agreed on these extensions.
    pub fn agreeing(names: &[&str]) -> World {
        let mut world = World::unmet(0);
        world.meets(names);
        world
    }

    /// An editor with these capabilities.
    pub fn able(capabilities: &Value) -> World {
        let mut world = World::unmet(0);
        world.desk.capabilities = capabilities.clone();
        world.desk.initialize();
        world
    }

    fn in_way(way: usize) -> World {
        let mut world = World::unmet(way);
        world.desk.initialize();
        world
    }

    fn meets(&mut self, names: &[&str]) {
        let air = json!({ "version": 1, "capabilities": names });
        self.desk.capabilities = json!({ "_meta": { "jetbrains": { "air": air } } });
        self.desk.initialize();
    }

    fn unmet(way: usize) -> World {
        let config = config(&json!({ "HOME": "/srv/home" }));
        let mut desk = Desk::with_config(ScriptedCli::default(), &config);
        desk.host_speaks = false;
        desk.restoring = way == 1;
        desk.batching = way == 3;
        let desk = match way {
            2 => desk.cut(Cut::Bytes(1)),
            3 => desk.cut(Cut::Read),
            _ => desk,
        };
        let mut world = World { desk };
        world.file("/srv/work/hello.txt", "first line\n");
        world
    }

    pub fn file(&mut self, path: &str, content: &str) {
        let content = content.as_bytes().to_vec();
        self.desk.files.content.insert(path.to_owned(), content);
    }

    /// A stored session.
    pub fn stored(&mut self, id: &str, content: &str) {
        self.file(&format!("{PROJECT}/{id}.jsonl"), content);
    }

    /// The recorded session, with its subagent.
    pub fn recorded(&mut self) {
        self.stored(ID, TURNS);
        let agent = format!("{PROJECT}/{ID}/subagents/agent-a49bf3a82ae708e5e.jsonl");
        self.file(&agent, SUBAGENT);
    }

    /// When a file was written last.
    pub fn dated(&mut self, path: &str, modified: u64) {
        let facts = self.desk.files.facts_of(path);
        let facts = FileFacts { modified, ..facts };
        self.desk.files.claimed.insert(path.to_owned(), facts);
    }

    pub fn settle(&mut self) {
        while self.desk.step() {}
    }

    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.desk.request(method, params);
        self.settle();
        id
    }

    pub fn load(&mut self, id: &str) -> u64 {
        let params = json!({ "sessionId": id, "cwd": CWD, "mcpServers": [] });
        self.request("session/load", &params)
    }

    pub fn resume(&mut self, id: &str) -> u64 {
        self.request("session/resume", &json!({ "sessionId": id, "cwd": CWD }))
    }

    /// What the editor was answered, if it was.
    pub fn answer(&self, id: u64) -> Option<Value> {
        let messages = self.got();
        let mut answers = messages.into_iter().filter(|it| it.get("method").is_none());
        answers.find(|it| it["id"] == id)
    }

    /// The answer of a request, which must be there.
    pub fn result(&self, id: u64) -> Value {
        let answer = self.answer(id);
        let answer = answer.unwrap_or_else(|| panic!("no answer:\n{}", self.desk.log.join("\n")));
        assert_eq!(answer["error"], Value::Null);
        answer["result"].clone()
    }

    pub fn error(&self, id: u64) -> Value {
        self.answer(id).expect("an answer")["error"].clone()
    }

    pub fn got(&self) -> Vec<Value> {
        let got = self
            .desk
            .log
            .iter()
            .filter_map(|line| line.strip_prefix("< "));
        got.map(|line| serde_json::from_str(line).expect("checked before"))
            .collect()
    }

    /// What was shown, but for figures and what a prompt may begin with.
    pub fn shown(&self) -> Vec<Value> {
        let updates = self
            .got()
            .into_iter()
            .filter(|it| it["method"] == "session/update");
        updates
            .map(|it| it["params"]["update"].clone())
            .filter(|it| it["sessionUpdate"] != "usage_update")
            .filter(|it| it["sessionUpdate"] != "available_commands_update")
            .collect()
    }

    /// The texts that were shown, with who says them.
    pub fn texts(&self) -> Vec<String> {
        let shown = self.shown();
        let texts = shown.iter().filter_map(|update| {
            let kind = update["sessionUpdate"].as_str()?.strip_suffix("_chunk")?;
            Some(format!("{kind}: {}", update["content"]["text"].as_str()?))
        });
        texts.collect()
    }

    /// The process with this number was started with this.
    pub fn started_with(&self, number: usize, argument: &str) -> bool {
        self.desk.host.started[number]
            .iter()
            .any(|it| it == argument)
    }

    /// What was read of files: offset and length.
    pub fn reads(&self) -> Vec<(u64, u32)> {
        let effects = self.desk.calls.iter().flat_map(|call| &call.effects);
        let reads = effects.filter_map(|effect| match effect {
            Effect::File(_, FileDeparture::Read(offset, length)) => Some((*offset, *length)),
            _ => None,
        });
        reads.collect()
    }

    /// Nothing of a file is open, and nothing waits.
    pub fn is_tidy(&self) {
        assert_eq!(self.desk.files.open(), 0);
        assert_eq!(self.desk.unanswered(), Vec::<String>::new());
    }

    pub fn folder(&mut self, path: &str) {
        let facts = FileFacts {
            kind: FileKind::Folder,
            canonical_path: path.to_owned(),
            size: 0,
            modified: 0,
            identity: path.to_owned(),
        };
        self.desk.files.claimed.insert(path.to_owned(), facts);
    }
}
