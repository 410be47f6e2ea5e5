//! `/mcp` and `/usage` (Claude adapter, section 14): the program's own words about servers and
//! use are meant for a terminal; an editor gets Markdown, made of what the program answers
//! when it is asked.
//!
//! Invariants: the turn of such a command is settled once, at the latest when the time is
//! over; where the program does not answer, its own words stand.

mod markdown;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Due;
use super::control::Purpose;
use super::session::Session;
use super::text::{MAIN, Piece};
use super::turns::{How, Settled};
use super::wire::Response;
use crate::host::{Cx, Outcome, Spent};
use crate::input::Timer;
use crate::json::Object;
use crate::{limits, object};

/// The commands that wait for their turn, and those whose report is being made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Overviews(BTreeMap<String, Report>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Report {
    about: About,
    /// What the program says of itself: under which id, and what.
    said: Option<(String, String)>,
    /// The turn is over: what it came to.
    making: Option<Making>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum About {
    Usage,
    Servers(Action),
    /// A word that is not known: the program's own words say so.
    Nothing,
}

/// What is to be done with which servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Action {
    /// List them.
    List,
    /// Do this with one of them, or with all.
    Do(Verb, Option<String>),
}

/// What can be done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    Reconnect,
    Enable,
    Disable,
}

/// A report that waits for the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Making {
    outcome: Outcome,
    timer: Timer,
    /// Servers that something is done with, and what came of it.
    done: Vec<(String, Option<Result<(), String>>)>,
}

/// What is asked of the program for a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// How much was used.
    Usage,
    /// Which servers there are, to do something with all of them.
    Which,
    /// Something is done with this one.
    Do(String),
    /// How they are.
    Status,
}

impl Verb {
    fn request(self, server: &str) -> Object {
        match self {
            Verb::Reconnect => object! { "subtype": "mcp_reconnect", "serverName": server },
            Verb::Enable | Verb::Disable => object! {
                "subtype": "mcp_toggle", "serverName": server, "enabled": self == Verb::Enable,
            },
        }
    }
}

impl Overviews {
    /// A prompt was sent; perhaps it is such a command.
    pub fn prompt(&mut self, turn: &str, words: &str) {
        let Some(about) = about(words) else {
            return;
        };
        let report = Report {
            about,
            said: None,
            making: None,
        };
        self.0.insert(turn.to_owned(), report);
    }

    /// Whether a report is being made.
    pub fn is_making(&self) -> bool {
        self.0.values().any(|report| report.making.is_some())
    }

    /// The program says something in this turn. Whether it is kept.
    pub fn keep(&mut self, turn: &str, id: &str, text: &str) -> bool {
        let Some(report) = self.0.get_mut(turn) else {
            return false;
        };
        if matches!(report.about, About::Nothing) || report.making.is_some() {
            return false;
        }
        let said = report
            .said
            .get_or_insert_with(|| (id.to_owned(), String::new()));
        said.1.push_str(text);
        true
    }
}

/// What a prompt is about, if it is such a command.
fn about(words: &str) -> Option<About> {
    let mut words = words.strip_prefix('/')?.split_whitespace();
    match words.next()? {
        "usage" => Some(About::Usage),
        "mcp" => Some(match (words.next(), words.next(), words.next()) {
            (None, ..) => About::Servers(Action::List),
            (Some(verb), server, None) => match verb {
                "reconnect" => with(Verb::Reconnect, server),
                "enable" => with(Verb::Enable, server),
                "disable" => with(Verb::Disable, server),
                _ => About::Nothing,
            },
            _ => About::Nothing,
        }),
        _ => None,
    }
}

fn with(verb: Verb, server: Option<&str>) -> About {
    let server = server.filter(|server| *server != "all").map(String::from);
    About::Servers(Action::Do(verb, server))
}

impl Session {
    /// Words of the program that a report is to take the place of.
    pub(super) fn keep_for_overview(&mut self, key: &str, piece: &Piece<'_>) -> bool {
        key == MAIN
            && self
                .turns
                .front()
                .is_some_and(|turn| self.overviews.keep(turn, &piece.message_id, &piece.text))
    }

    /// Turns that are over, but for those whose report comes first.
    pub(super) fn overview_first(
        &mut self,
        cx: &mut Cx<'_, '_>,
        settled: Vec<Settled>,
        result: &(Outcome, Option<Spent>),
    ) -> Vec<Settled> {
        let mut rest = Vec::new();
        for settled in settled {
            let done = settled.how == How::Result
                && matches!(result.0, Outcome::Ended { .. })
                && self.begin_report(cx, &settled.uuid, &result.0);
            if !done {
                self.overviews.0.remove(&settled.uuid);
                rest.push(settled);
            }
        }
        rest
    }

    fn begin_report(&mut self, cx: &mut Cx<'_, '_>, turn: &str, outcome: &Outcome) -> bool {
        let Some(report) = self.overviews.0.get(turn).filter(|it| it.said.is_some()) else {
            return false;
        };
        let mut done = Vec::new();
        let (time, steps) = match &report.about {
            About::Nothing => return false,
            About::Usage => {
                let request = object! { "subtype": "get_usage" };
                (limits::CLAUDE_STATUS_MS, [(Step::Usage, request)])
            }
            About::Servers(Action::List) => (limits::CLAUDE_STATUS_MS, [(Step::Status, status())]),
            About::Servers(Action::Do(_, None)) => {
                (limits::CLAUDE_STATUS_MS, [(Step::Which, status())])
            }
            About::Servers(Action::Do(verb, Some(server))) => {
                done.push((server.clone(), None));
                let step = Step::Do(server.clone());
                (limits::CLAUDE_SERVERS_MS, [(step, verb.request(server))])
            }
        };
        let timer = self.report_timer(cx, turn, time);
        if let Some(report) = self.overviews.0.get_mut(turn) {
            report.making = Some(Making {
                outcome: outcome.clone(),
                timer,
                done,
            });
        }
        for (step, request) in steps {
            self.ask_report(cx, turn, step, &request);
        }
        true
    }

