//! What is shown of a history.

use airlock_engine::{FileRefusal, Level};
use serde_json::{Value, json};

use super::world::{
    COMMANDS, CWD, ID, OTHER, PROJECT, SHOWN, World, answer_row, each_way, prompt_row, queued_row,
};

/// The recorded peer's own replay of the same history (`load-resume`, ACP v1), but for the
/// calls inside the subagent, which the peer does not bring back (the issue, section 6).
#[test]
fn given_a_recorded_session_when_loaded_then_it_is_shown_as_the_peer_shows_it() {
    let mut world = World::plain();
    world.recorded();
    let load = world.load(ID);
    world.result(load);
    let inside = |update: &Value| {
        let meta = &update["_meta"]["claudeCode"];
        meta["parentToolUseId"] == "toolu_mock_7_1"
    };
    let (inside, shown): (Vec<Value>, Vec<Value>) = world.shown().into_iter().partition(inside);
    let expected = SHOWN
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    assert_eq!(shown, expected.collect::<Vec<Value>>());
    let told: Vec<[&Value; 4]> = inside
        .iter()
        .map(|it| {
            [
                &it["sessionUpdate"],
                &it["toolCallId"],
                &it["title"],
                &it["status"],
            ]
        })
        .collect();
    let read = json!("toolu_mock_8_1");
    assert_eq!(
        told,
        [
            [
                &json!("tool_call"),
                &read,
                &json!("Read hello.txt"),
                &json!("pending")
            ],
            [
                &json!("tool_call_update"),
                &read,
                &Value::Null,
                &json!("completed")
            ],
        ]
    );
    // They stand where they belong: between the call of the subagent and its end.
    let ids = world.shown();
    let ids: Vec<&str> = ids
        .iter()
        .filter_map(|it| it["toolCallId"].as_str())
        .collect();
    let (agent, read) = ("toolu_mock_7_1", "toolu_mock_8_1");
    assert_eq!(&ids[4..], [agent, read, read, agent]);
    world.is_tidy();
}

#[test]
fn given_a_history_when_loaded_in_every_way_then_the_same_is_shown() {
    each_way(|world| {
        world.recorded();
        let load = world.load(ID);
        world.result(load);
        world.is_tidy();
    });
}

/// Local commands, marks and reminders are left out, and so is what came from nobody; a
/// command that goes to the model is shown as it was typed; a summary is text.
#[test]
fn given_a_session_with_commands_when_loaded_then_only_the_conversation_is_shown() {
    let mut world = World::plain();
    world.stored(OTHER, COMMANDS);
    let load = world.load(OTHER);
    world.result(load);
    let answer = "agent_message: Hello from the mock model. This is a plain answer.";
    let texts = world.texts();
    let at = texts.iter().position(|it| it.contains("being continued"));
    let (before, rest) = texts.split_at(at.expect("a summary"));
    let (summary, after) = (&rest[0], &rest[1..]);
    assert_eq!(
        before,
        [
            "user_message: Hello <there> [[mock:plain]]",
            answer,
            "user_message: /say-it to me",
            answer,
            "user_message: /nosuchcommand",
            answer,
            "user_message: Run it [[mock:bash]]",
            "agent_message: Running a command.",
            "agent_message: Command handled.",
            "user_message: See [[mock:plain]] ",
            "user_message: [@hello.txt](file:///tmp/x/hello.txt)",
            "user_message: \n<context ref=\"file:///tmp/x/hello.txt\">\nembedded\n</context>",
            answer,
            "user_message: Talk [[mock:slow]]",
            "agent_message: word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 ",
            "user_message: Plan [[mock:todo]]",
            "agent_message: Tasks updated.",
        ]
    );
    assert_eq!(
        after,
        [
            "user_message: After [[mock:plain]]",
            answer,
            "user_message: Bg [[mock:subagentbg]]",
            "agent_message: Started a background agent.",
            "agent_message: The background agent reported.",
            "user_message: @hello.txt what [[mock:plain]]",
            answer,
            "user_message: Err [[mock:err400]]",
            "agent_message: API Error: 400 mock: bad request",
        ]
    );
    assert!(summary.starts_with("agent_message: This session is being continued"));
    assert!(!summary.contains("system-reminder"), "{summary}");
    let picture = world.shown();
    let picture = picture.iter().find(|it| it["content"]["type"] == "image");
    let picture = picture.expect("a picture");
    assert_eq!(picture["sessionUpdate"], "user_message_chunk");
    assert_eq!(picture["content"]["mimeType"], "image/png");
    world.is_tidy();
}

