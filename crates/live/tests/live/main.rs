//! Real packets through real links: the kernel's ping and TCP between two network namespaces.
//!
//! Results that depend on the links are checked exactly; results that depend on the timing of the machine have room:
//! packets are never early, and their lateness is bounded by a value that a loaded machine of two cores keeps. `cargo
//! bench -p crossfade-live` prints measured values.
//!
//! The cases run one after another, since parallel cases would disturb each other's timing. If the system allows
//! neither network nor user namespaces, or has no TUN device, the cases are skipped with a message.

#[cfg(target_os = "linux")]
mod lifetime;
#[cfg(target_os = "linux")]
mod packets;
#[cfg(target_os = "linux")]
mod ping;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod satellite;
#[cfg(target_os = "linux")]
mod tcp;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod without_root;

/// Name and function of a case.
#[cfg(target_os = "linux")]
type Case = (&'static str, fn());

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("SKIPPED: live: Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    harness::main()
}

#[cfg(target_os = "linux")]
mod harness {
    use crate::{lifetime, packets, satellite, tcp, without_root};
    use crossfade_live::{Host, gain_privileges};
    use std::panic::catch_unwind;
    use std::process::{ExitCode, exit};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Time limit of all cases, which together take some 25 seconds.
    const PATIENCE: Duration = Duration::from_secs(240);

    /// Runs the cases whose names contain one of the arguments; without arguments all cases.
    pub(crate) fn main() -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let cases = [packets::ALL, satellite::ALL, tcp::ALL, lifetime::ALL, without_root::ALL].concat();
        if arguments.iter().any(|argument| argument == "--list") {
            for (name, _) in &cases {
                println!("{name}: test");
            }
            return ExitCode::SUCCESS;
        }
        without_root::end_with_parent();
        if let Err(reason) = gain_privileges().and_then(|()| Host::pair(1500)) {
            println!("SKIPPED: live: {reason}");
            return without_root::skipped();
        }
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            eprintln!("live: a test hangs");
            exit(101);
        });
        let is_chosen = |name: &str| {
            let mut wanted = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
            wanted.peek().is_none() || wanted.any(|argument| name.contains(argument.as_str()))
        };
        let (mut run, mut failed) = (0, 0);
        for (name, case) in cases.into_iter().filter(|(name, _)| is_chosen(name)) {
            let begin = Instant::now();
            let is_ok = catch_unwind(case).is_ok();
            let verdict = if is_ok { "ok" } else { "FAILED" };
            println!("test {name} ... {verdict} ({:.1} s)", begin.elapsed().as_secs_f64());
            run += 1;
            failed += u32::from(!is_ok);
        }
        println!("live: {} passed; {failed} failed", run - failed);
        if failed > 0 { ExitCode::from(101) } else { ExitCode::SUCCESS }
    }
}
