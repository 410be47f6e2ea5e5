//! Tests that kill a whole program. The test program plays it: started again with a role
//! in the environment, it runs only the test that plays that role.

use super::*;
use crate::transport::supervisor;

const ROLE: &str = "AIRLOCK_TEST_ROLE";

/// This program again, in a role.
fn play(role: &str) -> process::Command {
    let mut command = process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg("transport::ports::tests::roles::given_a_role_when_this_program_is_started_again_then_it_plays_it")
        .env(ROLE, role);
    command
}

#[test]
fn given_a_role_when_this_program_is_started_again_then_it_plays_it() {
    match std::env::var(ROLE).as_deref() {
        Ok("supervisor") => supervisor::main(),
        Ok("runner") => runner(SUPERVISED, "trap '' TERM; sleep 1000 & echo $! $$; wait"),
        Ok("lonely runner") => runner(ALONE, "echo $$; exec sleep 1000"),
        Ok("signals") => signals(),
        // An ordinary run of all tests.
        _ => {}
    }
}

/// Runs a script that says numbers of processes, says them too, and waits to be killed.
fn runner(prepare: fn(Ports) -> Ports, script: &str) {
    let edge = Edge::with_shell();
    let mut edge = Edge {
        ports: prepare(edge.ports),
        ..edge
    };
    edge.shell(1, script);
    print!("\nnumbers {}", edge.text(1, "\n"));
    std::io::stdout().flush().unwrap();
    // Nothing ever comes: the editor is held open by this very function.
    drop(edge.mailbox.round(None));
}

const SUPERVISED: fn(Ports) -> Ports = |ports| ports.supervised_by(|| play("supervisor"));
const ALONE: fn(Ports) -> Ports = |ports| ports;

/// Waits for the end that a signal makes.
fn signals() {
    let edge = Edge::new(Grants::none());
    raise_end(edge.mailbox.clone()).unwrap();
    println!("\nready");
    let [Input::Acp(AcpArrival::Ended(Ending::Broken(why)))] = &edge.mailbox.round(None)[..] else {
        panic!("no end")
    };
    println!("\nended: {why}");
}

/// Starts a role and waits for a line that begins with a word; its rest.
fn start(role: &str, word: &str) -> (process::Child, BufReader<process::ChildStdout>, String) {
    let mut child = play(role).stdout(process::Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let rest = line_with(&mut output, word);
    (child, output, rest)
}

fn line_with(output: &mut impl BufRead, word: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(
            output.read_line(&mut line).unwrap(),
            0,
            "no line with {word}"
        );
        if let Some(rest) = line.trim_end().strip_prefix(word) {
            return rest.to_owned();
        }
    }
}

/// Kills a runner; the processes that it said it has, all alive until then.
fn killed(role: &str) -> Vec<Process> {
    let (mut runner, _output, numbers) = start(role, "numbers ");
    let processes: Vec<Process> = numbers
        .split_whitespace()
        .map(|number| Process::of(number.parse().unwrap()))
        .collect();
    assert!(processes.iter().all(Process::lives));
    runner.kill().unwrap();
    runner.wait().unwrap();
    processes
}

#[test]
fn given_a_runner_with_a_child_and_its_child_when_the_runner_is_killed_then_both_are_gone() {
    let group = killed("runner");
    assert_eq!(group.len(), 2);
    assert!(group.iter().all(Process::ends));
}

#[test]
fn given_a_runner_without_a_supervisor_when_it_is_killed_then_its_child_is_gone() {
    let child = killed("lonely runner");
    assert_eq!(child.len(), 1);
    assert!(child.iter().all(Process::ends));
}

#[test]
fn given_a_program_when_it_is_told_to_end_then_the_editor_has_ended_with_a_sentence() {
    for (signal, name) in [
        (Signal::TERM, "SIGTERM"),
        (Signal::INT, "SIGINT"),
        (Signal::HUP, "SIGHUP"),
    ] {
        let (mut program, mut output, _) = start("signals", "ready");
        kill_process(Pid::from_child(&program), signal).unwrap();
        assert_eq!(
            line_with(&mut output, "ended: "),
            format!("Stopped by {name}.")
        );
        program.wait().unwrap();
    }
}

#[test]
fn given_a_supervisor_that_was_killed_when_the_next_child_starts_then_it_starts_with_another() {
    let (tell, told) = channel();
    let edge = Edge::with_shell();
    let start = move || {
        tell.send(()).unwrap();
        let mut supervisor = process::Command::new("/bin/sh");
        // Ends when it was told of the first child.
        supervisor.args(["-c", "head -c 10 >/dev/null"]);
        supervisor
    };
    let mut edge = Edge {
        ports: edge.ports.supervised_by(start),
        ..edge
    };
    edge.shell(1, "cat");
    edge.opened(1);
    assert_eq!(told.try_iter().count(), 1);

    // Until the system has noticed, children are told to a supervisor that is gone.
    let mut channel = 2;
    while told.try_recv().is_err() {
        edge.shell(channel, "echo here");
        assert_eq!(edge.text(channel, "\n"), "here\n");
        channel += 1;
    }
    edge.shell(channel, "echo here");
    assert_eq!(edge.text(channel, "\n"), "here\n");
}

#[test]
fn given_children_that_start_and_do_not_when_they_are_over_then_the_supervisor_was_told_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(
        process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let grants = Grants::none()
        .with_program("sh", Program::at("/bin/sh"))
        .with_program("missing", Program::at("/nowhere/claude"));
    let edge = Edge::new(grants);
    let supervisor = format!("exec cat > {}", fifo.display());
    let start = move || {
        let mut command = process::Command::new("/bin/sh");
        command.args(["-c", &supervisor]);
        command
    };
    let mut edge = Edge {
        ports: edge.ports.supervised_by(start),
        ..edge
    };
    let missing = Command {
        program: "missing".to_owned(),
        ..shell("")
    };
    edge.open(1, Target::Process(missing));
    assert_eq!(edge.to_the_end(1), refused(HostRefusal::Absent));
    edge.shell(2, "exit");
    let HostArrival::Opened(facts) = &edge.to_the_end(2)[0] else {
        panic!("not opened")
    };
    drop(edge.ports);

    let told = fs::read(&fifo).unwrap();
    let what: Vec<u8> = told.chunks(5).map(|record| record[0]).collect();
    assert_eq!(String::from_utf8(what).unwrap(), "?+!?+-");
    let number = facts[0].1.parse::<i32>().unwrap().to_le_bytes();
    assert_eq!((&told[21..25], &told[26..30]), (&number[..], &number[..]));
}
