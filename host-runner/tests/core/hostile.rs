//! A component that asks for what it was not granted gets refusals, and nothing else.

use crate::common::Bench;

#[test]
fn given_a_hostile_component_when_it_asks_outside_the_grants_then_it_gets_refusals() {
    let bench = Bench::new();
    let mut agent = bench.agent(&[]);
    for (ask, answer) in [
        (
            r#"{"open":[1,{"program":"/bin/sh"}]}"#,
            r#"{"host":[1,"not-allowed"]}"#,
        ),
        (
            r#"{"open":[2,{"program":"sh"}]}"#,
            r#"{"host":[2,"not-allowed"]}"#,
        ),
        (
            r#"{"open":[3,{"url":"http://127.0.0.1:9/"}]}"#,
            r#"{"host":[3,"not-allowed"]}"#,
        ),
        (
            r#"{"open":[4,{"url":"https://example.com/"}]}"#,
            r#"{"host":[4,"not-allowed"]}"#,
        ),
        (
            r#"{"open":[5,{"host":"maka"}]}"#,
            r#"{"host":[5,"not-allowed"]}"#,
        ),
        (
            r#"{"file":[1,"open","linked","/etc/shadow"]}"#,
            r#"{"file":[1,"not-allowed"]}"#,
        ),
        (
            r#"{"file":[2,"open","host-state","/etc/shadow"]}"#,
            r#"{"file":[2,"not-allowed"]}"#,
        ),
        (
            r#"{"file":[3,"open","task-output","/etc/shadow"]}"#,
            r#"{"file":[3,"not-allowed"]}"#,
        ),
        (
            r#"{"file":[4,"stat","linked","/etc/shadow"]}"#,
            r#"{"file":[4,"not-allowed"]}"#,
        ),
        (
            r#"{"file":[5,"entries","linked","/etc"]}"#,
            r#"{"file":[5,"not-allowed"]}"#,
        ),
    ] {
        agent.say(&format!("[{ask}]"));
        let heard = agent.hear();
        assert_eq!(
            heard.split_once(' ').map(|(_, what)| what),
            Some(answer),
            "{ask}"
        );
    }
    assert_eq!(agent.end().code(), Some(0));
}
