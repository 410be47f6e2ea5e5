//! What an editor asks of Claude Code besides sessions and their turns: signing in and out,
//! who is signed in, where models come from (Claude adapter, sections 2, 3, 4, 15 and 16).

#[path = "../claude_kit/mod.rs"]
mod claude_kit;

mod auth;
mod gateway;
mod providers;
mod world;
