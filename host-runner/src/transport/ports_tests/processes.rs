use super::*;

fn bytes(text: &str) -> HostArrival {
    HostArrival::Bytes(text.as_bytes().to_vec())
}

const ENDED: HostArrival = HostArrival::Ended(Ending::Eof);

#[test]
fn given_a_child_when_it_is_spoken_to_and_finished_then_it_answers_exits_and_ends() {
    let mut edge = Edge::with_shell();
    edge.shell(1, "cat; echo bye; exit 3");
    edge.send(1, b"one\n");
    edge.send(1, b"two\n");
    edge.host(1, HostDeparture::Finish);

    let mut said = edge.to_the_end(1);
    let opened = said.remove(0);
    assert!(matches!(opened, HostArrival::Opened(facts) if facts[0].0 == "pid"));
    assert_eq!(
        said,
        [
            bytes("one\ntwo\nbye\n"),
            HostArrival::Exited(Some(3)),
            ENDED
        ]
    );
}

#[test]
fn given_a_child_that_leaves_another_with_its_pipe_when_it_exits_then_exit_and_end_are_two_facts() {
    let mut edge = Edge::with_shell();
    edge.shell(1, "sleep 1000 & echo $!; exit 4");
    let left = edge.processes(1);
    let exit = Input::Host((1, HostArrival::Exited(Some(4))));
    let said = edge.until(|input| *input == exit);
    assert!(!said.contains(&Input::Host((1, ENDED))));
    assert!(left[0].lives());

    edge.host(1, HostDeparture::Close);
    assert!(left[0].ends());
    assert!(edge.nothing_waits());
}

#[test]
fn given_a_child_that_leaves_another_without_its_pipe_when_it_exits_then_the_channel_ends_and_the_other_is_killed()
 {
    let mut edge = Edge::with_shell();
    edge.shell(1, "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!");
    let left = edge.processes(1);

    assert_eq!(edge.to_the_end(1), [HostArrival::Exited(Some(0)), ENDED]);
    assert!(left[0].ends());
}

#[test]
fn given_a_group_when_it_is_terminated_then_all_of_it_goes_and_the_exit_has_no_code() {
    let mut edge = Edge::with_shell();
    edge.shell(1, "sleep 1000 & echo $! $$; wait");
    let group = edge.processes(1);
    edge.host(1, HostDeparture::Terminate);

    assert_eq!(edge.to_the_end(1), [HostArrival::Exited(None), ENDED]);
    assert!(group.iter().all(Process::ends));
}

#[test]
fn given_a_child_that_ignores_term_when_it_is_terminated_then_it_lives_until_closed() {
    let mut edge = Edge::with_shell();
    edge.shell(
        1,
        "trap '' TERM; sleep 1000 & echo $! $$; read line; echo still here; wait",
    );
    let group = edge.processes(1);
    edge.host(1, HostDeparture::Terminate);
    edge.send(1, b"\n");
    assert_eq!(edge.text(1, "\n"), "still here\n");

    edge.host(1, HostDeparture::Close);
    assert!(group.iter().all(Process::ends));
    assert!(edge.nothing_waits());
}

#[test]
fn given_a_child_when_it_is_closed_before_it_has_started_then_nothing_comes_and_nothing_stays() {
    let mut edge = Edge::with_shell();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    edge.shell(1, &format!("echo $$ > {}; sleep 1000", trace.display()));
    edge.host(1, HostDeparture::Close);
    // Children start one after the other: when this one is through, so is the first.
    edge.shell(2, "exit 0");
    edge.to_the_end(2);

    if let Some(number) = fs::read_to_string(&trace)
        .ok()
        .and_then(|text| text.trim().parse().ok())
    {
        let pid = Pid::from_raw(number).unwrap();
        assert!(pidfd_open(pid, PidfdFlags::empty()).is_err() || Process::of(number).ends());
    }
    let is_first = |input: &Input| matches!(input, Input::Host((1, _)));
    assert!(
        !edge
            .mailbox
            .round(Some(Instant::now()))
            .iter()
            .any(is_first)
    );
}

