//! The person and the terminal: what is a terminal, what is typed, when Ctrl-C
//! is pressed. The only file of `prompt/` that touches stdin and signals.
//! Invariant: stdin is read only when there is a question, since a program in
//! the background that reads its terminal is stopped.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result};

/// Something the client waits for.
#[derive(Debug)]
pub enum Event {
    /// A line from the agent, without its newline.
    Line(String),
    /// The agent sends no more.
    End,
    /// A line that was typed; `None` when nothing can be typed any more.
    Typed(Option<String>),
    /// Ctrl-C.
    Interrupt,
}

/// Starts to wait for one typed line, which comes as [`Event::Typed`].
pub type Ask = Box<dyn FnMut(Sender<Event>) + Send>;

/// Where a person sits, or does not.
pub struct Console {
    /// How to ask; absent when nobody is there.
    pub ask: Option<Ask>,
    /// Whether the answer goes to a terminal.
    pub out_is_terminal: bool,
    /// Whether the rest goes to a terminal.
    pub err_is_terminal: bool,
    pub(crate) sender: Sender<Event>,
    pub(crate) events: Receiver<Event>,
    interrupts: Option<signal_hook::SigId>,
}

impl Console {
    /// Nobody there, no terminal, no signals.
    pub fn nobody() -> Console {
        let (sender, events) = channel();
        Console {
            ask: None,
            out_is_terminal: false,
            err_is_terminal: false,
            sender,
            events,
            interrupts: None,
        }
    }

    /// The program's own terminal and signals.
    pub(crate) fn real() -> Result<Console> {
        let mut console = Console::nobody();
        console.out_is_terminal = std::io::stdout().is_terminal();
        console.err_is_terminal = std::io::stderr().is_terminal();
        if std::io::stdin().is_terminal() && console.err_is_terminal {
            console.ask = Some(Box::new(read_line));
        }
        let (mut bell, struck) =
            UnixStream::pair().context("cannot make a pipe for the interrupt signal")?;
        let id = signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, struck)
            .context("cannot watch for the interrupt signal")?;
        console.interrupts = Some(id);
        let sender = console.sender.clone();
        std::thread::spawn(move || {
            let mut byte = [0];
            while bell.read(&mut byte).is_ok_and(|count| count == 1)
                && sender.send(Event::Interrupt).is_ok()
            {}
        });
        Ok(console)
    }

    /// A hand for events from elsewhere.
    pub fn sender(&self) -> Sender<Event> {
        self.sender.clone()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(id) = self.interrupts.take() {
            signal_hook::low_level::unregister(id);
        }
    }
}

fn read_line(sender: Sender<Event>) {
    std::thread::spawn(move || {
        let mut line = String::new();
        let typed = std::io::stdin()
            .lock()
            .read_line(&mut line)
            .is_ok_and(|count| count > 0);
        let _ = sender.send(Event::Typed(typed.then_some(line)));
    });
}
