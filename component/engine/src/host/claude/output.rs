//! What commands in the background print, for editors that show terminals: the file that the
//! process writes it to is read every half second until the command ends (Claude adapter,
//! section 12).
//!
//! Reads these files; touches nothing else. Invariants: a file is open only while it is read;
//! what is shown is whole characters, in order; where too much is waiting, that some is left
//! out is said.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Due;
use super::session::Session;
use super::stored::read;
use crate::effect::FileDeparture;
use crate::host::Cx;
use crate::input::{FileArrival, Handle, Root, Timer};
use crate::limits;
use crate::plumbing::FileOwner;

/// The output of commands in the background, by their tasks.
pub type Outputs = BTreeMap<String, Output>;

/// The output of one command.
#[derive(Debug, Serialize, Deserialize)]
pub struct Output {
    /// Its call, which has the terminal.
    call: String,
    path: String,
    /// How much was read.
    at: u64,
    /// The beginning of a character whose end is to come.
    #[serde(with = "crate::snapshot::bytes")]
    rest: Vec<u8>,
    step: Step,
    /// The command has ended: what is there now is all.
    last: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Step {
    /// Until the next look.
    Waits(Timer),
    /// The file is being opened.
    Opens { last: bool },
    /// It is read up to here.
    Reads {
        handle: Handle,
        end: u64,
        last: bool,
    },
}

impl Session {
    fn owner(&self, task: &str) -> FileOwner {
        FileOwner::ClaudeOutput(self.channel, task.to_owned())
    }

    fn look_later(&self, cx: &mut Cx<'_, '_>, task: &str) -> Step {
        let due = Due::Output {
            channel: self.channel,
            task: task.to_owned(),
        };
        Step::Waits(cx.arm(due, limits::CLAUDE_OUTPUT_MS))
    }

    /// A command runs on in the background, and writes there.
    pub(super) fn follow(&mut self, cx: &mut Cx<'_, '_>, task: &str, call: &str, path: &str) {
        if !self.cards.has_terminal(call) || self.outputs.contains_key(task) {
            return;
        }
        let step = self.look_later(cx, task);
        self.outputs.insert(
            task.to_owned(),
            Output {
                call: call.to_owned(),
                path: path.to_owned(),
                at: 0,
                rest: Vec::new(),
                step,
                last: false,
            },
        );
        // It may have ended before its call had a result.
        if self.tasks.get(task).is_none_or(|task| task.ended.is_some()) {
            self.output_ends(cx, task);
        }
    }

    /// It is time for another look.
    pub(super) fn output_due(&mut self, cx: &mut Cx<'_, '_>, task: &str) {
        let Some(mut output) = self.outputs.remove(task) else {
            return;
        };
        output.step = match self.paused && !output.last {
            true => self.look_later(cx, task),
            false => self.open_output(cx, task, &output),
        };
        self.outputs.insert(task.to_owned(), output);
    }

    fn open_output(&self, cx: &mut Cx<'_, '_>, task: &str, output: &Output) -> Step {
        let open = FileDeparture::Open(Root::TaskOutput, output.path.clone());
        cx.core.file(self.owner(task), open);
        Step::Opens { last: output.last }
    }

    /// A command has ended: its output is read to the end, then its terminal closes.
    pub(super) fn output_ends(&mut self, cx: &mut Cx<'_, '_>, task: &str) {
        let Some(mut output) = self.outputs.remove(task) else {
            // Where its file is was never said.
            let call = self.tasks.get(task).and_then(|task| task.call.clone());
            if let Some(call) = call.filter(|call| self.cards.is_over(call)) {
                self.close_terminal(cx, &call);
            }
            return;
        };
        output.last = true;
        if let Step::Waits(timer) = output.step {
            cx.core.disarm(timer);
            output.step = self.open_output(cx, task, &output);
        }
        self.outputs.insert(task.to_owned(), output);
    }

