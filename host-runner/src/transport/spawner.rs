//! The one thread that starts child processes.
//!
//! The parent-death signal of Linux follows the *thread* that started a child, not the
//! process: a child started by a thread that ends would be killed with it. So all are
//! started here, by a thread that lives as long as the process. Invariant: a job that
//! panics costs its own child, never the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use super::flow;

type Job = Box<dyn FnOnce() + Send>;

/// Runs a job on the spawning thread; returns at once.
pub(super) fn run(job: impl FnOnce() + Send + 'static) {
    static SPAWNER: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    let job: Job = Box::new(job);
    match SPAWNER.get_or_init(start) {
        // The receiver lives as long as the process.
        Some(spawner) => drop(spawner.send(job)),
        // Dropping the job refuses its channel.
        None => tracing::error!("no thread to start child processes with"),
    }
}

fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let thread = flow::thread("spawner", move || {
        for job in jobs {
            drop(catch_unwind(AssertUnwindSafe(job)));
        }
    });
    thread.is_ok().then_some(sender)
}
