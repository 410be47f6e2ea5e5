//! The AIR extensions (Claude adapter, sections 3, 12, 14, 17): what an editor is told that
//! agreed on them, and that one that did not is told as ever. `docs/claude-meta.md` names the
//! test of each key.

mod asked;
mod cards;
mod kit;
mod options;
mod prompts;
mod told;