/// What the user says while a turn runs has rows of another kind, and so has what the program
/// says to the model then. The message's id is that of what was sent.
#[test]
fn given_prompts_that_waited_for_a_turn_when_loaded_then_the_users_are_shown() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let human = json!({ "kind": "human" });
    let picture = json!({ "type": "image", "source": { "type": "base64",
                          "media_type": "image/png", "data": "AAAA" } });
    let rows = [
        prompt_row("One"),
        queued_row(
            &json!({ "source_uuid": "s1", "commandMode": "prompt", "origin": human,
                            "prompt": [text("Two")[0], picture] }),
        ),
        queued_row(&json!({ "source_uuid": "s2", "commandMode": "prompt",
                            "prompt": "Three<system-reminder>x</system-reminder>" })),
        queued_row(&json!({ "commandMode": "prompt", "origin": human, "prompt": text("Four") })),
        // Not the user's.
        queued_row(
            &json!({ "source_uuid": "s3", "commandMode": "prompt", "prompt": text("no"),
                            "origin": { "kind": "unclassified" } }),
        ),
        queued_row(
            &json!({ "source_uuid": "s4", "commandMode": "prompt", "prompt": text("no"),
                            "origin": human, "isMeta": true }),
        ),
        queued_row(
            &json!({ "source_uuid": "s5", "commandMode": "task-notification",
                            "prompt": "<task-notification>no</task-notification>" }),
        ),
        queued_row(&json!({ "source_uuid": "s6", "commandMode": "prompt" })),
        queued_row(&json!({ "source_uuid": "s7", "prompt": "no" })),
        queued_row(&json!({ "source_uuid": "s8", "commandMode": "prompt", "prompt": "no" }))
            .replace("queued_command", "of-a-later-version"),
        answer_row("Five"),
    ];
    let mut world = World::plain();
    world.stored(OTHER, &rows.concat());
    let load = world.load(OTHER);
    world.result(load);
    let chunk = |id: &str, text: &str| {
        json!({ "sessionUpdate": "user_message_chunk", "messageId": id,
                "content": { "type": "text", "text": text } })
    };
    let shown = world.shown();
    let (answer, said) = shown.split_last().expect("a history");
    assert_eq!(
        said,
        [
            chunk("u-One", "One"),
            chunk("s1", "Two"),
            json!({ "sessionUpdate": "user_message_chunk", "messageId": "s1",
                    "content": { "type": "image", "mimeType": "image/png", "data": "AAAA" } }),
            chunk("s2", "Three"),
            chunk("row-null", "Four"),
        ]
    );
    assert_eq!(answer["content"]["text"], "Five");
    let note = world.desk.notes.iter().find(|it| it.0 == Level::Warn);
    assert_eq!(note, None);
    world.is_tidy();
}

