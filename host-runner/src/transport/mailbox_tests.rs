//! The order of a round, driven directly.

use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Feed, Mailbox, limits};
use crate::words::{AcpArrival, Ending, FileArrival, HostArrival, Input};

fn acp(bytes: &[u8]) -> Input {
    Input::Acp(AcpArrival::Bytes(bytes.to_vec()))
}

fn host(channel: u32, arrival: HostArrival) -> Input {
    Input::Host((channel, arrival))
}

fn bytes(channel: u32, bytes: &[u8]) -> Input {
    host(channel, HostArrival::Bytes(bytes.to_vec()))
}

fn opened() -> HostArrival {
    HostArrival::Opened(Vec::new())
}

/// A round that may be empty.
fn now(mailbox: &Mailbox) -> Vec<Input> {
    mailbox.round(Some(Instant::now()))
}

fn chunk(letter: u8) -> Vec<u8> {
    vec![letter; limits::CHUNK]
}

/// A channel that has been opened, its opening taken.
fn open(mailbox: &Mailbox, channel: u32) -> Feed {
    let feed = mailbox.open(channel);
    feed.opening(opened());
    assert_eq!(now(mailbox), [host(channel, opened())]);
    feed
}

#[test]
fn given_arrivals_of_every_source_when_a_round_is_taken_then_the_editor_comes_first_and_files_last()
{
    let mailbox = Mailbox::new();
    let (second, first) = (open(&mailbox, 2), open(&mailbox, 1));
    mailbox.file(7, FileArrival::Done);
    second.bytes(b"two");
    first.bytes(b"one");
    mailbox.editor().bytes(b"acp");

    assert_eq!(
        now(&mailbox),
        [
            acp(b"acp"),
            bytes(1, b"one"),
            bytes(2, b"two"),
            Input::File((7, FileArrival::Done))
        ]
    );
}

#[test]
fn given_two_chunks_of_a_channel_when_rounds_are_taken_then_each_has_one_of_them() {
    let mailbox = Mailbox::new();
    let (busy, quiet) = (open(&mailbox, 1), open(&mailbox, 2));
    busy.bytes(&chunk(b'a'));
    busy.bytes(&chunk(b'b'));
    quiet.bytes(b"q");

    assert_eq!(now(&mailbox), [bytes(1, &chunk(b'a')), bytes(2, b"q")]);
    assert_eq!(now(&mailbox), [bytes(1, &chunk(b'b'))]);
}

#[test]
fn given_a_flood_from_the_editor_when_rounds_are_taken_then_channels_and_files_are_not_starved() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    for letter in [b'a', b'b', b'c', b'd', b'e'] {
        mailbox.editor().bytes(&chunk(letter));
    }
    feed.bytes(b"host");
    mailbox.file(7, FileArrival::Done);

    let a_round: Vec<Input> = [b'a', b'b', b'c', b'd']
        .map(|letter| acp(&chunk(letter)))
        .into();
    let others = vec![bytes(1, b"host"), Input::File((7, FileArrival::Done))];
    assert_eq!(now(&mailbox), [a_round, others].concat());
    assert_eq!(now(&mailbox), [acp(&chunk(b'e'))]);
}

#[test]
fn given_many_file_answers_when_rounds_are_taken_then_each_has_four_large_ones_and_the_files_wait()
{
    let mailbox = Mailbox::new();
    let files = mailbox.clone();
    let (tell, told) = channel();
    let worker = thread::spawn(move || {
        for handle in 0..5 {
            files.file(handle, FileArrival::Data((0, chunk(b'f'))));
            tell.send(handle).unwrap();
        }
    });
    assert_eq!(told.iter().take(4).collect::<Vec<u32>>(), [0, 1, 2, 3]);
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));

    let answer = |handle| Input::File((handle, FileArrival::Data((0, chunk(b'f')))));
    assert_eq!(now(&mailbox), [answer(0), answer(1), answer(2), answer(3)]);
    assert_eq!(mailbox.round(None), [answer(4)]);
    assert!(worker.join().is_ok());
}

