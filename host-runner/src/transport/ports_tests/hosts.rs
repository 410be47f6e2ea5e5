use super::*;

#[test]
fn given_a_host_in_this_process_when_a_channel_is_opened_then_bytes_go_both_ways_until_it_ends() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    assert_eq!(
        edge.opened(1),
        [("endpoint".to_owned(), "in-process".to_owned())]
    );
    let mut far = hosts.recv_timeout(PATIENCE).unwrap();

    edge.send(1, b"hello\n");
    let mut line = [0; 6];
    far.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"hello\n");
    edge.until(|input| *input == Input::Host((1, HostArrival::Drained(6))));

    far.write_all(b"accepted\n").unwrap();
    drop(far);
    assert_eq!(
        edge.to_the_end(1),
        [
            HostArrival::Bytes(b"accepted\n".to_vec()),
            HostArrival::Ended(Ending::Eof)
        ]
    );
    edge.send(1, b"late\n");
    assert!(edge.nothing_waits());
}

#[test]
fn given_bytes_sent_before_the_answer_when_the_channel_opens_then_they_are_written() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.send(1, b"early\n");
    edge.host(1, HostDeparture::Finish);

    let mut all = Vec::new();
    hosts
        .recv_timeout(PATIENCE)
        .unwrap()
        .read_to_end(&mut all)
        .unwrap();
    assert_eq!(all, b"early\n");
}

#[test]
fn given_a_finished_channel_when_the_host_still_answers_then_the_answer_comes() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    let mut far = hosts.recv_timeout(PATIENCE).unwrap();
    edge.send(1, b"last\n");
    edge.host(1, HostDeparture::Finish);
    edge.send(1, b"late\n");

    let mut all = Vec::new();
    far.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"last\n");
    far.write_all(b"answer\n").unwrap();
    assert_eq!(edge.text(1, "\n"), "answer\n");
}

#[test]
fn given_a_channel_that_is_closed_when_the_host_speaks_then_nothing_comes_and_the_host_sees_the_end()
 {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    let mut far = hosts.recv_timeout(PATIENCE).unwrap();
    far.write_all(b"before\n").unwrap();
    edge.host(1, HostDeparture::Close);

    let mut all = Vec::new();
    // Closed with bytes unread: the end may show as a reset.
    assert!(far.read_to_end(&mut all).is_ok_and(|count| count == 0) || all.is_empty());
    assert!(edge.nothing_waits());
}

#[test]
fn given_a_channel_that_is_not_read_when_the_host_floods_it_then_the_bytes_stay_with_the_host_until_read_again()
 {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    let mut far = hosts.recv_timeout(PATIENCE).unwrap();
    edge.host(1, HostDeparture::Read(false));
    far.set_nonblocking(true).unwrap();

    let mut sent = 0;
    let full = loop {
        match far.write(&[b'x'; 4096]) {
            Ok(count) => sent += count,
            Err(error) => break error.kind(),
        }
    };
    assert_eq!(full, ErrorKind::WouldBlock);
    assert!(edge.nothing_waits());

    edge.host(1, HostDeparture::Read(true));
    drop(far);
    assert_eq!(
        edge.to_the_end(1),
        [
            HostArrival::Bytes(vec![b'x'; sent]),
            HostArrival::Ended(Ending::Eof)
        ]
    );
}

/// Writes until the edge takes no more, and its queue for the channel is full.
fn flood(far: &mut UnixStream) {
    far.set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut sent = 0;
    while let Ok(count) = far.write(&[b'x'; 65_536]) {
        sent += count;
        assert!(sent < 64 << 20, "the queue takes everything");
    }
}

#[test]
fn given_a_component_that_does_not_take_rounds_when_the_host_floods_it_then_the_queue_is_bounded() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    flood(&mut hosts.recv_timeout(PATIENCE).unwrap());

    let first = edge.until(|input| matches!(input, Input::Host((1, HostArrival::Bytes(_)))));
    assert!(first.iter().all(|input| match input {
        Input::Host((1, HostArrival::Bytes(bytes))) => bytes.len() <= limits::CHUNK,
        _ => false,
    }));
}

#[test]
fn given_a_full_queue_when_its_channel_is_closed_then_nothing_of_it_comes() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    flood(&mut hosts.recv_timeout(PATIENCE).unwrap());
    edge.host(1, HostDeparture::Close);

    assert!(edge.nothing_waits());
}

#[test]
fn given_a_host_that_reads_nothing_when_much_is_sent_then_carry_does_not_wait_and_drained_stops() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    let far = hosts.recv_timeout(PATIENCE).unwrap();
    for _ in 0..64 {
        edge.send(1, &vec![b'x'; 1 << 20]);
    }
    let taken = |input: &Input| matches!(input, Input::Host((1, HostArrival::Drained(_))));
    let Some(Input::Host((_, HostArrival::Drained(count)))) =
        edge.until(taken).into_iter().find(taken)
    else {
        panic!()
    };
    assert!(count < 64 << 20);
    // Closed with bytes unread, which the system reports as a reset.
    drop(far);
    let reset = "reading failed: Connection reset by peer (os error 104)".to_owned();
    assert_eq!(
        edge.to_the_end(1),
        [HostArrival::Ended(Ending::Broken(reset))]
    );
}

