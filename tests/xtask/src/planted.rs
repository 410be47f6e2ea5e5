//! Bugs that only `races`, or `claude_races`, shows: each needs an order of events that no test with one order,
//! or with a few events by chance, happens to have.
//!
//! Each was run with all other tests of `airlock-tests` that need no runner, which stayed
//! green. `cargo xtask mutate --alone` does that again; it takes some minutes a bug.

use crate::mutate::Mutation;

const RACES: &[&str] = &["races"];
const CLAUDE: &[&str] = &["claude_races"];

/// The bugs.
pub const TABLE: &[Mutation] = &[
    // The turn ends before `turn.start` is answered, and then the connection is lost: a turn
    // that has ended well is told as interrupted (races 1 and 14).
    Mutation {
        rule: "planted: the loss of a start's answer is forgiven only while its turn runs",
        file: "component/engine/src/host/maka/turns.rs",
        from: "(None, Answer::Lost { .. }) if matches!(turn.admission, Admission::Admitted { .. }) => {",
        to: "(None, Answer::Lost { .. })\n                if turn.ended.is_none()\n                    && matches!(turn.admission, Admission::Admitted { .. }) => {",
        tests: RACES,
    },
    // The Host works on a `turn.start` only after the connection was lost twice, with the
    // question for it under way the second time: the turn runs on and nobody stops it
    // (races 1 and 14).
    Mutation {
        rule: "planted: a question that is lost with its connection is not asked again",
        file: "component/engine/src/host/maka/turns.rs",
        from: "            (None, _) => {\n                let cause = answer.failure(op::QUERY).data;",
        to: "            (None, Answer::Lost { reason, .. }) if *reason != \"timeout\" => {\n                turn.admission = Admission::Refused;\n            }\n            (None, _) => {\n                let cause = answer.failure(op::QUERY).data;",
        tests: RACES,
    },
    // A tool begins while the feed is had anew, and the turn ends without any advance: its
    // card is closed as interrupted although its result is stored (race 6).
    Mutation {
        rule: "planted: a tool that is known from a stored row alone is not missed at the end",
        file: "component/engine/src/host/maka/unread.rs",
        from: "            \"tool_call\" => self.heard(&row.id),\n",
        to: "",
        tests: RACES,
    },
    // A second cancel before the turn has reported: the first timer is forgotten and stays.
    Mutation {
        rule: "planted: every cancel begins the wait for the turn anew",
        file: "component/engine/src/host/claude/anew.rs",
        from: "        if !self.backstops.contains_key(turn) {",
        to: "        if !turn.is_empty() {",
        tests: CLAUDE,
    },
    // A question that comes behind a cancel and before the report, and then a second cancel:
    // what the user allows behind that is done.
    Mutation {
        rule: "planted: only the first cancel voids what is asked",
        file: "component/engine/src/host/claude/session.rs",
        from: "        let cancelled = self.turns.cancel();\n        self.permissions.cancelled();\n",
        to: "        if self.turns.gate() == super::turns::Gate::Closed {\n            self.permissions.cancelled();\n        }\n        let cancelled = self.turns.cancel();\n",
        tests: CLAUDE,
    },
    // A cancel between the request for a prompt and its echo: the prompt has its answer, and
    // then its text is shown.
    Mutation {
        rule: "planted: a request for a prompt is work of Claude's own until the echo",
        file: "component/engine/src/host/claude/turns.rs",
        from: "            _ => turn.named(uuids),\n        });\n        if !self.window.open",
        to: "            _ => false,\n        });\n        if !self.window.open",
        tests: CLAUDE,
    },
];
