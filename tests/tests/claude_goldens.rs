//! What happens behind a cancel, over the component alone: every scenario gives the trace
//! that was recorded of the reference (Claude adapter, section 3.1), on virtual time.
//!
//! Two traces are the same when everything stands in the same order, but for the answer of a
//! queued prompt, which the protocols allow at any time after the cancel.

use airlock_tests::scripted_cli::{Act, POST_CANCEL, Scenario, Scene, Step};
use serde_json::Value;

/// Where the recorded trace shows a defect of the reference: scenario, what it says, what we
/// say, and why. None of ACP v1 does: the known ones are of v2 (sections 9.6 and Part 4).
const DEFECTS: [(&str, &str, &str, &str); 0] = [];

/// 3.1 rows 1 to 7, 9, 10, 12 to 14, 18 to 21.
#[test]
fn given_the_scenarios_behind_a_cancel_when_played_then_each_trace_is_the_recorded_one() {
    let mut wrong = Vec::new();
    for scenario in POST_CANCEL {
        let scenario = scenario();
        let (expected, actual) = (recorded(scenario.name), Play::of(&scenario, 0));
        if split(&expected) != split(&actual) {
            let (expected, actual) = (expected.join("\n"), actual.join("\n"));
            wrong.push(format!(
                "== {}\n{expected}\n-- but\n{actual}",
                scenario.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!(
        "{} scenarios as recorded, {} defects listed",
        POST_CANCEL.len(),
        DEFECTS.len()
    );
}

/// Rule R9.
#[test]
fn given_the_scenarios_when_cut_batched_or_restored_then_the_traces_stay_the_same() {
    for scenario in POST_CANCEL {
        let scenario = scenario();
        let plain = Play::of(&scenario, 0);
        for way in 1..4 {
            assert_eq!(plain, Play::of(&scenario, way), "{} {way}", scenario.name);
        }
    }
}

fn recorded(name: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/claude/postcancel");
    let trace = std::fs::read_to_string(format!("{folder}/{name}.v1.trace.txt"));
    let trace = trace.unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut lines: Vec<String> = trace.lines().map(str::to_owned).collect();
    for (of, theirs, ours, _) in DEFECTS {
        for line in lines.iter_mut().filter(|it| of == name && **it == theirs) {
            ours.clone_into(line);
        }
    }
    lines
}

/// What has its place, and what may come at any time.
fn split(trace: &[String]) -> (Vec<&String>, Vec<&String>) {
    trace.iter().partition(|line| !line.starts_with("< p2 "))
}

/// Both sides of a scenario, as far as they are.
struct Play<'a> {
    scene: Scene,
    cli: std::slice::Iter<'a, Step>,
    editor: std::slice::Iter<'a, Act>,
    now: u64,
    /// Until when each side takes its time.
    busy: [u64; 2],
    prompts: Vec<(&'static str, &'static str, u64)>,
}

impl<'a> Play<'a> {
    /// Plays it to its end; the trace.
    fn of(scenario: &'a Scenario, way: usize) -> Vec<String> {
        let mut scene = Scene::in_way(way);
        scene.desk.host.takes_back = scenario.takes_back;
        scene.begin();
        let before = scene.desk.log.len();
        let mut play = Play {
            scene,
            cli: scenario.cli.iter(),
            editor: scenario.editor.iter(),
            now: 0,
            busy: [0, 0],
            prompts: Vec::new(),
        };
        while play.goes_on() {}
        let (cli, editor) = (play.cli.as_slice(), play.editor.as_slice());
        assert!(
            cli.is_empty() && editor.is_empty(),
            "{} hangs before {:?} and {:?}:\n{}",
            scenario.name,
            cli.first(),
            editor.first(),
            play.scene.log()
        );
        play.trace(before)
    }

    fn goes_on(&mut self) -> bool {
        if self.editor_acts() || self.cli_acts() {
            return true;
        }
        let busy = self.busy.into_iter().filter(|until| *until > self.now);
        let armed = self.scene.desk.armed();
        let timer = armed.first().map(|after| self.now + after);
        let Some(next) = busy.chain(timer).min() else {
            return false;
        };
        self.scene.wait(next - self.now);
        self.now = next;
        true
    }

    fn editor_acts(&mut self) -> bool {
        if self.busy[0] > self.now {
            return false;
        }
        let Some(act) = self.editor.as_slice().first() else {
            return false;
        };
        match *act {
            Act::Prompt(name, text) => {
                let id = self.scene.prompt(text);
                self.prompts.push((name, text, id));
            }
            Act::Cancel => self.scene.cancel(),
            Act::Chunk(text) => {
                let shown = format!("agent_message_chunk {} ", Value::from(text));
                if !self.scene.told().iter().any(|it| it.starts_with(&shown)) {
                    return false;
                }
            }
            Act::Answered(names) => {
                let mut asked = self.prompts.iter().filter(|it| names.contains(&it.0));
                if !asked.all(|it| self.scene.answer(it.2).is_some()) {
                    return false;
                }
            }
            Act::Pause(time) => self.busy[0] = self.now + time,
        }
        self.editor.next();
        true
    }

    fn cli_acts(&mut self) -> bool {
        if self.busy[1] > self.now {
            return false;
        }
        let Some(step) = self.cli.as_slice().first() else {
            return false;
        };
        match step {
            Step::Prompt(number) if !self.scene.has(*number) => return false,
            Step::Asked(subtype) if !self.scene.desk.host.waits(subtype) => return false,
            Step::TakenBack(prompt) if !self.scene.taken_back(*prompt) => return false,
            Step::Interrupted(prompt) if !self.scene.interrupted(*prompt) => return false,
            Step::Answered(question) if self.scene.desk.host.answer_to(question).is_none() => {
                return false;
            }
            Step::Prompt(_)
            | Step::Asked(_)
            | Step::Interrupted(_)
            | Step::TakenBack(_)
            | Step::Answered(_) => {}
            Step::Replies(subtype, response) => self.scene.replies(subtype, response),
            Step::Says(frame) => self.scene.says([frame.clone()]),
            Step::Pause(time) => self.busy[1] = self.now + time,
        }
        self.cli.next();
        true
    }

    /// As the reference's traces are written.
    fn trace(&self, before: usize) -> Vec<String> {
        let lines = self.scene.desk.log[before..].iter();
        lines.filter_map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &str) -> Option<String> {
        let (side, message) = line.split_at(2);
        let message: Value = serde_json::from_str(message).expect("checked before");
        let named = self.prompts.iter().find(|it| message["id"] == it.2);
        match (side, message["method"].as_str(), named) {
            ("> ", Some("session/cancel"), _) => Some("> cancel".to_owned()),
            ("> ", _, Some((_, text, _))) => Some(format!("> prompt {text}")),
            ("< ", None, Some((name, ..))) => {
                Some(match message["result"]["stopReason"].as_str() {
                    Some(reason) => format!("< {name} {reason:?}"),
                    None => format!("< {name} error {}", message["error"]),
                })
            }
            ("< ", ..) => airlock_tests::scripted_cli::told(&message),
            _ => None,
        }
    }
}
