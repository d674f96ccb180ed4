//! Built-in TCP transfers from one host to the other: a number of bytes, or unlimited.

use crate::error::{LiveError, Trying};
use crate::host::Host;
use crossfade_core::SimTime;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_congestion, tcp_congestion};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Configuration of one TCP transfer.
#[derive(Clone, Debug)]
pub struct BulkFlow {
    /// Congestion control of the sender, by the kernel's name.
    pub congestion: String,
    /// Number of bytes to send; `None`: unlimited.
    pub bytes: Option<u64>,
    /// Start time, from the start of the emulation.
    pub start: SimTime,
    /// Port of the receiver; 0: any free port.
    pub port: u16,
}

/// Result of a TCP transfer.
#[derive(Clone, Debug, Default)]
pub struct BulkReport {
    /// Port of the sender, which identifies the samples of its socket; 0 if it never connected.
    pub port: u16,
    /// Congestion control that the sender's socket used, as read back from the kernel.
    pub congestion: String,
    /// Number of bytes that the receiving program read.
    pub bytes: u64,
    /// Time from the start to the last byte; `None` if the transfer was unlimited or did not complete.
    pub completion_time: Option<SimTime>,
    /// Time of the last received bytes, since the start of the emulation.
    pub last_delivery: SimTime,
}

/// TCP transfers in progress.
#[derive(Debug)]
pub struct Bulk {
    stop: Arc<AtomicBool>,
    flows: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    progress: Arc<Progress>,
    sender: JoinHandle<Result<(u16, String), LiveError>>,
    receiver: JoinHandle<Option<SimTime>>,
}

#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    /// Time of the last received bytes, in nanoseconds since the start of the emulation.
    last_delivery: AtomicU64,
}

/// Interval at which a thread checks whether it must stop.
const LOOK: Duration = Duration::from_millis(20);

impl Bulk {
    /// Starts transfers from one host to the other, with times relative to `origin`.
    ///
    /// # Errors
    /// The system refuses a socket or a thread.
    pub fn start(from: &Host, to: &Host, flows: &[BulkFlow], origin: Instant) -> Result<Self, LiveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        for flow in flows {
            let listener = to.run(|| TcpListener::bind((to.address(), flow.port)))?.trying_to("listen")?;
            listener.set_nonblocking(true).trying_to("listen")?;
            let address = listener.local_addr().trying_to("listen")?;
            let progress = Arc::new(Progress::default());
            let receiver = {
                let (stop, progress, flow) = (Arc::clone(&stop), Arc::clone(&progress), flow.clone());
                spawn(move || receive(&listener, &flow, origin, &stop, &progress))
            };
            let sender = {
                let (stop, from, flow) = (Arc::clone(&stop), from.clone(), flow.clone());
                spawn(move || send(&from, address, &flow, origin, &stop))
            };
            running.push(Running { progress, sender, receiver });
        }
        Ok(Self { stop, flows: running })
    }

    /// Number of bytes that the receiving program of each transfer has read so far.
    pub fn bytes(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.progress.bytes.load(Ordering::Relaxed)).collect()
    }

    /// True if all transfers are complete.
    pub fn is_finished(&self) -> bool {
        self.flows.iter().all(|flow| flow.receiver.is_finished())
    }

    /// Stops all transfers and returns their results.
    ///
    /// # Errors
    /// A connection could not be made.
    ///
    /// # Panics
    /// A thread of a transfer has panicked.
    pub fn stop(self) -> Result<Vec<BulkReport>, LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        let report = |flow: Running| {
            let completion_time = flow.receiver.join().expect("receivers do not panic");
            let (port, congestion) = flow.sender.join().expect("senders do not panic")?;
            Ok(BulkReport {
                port,
                congestion,
                bytes: flow.progress.bytes.load(Ordering::Relaxed),
                completion_time,
                last_delivery: SimTime::from_nanos(flow.progress.last_delivery.load(Ordering::Relaxed)),
            })
        };
        self.flows.into_iter().map(report).collect()
    }
}

