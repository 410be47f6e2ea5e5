//! The list of groups, without processes.

use rustix::process::Pid;

use super::{ADD, BEGIN, REMOVE, UNDO, groups_at_the_end, record};

fn pid(number: i32) -> Pid {
    Pid::from_raw(number).unwrap()
}

#[test]
fn given_groups_added_and_removed_when_the_lifeline_ends_then_the_others_are_left() {
    let told = [
        record(ADD, Some(pid(70_000))),
        record(ADD, Some(pid(9))),
        record(REMOVE, Some(pid(70_000))),
        record(ADD, Some(pid(12))),
    ];

    assert_eq!(groups_at_the_end(&told.concat()[..]), [pid(9), pid(12)]);
}

#[test]
fn given_numbers_that_mean_more_than_a_group_when_they_are_told_then_they_are_not_listed() {
    let told: Vec<u8> = [0_i32, 1, -5]
        .iter()
        .flat_map(|number| [&[ADD][..], &number.to_le_bytes()].concat())
        .collect();

    assert_eq!(groups_at_the_end(&told[..]), []);
}

#[test]
fn given_a_torn_record_when_the_lifeline_ends_then_it_is_not_a_group() {
    let told = [&record(ADD, Some(pid(9)))[..], &[ADD, 1, 2]].concat();

    assert_eq!(groups_at_the_end(&told[..]), [pid(9)]);
}

#[test]
fn given_a_child_that_did_not_start_when_it_is_undone_then_its_group_and_no_other_is_off_the_list()
{
    let told = [
        record(BEGIN, None),
        record(ADD, Some(pid(9))),
        // This one did not even come to add itself.
        record(BEGIN, None),
        record(UNDO, None),
        record(BEGIN, None),
        record(ADD, Some(pid(10))),
        record(UNDO, None),
        record(UNDO, None),
    ];

    assert_eq!(groups_at_the_end(&told.concat()[..]), [pid(9)]);
}
