//! The Host side. A Host module turns its wire into facts and takes commands; nothing
//! else crosses. No ACP version is known here.

pub mod aside;
pub mod claude;
pub mod dialog;
mod errand;
mod extras;
mod index;
mod listener;
pub mod maka;
mod module;
pub mod more;
mod outcome;
mod spent;

pub use errand::{Account, Errand, ForkPoint, Gateway, Person, Provider, SignIn, SignInBy};
pub use extras::Extras;
pub use index::{IndexQuery, IndexRow, ListItem, ListPage, Shown, Standing, State};
pub use listener::{Cx, Heard, Listener};
pub use module::Module;
pub use outcome::{Blame, Ending, Failure, Outcome};
pub use spent::{Spent, Tokens, Usage};

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::admission::Content;
use crate::json::Object;
use crate::projection::{End, Report, Speaker, ToolFact, Update};
use crate::rpc::Ticket;
use crate::session::options::{By, Options, Setting};

use dialog::{Dialog, Reply};
use more::More;

/// Stands for a session inside the engine; never used twice.
pub type SessionKey = u32;

/// What the sessions ask of a Host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Make a session. Answered with [`Fact::Created`] or [`Fact::Refused`].
    Create { ticket: Ticket, setup: Setup },
    /// The sessions know a session now, under this key.
    Opened {
        session: SessionKey,
        session_id: String,
    },
    /// A page of all sessions. Answered with [`Fact::Listed`] or [`Fact::Refused`].
    List {
        ticket: Ticket,
        cwd: Option<String>,
        cursor: Option<String>,
    },
    /// Take in a stored session in this folder, and with these helpers: look at everything that happens in it from
    /// now on, and with `replay` tell everything that happened before. Answered with
    /// [`Fact::Loaded`] or [`Fact::Refused`].
    Load {
        session: SessionKey,
        session_id: String,
        ticket: Ticket,
        setup: Setup,
        replay: bool,
    },
    /// Nobody waits for [`Command::Load`] of this session any more.
    Abandon { session: SessionKey },
    /// Start a turn. Answered with facts about it and, once, [`Fact::Settled`].
    Start {
        session: SessionKey,
        session_id: String,
        turn_id: String,
        content: Content,
    },
    /// Say this to the session's own turn while it runs. Answered with [`Fact::Steered`],
    /// [`Fact::Unsteered`] or [`Fact::Refused`].
    Steer {
        session: SessionKey,
        ticket: Ticket,
        content: Content,
    },
    /// Stop the session's own turn: exactly one Stop, and only if it was admitted.
    /// [`Fact::Settled`] follows when that is certain.
    Stop { session: SessionKey },
    /// Stop a live turn of another client, as an editor's cancel asks.
    StopForeign { session: SessionKey },
    /// What came of a question to the user.
    Answer {
        session: SessionKey,
        dialog: String,
        reply: Reply,
    },
    /// Let go of a session: stop what runs, close its feed. Answered with [`Fact::Closed`].
    Close {
        session: SessionKey,
        session_id: String,
        ticket: Ticket,
    },
    /// Set an option, or the mode. Answered with [`Fact::Configured`] or [`Fact::Refused`].
    Configure {
        ticket: Ticket,
        session: SessionKey,
        session_id: String,
        setting: Setting,
    },
    /// Delete a session for good, whoever made it. Answered with [`Fact::Deleted`], also when
    /// there is none, or [`Fact::Refused`].
    Delete { ticket: Ticket, session_id: String },
    /// Stop a subagent of any session, by the id of its own session; nothing else of it.
    StopSubagent { id: String },
    /// Stop a task in the background. Answered with [`Fact::TaskStopped`].
    StopTask {
        session: SessionKey,
        ticket: Ticket,
        task: String,
    },
    /// Something that is no session's business alone; see there for the answers.
    Errand { ticket: Ticket, errand: Errand },
    /// The editor is slow: let go of the session's feed until [`Command::Resume`].
    Pause { session: SessionKey },
    /// The editor reads again.
    Resume { session: SessionKey },
    /// Stop all turns, then close; [`Fact::Ended`] follows.
    Shutdown,
}

