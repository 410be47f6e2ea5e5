//! Every limit of the engine in one place: value, unit, reason.

/// Bytes of one line from the editor, without its end. ACP names no limit; SDKs stop at
/// 10 to 64 MiB.
pub const ACP_LINE: u64 = 32 << 20;
/// Bytes that may wait for the editor before output is held back and coalesced (rule R7).
pub const ACP_WAITING: u64 = 8 << 20;
/// Characters (UTF-16 units) of message text held back for a slow editor, a session,
/// before its subscription is closed; it is opened again with a reread later.
pub const HELD_TEXT: u64 = 4 << 20;

/// Bytes of a working folder path (ACP adapter of Maka, section 2).
pub const CWD: u64 = 4096;
/// Bytes of an encoded list cursor.
pub const LIST_CURSOR: u64 = 8192;
/// Bytes of the Host's own cursor inside it.
pub const HOST_CURSOR: u64 = 512;
/// Attachments of one prompt: linked files, images and embedded resources.
pub const ATTACHMENTS: u64 = 8;
/// Bytes of one attachment.
pub const ATTACHMENT: u64 = 50 << 20;
/// Bytes of an attachment's name (what the Maka Host takes).
pub const ATTACHMENT_NAME: u64 = 512;
/// Bytes of an attachment's MIME type (likewise).
pub const ATTACHMENT_MIME: u64 = 256;
/// Bytes of a file that are looked at to tell what it is.
pub const SNIFFED: u64 = 1_024;
/// Bytes of one read of a file, the contract's limit.
pub const FILE_READ: u64 = 64 << 10;

/// Characters of a client's name for its question which files a prompt changes (AIR).
pub const REPORT_REQUEST: u64 = 128;
/// Bytes of a text that is shown as a patch; a longer one is shown as it is (AIR, diff patch).
pub const PATCHED_TEXT: u64 = 1 << 20;
/// Pairs of lines that are compared for a patch; past that all lines are replaced. 4 bytes
/// each, for as long as it takes.
pub const PATCH_CELLS: u64 = 1 << 20;

/// Bytes of one line of Claude Code; a longer one is skipped, and said.
pub const CLAUDE_LINE: u64 = 32 << 20;
/// Milliseconds until a new process has to greet: a first start unpacks and signs in.
pub const CLAUDE_GREETING_MS: u64 = 60_000;
/// Milliseconds until a cancelled turn is settled without the process (Claude adapter,
/// section 9.1, step 7).
pub const CLAUDE_BACKSTOP_MS: u64 = 30_000;
/// Milliseconds from asking a process to end to ending it.
pub const CLAUDE_LEAVING_MS: u64 = 2_000;
/// Bytes of what a process says on stderr that are kept for a failure's sentence.
pub const CLAUDE_DIAGNOSTIC: u64 = 2 << 10;
/// Milliseconds that a prompt's answer waits for the list of its files (AIR, section 17).
pub const CLAUDE_FILE_REPORT_MS: u64 = 2_000;
/// Paths of such a list.
pub const CLAUDE_FILE_REPORT_PATHS: u64 = 1_024;
/// Characters (UTF-16 units) of one.
pub const CLAUDE_FILE_REPORT_PATH: u64 = 4_096;
/// Bytes of all of them; the rest of the report is small.
pub const CLAUDE_FILE_REPORT: u64 = (256 << 10) - 1_024;
/// Names of such lists that are remembered, so that none is made twice (decision).
pub const CLAUDE_FILE_REPORTS: u64 = 256;
/// Characters of a prompt from which a title is made.
pub const CLAUDE_TITLE_CONTEXT: u64 = 1_000;
/// Milliseconds until a setting that the process does not answer has failed (decision).
pub const CLAUDE_SETTING_MS: u64 = 30_000;
/// Milliseconds that figures of use, and the state of servers, may take (Claude adapter,
/// section 14); then the program's own words stand.
pub const CLAUDE_STATUS_MS: u64 = 5_000;
/// Milliseconds that servers may take to connect again, to be enabled or disabled.
pub const CLAUDE_SERVERS_MS: u64 = 30_000;
/// Ids of messages that are remembered, to be told from those that the user types elsewhere
/// (decision): an echo follows its message closely.
pub const CLAUDE_SENT: u64 = 256;
/// Notices of a session that are remembered, so that the next process that gives them is not
/// heard (decision): a process gives a few when it starts.
pub const CLAUDE_NOTICES: u64 = 32;
/// Milliseconds between two looks whether the user signed in to an MCP server (Claude adapter,
/// section 11).
pub const CLAUDE_SIGN_IN_LOOK_MS: u64 = 1_000;
/// Milliseconds for which that is looked at.
pub const CLAUDE_SIGN_IN_MS: u64 = 10 * 60_000;
/// Milliseconds after which settings are looked at again at a prompt (decision: files cannot
/// be watched).
pub const CLAUDE_SETTINGS_MS: u64 = 60_000;
/// Milliseconds without work until a context is made smaller (Claude adapter, section 14):
/// before a provider forgets it that keeps it for an hour.
pub const CLAUDE_IDLE_MS: u64 = 54 * 60_000;
/// Tokens from which that is worth it, where the model's context holds twice as many.
pub const CLAUDE_IDLE_TOKENS: u64 = 200_000;
/// Tokens from which it is in a smaller one.
pub const CLAUDE_IDLE_TOKENS_FLOOR: u64 = 100_000;
/// Things to remember of one permission (Claude adapter, section 10).
pub const CLAUDE_UPDATES: u64 = 100;
/// Rules of one of them.
pub const CLAUDE_UPDATE_RULES: u64 = 100;
/// Folders of one of them.
pub const CLAUDE_UPDATE_FOLDERS: u64 = 100;
/// Characters (UTF-16 units) of a rule's tool.
pub const CLAUDE_UPDATE_TOOL: u64 = 512;
/// Likewise of what a rule says of it.
pub const CLAUDE_UPDATE_RULE: u64 = 10_000;
/// Likewise of a folder.
pub const CLAUDE_UPDATE_FOLDER: u64 = 4_096;
/// Likewise of a skill that is not to be asked about again.
pub const CLAUDE_SKILL_RULE: u64 = 1_000;
/// Characters of a title.
pub const SESSION_TITLE: u64 = 256;

