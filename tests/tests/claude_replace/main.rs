//! One process in the place of another: a plan that is carried out anew, another provider, a
//! load that wants another setup; whatever is in flight, each who waits is answered once.

#[path = "../claude_kit/mod.rs"]
mod claude_kit;

mod anew;
mod crowd;
mod kit;
mod route;
mod stored;