/// What a Host tells of a session, or in answer to a command.
#[derive(Debug)]
pub enum Fact<'a> {
    /// A session was made.
    Created {
        ticket: Ticket,
        session_id: String,
        title: String,
        /// Unless the Host cannot say.
        options: Option<Options>,
        /// Its folder as the Host names it; empty where the Host does not say.
        cwd: String,
        about: Option<Object>,
    },
    /// A session was taken in, and everything that was asked for was told.
    Loaded {
        ticket: Ticket,
        title: String,
        options: Option<Options>,
    },
    /// A turn of another client is told from here on. With `silent`, what comes before
    /// [`Fact::Seeded`] is known, but not to be shown.
    Began { turn_id: &'a str, silent: bool },
    /// What is told from here on is to be shown.
    Seeded,
    /// Something about a turn that is over, from the store: told once, and whole.
    Past {
        turn_id: &'a str,
        fact: Box<Fact<'a>>,
    },
    /// Nothing more comes of the turn that [`Fact::Past`] was about.
    PastOver { end: End },
    /// A page of sessions.
    Listed { ticket: Ticket, page: ListPage },
    /// A command came to nothing.
    Refused { ticket: Ticket, failure: Failure },
    /// A message grew at this UTF-16 offset; `reset` starts it anew.
    TextGrew {
        speaker: Speaker,
        message_id: &'a str,
        start: u64,
        text: &'a str,
        reset: bool,
    },
    /// A message is complete at this length.
    TextCompleted {
        speaker: Speaker,
        message_id: &'a str,
        length: u64,
    },
    /// The stored form of a message.
    TextIs {
        speaker: Speaker,
        message_id: &'a str,
        text: &'a str,
    },
    /// Something about a tool.
    Tool(ToolFact<'a>),
    /// More text of a message, at its end. Shown whether a turn runs or not.
    Said(Said<'a>),
    /// A picture in a message. Shown whether a turn runs or not.
    Picture {
        speaker: Speaker,
        message_id: &'a str,
        mime_type: &'a str,
        data: &'a str,
    },
    /// What is new on a tool's card. Shown whether a turn runs or not.
    Card(Box<Report>),
    /// Something of a subagent that is a session of its own.
    Subagent(aside::Subagent<'a>),
    /// Something in such a subagent's session: what is said, or a card.
    Inside { id: &'a str, fact: Box<Fact<'a>> },
    /// Something of a task in the background.
    Task(aside::Task<'a>),
    /// Whether a task was there to be stopped.
    TaskStopped { ticket: Ticket, stopped: bool },
    /// The user is asked. Answered with [`Command::Answer`], unless the turn is stopped or
    /// [`Fact::Withdrawn`] comes first.
    Asks { dialog: Dialog },
    /// The question needs no answer any more.
    Withdrawn { dialog: &'a str },
    /// What the user was sent to an address for is done.
    Visited { id: &'a str },
    /// A message for the running turn arrived there, or started a turn at the Host.
    Steered { ticket: Ticket, running: bool },
    /// A message for the running turn came too late and was not sent.
    Unsteered { ticket: Ticket, content: Content },
    /// The session's turn is over, ours or another client's.
    Settled { turn_id: &'a str, outcome: Outcome },
    /// The steps of the work; all of them.
    Plan { entries: Vec<PlanEntry> },
    /// How full the context is, and what the session cost.
    Usage(Usage),
    /// What a prompt may begin with; all of it.
    Skills {
        session_id: &'a str,
        skills: Vec<Skill>,
    },
    /// Something about the running turn that people want to know while they wait.
    Noticed { text: String },
    /// What only some editors are shown.
    More(More),
    /// The session's name or date changed.
    Titled {
        title: String,
        updated_at: Option<String>,
        /// It is told even if the editor knows it.
        again: bool,
    },
    /// What the session can be set to, and is; perhaps as before.
    Options(Options),
    /// A frame of the Host as it came, for a client that asked for it: a notification of this
    /// name.
    Raw {
        method: &'a str,
        message: &'a RawValue,
    },
    /// What was asked for is set.
    Configured {
        ticket: Ticket,
        by: By,
        options: Options,
    },
    /// What was asked for is done.
    Done { ticket: Ticket },
    /// Where models come from.
    Providers {
        ticket: Ticket,
        providers: Vec<Provider>,
    },
    /// Who is signed in, when that has changed.
    SignedIn(Account),
    /// From now on rows of an index are told when they change.
    Watched { ticket: Ticket, watch: &'a str },
    /// Rows of an index that changed, and sessions that are gone.
    Changed {
        watch: &'a str,
        sessions: Vec<ListItem>,
        removed: Vec<String>,
    },
    /// A session is deleted.
    Deleted { ticket: Ticket },
    /// The session was let go.
    Closed {
        ticket: Ticket,
        failure: Option<Failure>,
    },
    /// After [`Command::Shutdown`]: nothing is left open.
    Ended,
}

/// How a Host differs from others in what the sessions do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)]
pub struct Habits {
    /// It queues prompts itself: each goes to it at once.
    pub queues: bool,
    /// It wants the blocks of a prompt as the editor sent them.
    pub blocks: bool,
    /// It runs MCP servers of the editor's.
    pub mcp: bool,
    /// It works in more folders than one.
    pub folders: bool,
    /// Sessions can be read again from the beginning.
    pub history: bool,
    /// It has options that are on or off.
    pub switches: bool,
    /// What an answer says of the options is not told again besides.
    pub terse: bool,
    /// The model can be told more, and the Host reads what a client says to it alone.
    pub instructed: bool,
    /// It does the errands of [`Errand`].
    pub errands: bool,
    /// A session that was closed can be closed again.
    #[serde(default)]
    pub closes_again: bool,
    /// It tells what an editor can be told beyond ACP ([`Extras`]).
    #[serde(default)]
    pub extras: bool,
}

/// Where a session is to work, and with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Absolute.
    pub cwd: String,
    /// More folders, all absolute.
    pub folders: Vec<String>,
    /// As the editor describes them.
    pub servers: Vec<McpServer>,
    /// What the editor shows.
    pub client: Client,
    /// What the model is told besides, or instead of what it is told.
    pub instructions: Option<Instructions>,
    /// What the client says to this Host alone: its `_meta`, as it stands there.
    pub extra: Option<String>,
    /// The user's own instructions for the model, from an editor that agreed on more than ACP.
    #[serde(default)]
    pub custom: Option<String>,
}

/// What the model is told before everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// For the model.
    pub text: String,
    /// Instead of what the Host would tell it.
    pub instead: bool,
}

/// What an editor can do besides what every editor can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)]
pub struct Client {
    /// It shows forms (`elicitation.form`).
    pub forms: bool,
    /// It sends people to addresses (`elicitation.url`).
    pub addresses: bool,
    /// It shows options as switches (`session.configOptions.boolean`).
    pub switches: bool,
    /// It shows terminals of commands (`_meta.terminal_output`).
    pub terminals: bool,
    /// It opens terminals in which people sign in (`auth.terminal`).
    pub signs_in: bool,
    /// The same, as older editors say it (`_meta["terminal-auth"]`).
    pub signs_in_meta: bool,
    /// It names gateways (`auth._meta.gateway`).
    pub gateways: bool,
    /// It takes their output piece by piece (`_meta.terminal_output_delta`).
    pub terminal_deltas: bool,
    /// It shows notices (`session.notices`).
    #[serde(default)]
    pub notices: bool,
    /// It shows that a context is made smaller (`session.compaction`).
    #[serde(default)]
    pub compactions: bool,
    /// It shows plans as documents (`plan`).
    #[serde(default)]
    pub plans: bool,
    /// It shows child sessions (`subagents`).
    #[serde(default)]
    pub subagents: bool,
    /// It shows all that subagents say (`_meta["subagent-transcript"]`).
    #[serde(default)]
    pub transcripts: bool,
    /// What it and we agreed on beyond ACP.
    #[serde(default)]
    pub extras: Extras,
}

/// An MCP server that the editor wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// For people, and in the names of its tools.
    pub name: String,
    /// How it is reached.
    pub by: Transport,
}

/// How an MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// A program with arguments and variables.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Names and values.
        env: Vec<(String, String)>,
    },
    /// An address, `http` or `sse`.
    Web {
        /// Whether events come by SSE alone.
        sse: bool,
        /// The address.
        url: String,
        /// Names and values.
        headers: Vec<(String, String)>,
    },
}

/// More text of a message.
#[derive(Debug)]
pub struct Said<'a> {
    /// Who says it.
    pub speaker: Speaker,
    /// The Host's id of the message.
    pub message_id: &'a str,
    /// What is added at its end; never empty.
    pub text: &'a str,
    /// Extension data, as it stands in `_meta`.
    pub meta: Option<Object>,
}

impl Said<'_> {
    /// How the editor is told.
    pub(crate) fn update(&self) -> Update<'_> {
        Update::Message {
            speaker: self.speaker,
            message_id: self.message_id,
            text: self.text,
            meta: self.meta.as_ref(),
        }
    }
}

/// A step of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// For people.
    pub content: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done, or not needed.
    Completed,
}

/// Something that a prompt may begin with, after a slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    /// What is typed.
    pub id: String,
    /// For people.
    pub description: String,
    /// What may stand behind it, where something may.
    pub hint: Option<String>,
    /// Whether it teaches the model something, rather than doing it.
    pub teaches: bool,
    /// The file that it is written in, where it has one of its own.
    pub path: Option<String>,
}
