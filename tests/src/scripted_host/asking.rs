//! A turn that asks the user something: what the Host shows, what the editor answers, and
//! what becomes of the turn.

use serde_json::{Value, json};

use super::scene::{Scene, Turn, each_way_bare};
use super::words;

/// Plays a scene with a session in every way, with an editor that shows forms.
pub fn each_way_with_forms(play: impl Fn(&mut Scene)) {
    each_way_bare(|scene| {
        scene.begin_with_forms();
        play(scene);
    });
}

impl Scene {
    /// The same with an editor that shows forms.
    pub fn begin_with_forms(&mut self) {
        self.desk.capabilities = json!({ "elicitation": { "form": {} } });
        self.begin();
    }

    /// The turn waits for the user: the snapshot shows these questions.
    pub fn pending(&mut self, turn: &Turn, pending: &[Value]) {
        let root = self.told(turn, "waiting_for_user");
        let line = self.root_line(&root, pending);
        self.says([line]);
    }

    /// The Host says of the question that is asked about: it is as the snapshot says.
    pub fn confirm(&mut self, told: &Value) {
        let asked = self.asked("interaction.query");
        assert_eq!(asked.input["interactionId"], told["interactionId"]);
        self.result(&asked, told);
    }

    /// The newest request of the agent to the editor.
    ///
    /// # Panics
    /// When there is none.
    pub fn asked_user(&self) -> Value {
        let got = self
            .desk
            .log
            .iter()
            .rev()
            .filter_map(|line| line.strip_prefix("< "));
        let mut messages = got.map(|line| serde_json::from_str::<Value>(line).expect("checked"));
        messages
            .find(|it| it.get("id").is_some() && it.get("method").is_some())
            .expect("a request to the editor")
    }

    /// The editor answers the newest request: with the option of this kind.
    ///
    /// # Panics
    /// When it was not offered.
    pub fn choose(&mut self, kind: &str) {
        let asked = self.asked_user();
        let options = asked["params"]["options"].as_array().expect("options");
        let option = options.iter().find(|it| it["kind"] == kind);
        let id = option.expect("that option")["optionId"].clone();
        self.reply(&json!({ "outcome": { "outcome": "selected", "optionId": id } }));
    }

    /// The editor answers the newest request.
    pub fn reply(&mut self, result: &Value) {
        let id = self.asked_user()["id"].clone();
        self.desk.reply(&id, result);
        self.settle();
    }

    /// A running turn that asks; everything up to the question is told.
    pub fn asking(&mut self, kind: &str) -> (Turn, Value) {
        self.asking_for("i1", &words::request(kind))
    }

    /// The same with this id and request.
    pub fn asking_for(&mut self, id: &str, request: &Value) -> (Turn, Value) {
        let turn = self.running("hello");
        let told = words::pending(&self.session, &turn.id, id, request);
        self.pending(&turn, std::slice::from_ref(&told));
        self.confirm(&told);
        (turn, told)
    }

    /// The Host takes the answer that the editor gave; with what was answered.
    ///
    /// # Panics
    /// When it did not get one for this question.
    pub fn takes_answer(&mut self, told: &Value, outcome: &Value) -> Value {
        let asked = self.asked("interaction.answer");
        assert_eq!(asked.input["interactionId"], told["interactionId"]);
        assert_eq!(asked.input["sessionId"], json!(self.session));
        self.result(&asked, &words::resolved(told, "answered", outcome));
        asked.input["answer"].clone()
    }

    /// The turn is stopped once, and the prompt has this answer.
    ///
    /// # Panics
    /// When it is not.
    pub fn stopped_with(&mut self, turn: &Turn, answer: &str) {
        let asked = self.asked("turn.stop");
        assert_eq!(asked.input["runId"], "run-1");
        let told = self.told(turn, "cancelled");
        self.result(&asked, &told);
        assert_eq!(
            self.answer(turn.prompt),
            Some(format!("{} {answer}", turn.prompt))
        );
        assert_eq!(self.count("turn.stop"), 1);
        assert_eq!(self.count("interaction.answer"), 0);
    }
}
