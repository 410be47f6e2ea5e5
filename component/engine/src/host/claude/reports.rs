//! Which files a prompt changed, for editors that ask (AIR, agent file-change report): the
//! program tells what it would restore.
//!
//! Invariant: a prompt whose files were asked for is answered once, behind the report, and
//! at most [`limits::CLAUDE_FILE_REPORT_MS`] late.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Due;
use super::control::Purpose;
use super::session::Session;
use super::wire::more::Rewind;
use super::wire::{Response, part};
use crate::host::more::{FileReport, Files, More, Unknown};
use crate::host::{Cx, Ending, Fact, Outcome};
use crate::input::Timer;
use crate::limits;
use crate::object;

/// The reports of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Reports {
    /// The editor's names for its questions, by prompt.
    wanted: BTreeMap<String, String>,
    /// Those that were asked before.
    known: Vec<String>,
    /// Prompts that wait for their report.
    waiting: BTreeMap<String, Waiting>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    request: String,
    outcome: Outcome,
    timer: Timer,
}

impl Reports {
    /// Whether a prompt waits for its report.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Session {
    /// The editor wants to know which files this prompt changes.
    pub(super) fn wants_files(&mut self, turn: &str, request: Option<&String>) {
        let reports = &mut self.more.reports;
        let Some(request) = request.filter(|_| self.setup.client.extras.file_reports) else {
            return;
        };
        if reports.known.contains(request) {
            return;
        }
        if reports.known.len() as u64 >= limits::CLAUDE_FILE_REPORTS {
            reports.known.remove(0);
        }
        reports.known.push(request.clone());
        reports.wanted.insert(turn.to_owned(), request.clone());
    }

    /// A prompt is over: gives its outcome back, if it can be told at once.
    pub(super) fn files_first(
        &mut self,
        cx: &mut Cx<'_, '_>,
        turn: &str,
        outcome: Outcome,
    ) -> Option<Outcome> {
        let Some(request) = self.more.reports.wanted.remove(turn) else {
            return Some(outcome);
        };
        let unknown = match &outcome {
            Outcome::Ended {
                ending: Ending::Cancelled,
                ..
            }
            | Outcome::Stopped
            | Outcome::Aborted { .. } => Unknown::Cancelled,
            Outcome::Ended { .. } | Outcome::Completed if self.is_live() => {
                let dry = object! {
                    "subtype": "rewind_files", "user_message_id": turn, "dry_run": true,
                };
                self.request(cx, Purpose::Files(turn.to_owned()), &dry);
                let due = Due::Files {
                    channel: self.channel,
                    turn: turn.to_owned(),
                };
                let timer = cx.arm(due, limits::CLAUDE_FILE_REPORT_MS);
                let waiting = Waiting {
                    request,
                    outcome,
                    timer,
                };
                self.more.reports.waiting.insert(turn.to_owned(), waiting);
                return None;
            }
            _ => Unknown::Failed,
        };
        self.tell_files(cx, request, Err(unknown));
        Some(outcome)
    }

    /// The program says which files it would restore, or not.
    pub(super) fn files_are(&mut self, cx: &mut Cx<'_, '_>, turn: &str, response: &Response<'_>) {
        let rewind: Rewind<'_> = part(response.response);
        let found = match rewind.files_changed {
            _ if response.subtype == "error" => Err(Unknown::Failed),
            Some(files) if rewind.can_rewind => {
                let files: Vec<&str> = files.iter().map(AsRef::as_ref).collect();
                Ok(self.within(&files))
            }
            _ => Err(Unknown::Invalid),
        };
        self.files_known(cx, turn, found);
    }

    /// The report of a prompt, whose answer follows.
    pub(super) fn files_known(
        &mut self,
        cx: &mut Cx<'_, '_>,
        turn: &str,
        found: Result<Files, Unknown>,
    ) {
        let Some(waiting) = self.more.reports.waiting.remove(turn) else {
            return;
        };
        cx.core.disarm(waiting.timer);
        self.tell_files(cx, waiting.request, found);
        self.tell_end(cx, turn, waiting.outcome);
    }

    /// Nobody answers any more: prompts that wait for a report are answered without one.
    pub(super) fn files_unknown(&mut self, cx: &mut Cx<'_, '_>, why: Unknown) {
        let waiting: Vec<String> = self.more.reports.waiting.keys().cloned().collect();
        for turn in waiting {
            self.files_known(cx, &turn, Err(why));
        }
    }

    fn tell_files(&self, cx: &mut Cx<'_, '_>, request: String, found: Result<Files, Unknown>) {
        let report = FileReport { request, found };
        self.tell(cx, Fact::More(More::Files(report)));
    }

    /// Those in the session's folders, as many as a report may have.
    fn within(&self, files: &[&str]) -> Files {
        let roots = core::iter::once(&self.setup.cwd).chain(&self.setup.folders);
        let roots: Vec<&str> = roots.map(|root| root.trim_end_matches('/')).collect();
        let mut told = Files {
            paths: Vec::new(),
            truncated: false,
        };
        let mut bytes = 0;
        for file in files {
            // As JSON: with quotes, a comma, and what has to be escaped.
            let escaped = file.matches(['"', '\\']).count() as u64;
            let size = file.len() as u64 + escaped + 3;
            let fits = (told.paths.len() as u64) < limits::CLAUDE_FILE_REPORT_PATHS
                && file.encode_utf16().count() as u64 <= limits::CLAUDE_FILE_REPORT_PATH
                && bytes + size <= limits::CLAUDE_FILE_REPORT;
            if fits && plain(file) && roots.iter().any(|root| inside(file, root)) {
                bytes += size;
                told.paths.push((*file).to_string());
            } else {
                told.truncated = true;
            }
        }
        told
    }
}

/// A path that means one place, and can be shown.
fn plain(path: &str) -> bool {
    let step = |part: &str| part != "." && part != "..";
    !path.contains(char::is_control) && path.split('/').all(step)
}

fn inside(path: &str, root: &str) -> bool {
    let rest = path.strip_prefix(root);
    rest.and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|rest| !rest.is_empty())
}