/// A client that shows compactions gets a summary as one that is over.
#[test]
fn given_a_summary_when_loaded_by_a_client_that_shows_compactions_then_it_is_one_that_is_over() {
    let facts = json!({ "version": 1, "trigger": "manual", "preTokens": 152,
                        "postTokens": 2782, "durationMs": 234 });
    let facts = json!({ "jetbrains": { "air": { "version": 1, "contextCompaction": facts } } });
    let air = json!({ "jetbrains": { "air": { "version": 1, "capabilities": [] } } });
    let shows = json!({ "compaction": {} });
    for (client, card, meta) in [
        (json!({ "session": shows }), false, None),
        (
            json!({ "session": shows, "_meta": air }),
            false,
            Some(facts.clone()),
        ),
        (json!({ "_meta": air }), true, Some(facts)),
    ] {
        let mut world = World::able(&client);
        world.stored(OTHER, COMMANDS);
        let load = world.load(OTHER);
        world.result(load);
        let texts = world.texts();
        assert!(texts.iter().all(|it| !it.contains("being continued")));
        let shown = world.shown();
        let of = |it: &&Value| {
            it["sessionUpdate"] == "compaction_update" || it["title"] == "Compact conversation"
        };
        let told: Vec<&Value> = shown.iter().filter(of).collect();
        assert_eq!(told.len(), 1, "{client}");
        let id = "5a5657bc-9cec-4c50-aa79-b13c0f69d6f7";
        let (of, summary) = match card {
            true => ("toolCallId", &told[0]["content"][0]["content"]["text"]),
            false => ("compactionId", &told[0]["summary"][0]["text"]),
        };
        assert_eq!(
            (&told[0][of], &told[0]["status"]),
            (&json!(id), &json!("completed"))
        );
        let summary = summary.as_str().expect("a summary");
        assert!(
            summary.starts_with("This session is being continued"),
            "{summary}"
        );
        assert!(!summary.contains("system-reminder"), "{summary}");
        let mut air = told[0].get("_meta").cloned();
        if let Some(names) = air.as_mut().and_then(Value::as_object_mut) {
            names.remove("claudeCode");
        }
        assert_eq!(air, meta, "{client}");
        world.is_tidy();
    }
}

#[test]
fn given_tasks_and_todos_when_loaded_then_the_plan_is_shown_again() {
    let mut world = World::plain();
    world.stored(OTHER, COMMANDS);
    world.load(OTHER);
    let plans = world.shown();
    let plans: Vec<&Value> = plans
        .iter()
        .filter(|it| it["sessionUpdate"] == "plan")
        .map(|it| &it["entries"])
        .collect();
    let last = plans.last().expect("a plan");
    assert_eq!(last[0]["content"], "First task");
    assert_eq!(last[0]["status"], "completed");
}