    fn report_timer(&self, cx: &mut Cx<'_, '_>, turn: &str, time: u64) -> Timer {
        let due = Due::Overview {
            channel: self.channel,
            turn: turn.to_owned(),
        };
        cx.arm(due, time)
    }

    fn ask_report(&mut self, cx: &mut Cx<'_, '_>, turn: &str, step: Step, request: &Object) {
        let turn = turn.to_owned();
        self.request(cx, Purpose::Overview { turn, step }, request);
    }

    /// The program answers.
    pub(super) fn overview_part(
        &mut self,
        cx: &mut Cx<'_, '_>,
        turn: &str,
        step: &Step,
        response: &Response<'_>,
    ) {
        let failed = response.subtype == "error";
        let error = response.error.as_deref().unwrap_or("it gave no reason");
        let report = self.overviews.0.get_mut(turn);
        let Some((about, Some(making))) = report.map(|it| (it.about.clone(), &mut it.making))
        else {
            return;
        };
        match (step, about) {
            (Step::Usage, _) if !failed => {
                let text = markdown::usage(response.response);
                self.end_report(cx, turn, text);
            }
            (Step::Status, about) if !failed => {
                let list = markdown::servers(response.response);
                let text = match about {
                    About::Servers(Action::Do(verb, _)) => {
                        markdown::done(verb, &making.done) + "\n\n" + &list
                    }
                    _ => list,
                };
                self.end_report(cx, turn, Some(text));
            }
            (Step::Which, About::Servers(Action::Do(verb, _))) if !failed => {
                let names = markdown::names(response.response);
                if names.is_empty() {
                    let none = markdown::servers(response.response);
                    return self.end_report(cx, turn, Some(none));
                }
                making.done = names.iter().map(|name| (name.clone(), None)).collect();
                self.wait_anew(cx, turn, limits::CLAUDE_SERVERS_MS);
                for name in names {
                    let request = verb.request(&name);
                    self.ask_report(cx, turn, Step::Do(name), &request);
                }
            }
            (Step::Do(server), _) => {
                let came = if failed {
                    Err(error.to_string())
                } else {
                    Ok(())
                };
                for (name, done) in &mut making.done {
                    if name == server && done.is_none() {
                        *done = Some(came.clone());
                    }
                }
                if making.done.iter().all(|(_, done)| done.is_some()) {
                    self.wait_anew(cx, turn, limits::CLAUDE_STATUS_MS);
                    self.ask_report(cx, turn, Step::Status, &status());
                }
            }
            _ => self.end_report(cx, turn, None),
        }
    }

    fn wait_anew(&mut self, cx: &mut Cx<'_, '_>, turn: &str, time: u64) {
        let timer = self.report_timer(cx, turn, time);
        let report = self.overviews.0.get_mut(turn);
        if let Some(making) = report.and_then(|it| it.making.as_mut()) {
            let old = core::mem::replace(&mut making.timer, timer);
            cx.core.disarm(old);
        }
    }

    /// It takes too long. What came of the servers so far is told all the same.
    pub(super) fn overview_due(&mut self, cx: &mut Cx<'_, '_>, turn: &str) {
        let report = self.overviews.0.get(turn);
        let text = report.and_then(|report| match (&report.about, &report.making) {
            (About::Servers(Action::Do(verb, _)), Some(making)) if !making.done.is_empty() => {
                Some(markdown::done(*verb, &making.done))
            }
            _ => None,
        });
        self.end_report(cx, turn, text);
    }

    /// The report, or the program's own words; and the end of the turn.
    fn end_report(&mut self, cx: &mut Cx<'_, '_>, turn: &str, text: Option<String>) {
        let Some(Report { said, making, .. }) = self.overviews.0.remove(turn) else {
            return;
        };
        if let (Some((id, words)), Some(making)) = (said, making) {
            cx.core.disarm(making.timer);
            self.show_text(cx, &id, &text.unwrap_or(words));
            let outcome = making.outcome;
            self.overview_over(cx, turn, outcome);
        }
    }

    fn overview_over(&mut self, cx: &mut Cx<'_, '_>, turn: &str, outcome: Outcome) {
        self.read_in(turn);
        self.remembered.ended(cx.core.now.wall);
        self.ended(cx, turn, outcome, None);
    }

    /// The process goes: what is being made comes to the program's own words.
    pub(super) fn finish_overviews(&mut self, cx: &mut Cx<'_, '_>) {
        let making = self
            .overviews
            .0
            .iter()
            .filter(|(_, it)| it.making.is_some());
        for turn in making.map(|(turn, _)| turn.clone()).collect::<Vec<_>>() {
            self.end_report(cx, &turn, None);
        }
    }

    /// Nobody waits for reports any more: the turns whose report was being made come to this.
    pub(super) fn drop_overviews(&mut self, cx: &mut Cx<'_, '_>, outcome: &Outcome) {
        for (turn, report) in core::mem::take(&mut self.overviews.0) {
            if let Some(making) = report.making {
                cx.core.disarm(making.timer);
                let outcome = outcome.clone();
                self.overview_over(cx, &turn, outcome);
            }
        }
    }
}

fn status() -> Object {
    object! { "subtype": "mcp_status" }
}
