//! Claude Code as a process: the program whole, with a stand-in for the executable
//! (`claude.sh`) that does what prompts say. Whatever ends, and however, no process of its
//! group is left. Every wait is for a fact, with a bound.

#[allow(dead_code)]
#[path = "../whole/editor.rs"]
mod editor;
mod ends;
mod failing;
mod place;
mod starts;
