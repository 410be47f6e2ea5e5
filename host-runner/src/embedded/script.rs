//! What the scripted model plays, read from a JSON file (format:
//! `docs/embedded-script.md`) or from the script that is built in. Pure data
//! and its parser. Invariant: a script that parses can be played to its end;
//! whatever is wrong in it is said with the place, before the Host starts.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::faults::Fault;

/// Bytes of one text, with its repetitions: more is a mistake in the script.
const LONGEST_SAY: u64 = 16 * 1024 * 1024;

const BUILT_IN: &str = include_str!("default-script.json");

/// A whole script.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) plays: Vec<Play>,
    pub(crate) faults: Vec<Fault>,
}

/// What is played for a prompt that has one of the words.
#[derive(Debug, Clone)]
pub(crate) struct Play {
    words: Vec<String>,
    /// The session's name after its first turn; from the prompt when absent.
    pub(crate) title: Option<String>,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Thinking(Say),
    Text(Say),
    Tool(Tool),
    Question(Vec<Question>),
    Boundary {
        expansion: Value,
        justification: String,
    },
    Fail {
        class: String,
        message: String,
    },
    /// Milliseconds.
    Pause(u64),
    /// Until the client has been answered this operation so often since the turn began.
    Until {
        operation: String,
        nth: u64,
    },
    /// The message that is being streamed gets another text.
    Rewrite {
        text: String,
        announce: bool,
    },
    Fault(Fault),
}

/// Text that streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Say {
    pub(crate) text: String,
    /// Characters a delta.
    pub(crate) chunk: usize,
    /// Milliseconds before each delta.
    pub(crate) every: u64,
    /// Said only in the first turn of a session.
    pub(crate) first_turn: bool,
}

/// A tool card.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    #[serde(rename = "tool")]
    pub(crate) name: String,
    #[serde(default = "empty")]
    pub(crate) args: Value,
    #[serde(default)]
    pub(crate) activity: Option<String>,
    #[serde(default)]
    pub(crate) outputs: Vec<Output>,
    #[serde(default)]
    pub(crate) progress: Vec<String>,
    /// The content of the durable result row; made from the outputs when absent.
    #[serde(default)]
    pub(crate) result: Option<Value>,
    #[serde(default)]
    pub(crate) error: bool,
    /// Milliseconds between the last output and the result.
    #[serde(default)]
    pub(crate) takes: u64,
}

/// Output of a running tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Output {
    #[serde(default)]
    stdout: Option<String>,
    #[serde(default)]
    stderr: Option<String>,
    /// Milliseconds before it.
    #[serde(default)]
    pub(crate) after: u64,
    /// How often; `{n}` in the text is the number of the round, from 1.
    #[serde(default = "once")]
    pub(crate) repeat: u64,
}

impl Output {
    /// The stream's name and the text of one round.
    pub(crate) fn text(&self, round: u64) -> (&'static str, String) {
        let (stream, text) = match (&self.stdout, &self.stderr) {
            (_, Some(text)) => ("stderr", text),
            (Some(text), None) => ("stdout", text),
            (None, None) => ("stdout", &String::new()),
        };
        (stream, text.replace("{n}", &round.to_string()))
    }
}

/// A question with its options, in the wire's own words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) question: String,
    pub(crate) options: Vec<Answer>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

impl Script {
    /// The script that is built in.
    pub(crate) fn built_in() -> Script {
        Script::parse(BUILT_IN).expect("the built-in script is checked by a test")
    }

    pub(crate) fn parse(text: &str) -> Result<Script> {
        let file: File = serde_json::from_str(text)
            .context("the script is not valid; see docs/embedded-script.md")?;
        ensure!(
            !file.plays.is_empty(),
            "the script has no plays, so there is nothing to play"
        );
        let mut plays = Vec::new();
        for (at, play) in file.plays.iter().enumerate() {
            let mut steps = Vec::new();
            for (place, step) in play.steps.iter().enumerate() {
                let parsed = parse_step(step, file.chunk, file.every)
                    .with_context(|| format!("play {}, step {}", at + 1, place + 1))?;
                steps.push(parsed);
            }
            let words = play.words.iter().map(|word| word.to_lowercase()).collect();
            plays.push(Play {
                words,
                title: play.title.clone(),
                steps,
            });
        }
        Ok(Script {
            plays,
            faults: file.faults,
        })
    }

