//! Cuts inputs at line ends, so that a failing line can be told from its neighbours.
//!
//! Effects do not depend on how bytes were cut (R9), so feeding the pieces one by one is
//! the same as feeding the whole.

use std::collections::{BTreeMap, BTreeSet};

use memchr::{memchr, memchr_iter, memrchr};

use crate::words::{AcpArrival, Channel, HostArrival, Input, Origin};

/// Where lines come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The editor.
    Acp,
    /// A channel.
    Host(Channel),
}

/// The inputs, with bytes cut after each line end.
pub fn pieces(inputs: Vec<Input>) -> Vec<Input> {
    let mut pieces = Vec::new();
    for input in inputs {
        match &input {
            Input::Acp(AcpArrival::Bytes(bytes)) => {
                pieces
                    .extend(lines(bytes).map(|line| Input::Acp(AcpArrival::Bytes(line.to_vec()))));
            }
            Input::Host((channel, HostArrival::Bytes(bytes))) => pieces.extend(
                lines(bytes).map(|line| Input::Host((*channel, HostArrival::Bytes(line.to_vec())))),
            ),
            _ => pieces.push(input),
        }
    }
    pieces
}

/// Each line with its end, and what follows the last.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr_iter(b'\n', bytes).map(|at| at + 1);
    let last = (!bytes.ends_with(b"\n")).then_some(bytes.len());
    let mut start = 0;
    ends.chain(last).map(move |end| {
        let line = &bytes[start..end];
        start = end;
        line
    })
}

/// The beginnings of lines whose ends have not come yet, by source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tails(BTreeMap<Source, Vec<u8>>);

impl Tails {
    /// Takes an input into account that was handled.
    pub fn pass(&mut self, input: &Input) {
        match input {
            Input::Acp(AcpArrival::Bytes(bytes)) => self.grow(Source::Acp, bytes),
            Input::Host((channel, HostArrival::Bytes(bytes))) => {
                self.grow(Source::Host(*channel), bytes);
            }
            Input::Host((channel, HostArrival::Ended(_)))
            | Input::Poison(Origin::Host((channel, _))) => {
                self.0.remove(&Source::Host(*channel));
            }
            Input::Poison(Origin::Acp(_)) => {
                self.0.remove(&Source::Acp);
            }
            _ => {}
        }
    }

    fn grow(&mut self, source: Source, bytes: &[u8]) {
        let tail = self.0.entry(source).or_default();
        match memrchr(b'\n', bytes) {
            Some(end) => *tail = bytes[end + 1..].to_vec(),
            None => tail.extend_from_slice(bytes),
        }
        if tail.is_empty() {
            self.0.remove(&source);
        }
    }

    /// Whose input this piece is: its whole line, with the beginning that came earlier.
    pub fn origin(&self, piece: &Input) -> Origin {
        match piece {
            Input::Acp(AcpArrival::Bytes(bytes)) => Origin::Acp(self.line(Source::Acp, bytes)),
            Input::Acp(_) => Origin::Acp(Vec::new()),
            Input::Host((channel, HostArrival::Bytes(bytes))) => {
                Origin::Host((*channel, self.line(Source::Host(*channel), bytes)))
            }
            Input::Host((channel, _)) => Origin::Host((*channel, Vec::new())),
            Input::File((handle, _)) => Origin::File(*handle),
            Input::Expired(timer) => Origin::Timer(*timer),
            Input::Poison(origin) => origin.clone(),
        }
    }

    fn line(&self, source: Source, end: &[u8]) -> Vec<u8> {
        let mut line = self.0.get(&source).cloned().unwrap_or_default();
        line.extend_from_slice(end.strip_suffix(b"\n").unwrap_or(end));
        if line.ends_with(b"\r") {
            line.pop();
        }
        line
    }
}

/// Sources that trapped in the middle of a line: its rest is not the beginning of another.
#[derive(Debug, Default)]
pub struct Muted(BTreeSet<Source>);

impl Muted {
    /// After this piece trapped.
    pub fn mark(&mut self, piece: &Input) {
        match piece {
            Input::Acp(AcpArrival::Bytes(bytes)) if !bytes.ends_with(b"\n") => {
                self.0.insert(Source::Acp);
            }
            Input::Host((channel, HostArrival::Bytes(bytes))) if !bytes.ends_with(b"\n") => {
                self.0.insert(Source::Host(*channel));
            }
            _ => {}
        }
    }

    /// Drops the rest of such a line from what came.
    pub fn drop_rest(&mut self, inputs: &mut [Input]) {
        if self.0.is_empty() {
            return;
        }
        for input in inputs {
            let (source, bytes) = match input {
                Input::Acp(AcpArrival::Bytes(bytes)) => (Source::Acp, bytes),
                Input::Host((channel, HostArrival::Bytes(bytes))) => {
                    (Source::Host(*channel), bytes)
                }
                _ => continue,
            };
            if self.0.contains(&source) {
                match memchr(b'\n', bytes) {
                    Some(end) => {
                        bytes.drain(..=end);
                        self.0.remove(&source);
                    }
                    None => bytes.clear(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acp(text: &str) -> Input {
        Input::Acp(AcpArrival::Bytes(text.into()))
    }

    fn host(channel: Channel, text: &str) -> Input {
        Input::Host((channel, HostArrival::Bytes(text.into())))
    }

    #[test]
    fn given_chunks_when_cut_then_each_piece_ends_at_most_one_line() {
        let cut = pieces(vec![
            acp("a\nb\nc"),
            Input::Expired(1),
            host(2, "d\n\n"),
            acp("\n"),
        ]);
        assert_eq!(
            cut,
            [
                acp("a\n"),
                acp("b\n"),
                acp("c"),
                Input::Expired(1),
                host(2, "d\n"),
                host(2, "\n"),
                acp("\n"),
            ]
        );
    }

    #[test]
    fn given_a_line_in_three_chunks_when_its_end_traps_then_the_origin_is_the_whole_line() {
        let mut tails = Tails::default();
        for input in [acp("x\nab"), host(7, "12"), acp("cd")] {
            tails.pass(&input);
        }
        assert_eq!(
            tails.origin(&acp("ef\r\n")),
            Origin::Acp(b"abcdef".to_vec())
        );
        assert_eq!(
            tails.origin(&host(7, "3\n")),
            Origin::Host((7, b"123".to_vec()))
        );
        assert_eq!(
            tails.origin(&host(8, "3\n")),
            Origin::Host((8, b"3".to_vec()))
        );
    }

    #[test]
    fn given_a_poisoned_line_when_more_comes_then_it_is_a_new_line() {
        let mut tails = Tails::default();
        tails.pass(&acp("ab"));
        tails.pass(&Input::Poison(Origin::Acp(b"abc".to_vec())));
        assert_eq!(tails, Tails::default());
    }

    #[test]
    fn given_a_trap_in_mid_line_when_the_rest_comes_then_it_is_dropped_up_to_the_line_end() {
        let mut muted = Muted::default();
        muted.mark(&host(3, "half"));
        let mut first = vec![host(3, "more"), host(4, "other\n")];
        muted.drop_rest(&mut first);
        assert_eq!(first, [host(3, ""), host(4, "other\n")]);
        let mut second = vec![host(3, "end\nnext\n"), host(3, "x\n")];
        muted.drop_rest(&mut second);
        assert_eq!(second, [host(3, "next\n"), host(3, "x\n")]);
    }
}
