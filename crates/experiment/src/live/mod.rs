//! Real packets through the links of a scenario: method `live`, `crossfade live`, and its journals.

mod air;
mod events;
mod header;
mod kernel;
mod measure;
mod network;
mod opportunities;
mod packets;
mod replay;
mod report;
mod session;
mod view;
mod watch;

pub use air::air_pcap;
pub use header::{Header, Source};
pub use opportunities::opportunities;
pub use packets::{RecordedFlow, RecordedPacket, packets};
pub use replay::{LaneReplay, Replay, link_events, replay, simulated_events};
pub use report::{Direction, FlowReport, LiveReport};
pub use session::{Options, Session, StayAwake};
pub use view::View;

pub(crate) use kernel::whose_tcp;
pub(crate) use measure::{refusal, run};