    /// The first play with one of the prompt's words, else the first without words.
    pub(crate) fn choose(&self, prompt: &str) -> Option<&Play> {
        let prompt = prompt.to_lowercase();
        let named = |play: &&Play| play.words.iter().any(|word| prompt.contains(word.as_str()));
        let default = |play: &&Play| play.words.is_empty();
        self.plays
            .iter()
            .find(named)
            .or_else(|| self.plays.iter().find(default))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "usual_chunk")]
    chunk: usize,
    #[serde(default)]
    every: u64,
    plays: Vec<RawPlay>,
    #[serde(default)]
    faults: Vec<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlay {
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    title: Option<String>,
    steps: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSay {
    #[serde(alias = "thinking")]
    text: String,
    chunk: Option<usize>,
    every: Option<u64>,
    #[serde(default = "once")]
    repeat: u64,
    #[serde(default, rename = "firstTurn")]
    first_turn: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBoundary {
    boundary: Value,
    justification: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFail {
    fail: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWait {
    wait: WaitFor,
    #[serde(default = "once")]
    nth: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WaitFor {
    Milliseconds(u64),
    Operation(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRewrite {
    rewrite: String,
    #[serde(default)]
    announce: bool,
}

/// A step is named by its one leading key.
fn parse_step(step: &Map<String, Value>, chunk: usize, every: u64) -> Result<Step> {
    const KINDS: [&str; 9] = [
        "thinking", "text", "tool", "question", "boundary", "fail", "wait", "rewrite", "fault",
    ];
    let Some(kind) = KINDS.into_iter().find(|kind| step.contains_key(*kind)) else {
        bail!("a step needs one of these keys: {}", KINDS.join(", "));
    };
    let whole = Value::Object(step.clone());
    Ok(match kind {
        "thinking" => Step::Thinking(say(whole, chunk, every)?),
        "text" => Step::Text(say(whole, chunk, every)?),
        "tool" => Step::Tool(tool(whole)?),
        "question" => Step::Question(questions(step)?),
        "boundary" => {
            let raw: RawBoundary = serde_json::from_value(whole)?;
            ensure!(
                raw.boundary.is_object(),
                "a boundary is an object with filesystem or network"
            );
            Step::Boundary {
                expansion: raw.boundary,
                justification: raw.justification,
            }
        }
        "fail" => {
            let raw: RawFail = serde_json::from_value(whole)?;
            ensure!(
                raw.fail.len() <= 128,
                "a failure class has at most 128 bytes"
            );
            ensure!(
                raw.message.len() <= 256,
                "a failure message has at most 256 bytes"
            );
            Step::Fail {
                class: raw.fail,
                message: raw.message,
            }
        }
        "wait" => {
            let raw: RawWait = serde_json::from_value(whole)?;
            match raw.wait {
                WaitFor::Milliseconds(ms) => Step::Pause(ms),
                WaitFor::Operation(operation) => Step::Until {
                    operation,
                    nth: raw.nth,
                },
            }
        }
        "rewrite" => {
            let raw: RawRewrite = serde_json::from_value(whole)?;
            Step::Rewrite {
                text: raw.rewrite,
                announce: raw.announce,
            }
        }
        _ => Step::Fault(serde_json::from_value(step["fault"].clone())?),
    })
}

fn say(step: Value, chunk: usize, every: u64) -> Result<Say> {
    let raw: RawSay = serde_json::from_value(step)?;
    let chunk = raw.chunk.unwrap_or(chunk);
    ensure!(chunk > 0, "a chunk has at least one character");
    ensure!(!raw.text.is_empty(), "there is no text to say");
    let length = (raw.text.len() as u64).saturating_mul(raw.repeat);
    ensure!(
        (1..=LONGEST_SAY).contains(&length),
        "a text is repeated at least once and up to 16 MiB in all"
    );
    Ok(Say {
        text: raw.text.repeat(raw.repeat as usize),
        chunk,
        every: raw.every.unwrap_or(every),
        first_turn: raw.first_turn,
    })
}

fn tool(step: Value) -> Result<Tool> {
    let tool: Tool = serde_json::from_value(step)?;
    ensure!(
        (1..=256).contains(&tool.name.len()),
        "a tool's name has 1 to 256 bytes"
    );
    if let Some(result) = &tool.result {
        ensure!(
            result["kind"].is_string(),
            "a result is an object with a kind, as in the durable row"
        );
    }
    for output in &tool.outputs {
        ensure!(
            output.stdout.is_some() != output.stderr.is_some(),
            "an output has either stdout or stderr"
        );
    }
    Ok(tool)
}

fn questions(step: &Map<String, Value>) -> Result<Vec<Question>> {
    ensure!(step.len() == 1, "a question step has no other key");
    let questions: Vec<Question> = serde_json::from_value(step["question"].clone())?;
    ensure!(
        (1..=3).contains(&questions.len()),
        "there are 1 to 3 questions at once"
    );
    for question in &questions {
        ensure!(
            (2..=3).contains(&question.options.len()),
            "a question has 2 or 3 options"
        );
    }
    Ok(questions)
}

fn usual_chunk() -> usize {
    16
}

fn once<T: From<u8>>() -> T {
    T::from(1)
}

fn empty() -> Value {
    Value::Object(Map::new())
}