/// A call without a result, as after a crash, does not stay open for ever.
#[test]
fn given_a_call_without_a_result_when_loaded_then_its_card_is_closed() {
    let mut world = World::plain();
    let call = json!({ "type": "assistant", "uuid": "a", "message": { "id": "m", "content": [
        { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": { "file_path": "/x" } },
    ] } });
    world.stored(OTHER, &format!("{}{call}\n", prompt_row("Read it")));
    let load = world.load(OTHER);
    world.result(load);
    let last = world.shown().pop().expect("a card");
    assert_eq!(last["toolCallId"], "toolu_1");
    assert_eq!(last["status"], "failed");
}

#[test]
fn given_damaged_rows_when_loaded_then_they_are_left_out_and_said() {
    let mut world = World::plain();
    let half = &prompt_row("never")[..60];
    let rows = [
        prompt_row("One"),
        "this is not JSON\n".to_owned(),
        "[1,2]\n".to_owned(),
        format!("{half}\n"),
        "{\"type\":7}\n".to_owned(),
        "{\"type\":\"of-a-later-version\",\"isMeta\":{}}\n\n".to_owned(),
        answer_row("Two"),
        half.to_owned(),
    ];
    world.stored(OTHER, &rows.concat());
    let load = world.load(OTHER);
    world.result(load);
    assert_eq!(world.texts(), ["user_message: One", "agent_message: Two"]);
    let note = world
        .desk
        .notes
        .iter()
        .find(|(level, _)| *level == Level::Warn);
    let note = note.map(|(_, text)| text.as_str());
    assert_eq!(note, Some("6 rows of a stored session were left out"));
    world.is_tidy();
}

/// The last row may have no line end.
#[test]
fn given_a_last_row_without_an_end_when_loaded_then_it_is_shown() {
    let mut world = World::plain();
    let rows = format!("{}{}", prompt_row("One"), answer_row("Two").trim_end());
    world.stored(OTHER, &rows);
    world.load(OTHER);
    assert_eq!(world.texts(), ["user_message: One", "agent_message: Two"]);
}

/// A row that is longer than a line may be is skipped; the others are shown.
#[test]
fn given_a_row_past_the_limit_when_loaded_then_it_is_skipped() {
    let mut world = World::plain();
    let long = prompt_row(&"x".repeat(33 << 20));
    let rows = [prompt_row("One"), long, answer_row("Two")];
    world.stored(OTHER, &rows.concat());
    let load = world.load(OTHER);
    world.result(load);
    assert_eq!(world.texts(), ["user_message: One", "agent_message: Two"]);
    world.is_tidy();
}

/// The file of a subagent may be gone: its call is shown all the same.
#[test]
fn given_no_file_of_the_subagent_when_loaded_then_the_rest_is_shown() {
    let mut world = World::plain();
    world.recorded();
    let agent = format!("{PROJECT}/{ID}/subagents/agent-a49bf3a82ae708e5e.jsonl");
    for refusal in [
        FileRefusal::Error("ENOENT".to_owned()),
        FileRefusal::NotAllowed,
    ] {
        world.desk.files.refused.insert(agent.clone(), refusal);
        let seen = world.shown().len();
        let load = world.load(ID);
        world.result(load);
        assert_eq!(world.shown().len() - seen, SHOWN.lines().count());
        world.is_tidy();
    }
}

/// A history of 200,000 rows: read in pieces of at most 64 KiB, and the state stays small.
#[test]
fn given_a_long_history_when_loaded_then_memory_does_not_grow_with_it() {
    let mut world = World::plain();
    let mut rows = String::new();
    for turn in 0..66_667 {
        let id = format!("toolu_{turn}");
        let call = json!({ "type": "assistant", "message": { "id": "m", "content": [
            { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "ls" } } ] } });
        let result = json!({ "type": "user", "message": { "content": [
            { "type": "tool_result", "tool_use_id": id, "content": "one" } ] } });
        rows.push_str(&prompt_row("Go on"));
        rows.push_str(&format!("{call}\n{result}\n"));
    }
    assert!(rows.lines().count() >= 200_000);
    let size = rows.len() as u64;
    world.stored(OTHER, &rows);
    let params = json!({ "sessionId": OTHER, "cwd": CWD, "mcpServers": [] });
    let load = world.desk.request("session/load", &params);
    let mut largest = 0;
    for step in 0.. {
        if !world.desk.step() {
            break;
        }
        if step % 64 == 0 {
            largest = largest.max(world.desk.state_size());
        }
    }
    world.result(load);
    let reads = world.reads();
    assert!(reads.iter().all(|(_, length)| *length <= 64 << 10));
    let read: u64 = reads.iter().map(|(_, length)| u64::from(*length)).sum();
    assert_eq!(
        read,
        size + (128 << 10),
        "each byte once; the beginning and the end before"
    );
    assert!(largest < 768 << 10, "the state grew to {largest} bytes");
    world.is_tidy();
}

/// Rule R7: while the editor does not read, neither is the file.
#[test]
fn given_a_slow_editor_when_loaded_then_the_file_waits_for_it() {
    let mut world = World::plain();
    let row = prompt_row(&"x".repeat(60_000));
    world.stored(OTHER, &row.repeat(400));
    world.desk.editor_reads = false;
    let load = world.load(OTHER);
    assert_eq!(world.answer(load), None);
    let waiting = world.desk.waiting();
    assert!(
        (8 << 20..9 << 20).contains(&waiting),
        "{waiting} bytes wait"
    );
    world.desk.editor_reads = true;
    world.settle();
    world.result(load);
    assert_eq!(world.texts().len(), 400);
    world.is_tidy();
}