#[test]
fn given_a_peer_that_writes_line_by_line_when_a_round_is_taken_then_the_lines_come_joined_up_to_a_chunk()
 {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    feed.bytes(b"one\n");
    feed.bytes(b"two\n");
    feed.bytes(&chunk(b'x'));

    assert_eq!(now(&mailbox), [bytes(1, b"one\ntwo\n")]);
    assert_eq!(now(&mailbox), [bytes(1, &chunk(b'x'))]);
}

#[test]
fn given_drained_was_told_twice_when_a_round_is_taken_then_only_the_newest_comes() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    for count in [10, 20] {
        feed.drained(count);
        mailbox.editor().drained(count + 1);
    }

    assert_eq!(
        now(&mailbox),
        [
            Input::Acp(AcpArrival::Drained(21)),
            host(1, HostArrival::Drained(20))
        ]
    );
    assert_eq!(now(&mailbox), []);
}

#[test]
fn given_everything_a_channel_can_say_when_it_ended_then_it_comes_in_the_order_of_the_contract_and_nothing_after()
 {
    let mailbox = Mailbox::new();
    let feed = mailbox.open(1);
    feed.exited(Some(3));
    feed.drained(5);
    feed.diagnostic(b"why");
    feed.bytes(&chunk(b'a'));
    feed.bytes(b"b");
    feed.opening(opened());
    feed.end(Ending::Eof);
    feed.end(Ending::Broken("late".to_owned()));
    feed.bytes(b"late");

    assert_eq!(
        now(&mailbox),
        [
            host(1, opened()),
            bytes(1, &chunk(b'a')),
            host(1, HostArrival::Diagnostic(b"why".to_vec())),
            host(1, HostArrival::Drained(5)),
        ]
    );
    assert_eq!(
        now(&mailbox),
        [
            bytes(1, b"b"),
            host(1, HostArrival::Exited(Some(3))),
            host(1, HostArrival::Ended(Ending::Eof))
        ]
    );
    feed.bytes(b"later");
    assert_eq!(now(&mailbox), []);
    assert!(feed.is_gone());
}

#[test]
fn given_a_refused_channel_when_more_is_said_then_only_the_refusal_comes() {
    let mailbox = Mailbox::new();
    let feed = mailbox.open(1);
    let refused = HostArrival::Refused(crate::words::HostRefusal::NotAllowed);
    feed.opening(refused.clone());
    feed.bytes(b"no");

    assert_eq!(now(&mailbox), [host(1, refused)]);
    assert_eq!(now(&mailbox), []);
}

#[test]
fn given_a_closed_channel_when_its_threads_still_speak_then_nothing_comes() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    feed.bytes(b"before");
    mailbox.close(1);
    feed.bytes(b"after");
    feed.end(Ending::Eof);

    assert_eq!(now(&mailbox), []);
    assert!(!feed.room());
}

#[test]
fn given_the_end_of_the_editor_when_it_was_taken_then_nothing_of_it_follows() {
    let mailbox = Mailbox::new();
    let editor = mailbox.editor();
    editor.bytes(b"last");
    editor.end(Ending::Eof);
    editor.bytes(b"late");

    assert_eq!(
        now(&mailbox),
        [acp(b"last"), Input::Acp(AcpArrival::Ended(Ending::Eof))]
    );
    editor.drained(9);
    assert_eq!(now(&mailbox), []);
    assert!(!editor.room());
}

#[test]
fn given_bytes_that_wait_when_a_signal_comes_then_the_end_goes_before_them() {
    let mailbox = Mailbox::new();
    mailbox.editor().bytes(b"waits");
    mailbox.interrupt("Stopped.".to_owned());

    let ended = AcpArrival::Ended(Ending::Broken("Stopped.".to_owned()));
    assert_eq!(now(&mailbox), [Input::Acp(ended)]);
    assert_eq!(now(&mailbox), []);
}

