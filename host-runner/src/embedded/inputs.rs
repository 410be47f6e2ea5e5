//! The operations of epoch 39 and the exact shape of each input that this Host
//! takes. Pure data. Invariant: an operation that is in neither table does not
//! exist in this epoch.

use super::shape::Shape::{
    Bool, Digest, Id, List, Nullable, Number, Object, OneOf, Text, Token, Union,
};
use super::shape::{Field, Shape, may, must};
use super::wire::{ATTACHMENT_BYTES, CHUNK_BYTES, TITLE_BYTES};

const MAX: u64 = (1 << 53) - 1;
const NOTHING: &[Field] = &[];
const PERMISSION: Shape = OneOf(&["explore", "ask", "bypass"]);
const COLLABORATION: Shape = OneOf(&["agent", "plan"]);
const ORCHESTRATION: Shape = OneOf(&["default", "swarm", "graph"]);
const THINKING: Shape = OneOf(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
const NAME: Shape = Text(1, TITLE_BYTES);
const LABELS: Shape = List(&Text(1, 128), 0, 32);
const SESSION: Shape = Object(&[must("sessionId", Id)]);

const MODEL_TARGET: Shape = Union(
    "kind",
    &[
        ("default", NOTHING),
        (
            "explicit",
            &[must("connectionSlug", Token), must("model", Text(1, 512))],
        ),
    ],
);

const WORKSPACE: Shape = Union(
    "kind",
    &[
        ("host_path", &[must("path", Text(1, 4096))]),
        ("project", &[must("projectId", Token)]),
    ],
);

const FILE_REF: Shape = Union(
    "kind",
    &[
        (
            "session_file",
            &[must("sessionId", Id), must("relativePath", Text(1, 4096))],
        ),
        ("workspace_file", &[must("relativePath", Text(1, 4096))]),
        ("external_file", &[must("absolutePath", Text(1, 4096))]),
    ],
);

const ATTACHMENT: Shape = Object(&[
    must("kind", OneOf(&["image", "pdf", "doc", "code", "other"])),
    must("name", Text(1, 512)),
    must("mimeType", Text(1, 256)),
    must("bytes", Number(0, ATTACHMENT_BYTES)),
    must("ref", FILE_REF),
]);

const CONTENT: Shape = Object(&[
    must("text", Text(0, 48 * 1024)),
    may("displayText", Text(0, 48 * 1024)),
    may("attachments", List(&ATTACHMENT, 1, 8)),
    may("quotes", List(&QUOTE, 1, 16)),
    may("inlineReferences", List(&REFERENCE, 0, 32)),
]);

const QUOTE: Shape = Object(&[
    must("text", Text(1, 128_000)),
    may("label", Text(0, 800)),
    may("sourceTurnId", Id),
]);

const REFERENCE: Shape = Object(&[
    must("kind", OneOf(&["skill", "workspace_file"])),
    must("value", Text(1, 4096)),
    must("label", Text(1, 4096)),
    must("start", Number(0, MAX)),
]);

const ANSWER: Shape = Union(
    "kind",
    &[
        (
            "question",
            &[must("answers", List(&Nullable(&Text(0, 2048)), 1, 3))],
        ),
        (
            "sandbox_boundary",
            &[must("decision", OneOf(&["allow", "deny"]))],
        ),
        (
            "permission",
            &[
                must("decision", OneOf(&["allow", "deny"])),
                must("rememberForTurn", Bool),
            ],
        ),
    ],
);

const SOURCE: Shape = OneOf(&["durable", "overlay"]);

/// Operations this Host carries out, with the shape of their input.
pub(crate) const OFFERED: &[(&str, Shape)] = &[
    ("host.status", Object(NOTHING)),
    ("host.diagnostics.query", Object(NOTHING)),
    (
        "connection.catalog.query",
        Union(
            "kind",
            &[
                ("start", NOTHING),
                (
                    "continue",
                    &[
                        must("revision", Number(0, MAX)),
                        must(
                            "cursor",
                            Object(&[
                                must("connectionIndex", Number(0, MAX)),
                                must("part", OneOf(&["connection", "enabled_model_id", "model"])),
                                may("itemIndex", Number(0, MAX)),
                            ]),
                        ),
                    ],
                ),
            ],
        ),
    ),
    (
        "session.create",
        Object(&[
            must("sessionId", Id),
            must("workspace", WORKSPACE),
            must("modelTarget", MODEL_TARGET),
            may("mode", OneOf(&["deep_research"])),
            may("name", NAME),
            may("labels", LABELS),
            may("thinkingLevel", THINKING),
            may("toolProfile", OneOf(&["headless-coding-v1"])),
            may("permissionMode", PERMISSION),
            may("collaborationMode", COLLABORATION),
            may("orchestrationMode", ORCHESTRATION),
        ]),
    ),
    (
        "session.catalog.query",
        Union(
            "kind",
            &[
                ("list_start", NOTHING),
                (
                    "list_continue",
                    &[must("revision", Digest), must("cursor", Text(1, 1024))],
                ),
                ("get", &[must("sessionId", Id)]),
            ],
        ),
    ),
    (
        "session.metadata.update",
        Object(&[
            must("sessionId", Id),
            must("expectedRevision", Number(1, MAX)),
            must(
                "patch",
                Object(&[
                    may("name", NAME),
                    may("labels", LABELS),
                    may("isFlagged", Bool),
                ]),
            ),
        ]),
    ),
    (
        "session.configuration.update",
        Object(&[
            must("sessionId", Id),
            must("expectedRevision", Number(1, MAX)),
            must(
                "configuration",
                Object(&[
                    must("modelTarget", MODEL_TARGET),
                    must("thinkingLevel", Nullable(&THINKING)),
                    must("permissionMode", PERMISSION),
                    must("collaborationMode", COLLABORATION),
                    must("orchestrationMode", ORCHESTRATION),
                ]),
            ),
        ]),
    ),
    (
        "session.lifecycle.set",
        Object(&[
            must("sessionId", Id),
            must("state", OneOf(&["active", "archived"])),
        ]),
    ),
    (
        "session.remove",
        Object(&[
            must("sessionId", Id),
            must("expectedRevision", Number(1, MAX)),
        ]),
    ),
    ("session.execution_boundary.query", SESSION),
    ("context.diagnostics.query", SESSION),
    ("goal.query", SESSION),
    (
        "subscription.open",
        Object(&[
            must("sessionId", Id),
            must(
                "transcript",
                Union(
                    "kind",
                    &[
                        ("none", NOTHING),
                        ("tail", &[must("maxBytes", Number(2, 16_384))]),
                    ],
                ),
            ),
        ]),
    ),
    (
        "subscription.close",
        Object(&[must("subscriptionId", Token)]),
    ),
    (
        "session.transcript.page",
        Object(&[
            must("subscriptionId", Token),
            must("source", SOURCE),
            must("direction", OneOf(&["older", "newer"])),
            must("throughSequence", Nullable(&Number(0, MAX))),
            must("cursor", Nullable(&Text(1, 1024))),
            must("anchorSequence", Nullable(&Number(0, MAX))),
            must("maxBytes", Number(1, 524_288)),
        ]),
    ),
    (
        "session.transcript.overlay.release",
        Object(&[must("subscriptionId", Token)]),
    ),
    (
        "turn.start",
        Object(&[
            must("sessionId", Id),
            must("turnId", Id),
            must("content", CONTENT),
            may("skillIds", List(&Text(1, 512), 1, 50)),
            may(
                "turnOrchestration",
                Object(&[
                    must("mode", ORCHESTRATION),
                    must("source", OneOf(&["slash_command", "host_api"])),
                ]),
            ),
            may("maxSteps", Number(1, MAX)),
        ]),
    ),
    (
        "turn.query",
        Object(&[must("sessionId", Id), must("turnId", Id)]),
    ),
    (
        "turn.stop",
        Object(&[must("sessionId", Id), must("turnId", Id), must("runId", Id)]),
    ),
    (
        "turn.message.submit",
        Object(&[
            must("originHostEpoch", Token),
            must("sessionId", Id),
            must("messageId", Id),
            must("content", CONTENT),
            must("placement", OneOf(&["current_turn", "next_turn"])),
        ]),
    ),
    (
        "interaction.query",
        Object(&[must("sessionId", Id), must("interactionId", Id)]),
    ),
    (
        "interaction.answer",
        Object(&[
            must("sessionId", Id),
            must("interactionId", Id),
            must("answer", ANSWER),
        ]),
    ),
    (
        "artifact.ingest",
        Union(
            "kind",
            &[
                (
                    "begin",
                    &[
                        must("sessionId", Id),
                        must("uploadId", Id),
                        must("name", Text(1, 512)),
                        must("mimeType", Text(1, 256)),
                        must("totalBytes", Number(0, ATTACHMENT_BYTES)),
                        must("contentSha256", Digest),
                    ],
                ),
                (
                    "chunk",
                    &[
                        must("sessionId", Id),
                        must("uploadId", Id),
                        must("offset", Number(0, ATTACHMENT_BYTES)),
                        must("chunkBase64", Text(4, CHUNK_BYTES / 3 * 4)),
                    ],
                ),
                ("commit", &[must("sessionId", Id), must("uploadId", Id)]),
                ("abort", &[must("sessionId", Id), must("uploadId", Id)]),
            ],
        ),
    ),
];

/// Operations of epoch 39 that a demonstration does not need.
pub(crate) const OTHERS: &[&str] = &[
    "access.credential.finalize",
    "access.credential.issue",
    "access.credential.prepare",
    "access.credential.replace",
    "access.credential.revoke",
    "agent.graph.epochs.query",
    "agent.graph.operator.query",
    "agent.graph.query",
    "agent.graph.stop",
    "artifact.delete",
    "artifact.query",
    "client.capability.replace",
    "client.capability.unregister",
    "configuration.credentials.export",
    "connection.catalog.create",
    "connection.catalog.remove",
    "connection.catalog.set-default-target",
    "connection.catalog.update",
    "connection.models.fetch",
    "connection.onboarding.save",
    "connection.onboarding.verify",
    "connection.request-headers.query",
    "connection.request-headers.replace",
    "connection.test.run",
    "context.compact",
    "credential.vault.delete",
    "credential.vault.query",
    "credential.vault.set",
    "daily-review.mutate",
    "daily-review.query",
    "deep-research.query",
    "execution.inspect.query",
    "execution.inspect.resolve",
    "external-session.catalog.query",
    "external-session.import",
    "external-session.source.query",
    "goal.arm",
    "goal.control",
    "host.upgrade.prepare",
    "hosted.execution.cancel",
    "hosted.execution.start",
    "memory.mutate",
    "memory.query",
    "network-proxy.test",
    "oauth.login.cancel",
    "oauth.login.query",
    "oauth.login.start",
    "plan.control",
    "plan.query",
    "plan.turn.start",
    "pricing.mutate",
    "pricing.query",
    "project.catalog.mutate",
    "project.catalog.query",
    "queue.retract",
    "runtime.policy.mutate",
    "runtime.policy.query",
    "runtime.resource.controller.acquire",
    "runtime.resource.controller.control",
    "runtime.resource.controller.release",
    "runtime.resource.query",
    "runtime.resource.start",
    "runtime.resource.stop",
    "scheduled-task.mutate",
    "scheduled-task.query",
    "session.branch.create",
    "session.read_marker.set",
    "session.recap.generate",
    "session.revision.abandon",
    "session.revision.create",
    "session.turn_landmarks.query",
    "session.turns.query",
    "session.workspace.relocate",
    "skill.catalog.invocable.query",
    "skill.catalog.mutate",
    "skill.catalog.preview-update",
    "skill.catalog.query",
    "task.ledger.query",
    "turn.interrupt",
    "turn.regenerate",
    "turn.resume.query",
    "turn.resume.start",
    "usage.query",
    "web-search.execute",
];