#[test]
fn given_hosts_that_are_not_granted_when_they_are_opened_then_not_allowed() {
    let mut edge = Edge::new(Grants::none());
    edge.open(1, host("maka"));
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::NotAllowed));
}

#[test]
fn given_a_channel_that_was_refused_when_it_is_used_or_opened_again_then_that_is_ignored() {
    let (mut edge, _hosts) = Edge::with_host();
    edge.open(1, host("nobody"));
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::NotAllowed));
    edge.send(1, b"x");
    edge.host(1, HostDeparture::Read(false));
    edge.host(1, HostDeparture::Terminate);
    edge.host(1, HostDeparture::Close);
    edge.open(1, host("embedded"));

    assert!(edge.nothing_waits());
}

#[test]
fn given_a_channel_that_was_never_opened_when_it_is_used_then_that_is_ignored() {
    let (mut edge, hosts) = Edge::with_host();
    for departure in [
        HostDeparture::Bytes(b"x".to_vec()),
        HostDeparture::Read(true),
        HostDeparture::Finish,
        HostDeparture::Terminate,
        HostDeparture::Close,
    ] {
        edge.host(1, departure);
    }
    assert!(edge.nothing_waits());

    // None of it used the number up.
    edge.open(1, host("embedded"));
    edge.opened(1);
    assert!(hosts.recv_timeout(PATIENCE).is_ok());
}

#[test]
fn given_an_open_channel_when_it_is_opened_again_then_the_first_one_stays() {
    let (mut edge, hosts) = Edge::with_host();
    edge.open(1, host("embedded"));
    edge.opened(1);
    edge.open(1, host("embedded"));
    let mut far = hosts.recv_timeout(PATIENCE).unwrap();
    far.write_all(b"one\n").unwrap();

    assert_eq!(edge.text(1, "\n"), "one\n");
    assert!(hosts.try_recv().is_err());
}

#[test]
fn given_http_addresses_when_they_are_opened_then_not_allowed_or_a_sentence() {
    let mut edge = Edge::new(Grants::none().with_origin("https://granted.example"));
    let request = |url: &str| {
        Target::Http(Request {
            method: "GET".to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
        })
    };
    edge.open(1, request("http://169.254.169.254/latest"));
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::NotAllowed));
    edge.open(2, request("https://granted.example/x"));
    assert_eq!(
        edge.to_the_end(2),
        refused(HostRefusal::Failed(
            "This build of host-runner carries out no HTTP exchanges, so https://granted.example:443 cannot be reached."
                .to_owned()
        ))
    );
}

#[test]
fn given_a_socket_of_a_real_host_when_it_is_opened_then_it_is_spoken_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.sock");
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let options = discovery::Options {
        socket: Some(path.clone()),
        ..Default::default()
    };
    let mut edge = Edge::new(Grants::none().with_maka(options));
    edge.open(1, host("maka"));
    assert_eq!(
        edge.opened(1),
        [("endpoint".to_owned(), path.display().to_string())]
    );

    let (mut far, _) = listener.accept().unwrap();
    edge.send(1, b"hello\n");
    let mut line = String::new();
    BufReader::new(&far).read_line(&mut line).unwrap();
    assert_eq!(line, "hello\n");
    far.write_all(b"accepted\n").unwrap();
    assert_eq!(edge.text(1, "\n"), "accepted\n");

    // Gone, and its socket left behind.
    drop((far, listener));
    assert_eq!(edge.to_the_end(1), [HostArrival::Ended(Ending::Eof)]);
    edge.open(2, host("maka"));
    assert_eq!(edge.to_the_end(2), refused(HostRefusal::Stale));
    fs::remove_file(&path).unwrap();
    edge.open(3, host("maka"));
    assert_eq!(edge.to_the_end(3), refused(HostRefusal::Absent));
}

#[test]
fn given_a_socket_open_to_others_when_it_is_opened_then_insecure_and_nobody_connects() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h.sock");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let options = discovery::Options {
        socket: Some(path.clone()),
        ..Default::default()
    };
    let mut edge = Edge::new(Grants::none().with_maka(options));
    edge.open(1, host("maka"));

    let why = format!(
        "The socket {} is open to other users (mode 0666); it must have mode 0600.",
        path.display()
    );
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::Insecure(why)));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn given_as_many_channels_as_are_allowed_when_another_is_opened_then_it_is_refused_until_one_is_gone()
 {
    let (mut edge, _hosts) = Edge::with_host();
    let most = u32::try_from(limits::CHANNELS).unwrap();
    for channel in 0..most {
        edge.open(channel, host("embedded"));
        edge.opened(channel);
    }
    edge.open(most, host("embedded"));
    assert_eq!(
        edge.to_the_end(most),
        refused(HostRefusal::Failed(
            "128 channels are open, and no more are allowed.".to_owned()
        ))
    );

    edge.host(0, HostDeparture::Close);
    edge.open(most + 1, host("embedded"));
    edge.opened(most + 1);
}
