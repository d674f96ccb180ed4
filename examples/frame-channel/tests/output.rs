//! The program prints `output.txt`, digit by digit.

use std::process::Command;

#[test]
fn it_prints_what_the_page_shows() {
    // A salt of the tests' random streams would give other digits.
    let mut program = Command::new(env!("CARGO_BIN_EXE_frame-channel-example"));
    let done = program.env_remove("CROSSFADE_TEST_SALT").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8(done.stdout).unwrap(), include_str!("../output.txt"));
}