/// Sends from its start time until all data is sent, or the transfer must stop. Returns the sender's port and
/// congestion control.
fn send(
    host: &Host,
    address: SocketAddr,
    flow: &BulkFlow,
    origin: Instant,
    stop: &AtomicBool,
) -> Result<(u16, String), LiveError> {
    let start = Duration::from_nanos(flow.start.as_nanos());
    while let Some(left) = start.checked_sub(origin.elapsed()).filter(|left| !left.is_zero()) {
        if stop.load(Ordering::Relaxed) {
            return Ok(Default::default());
        }
        sleep(left.min(LOOK));
    }
    let connected = host.run(|| connect(address, &flow.congestion, stop))?;
    let Some(mut stream) = connected.trying_to("connect through the link")? else {
        return Ok(Default::default());
    };
    let port = stream.local_addr().trying_to("connect through the link")?.port();
    let congestion = tcp_congestion(&stream).trying_to("read the congestion control")?;
    if congestion != flow.congestion {
        let cause = std::io::Error::other(format!("the socket has {congestion}"));
        return Err(cause).trying_to("have the congestion control that was asked for");
    }
    stream.set_write_timeout(Some(LOOK)).trying_to("connect through the link")?;
    let chunk = vec![0; 1 << 16];
    let mut left = flow.bytes.unwrap_or(u64::MAX);
    while left > 0 && !stop.load(Ordering::Relaxed) {
        match stream.write(&chunk[..chunk.len().min(left as usize)]) {
            Ok(bytes) => left -= bytes as u64,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // The other end has closed the connection.
            Err(_) => break,
        }
    }
    stream.shutdown(Shutdown::Write).ok();
    while !stop.load(Ordering::Relaxed) {
        // The socket stays open while it sends its buffered data, so it can be sampled.
        sleep(LOOK);
    }
    Ok((port, congestion))
}

/// Connects with a timeout of 3 s, since the kernel retransmits a lost handshake only after a second, then tries anew;
/// `None` if the transfer must stop.
fn connect(address: SocketAddr, congestion: &str, stop: &AtomicBool) -> std::io::Result<Option<TcpStream>> {
    while !stop.load(Ordering::Relaxed) {
        let stream = socket(congestion)?;
        set_socket_timeout(&stream, Timeout::Send, Some(Duration::from_secs(3)))?;
        match rustix::net::connect(&stream, &address) {
            // The timeout has passed (socket(7)).
            Err(Errno::INPROGRESS | Errno::TIMEDOUT | Errno::INTR) => {}
            outcome => return Ok(outcome.map(|()| Some(stream))?),
        }
    }
    Ok(None)
}

/// Creates a socket with congestion control `congestion`, set before the connection exists, so no other control has
/// acted on it.
fn socket(congestion: &str) -> std::io::Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_tcp_congestion(&socket, congestion)?;
    Ok(socket.into())
}

impl Host {
    /// Checks that the kernel has a congestion control `name` that connections may use.
    ///
    /// # Errors
    /// The kernel has none of that name.
    pub fn check_congestion(&self, name: &str) -> Result<(), LiveError> {
        self.run(|| socket(name).map(drop))?.trying_to("set a congestion control")
    }
}

/// Receives until all data has arrived, or the transfer must stop; returns the time from the start to completion.
fn receive(
    listener: &TcpListener,
    flow: &BulkFlow,
    origin: Instant,
    stop: &AtomicBool,
    progress: &Progress,
) -> Option<SimTime> {
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(_) if stop.load(Ordering::Relaxed) => return None,
            Err(_) => sleep(Duration::from_millis(1)),
        }
    };
    stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(LOOK))).ok()?;
    let mut chunk = vec![0; 1 << 16];
    let mut all = 0;
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(bytes) => {
                let now = origin.elapsed().as_nanos() as u64;
                all += bytes as u64;
                progress.bytes.store(all, Ordering::Relaxed);
                progress.last_delivery.store(now, Ordering::Relaxed);
                if flow.bytes == Some(all) {
                    return Some(SimTime::from_nanos(now).saturating_sub(flow.start));
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    None
}
