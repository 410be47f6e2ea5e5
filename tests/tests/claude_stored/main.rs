//! Stored sessions of Claude Code: listed, loaded, resumed, forked, deleted (Claude adapter, sections
//! 2, 4 and 13). The files are real ones, made smaller; `docs/claude-transcripts.md` says what
//! they hold.

mod deleting;
mod forking;
mod indexing;
mod listing;
mod live;
mod loading;
mod replay;
mod titles;
mod world;
