//! Scenes about the options of a session: the test answers what is read and what is set.

use serde_json::{Value, json};

use super::{Asked, Scene, words};

impl Scene {
    /// A session with options, as it was made (revision 7); what was told so far counts as
    /// seen. The result of `session/new`.
    pub fn begin_with_options(&mut self, more: &Value) -> Value {
        self.desk.initialize();
        self.desk.host.by_hand("session.create");
        self.desk.host.by_hand("connection.catalog.query");
        let params = json!({ "cwd": "/srv/maka-work", "mcpServers": [] });
        let request = self.desk.request("session/new", &params);
        self.settle();
        let asked = self.asked("session.create");
        self.session = asked.input["sessionId"].as_str().expect("an id").to_owned();
        let item = words::configured(&self.session, 7, more);
        self.result(&asked, &item);
        self.models();
        self.editor();
        self.host();
        self.desk.answer(request)["result"].clone()
    }

    /// The Host names its models.
    pub fn models(&mut self) {
        let asked = self.asked("connection.catalog.query");
        self.result(&asked, &words::connections());
    }

    /// The editor sets an option; the id of its request.
    pub fn set(&mut self, id: &str, value: &Value) -> u64 {
        let params = json!({ "sessionId": self.session, "configId": id, "value": value });
        let request = self.desk.request("session/set_config_option", &params);
        self.settle();
        request
    }

    /// The editor sets the mode; the id of its request.
    pub fn set_mode(&mut self, mode: &str) -> u64 {
        let params = json!({ "sessionId": self.session, "modeId": mode });
        let request = self.desk.request("session/set_mode", &params);
        self.settle();
        request
    }

    /// The Host tells the session as it is now.
    ///
    /// # Panics
    /// When it was asked for something else.
    pub fn current(&mut self, revision: u64, more: &Value) {
        let asked = self.asked("session.catalog.query");
        assert_eq!(
            asked.input,
            json!({ "kind": "get", "sessionId": self.session })
        );
        let item = words::configured(&self.session, revision, more);
        self.result(&asked, &json!({ "kind": "session", "session": item }));
    }

    /// The change that the Host is asked for.
    pub fn change(&mut self) -> Asked {
        self.asked("session.configuration.update")
    }

    /// The Host makes the change, and names its models after it.
    pub fn commit(&mut self, revision: u64, more: &Value) {
        let asked = self.change();
        let item = words::configured(&self.session, revision, more);
        self.result(&asked, &json!({ "kind": "committed", "session": item }));
        self.models();
    }

    /// The session changed meanwhile.
    pub fn conflict(&mut self, operation: &str) {
        let asked = self.asked(operation);
        let expected = asked.input["expectedRevision"].clone();
        let conflict = json!({ "kind": "revision_conflict", "expectedRevision": expected,
                               "actualRevision": 99 });
        self.result(&asked, &conflict);
    }
}