/// Stored sessions on one page of a list.
pub const CLAUDE_LIST_PAGE: u64 = 1_000;
/// Levels of folders below a session's that are deleted with it, and of subagents in
/// subagents whose calls are shown again (decision: the program makes one of each).
pub const CLAUDE_DEPTH: u64 = 8;

/// Bytes of one Maka frame, without its line end.
pub const MAKA_FRAME: u64 = 768 << 10;
/// Requests in flight on one Maka connection.
pub const MAKA_IN_FLIGHT: u64 = 64;
/// Of those, how many are kept free for stops, closes and queries of a turn, so that a
/// flood of ordinary requests never delays a cancel (decision).
pub const MAKA_CONTROL_SLOTS: u64 = 4;
/// Feeds that the Host holds for one connection; one more is refused.
pub const MAKA_FEEDS: u64 = 16;
/// Sessions of which a failed `session/load` is remembered, so that the next one goes on
/// where it broke off.
pub const MAKA_TOLD_MARKS: u64 = 64;
/// Milliseconds until a lost feed of a session in which nothing runs is tried again.
pub const MAKA_LOOK_AGAIN_MS: u64 = 30_000;
/// Bytes of a turn's text.
pub const MAKA_TURN_TEXT: u64 = 48 << 10;
/// Bytes of a turn's whole content, encoded.
pub const MAKA_TURN_CONTENT: u64 = 52 << 10;
/// Raw bytes of one chunk of an upload.
pub const MAKA_CHUNK: u64 = 48 << 10;
/// Uploads that may be open at a Host.
pub const MAKA_UPLOADS: u64 = 16;
/// Bytes that they may announce together.
pub const MAKA_STAGED: u64 = 128 << 20;
/// Milliseconds that one step of an upload may take; then it is aborted.
pub const MAKA_INGEST_MS: u64 = 30_000;
/// Bytes from the beginning of a text that is too long, shown above the note that says so
/// (decision: enough for a title).
pub const MAKA_LONG_TEXT_HEAD: u64 = 1 << 10;
/// Bytes of the transcript tail that comes with a subscription.
pub const MAKA_TAIL: u64 = 16 << 10;
/// Raw bytes of one transcript page.
pub const MAKA_PAGE: u64 = 512 << 10;
/// Bytes of one durable row being assembled from fragments.
pub const MAKA_ROW: u64 = 16 << 20;
/// Frames kept while a recovered feed reads stored rows; more, and it recovers anew.
pub const MAKA_HELD_FRAMES: u64 = 512;
/// Rows of a transcript overlay.
pub const MAKA_OVERLAY_ROWS: u64 = 4096;