#[test]
fn given_a_child_that_closes_its_input_when_it_is_written_to_then_it_is_still_heard() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(
        process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let mut edge = Edge::with_shell();
    edge.shell(1, &format!("exec 0<&-; echo ready; cat {}", fifo.display()));
    assert_eq!(edge.text(1, "\n"), "ready\n");
    edge.send(1, &vec![b'x'; 1 << 20]);
    fs::write(&fifo, "two\n").unwrap();

    assert_eq!(
        edge.to_the_end(1),
        [bytes("two\n"), HostArrival::Exited(Some(0)), ENDED]
    );
}

#[test]
fn given_a_child_that_closes_its_output_and_stays_when_time_has_passed_then_it_is_ended() {
    let mut edge = Edge::with_shell();
    edge.shell(1, "exec 1>&- 2>&-; exec sleep 1000");

    let mut said = edge.to_the_end(1);
    said.remove(0);
    assert_eq!(said, [HostArrival::Exited(None), ENDED]);
}

#[test]
fn given_a_child_that_floods_stderr_when_nobody_takes_rounds_then_it_is_not_held_up_and_the_rest_is_left_out()
 {
    let mut edge = Edge::with_shell();
    edge.shell(1, "head -c 5000000 /dev/zero >&2; echo done");
    let number = edge.opened(1)[0].1.parse().unwrap();
    if let Ok(child) = pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()) {
        assert!(Process(child).ends());
    }

    let mut heard = 0;
    let mut rest = Vec::new();
    for arrival in edge.to_the_end(1) {
        match arrival {
            HostArrival::Diagnostic(text) => heard += text.len(),
            other => rest.push(other),
        }
    }
    assert_eq!(rest, [bytes("done\n"), HostArrival::Exited(Some(0)), ENDED]);
    assert!(heard < 4 * limits::DIAGNOSTIC, "{heard}");
}

#[test]
fn given_a_child_that_is_not_read_when_it_writes_much_then_it_waits_and_everything_comes_later() {
    let mut edge = Edge::with_shell();
    edge.shell(
        1,
        "echo ready; read go; head -c 1000000 /dev/zero; echo; echo end",
    );
    assert_eq!(edge.text(1, "\n"), "ready\n");
    edge.host(1, HostDeparture::Read(false));
    edge.send(1, b"go\n");
    edge.until(|input| *input == Input::Host((1, HostArrival::Drained(3))));
    edge.host(1, HostDeparture::Read(true));

    let mut said = edge.to_the_end(1);
    let HostArrival::Bytes(all) = said.remove(0) else {
        panic!("no bytes")
    };
    assert_eq!(said, [HostArrival::Exited(Some(0)), ENDED]);
    assert_eq!(all.len(), 1_000_005);
    assert!(all.ends_with(b"\nend\n"));
}

/// The names of the variables that a child sees.
fn environment(edge: &mut Edge, channel: u32, command: Command) -> BTreeSet<String> {
    edge.open(channel, Target::Process(command));
    let mut text = String::new();
    for arrival in edge.to_the_end(channel) {
        if let HostArrival::Bytes(bytes) = arrival {
            text.push_str(&String::from_utf8(bytes).unwrap());
        }
    }
    text.lines()
        .filter_map(|line| Some(line.split_once('=')?.0.to_owned()))
        .collect()
}

#[test]
fn given_environments_when_children_start_then_each_sees_what_was_asked_for() {
    let minimal = ["PATH", "HOME", "TMPDIR", "LANG", "USER", "SHELL", "TERM"].map(str::to_owned);
    // What shells set by themselves.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"].map(str::to_owned);
    let mut edge = Edge::new(
        Grants::none()
            .with_program("sh", Program::at("/bin/sh"))
            .with_tool_servers(ToolServers::Any),
    );
    let with = |inherit, program: &str| Command {
        program: program.to_owned(),
        inherit,
        env: vec![
            ("ADDED".to_owned(), Some("1".to_owned())),
            ("HOME".to_owned(), None),
        ],
        ..shell("env")
    };

    let seen = environment(&mut edge, 1, with(Inherit::Minimal, "sh"));
    let allowed = |name: &String| minimal.contains(name) || own.contains(name) || name == "ADDED";
    assert!(seen.iter().all(allowed), "{seen:?}");
    assert!(seen.contains("ADDED") && seen.contains("PATH") && !seen.contains("HOME"));

    // The test program itself runs with more than that.
    let seen = environment(&mut edge, 2, with(Inherit::All, "sh"));
    let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    assert!(
        ours.filter(|name| name != "HOME")
            .all(|name| seen.contains(&name)),
        "{seen:?}"
    );
    assert!(seen.contains("ADDED") && !seen.contains("HOME"));

    // A tool server gets the minimal one, whatever the component asks for.
    let seen = environment(&mut edge, 3, with(Inherit::All, "/bin/sh"));
    assert!(seen.iter().all(allowed), "{seen:?}");
}

