//! Hosts for tests without privileges: sockets of the test process carry one datagram per call, as a TUN device carries
//! packets.

use crate::clock::Clock;
use crate::meter::Meter;
use crate::pump::{LiveLink, Pump, PumpConfig};
use crate::recording::Recording;
use crate::tun::Tun;
use crate::way::Way;
use crossfade_channel::{LossProcess, Lossless};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::{LinkConfig, PointToPoint, QueueConfig};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::current;

fn device(socket: UnixDatagram) -> Arc<Tun> {
    socket.set_nonblocking(true).unwrap();
    Arc::new(Tun::fake(socket.into()))
}

/// Creates the device of a host, and the socket of the host's programs.
pub(crate) fn host() -> (Arc<Tun>, UnixDatagram) {
    let (inside, programs) = UnixDatagram::pair().unwrap();
    programs.set_nonblocking(true).unwrap();
    (device(inside), programs)
}

/// Creates the device of a host that returns each packet as soon as it receives it.
pub(crate) fn echo() -> Arc<Tun> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("crossfade-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.connect_addr(&address).unwrap();
    device(socket)
}

/// Creates a link that has only a delay and losses.
pub(crate) fn hop(delay: SimTime, loss: impl LossProcess + 'static) -> LiveLink {
    let (queue, draws) = (QueueConfig::DropTail(None), RunSeed { seed: 1, run: 0 }.stream("queue.dl"));
    LinkConfig { rate_bps: None, delay, queue, draws, loss: Box::new(loss) }.build().unwrap()
}

/// Loss process that loses nothing, and panics on a thread with this name.
pub(crate) struct FailsOn(pub(crate) &'static str);

impl LossProcess for FailsOn {
    fn lost(&mut self, _now: SimTime, _transmission: u64) -> bool {
        assert!(current().name() != Some(self.0), "on purpose");
        false
    }
}

/// Creates a pump from one device to the other through `link`.
pub(crate) fn pump(devices: [&Arc<Tun>; 2], clock: &Clock, link: LiveLink) -> Pump {
    let ports = [PointToPoint::<()>::IN, PointToPoint::<()>::OUT];
    let way = Way::new(devices.map(Arc::clone), ports, &[], Meter::default());
    let recorder = Recording::default().recorder(0, false);
    let medium = Box::new(PointToPoint(link));
    Pump::new(PumpConfig::default(), clock.clone(), medium, vec![way], 1500, recorder)
}

/// Creates pumps for both directions between two devices, through links with delay `delay`.
pub(crate) fn pumps([first, second]: &[Arc<Tun>; 2], clock: &Clock, delay: SimTime) -> [Pump; 2] {
    [[first, second], [second, first]].map(|devices| pump(devices, clock, hop(delay, Lossless)))
}