/// Milliseconds to connect.
pub const MAKA_CONNECT_MS: u64 = 5_000;
/// Milliseconds to answer `hello`.
pub const MAKA_HELLO_MS: u64 = 2_000;
/// Milliseconds between probes while requests are outstanding.
pub const MAKA_PROBE_EVERY_MS: u64 = 2_000;
/// Milliseconds that a probe may take.
pub const MAKA_PROBE_MS: u64 = 2_000;
/// Milliseconds between polls of a Host that is not ready.
pub const MAKA_READY_POLL_MS: u64 = 25;
/// Milliseconds that a Host may take to become ready.
pub const MAKA_READY_MS: u64 = 30_000;
/// First and longest pause before a new connection, milliseconds.
pub const MAKA_BACKOFF_MS: (u64, u64) = (100, 5_000);
/// Milliseconds after which a connection counts as stable and the pause starts anew.
pub const MAKA_STABLE_MS: u64 = 10_000;
/// Milliseconds after a loss for which a connection is tried again; then what waits is
/// answered with an error, so that nobody waits 5 s.
pub const MAKA_GIVE_UP_MS: u64 = 3_500;
/// Milliseconds that a lost connection may take to come back before it is told in turns
/// that run (decision: what is over sooner would only be noise).
pub const MAKA_OUTAGE_MS: u64 = 1_000;
/// Recovery attempts of one subscription without a live frame.
pub const MAKA_RECOVERIES: u64 = 8;
/// First and longest pause between them, milliseconds; the first attempt has none.
pub const MAKA_RECOVERY_MS: (u64, u64) = (25, 500);
/// Milliseconds after a live frame after which the attempts count from zero.
pub const MAKA_RECOVERED_MS: u64 = 1_000;
/// Attempts to learn what became of a lost `turn.start`.
pub const MAKA_ADMISSION_QUERIES: u64 = 5;
/// Milliseconds that each may take.
pub const MAKA_ADMISSION_QUERY_MS: u64 = 1_000;
/// Milliseconds between them, doubled each time.
pub const MAKA_ADMISSION_WAIT_MS: u64 = 25;
/// Milliseconds that opening a feed, or a page of stored rows, may take on a connection
/// that lives; then the feed is had anew.
pub const MAKA_READ_MS: u64 = 15_000;
/// Milliseconds that `turn.start` may take on a connection that lives (decision: as a Stop);
/// then it is asked what became of it, as after a lost connection.
pub const MAKA_START_MS: u64 = 30_000;
/// Milliseconds until a new session, a listing or a look at a session is given up (decision):
/// the Host may first have to become ready. Maka's own adapter waits for ever.
pub const MAKA_FIRST_MS: u64 = MAKA_READY_MS + MAKA_READ_MS;
/// Milliseconds that `turn.message.submit` may take.
pub const MAKA_SUBMIT_MS: u64 = 30_000;
/// Milliseconds that `turn.stop` may take.
pub const MAKA_STOP_MS: u64 = 30_000;

/// Questions to the user that wait at once, a session; also how many outcomes are remembered
/// so that each is shown once.
pub const MAKA_INTERACTIONS: u64 = 16;
/// Turns, a session, that were stopped and not yet shown as ended; nothing of them is asked.
pub const MAKA_FENCES: u64 = 64;
/// Bytes of an answer to a question, encoded.
pub const MAKA_ANSWER: u64 = 8192;
/// Bytes of one text in it.
pub const MAKA_QUESTION_ANSWER: u64 = 2048;
/// Characters of one text that an editor is told to allow at most.
pub const MAKA_QUESTION_SHOWN: u64 = 512;

/// Revisions of a session on which a change of it is tried.
pub const MAKA_CHANGES: u64 = 3;
/// Milliseconds that a change of a session may take on a connection that lives (decision);
/// after that nobody can say whether it was made.
pub const MAKA_CHANGE_MS: u64 = 30_000;
/// Models that are offered; a list that nobody can look through helps nobody (decision).
pub const MAKA_MODELS: u64 = 512;
/// Pages of the connection catalog that are read for them, of 128 items (decision).
pub const MAKA_MODEL_PAGES: u64 = 64;
/// Milliseconds that names of models and sessions may take; they are not needed.
pub const MAKA_MODELS_MS: u64 = 2_000;
/// Milliseconds between a change of a session and the question for its name.
pub const MAKA_TITLES_MS: u64 = 1_000;

/// Pages of plans that are read for one look at them.
pub const MAKA_ASIDE_PAGES: u64 = 8;
/// Skills that are offered in a session.
pub const MAKA_SKILLS: usize = 512;

