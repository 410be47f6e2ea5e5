//! Work beside a turn (Claude adapter, section 12): subagents in each form that an editor
//! may show, tasks in the background, and what commands there print.

mod background;
mod child;
mod kit;
mod output;
mod past;
mod spawned;
mod transcript;