#[test]
fn given_a_working_folder_when_a_child_starts_then_it_starts_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut edge = Edge::with_shell();
    edge.open(
        1,
        Target::Process(Command {
            cwd: folder.to_str().unwrap().to_owned(),
            ..shell("pwd -P")
        }),
    );

    assert_eq!(edge.text(1, "\n"), format!("{}\n", folder.display()));
}

#[test]
fn given_programs_that_cannot_start_when_they_are_opened_then_the_refusal_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let no_program = folder.path().join("text");
    fs::write(&no_program, "text").unwrap();
    let grants = Grants::none()
        .with_program("sh", Program::at("/bin/sh"))
        .with_program("missing", Program::at("/nowhere/claude"))
        .with_program("no program", Program::at(&no_program));
    let mut edge = Edge::new(grants);
    let with = |program: &str, cwd: &str| {
        Target::Process(Command {
            program: program.to_owned(),
            cwd: cwd.to_owned(),
            ..shell("exit")
        })
    };
    let failed = |why: &str| refused(HostRefusal::Failed(why.to_owned()));

    edge.open(1, with("missing", "/"));
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::Absent));
    edge.open(2, with("sh", "/nowhere"));
    assert_eq!(edge.to_the_end(2), refused(HostRefusal::NoFolder));
    edge.open(3, with("sh", "relative"));
    assert_eq!(
        edge.to_the_end(3),
        failed("The working folder \"relative\" is not an absolute path.")
    );
    edge.open(4, with("no program", "/"));
    assert_eq!(
        edge.to_the_end(4),
        failed(&format!(
            "{} did not start: Permission denied (os error 13)",
            no_program.display()
        ))
    );
    edge.open(5, with("/bin/sh", "/"));
    assert_eq!(edge.to_the_end(5), refused(HostRefusal::NotAllowed));
    let nul = Command {
        args: vec!["\0".to_owned()],
        ..shell("")
    };
    edge.open(6, Target::Process(nul));
    assert_eq!(
        edge.to_the_end(6),
        failed("/bin/sh did not start: nul byte found in provided data")
    );
}

#[test]
fn given_children_of_every_temper_when_the_program_ends_then_all_groups_are_gone_within_the_grace()
{
    let mut edge = Edge::with_shell();
    // Goes at the end of its input; goes at TERM; goes at nothing but KILL.
    edge.shell(1, "echo $$; cat");
    edge.shell(2, "sleep 1000 & echo $! $$; wait");
    edge.shell(3, "trap '' TERM; sleep 1000 & echo $! $$; wait");
    // Fills its pipe, which nobody reads: must not be stuck for it.
    edge.shell(4, "echo $$; head -c 10000000 /dev/zero");
    let everybody: Vec<Process> = (1..=4)
        .flat_map(|channel| edge.processes(channel))
        .collect();
    edge.ports.shutdown(Duration::from_secs(2));

    assert_eq!(everybody.len(), 6);
    assert!(everybody.iter().all(Process::ends));
}

#[test]
fn given_ports_that_are_dropped_when_children_run_then_they_are_killed() {
    let mut edge = Edge::with_shell();
    edge.shell(1, "trap '' TERM; sleep 1000 & echo $! $$; wait");
    let group = edge.processes(1);
    drop(edge.ports);

    assert!(group.iter().all(Process::ends));
}
