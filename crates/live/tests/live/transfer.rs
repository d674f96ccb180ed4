//! A transfer by the kernel's TCP.

use crossfade_live::Host;
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::scope;
use std::time::{Duration, Instant};

/// Time without progress after which a transfer fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of TCP payload in a packet of 1500 bytes: IP and TCP headers take 40, TCP timestamps 12.
pub(crate) const MSS: f64 = 1448.0;

/// Sends `data` from one host to the other; returns the received data, and the goodput in bit/s once a quarter of it
/// has arrived.
///
/// The congestion control is Reno, which every kernel allows every program to choose. A default of BBR would hide the
/// losses.
pub(crate) fn transfer(from: &Host, to: &Host, data: &[u8]) -> (Vec<u8>, f64) {
    let listener = to.run(|| TcpListener::bind((to.address(), 0))).unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let mut sender = from.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap().unwrap();
    set_tcp_congestion(&sender, "reno").unwrap();
    assert_eq!(tcp_congestion(&sender).unwrap(), "reno");
    sender.set_write_timeout(Some(PATIENCE)).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    scope(|scope| {
        let received = scope.spawn(move || {
            let mut received = Vec::new();
            let mut chunk = vec![0; 1 << 16];
            let mut quarter = None;
            loop {
                let bytes = receiver.read(&mut chunk).expect("the transfer goes on");
                if bytes == 0 {
                    break;
                }
                received.extend_from_slice(&chunk[..bytes]);
                if received.len() >= data.len() / 4 {
                    quarter.get_or_insert_with(|| (Instant::now(), received.len()));
                }
            }
            // The end of the stream comes with the last bytes, or right after them.
            let (since, before) = quarter.expect("something was sent");
            let goodput_bps = (received.len() - before) as f64 * 8.0 / since.elapsed().as_secs_f64();
            (received, goodput_bps)
        });
        sender.write_all(data).expect("the transfer goes on");
        sender.shutdown(Shutdown::Write).unwrap();
        received.join().unwrap()
    })
}
