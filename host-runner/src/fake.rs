//! An adapter for the tests of this crate: echoes lines, and fails when a line says so.
//!
//! Every effect carries a running number, so that a test sees what was lost or doubled.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::adapter::{Adapter, Factory, Failure, Reason};
use crate::words::{AcpArrival, AcpDeparture, Effect, Ending, Fault, Input, Instant, Origin};

/// What the test decides and counts.
#[derive(Default)]
pub struct Control {
    pub poison_fails: Cell<bool>,
    pub snapshot_fails: Cell<bool>,
    pub restore_fails: Cell<bool>,
    /// Instances that did not open but took over answer differently.
    pub forgets: Cell<bool>,
    pub opened: Cell<u32>,
    pub restored: Cell<u32>,
    pub calls: Cell<u32>,
    pub seen: RefCell<Vec<Input>>,
}

/// Makes [`Fake`]s.
#[derive(Clone, Default)]
pub struct FakeFactory(pub Rc<Control>);

struct Fake {
    control: Rc<Control>,
    count: u64,
    tail: String,
    memory: u64,
    dead: bool,
    differs: bool,
}

impl FakeFactory {
    fn fake(&self) -> Fake {
        let control = self.0.clone();
        Fake {
            control,
            count: 0,
            tail: String::new(),
            memory: 1 << 20,
            dead: false,
            differs: false,
        }
    }
}

impl Factory for FakeFactory {
    fn open(&self, config: &str, _seed: &[u8; 32]) -> Result<Box<dyn Adapter>, Failure> {
        if config == "wrong" {
            return Err(Failure::Fault(Fault::Config("it is wrong".into())));
        }
        self.0.opened.set(self.0.opened.get() + 1);
        let differs = self.0.opened.get() > 1 && self.0.forgets.get();
        Ok(Box::new(Fake {
            differs,
            ..self.fake()
        }))
    }

    fn restore(&self, _config: &str, state: &[u8]) -> Result<Box<dyn Adapter>, Failure> {
        self.0.restored.set(self.0.restored.get() + 1);
        if self.0.restore_fails.get() {
            return Err(trap("restore"));
        }
        let state = String::from_utf8(state.to_vec()).unwrap();
        let (count, tail) = state.split_once('|').unwrap();
        Ok(Box::new(Fake {
            count: count.parse().unwrap(),
            tail: tail.into(),
            ..self.fake()
        }))
    }

    fn describe(&self) -> Result<String, Failure> {
        Ok(r#"{"name":"fake"}"#.into())
    }
}

impl Adapter for Fake {
    fn handle(&mut self, _now: Instant, inputs: &[Input]) -> Result<Vec<Effect>, Failure> {
        assert!(!self.dead, "a dead instance was called");
        self.control.calls.set(self.control.calls.get() + 1);
        self.control
            .seen
            .borrow_mut()
            .extend(inputs.iter().cloned());
        let mut out = Vec::new();
        for input in inputs {
            if let Err(failure) = self.one(input, &mut out) {
                self.dead = true;
                return Err(failure);
            }
        }
        Ok(out)
    }

    fn snapshot(&mut self) -> Result<Vec<u8>, Failure> {
        assert!(!self.dead, "a dead instance was called");
        if self.control.snapshot_fails.get() {
            self.dead = true;
            return Err(trap("snapshot"));
        }
        Ok(format!("{}|{}", self.count, self.tail).into_bytes())
    }

    fn memory(&self) -> u64 {
        self.memory
    }
}

impl Fake {
    fn one(&mut self, input: &Input, out: &mut Vec<Effect>) -> Result<(), Failure> {
        match input {
            Input::Acp(AcpArrival::Bytes(bytes)) => {
                self.tail.push_str(std::str::from_utf8(bytes).unwrap());
                while let Some(end) = self.tail.find('\n') {
                    let line: String = self.tail.drain(..=end).collect();
                    self.line(line.trim_end(), out)?;
                }
                if self.tail.contains("EARLY") {
                    return Err(trap("EARLY"));
                }
            }
            // An adapter that does not end.
            Input::Acp(AcpArrival::Ended(Ending::Broken(why))) if why == "mute" => {}
            Input::Acp(AcpArrival::Ended(_)) => {
                if self.count == 13 {
                    return Err(trap("ended"));
                }
                out.extend([Effect::Acp(AcpDeparture::Finish), Effect::Done(3)]);
            }
            Input::Expired(timer) if *timer == 666 => return Err(trap("timer")),
            Input::Expired(timer) => self.say(&format!("timer {timer}"), out),
            Input::Poison(origin) => {
                if self.control.poison_fails.get() {
                    return Err(trap("poison"));
                }
                if let Origin::Acp(_) = origin {
                    self.tail.clear();
                }
                let origin = match origin {
                    Origin::Acp(line) => format!("acp {}", String::from_utf8_lossy(line)),
                    Origin::Host((channel, _)) => format!("host {channel}"),
                    Origin::File(handle) => format!("file {handle}"),
                    Origin::Timer(timer) => format!("timer {timer}"),
                };
                self.say(&format!("poison {origin}"), out);
            }
            _ => {}
        }
        Ok(())
    }

    fn line(&mut self, line: &str, out: &mut Vec<Effect>) -> Result<(), Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["TRAP", ..] => return Err(trap(line)),
            ["SPIN", ..] => return Err(Failure::Trapped(Reason::Deadline)),
            ["ARM", timer, due] => {
                out.push(Effect::Arm((timer.parse().unwrap(), due.parse().unwrap())));
            }
            ["DISARM", timer] => out.push(Effect::Disarm(timer.parse().unwrap())),
            ["GROW", mib] => self.memory = mib.parse::<u64>().unwrap() << 20,
            ["COUNT", count] => self.count = count.parse().unwrap(),
            _ => self.say(line, out),
        }
        Ok(())
    }

    fn say(&mut self, what: &str, out: &mut Vec<Effect>) {
        self.count += 1;
        let different = if self.differs { "other " } else { "" };
        let line = format!("{} {different}{what}\n", self.count);
        out.push(Effect::Acp(AcpDeparture::Bytes(line.into_bytes())));
    }
}

fn trap(what: &str) -> Failure {
    Failure::Trapped(Reason::Other(format!("it panicked: {what}")))
}

/// Bytes from the editor.
pub fn acp(text: &str) -> Input {
    Input::Acp(AcpArrival::Bytes(text.into()))
}

/// What the effects say to the editor, joined.
pub fn said(effects: &[Effect]) -> String {
    let text = |effect: &Effect| match effect {
        Effect::Acp(AcpDeparture::Bytes(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        other => format!("{other:?}\n"),
    };
    effects.iter().map(text).collect()
}

/// A moment.
pub fn at(monotonic: u64) -> Instant {
    Instant {
        monotonic,
        wall: 1_700_000_000_000 + monotonic,
    }
}