#[test]
fn given_a_paused_channel_when_it_speaks_and_exits_then_bytes_and_end_wait_and_the_exit_comes() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    feed.bytes(b"held");
    mailbox.read(1, false);
    assert!(feed.is_full());
    feed.exited(None);
    feed.end(Ending::Eof);

    assert_eq!(now(&mailbox), [host(1, HostArrival::Exited(None))]);
    mailbox.read(1, true);
    assert_eq!(
        now(&mailbox),
        [bytes(1, b"held"), host(1, HostArrival::Ended(Ending::Eof))]
    );
}

#[test]
fn given_a_full_queue_when_its_reader_asks_for_room_then_it_waits_for_a_round_and_nobody_else_does()
{
    let mailbox = Mailbox::new();
    let (full, other) = (open(&mailbox, 1), open(&mailbox, 2));
    for _ in 0..limits::WAITING / limits::CHUNK {
        assert!(full.room());
        full.bytes(&chunk(b'x'));
    }
    let (tell, told) = channel();
    let reader = thread::spawn(move || tell.send(full.room()));
    assert!(other.room());
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));

    assert_eq!(now(&mailbox), [bytes(1, &chunk(b'x'))]);
    assert_eq!(told.recv(), Ok(true));
    assert!(reader.join().is_ok());
}

#[test]
fn given_a_reader_that_waits_for_room_when_its_channel_is_closed_then_it_stops() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    mailbox.read(1, false);
    let reader = thread::spawn(move || feed.room());
    mailbox.close(1);

    assert_eq!(reader.join().ok(), Some(false));
}

#[test]
fn given_nothing_when_the_time_has_come_then_the_round_is_empty() {
    let mailbox = Mailbox::new();
    let due = Instant::now() + Duration::from_millis(5);

    assert_eq!(mailbox.round(Some(due)), []);
    assert!(Instant::now() >= due);
}

#[test]
fn given_a_round_that_waits_when_something_arrives_then_it_is_taken() {
    let mailbox = Mailbox::new();
    let editor = mailbox.editor();
    let writer = thread::spawn(move || editor.bytes(b"now"));

    assert_eq!(mailbox.round(None), [acp(b"now")]);
    assert!(writer.join().is_ok());
}

#[test]
fn given_more_stderr_than_fits_when_a_round_is_taken_then_the_rest_is_left_out_and_said_so() {
    let mailbox = Mailbox::new();
    let feed = open(&mailbox, 1);
    feed.diagnostic(&vec![b'e'; limits::DIAGNOSTIC - 1]);
    feed.diagnostic(b"12345");

    let kept = [vec![b'e'; limits::DIAGNOSTIC - 5], b"12345".to_vec()].concat();
    let note = b"\n[4 bytes left out]\n".to_vec();
    assert_eq!(
        now(&mailbox),
        [
            host(1, HostArrival::Diagnostic(note)),
            host(1, HostArrival::Diagnostic(kept)),
        ]
    );
    assert_eq!(now(&mailbox), []);
}

#[test]
fn given_a_closed_file_when_its_answer_comes_late_then_it_is_dropped() {
    let mailbox = Mailbox::new();
    mailbox.file(1, FileArrival::Done);
    mailbox.file(2, FileArrival::Done);
    mailbox.close_file(1);
    mailbox.file(1, FileArrival::Done);
    mailbox.file_closed(1);

    assert_eq!(now(&mailbox), [Input::File((2, FileArrival::Done))]);
}

#[test]
fn given_the_program_ends_when_channels_still_speak_then_they_are_read_and_not_heard() {
    let mailbox = Mailbox::new();
    let (feed, editor) = (open(&mailbox, 1), mailbox.editor());
    mailbox.read(1, false);
    mailbox.shut();
    feed.bytes(b"last words");

    assert_eq!(now(&mailbox), []);
    assert!(feed.room());
    assert!(!editor.room());
}
