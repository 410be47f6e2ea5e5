//! What recording 13 does not show of uploads: their limits and their end.

use host_runner::embedded::Options;
use serde_json::{Value, json};

use crate::client::{Client, instant};

const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn begin(id: &str, bytes: u64) -> Value {
    json!({"kind": "begin", "sessionId": "s1", "uploadId": id, "name": "a.png", "mimeType": "image/png",
        "totalBytes": bytes, "contentSha256": EMPTY})
}

fn of(kind: &str, id: &str) -> Value {
    json!({"kind": kind, "sessionId": "s1", "uploadId": id})
}

#[test]
fn given_16_open_uploads_when_one_more_begins_then_it_is_refused_until_one_ends() {
    let mut client = Client::connect(&instant(Options::default()));
    client.session("s1");
    for at in 0..16 {
        client.ok("artifact.ingest", begin(&format!("u{at}"), 0));
    }
    assert_eq!(
        client.refused("artifact.ingest", begin("u16", 0)),
        "operation_conflict"
    );
    let committed = client.ok("artifact.ingest", of("commit", "u0"));
    assert_eq!(committed["attachment"]["kind"], "image");
    client.ok("artifact.ingest", begin("u16", 0));
}

#[test]
fn given_uploads_of_more_than_the_host_stages_when_they_begin_then_the_last_is_refused() {
    let mut client = Client::connect(&instant(Options::default()));
    client.session("s1");
    client.ok("artifact.ingest", begin("u1", 50_000_000));
    client.ok("artifact.ingest", begin("u2", 50_000_000));
    assert_eq!(
        client.refused("artifact.ingest", begin("u3", 50_000_000)),
        "operation_conflict"
    );
}

#[test]
fn given_a_chunk_out_of_place_when_it_comes_then_it_is_a_conflict_and_the_upload_goes_on() {
    let mut client = Client::connect(&instant(Options::default()));
    client.session("s1");
    client.ok("artifact.ingest", begin("u1", 6));
    let chunk = |offset: u64, data: &str| json!({"kind": "chunk", "sessionId": "s1", "uploadId": "u1", "offset": offset, "chunkBase64": data});
    assert_eq!(
        client.refused("artifact.ingest", chunk(3, "YWJj")),
        "operation_conflict"
    );
    assert_eq!(
        client.ok("artifact.ingest", chunk(0, "YWJj"))["nextOffset"],
        3
    );
    assert_eq!(
        client.refused("artifact.ingest", chunk(0, "eHl6")),
        "operation_conflict"
    );
    assert_eq!(
        client.refused("artifact.ingest", chunk(3, "YWJjZGVm")),
        "operation_conflict"
    );
    assert_eq!(
        client.ok("artifact.ingest", chunk(3, "ZGVm"))["nextOffset"],
        6
    );
}

#[test]
fn given_an_upload_when_its_connection_is_gone_then_another_connection_does_not_find_it() {
    let world = instant(Options::default());
    let mut client = Client::connect(&world);
    client.session("s1");
    client.ok("artifact.ingest", begin("u1", 0));
    let mut other = Client::connect(&world);
    assert_eq!(
        other.refused("artifact.ingest", of("commit", "u1")),
        "not_found"
    );
}

#[test]
fn given_an_upload_that_ended_when_it_is_ended_the_other_way_then_it_is_a_conflict() {
    let mut client = Client::connect(&instant(Options::default()));
    client.session("s1");
    client.ok("artifact.ingest", begin("u1", 0));
    client.ok("artifact.ingest", of("commit", "u1"));
    assert_eq!(
        client.refused("artifact.ingest", of("abort", "u1")),
        "operation_conflict"
    );
    client.ok("artifact.ingest", begin("u2", 0));
    client.ok("artifact.ingest", of("abort", "u2"));
    assert_eq!(
        client.refused("artifact.ingest", of("commit", "u2")),
        "operation_conflict"
    );
    assert_eq!(
        client.refused("artifact.ingest", begin("u2", 0)),
        "operation_conflict"
    );
}