    /// An answer about such a file; `None` when it trapped.
    pub fn output_file(
        &mut self,
        cx: &mut Cx<'_, '_>,
        task: &str,
        handle: Handle,
        arrival: Option<FileArrival>,
    ) {
        let Some(mut output) = self.outputs.remove(task) else {
            return cx.core.file_close(handle);
        };
        let last = match (&output.step, arrival) {
            (Step::Opens { last }, Some(FileArrival::Facts(facts))) => {
                let last = *last;
                self.skip(cx, &mut output, facts.size);
                let most = if last {
                    u64::MAX
                } else {
                    limits::CLAUDE_OUTPUT_READ
                };
                let end = facts.size.min(output.at.saturating_add(most));
                output.step = Step::Reads { handle, end, last };
                None
            }
            (Step::Opens { last }, _) => Some(*last),
            (Step::Reads { end, last, .. }, Some(FileArrival::Data(at, data)))
                if at == output.at && !data.is_empty() =>
            {
                let (end, last) = (*end, *last);
                output.at += data.len() as u64;
                self.print(cx, &mut output, &data);
                (output.at >= end).then_some(last)
            }
            (Step::Reads { last, .. }, _) => Some(*last),
            (Step::Waits(_), _) => return self.put(task, output),
        };
        let last = match (last, &output.step) {
            (None, Step::Reads { end, last, .. }) if output.at >= *end => Some(*last),
            (last, _) => last,
        };
        let Some(last) = last else {
            if let Step::Reads { end, .. } = output.step {
                let left = end - output.at;
                read(cx, self.owner(task), handle, output.at, left);
            }
            return self.put(task, output);
        };
        cx.core.file_close(handle);
        if last {
            return self.close_terminal(cx, &output.call);
        }
        // It may have ended during this look.
        output.step = match output.last {
            true => self.open_output(cx, task, &output),
            false => self.look_later(cx, task),
        };
        self.put(task, output);
    }

    fn put(&mut self, task: &str, output: Output) {
        self.outputs.insert(task.to_owned(), output);
    }

    /// Leaves out what nobody could read in time.
    fn skip(&mut self, cx: &mut Cx<'_, '_>, output: &mut Output, size: u64) {
        if size < output.at {
            // It was written anew.
            output.at = 0;
            output.rest.clear();
        }
        let waiting = size - output.at;
        if waiting > limits::CLAUDE_OUTPUT_BACKLOG {
            let left_out = waiting - limits::CLAUDE_OUTPUT_READ;
            output.at += left_out;
            output.rest.clear();
            let text = format!("\n[{left_out} bytes of output left out]\n");
            self.show_output(cx, &output.call, &text);
        }
    }

    fn print(&mut self, cx: &mut Cx<'_, '_>, output: &mut Output, data: &[u8]) {
        let mut bytes = core::mem::take(&mut output.rest);
        bytes.extend_from_slice(data);
        let whole = whole(&bytes);
        output.rest = bytes.split_off(whole);
        let text = String::from_utf8_lossy(&bytes);
        self.show_output(cx, &output.call, &text);
    }

    fn show_output(&mut self, cx: &mut Cx<'_, '_>, call: &str, text: &str) {
        let mut out = Vec::new();
        self.cards.terminal_grew(call, text, &mut out);
        self.tell_cards(cx, out);
    }

    fn close_terminal(&mut self, cx: &mut Cx<'_, '_>, call: &str) {
        let mut out = Vec::new();
        self.cards.terminal_ended(call, &mut out);
        self.tell_cards(cx, out);
    }

    /// Nothing more is read. `told` is whether the terminals close on the screen.
    pub(super) fn drop_outputs(&mut self, cx: &mut Cx<'_, '_>, told: bool) {
        for (_, output) in core::mem::take(&mut self.outputs) {
            match output.step {
                Step::Waits(timer) => cx.core.disarm(timer),
                Step::Reads { handle, .. } => cx.core.file_close(handle),
                // Its answer finds nobody, and closes it.
                Step::Opens { .. } => {}
            }
            if told {
                self.close_terminal(cx, &output.call);
            }
        }
    }
}

/// How much of it is whole characters: what is no text at all counts as such.
fn whole(bytes: &[u8]) -> usize {
    match core::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => last_start(bytes),
    }
}

/// Where a character begins at the end that is cut, behind bytes that are no text.
fn last_start(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    for at in (from..bytes.len()).rev() {
        let byte = bytes[at];
        let needs = match byte {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => break,
        };
        return if at + needs > bytes.len() {
            at
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_bytes_when_cut_then_only_the_beginning_of_a_character_at_the_end_is_left() {
        let table: [(&[u8], usize); 8] = [
            (b"", 0),
            (b"abc", 3),
            ("aä".as_bytes(), 3),
            (&[b'a', 0xC3], 1),
            (&[b'a', 0xF0, 0x9F, 0x98], 1),
            (&[0xFF, b'a', 0xE2, 0x82], 2),
            (&[0xFF, b'a', 0xE2, 0x82, 0xAC], 5),
            (&[0x80, 0x80, 0x80, 0x80], 4),
        ];
        for (bytes, expected) in table {
            assert_eq!(whole(bytes), expected, "{bytes:?}");
        }
    }
}
