//! Recorded sessions in the words of the runner, for parity tests.
#![allow(dead_code, reason = "each test file uses a part")]

use airlock_engine as engine;
use airlock_tests::conversation::second_answer;
use airlock_tests::desk::{Call, SEED, maka_config};
use airlock_tests::{Desk, RecordedHost, Recording};
use host_runner::adapter::Factory;
use host_runner::words;

/// Recordings that are played; the recorded client stopped 08 and 20.
pub const SESSIONS: [&str; 10] = ["02", "03", "04", "05", "06", "07", "08", "15", "17", "20"];

/// What went into an engine, and what came out, call by call.
pub struct Session {
    pub inputs: Vec<(words::Instant, Vec<words::Input>)>,
    pub effects: Vec<Vec<words::Effect>>,
}

/// Plays a recording natively.
pub fn session(number: &str) -> Session {
    let recording = Recording::open(number);
    let start = recording
        .client_frames()
        .find(|frame| frame.operation() == Some("turn.start"));
    let text = start.unwrap().value["input"]["content"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let host = RecordedHost::new(recording).without(second_answer(number));
    let mut desk = Desk::new(host.stepwise());
    let session = desk.new_session();
    desk.prompt(&session, &text);
    desk.run_until_quiet();
    desk.allow();
    if matches!(number, "08" | "20") {
        desk.advance(2_000);
        desk.cancel(&session);
        desk.run_until_quiet();
    }
    assert_eq!(desk.unanswered(), [""; 0], "{number}");
    desk.close_session(&session);
    desk.hang_up();
    desk.run_until_quiet();
    assert_eq!(desk.done, Some(0), "{number}");
    let of = |call: &Call| (instant(call.now), call.inputs.iter().map(input).collect());
    Session {
        inputs: desk.calls.iter().map(of).collect(),
        effects: desk
            .calls
            .iter()
            .map(|call| call.effects.iter().map(effect).collect())
            .collect(),
    }
}

/// The effects of the same inputs from another adapter; `swapping` saves and restores it
/// before every call.
pub fn run(factory: &dyn Factory, session: &Session, swapping: bool) -> Vec<Vec<words::Effect>> {
    let config = maka_config().to_string();
    let mut adapter = factory.open(&config, &SEED).expect("it opens");
    let mut all = Vec::new();
    for (now, inputs) in &session.inputs {
        if swapping {
            let state = adapter.snapshot().expect("a snapshot");
            adapter = factory.restore(&config, &state).expect("it restores");
        }
        all.push(adapter.handle(*now, inputs).expect("effects"));
    }
    all
}

/// Compares call by call, and says which differs.
pub fn same(number: &str, wanted: &[Vec<words::Effect>], got: &[Vec<words::Effect>]) {
    assert_eq!(wanted.len(), got.len(), "{number}: number of calls");
    for (at, (wanted, got)) in wanted.iter().zip(got).enumerate() {
        assert_eq!(wanted, got, "{number}: call {at}");
    }
}

fn instant(at: engine::Instant) -> words::Instant {
    words::Instant {
        monotonic: at.monotonic,
        wall: at.wall,
    }
}

fn ending(ending: &engine::Ending) -> words::Ending {
    match ending {
        engine::Ending::Eof => words::Ending::Eof,
        engine::Ending::Broken(why) => words::Ending::Broken(why.clone()),
    }
}

fn input(input: &engine::Input) -> words::Input {
    use engine::{AcpArrival, HostArrival};
    match input {
        engine::Input::Acp(AcpArrival::Bytes(it)) => {
            words::Input::Acp(words::AcpArrival::Bytes(it.clone()))
        }
        engine::Input::Acp(AcpArrival::Drained(it)) => {
            words::Input::Acp(words::AcpArrival::Drained(*it))
        }
        engine::Input::Acp(AcpArrival::Ended(it)) => {
            words::Input::Acp(words::AcpArrival::Ended(ending(it)))
        }
        engine::Input::Expired(timer) => words::Input::Expired(*timer),
        engine::Input::Host(channel, arrival) => words::Input::Host((
            *channel,
            match arrival {
                HostArrival::Opened(facts) => words::HostArrival::Opened(facts.clone()),
                HostArrival::Bytes(it) => words::HostArrival::Bytes(it.clone()),
                HostArrival::Drained(it) => words::HostArrival::Drained(*it),
                HostArrival::Ended(it) => words::HostArrival::Ended(ending(it)),
                other => panic!("no recorded session has this: {other:?}"),
            },
        )),
        other => panic!("no recorded session has this: {other:?}"),
    }
}

fn effect(effect: &engine::Effect) -> words::Effect {
    use engine::{AcpDeparture, HostDeparture, Level};
    match effect {
        engine::Effect::Acp(AcpDeparture::Bytes(it)) => {
            words::Effect::Acp(words::AcpDeparture::Bytes(it.clone()))
        }
        engine::Effect::Acp(AcpDeparture::Finish) => {
            words::Effect::Acp(words::AcpDeparture::Finish)
        }
        engine::Effect::Arm(timer, due) => words::Effect::Arm((*timer, *due)),
        engine::Effect::Disarm(timer) => words::Effect::Disarm(*timer),
        engine::Effect::Done(code) => words::Effect::Done(*code),
        engine::Effect::Note(level, text) => words::Effect::Note((
            match level {
                Level::Error => words::Level::Error,
                Level::Warn => words::Level::Warn,
                Level::Info => words::Level::Info,
                Level::Debug => words::Level::Debug,
            },
            text.clone(),
        )),
        engine::Effect::Host(channel, departure) => words::Effect::Host((
            *channel,
            match departure {
                HostDeparture::Open(engine::Target::Host(name)) => {
                    words::HostDeparture::Open(words::Target::Host(name.clone()))
                }
                HostDeparture::Bytes(it) => words::HostDeparture::Bytes(it.clone()),
                HostDeparture::Read(on) => words::HostDeparture::Read(*on),
                HostDeparture::Finish => words::HostDeparture::Finish,
                HostDeparture::Terminate => words::HostDeparture::Terminate,
                HostDeparture::Close => words::HostDeparture::Close,
                HostDeparture::Open(other) => panic!("no recorded session has this: {other:?}"),
            },
        )),
        other @ engine::Effect::File(..) => panic!("no recorded session has this: {other:?}"),
    }
}