/// Bytes from the end of a message that are kept to be compared with pieces that come again;
/// what comes before is kept as digests (decision: memory is not to grow with a turn's text).
pub const MESSAGE_KEPT: u64 = 64 << 10;
/// UTF-16 units shown for one tool.
pub const TOOL_UNITS: u64 = 65_536;
/// Chunks of output and progress kept for one tool.
pub const TOOL_CHUNKS: u64 = 512;
/// Places of one tool that are shown.
pub const TOOL_PLACES: usize = 64;
/// UTF-16 units of a tool's title, input preview, preview and kept progress, each.
pub const TOOL_AUXILIARY_UNITS: u64 = 4_096;
/// UTF-16 units retained for all tools of one prompt.
pub const PROMPT_TOOL_UNITS: u64 = 1_048_576;
/// Tools of one prompt.
pub const PROMPT_TOOLS: u64 = 4_096;
/// UTF-16 units of JSON up to which raw input and raw output are shown.
pub const TOOL_RAW_UNITS: u64 = 65_536;

/// UTF-16 units of one text in a preview of a tool's input (decision).
pub const PREVIEW_VALUE_UNITS: u64 = 512;
/// Parts of one list in a preview of a tool's input (decision).
pub const PREVIEW_ITEMS: u64 = 8;
/// Bytes of JSON up to which a tool's result is indented (decision: more does not fit on a
/// card anyway, and indenting can make deep JSON a hundred times longer).
pub const JSON_INDENTED: u64 = 256 << 10;
/// Levels of JSON that are indented; deeper ones stay on one line (decision, see above).
pub const JSON_DEPTH: u64 = 32;
/// UTF-16 units of the result of an agent swarm.
pub const SWARM_UNITS: u64 = 16_000;
/// UTF-16 units of one agent's summary in it.
pub const SWARM_SUMMARY_UNITS: u64 = 1_000;

/// Milliseconds from the editor's end to the end of the adapter.
pub const SHUTDOWN_MS: u64 = 4_000;

/// Bytes of a tool's input that are shown field by field while they stream (decision: each
/// new field sends those before it again; the whole input follows in any case).
pub const CLAUDE_STREAMED_INPUT: u64 = 64 << 10;
/// Inputs of a session that stream at once: one a message, and one a running subagent.
pub const CLAUDE_STREAMS: u64 = 64;
/// Calls of a session that are open at once (decision); one more closes the oldest.
pub const CLAUDE_OPEN_CALLS: u64 = 4_096;
/// Milliseconds between looks at what a command in the background prints (Claude adapter,
/// section 12).
pub const CLAUDE_OUTPUT_MS: u64 = 500;
/// Bytes of it that one look reads.
pub const CLAUDE_OUTPUT_READ: u64 = 256 << 10;
/// Bytes of it that may wait; of more, only the end is shown.
pub const CLAUDE_OUTPUT_BACKLOG: u64 = 1 << 20;
/// Tasks that are remembered after their end: output of a subagent may be late (decision).
pub const CLAUDE_ENDED_TASKS: u64 = 256;
/// Calls that are remembered after their end, since a hook may be late (decision).
pub const CLAUDE_ENDED_CALLS: u64 = 256;
/// Tasks of a session's plan (decision); one more drops the oldest that is done.
pub const CLAUDE_TASKS: u64 = 1_024;
/// Milliseconds that a process beside the sessions may take: one that signs out may have to
/// ask the makers' server (decision).
pub const CLAUDE_SIDE_MS: u64 = 30_000;
/// Bytes that are kept of what it says (decision).
pub const CLAUDE_SIDE_OUTPUT: u64 = 64 << 10;
/// Milliseconds between what is done with a process that knows a gateway's models: it is asked
/// again three times, told to end, and ended. The gateway has 10 s (Claude adapter, section
/// 16), and the first times are for one that does not need them.
pub const CLAUDE_GATEWAY_MS: [u64; 5] = [1_000, 3_000, 7_000, 1_000, 4_000];
/// Milliseconds that the program gives a gateway.
pub const CLAUDE_GATEWAY_ANSWER_MS: u64 = 10_000;
/// Models of a gateway that are offered: as many as the program asks for.
pub const CLAUDE_GATEWAY_MODELS: usize = 1_000;
/// Files of sessions that go on under another id, and that are kept in mind (decision).
pub const CLAUDE_MOVED: u64 = 4_096;
/// Sessions that are remembered as closed, where a Host closes them as often as an editor
/// likes (decision).
pub const CLOSED_SESSIONS: u64 = 1_024;
/// Indexes of sessions that are watched at once, as many as other adapters allow.
pub const CLAUDE_WATCHES: u64 = 128;
/// Milliseconds between two looks at one (decision): a folder's names and dates are read.
pub const CLAUDE_LOOK_MS: u64 = 2_000;
/// Rows of a page of the index of sessions, if an editor says nothing, and at most.
pub const INDEX_PAGE: (u64, u64) = (50, 100);
