use super::*;

fn acp(bytes: &[u8]) -> Effect {
    Effect::Acp(AcpDeparture::Bytes(bytes.to_vec()))
}

fn is_end(input: &Input) -> bool {
    matches!(input, Input::Acp(AcpArrival::Ended(_)))
}

#[test]
fn given_an_editor_when_both_speak_then_bytes_go_both_ways_and_what_it_took_is_counted() {
    let mut edge = Edge::new(Grants::none());
    edge.editor.write_all(b"ask\n").unwrap();
    assert_eq!(
        edge.until(|_| true),
        [Input::Acp(AcpArrival::Bytes(b"ask\n".to_vec()))]
    );

    edge.ports.carry(acp(b"one\n"));
    edge.ports.carry(acp(b"two\n"));
    let mut line = [0; 8];
    edge.editor.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"one\ntwo\n");
    edge.until(|input| *input == Input::Acp(AcpArrival::Drained(8)));
}

#[test]
fn given_an_editor_that_sends_a_torn_line_when_it_closes_then_the_bytes_come_and_then_its_end() {
    let edge = Edge::new(Grants::none());
    let Edge {
        editor,
        mailbox,
        ports,
        ..
    } = edge;
    (&editor).write_all(b"torn").unwrap();
    drop(editor);

    let mut all = Vec::new();
    while !all.iter().any(is_end) {
        all.extend(mailbox.round(Some(Instant::now() + PATIENCE)));
    }
    assert_eq!(
        all,
        [
            Input::Acp(AcpArrival::Bytes(b"torn".to_vec())),
            Input::Acp(AcpArrival::Ended(Ending::Eof))
        ]
    );
    drop(ports);
}

#[test]
fn given_output_that_waits_when_it_is_finished_then_all_of_it_comes_and_then_the_end() {
    let mut edge = Edge::new(Grants::none());
    let long = vec![b'x'; 3 << 20];
    edge.ports.carry(acp(&long));
    edge.ports.carry(Effect::Acp(AcpDeparture::Finish));
    edge.ports.carry(acp(b"late"));

    let mut all = Vec::new();
    edge.editor.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), long.len());
    assert!(all == long);
}

#[test]
fn given_an_editor_that_does_not_read_when_it_speaks_and_closes_then_it_is_heard() {
    let mut edge = Edge::new(Grants::none());
    edge.ports.carry(acp(&vec![b'x'; 8 << 20]));
    edge.editor.write_all(b"cancel\n").unwrap();
    edge.editor.shutdown(std::net::Shutdown::Write).unwrap();

    let said: Vec<Input> = edge
        .until(is_end)
        .into_iter()
        .filter(|input| !matches!(input, Input::Acp(AcpArrival::Drained(_))))
        .collect();
    assert_eq!(
        said,
        [
            Input::Acp(AcpArrival::Bytes(b"cancel\n".to_vec())),
            Input::Acp(AcpArrival::Ended(Ending::Eof))
        ]
    );
}

#[test]
fn given_an_editor_that_does_not_read_when_the_program_ends_then_it_ends_in_time() {
    let mut edge = Edge::new(Grants::none());
    edge.ports.carry(acp(&vec![b'x'; 8 << 20]));
    let (tell, told) = channel();
    let ports = edge.ports;
    std::thread::spawn(move || {
        ports.shutdown(Duration::from_millis(500));
        tell.send(())
    });

    assert_eq!(told.recv_timeout(PATIENCE), Ok(()));
}

#[test]
fn given_pipes_when_the_editor_closes_its_reading_end_then_it_is_lost() {
    let mailbox = Mailbox::new();
    let (input, _speaks) = std::io::pipe().unwrap();
    let (reads, output) = std::io::pipe().unwrap();
    let pipe = EditorPipe::of(input.into(), output.into());
    let mut ports = Ports::new(mailbox.clone(), pipe, Grants::none()).unwrap();
    drop(reads);
    ports.carry(acp(b"anybody?\n"));

    let ended = "The editor takes no more output: writing failed: Broken pipe (os error 32)";
    assert_eq!(
        mailbox.round(Some(Instant::now() + PATIENCE)),
        [Input::Acp(AcpArrival::Ended(Ending::Broken(
            ended.to_owned()
        )))]
    );
}

/// Maka adapter, 26.6 S21: what cannot be read is an end with its reason.
#[test]
fn given_an_input_that_cannot_be_read_when_started_then_the_editor_is_lost_and_why_is_told() {
    let mailbox = Mailbox::new();
    let input = fs::File::open("/").unwrap();
    let (_reads, output) = std::io::pipe().unwrap();
    let pipe = EditorPipe::of(input.into(), output.into());
    let _ports = Ports::new(mailbox.clone(), pipe, Grants::none()).unwrap();

    let why = "reading failed: Is a directory (os error 21)";
    assert_eq!(
        mailbox.round(Some(Instant::now() + PATIENCE)),
        [Input::Acp(AcpArrival::Ended(Ending::Broken(
            why.to_owned()
        )))]
    );
}

#[test]
fn given_a_pipe_that_is_full_when_the_ports_are_dropped_then_its_writer_ends() {
    let mailbox = Mailbox::new();
    let (input, _speaks) = std::io::pipe().unwrap();
    let (mut reads, output) = std::io::pipe().unwrap();
    let pipe = EditorPipe::of(input.into(), output.into());
    let mut ports = Ports::new(mailbox, pipe, Grants::none()).unwrap();
    ports.carry(acp(&vec![b'x'; 8 << 20]));
    let mut first = [0];
    reads.read_exact(&mut first).unwrap();
    drop(ports);

    // The end comes only when the writer has let go of its end of the pipe.
    let mut rest = Vec::new();
    reads.read_to_end(&mut rest).unwrap();
    assert!(rest.len() < 8 << 20);
}

#[test]
fn given_effects_that_are_not_for_the_edge_when_they_are_carried_then_they_are_ignored() {
    let mut edge = Edge::new(Grants::none());
    edge.ports.carry(Effect::Done(0));
    edge.ports.carry(Effect::Arm((1, 2)));

    assert!(edge.nothing_waits());
}

#[test]
fn given_an_editor_that_never_reads_when_too_much_waits_for_it_then_it_is_lost() {
    let mut edge = Edge::new(Grants::none());
    for _ in 0..(limits::OUTBOX >> 20) + 2 {
        edge.ports.carry(acp(&vec![b'x'; 1 << 20]));
    }

    let said = edge.until(is_end);
    let lost = "The editor does not read: too much output waits for it.".to_owned();
    assert_eq!(
        said.last(),
        Some(&Input::Acp(AcpArrival::Ended(Ending::Broken(lost))))
    );
}
