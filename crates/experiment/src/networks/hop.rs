//! Construction of a hop of a path: its link, and the decorators around the link.

use crate::parts::PATH;
use crossfade_channel::{LossConfig, Lossless};
use crossfade_core::{RunSeed, SimTime, Stream};
use crossfade_link::arq::{ArqLinkConfig, LossyFrames, ReverseConfig, SoftBufferConfig};
use crossfade_link::satellite::Satellite;
use crossfade_link::trace::{Schedule, TableLoss, TraceLinkConfig};
use crossfade_link::{
    Aggregator, Decorator, ErrorRateFrames, Frames, Jitter, LinkConfig, Policer, RadioConfig, SymbolFrames,
    TableFrames, TokenBucket,
};
use crossfade_scenario::{Carrier, FrameErrors, FrameSetup, HopSetup, SatelliteSetup, Setup};
use crossfade_sim::{AnyLink, Medium, NamedMedium};

/// The link of a hop; its random streams are named after `direction`.
pub(super) fn link(setup: &HopSetup, seed: RunSeed, direction: &str) -> AnyLink {
    let mut link = carrier(setup, seed, direction);
    if let Some(config) = setup.policer {
        link = AnyLink::Other(Box::new(Policer::new(config).around(link)));
    }
    if let Some(config) = setup.aggregation {
        link = AnyLink::Other(Box::new(Aggregator::new(config).around(link)));
    }
    if let Some(config) = setup.jitter {
        let draws = seed.stream(&format!("jitter.{direction}"));
        link = AnyLink::Other(Box::new(Jitter::new(config, draws).around(link)));
    }
    link
}

fn carrier(setup: &HopSetup, seed: RunSeed, direction: &str) -> AnyLink {
    let delay = setup.delay;
    let stream = |of: &str| seed.stream(&format!("{of}.{direction}"));
    let lost =
        |loss: &LossConfig| loss.build(stream("channel")).expect("checked as the scenario was resolved");
    let (queue, draws) = (setup.queue(), stream("queue"));
    match &setup.carrier {
        Carrier::Packets { rate_bps, loss, .. } => {
            let (rate_bps, loss) = (*rate_bps, lost(loss));
            AnyLink::try_from(LinkConfig { rate_bps, delay, queue, draws, loss })
                .expect("checked as the scenario was resolved")
        }
        Carrier::Shaped { rate_bps, shaper, loss, .. } => {
            let bucket = TokenBucket::new(shaper.rate_bps, shaper.burst, *rate_bps);
            bucket.link(queue, draws, delay, lost(loss)).expect("checked as the scenario was resolved").into()
        }
        Carrier::Frames { rate_bps, frames, errors, .. } => {
            let (config, feedback) = (frame_link(frames, *rate_bps, delay), stream("feedback"));
            let frames = match errors {
                FrameErrors::Lost(LossConfig::ErrorRate(loss)) if loss.combines => {
                    let frames = ErrorRateFrames::new((**loss).clone(), stream("channel"));
                    Frames::ErrorRates(Box::new(frames.expect("checked as the scenario was resolved")))
                }
                FrameErrors::Lost(loss) => Frames::Lossy(LossyFrames { loss: lost(loss) }),
                FrameErrors::Radio(radio) => match &radio.table {
                    None => Frames::Symbols(Box::new(symbols(radio, stream))),
                    Some(table) => {
                        let frames = TableFrames::new(radio, table, stream("phy"));
                        Frames::Table(frames.expect("checked as the scenario was resolved"))
                    }
                },
            };
            let link = config.over(frames, queue, draws, feedback);
            link.expect("checked as the scenario was resolved").into()
        }
        Carrier::Schedule { trace, loss, .. } => {
            let loss = match (loss, &trace.schedule) {
                (Some(loss), _) => lost(loss),
                (None, Schedule::Rates(table)) => Box::new(TableLoss::new(table.clone(), stream("channel"))),
                (None, Schedule::Opportunities(_)) => Box::new(Lossless),
            };
            let schedule = trace.schedule.clone();
            let delays = trace.delays.as_ref().map(|delays| delays.series.clone());
            let config = TraceLinkConfig { schedule, delay, delays, queue, draws, loss };
            config.build().expect("checked as the scenario was resolved").into()
        }
        Carrier::Satellite { satellite, .. } => {
            let SatelliteSetup { shared, name, direction, .. } = &**satellite;
            let of_run = Satellite::new(shared.clone(), *name, direction.clone(), seed)
                .expect("checked as the scenario was resolved");
            of_run
                .link(queue, draws, delay, stream("channel"))
                .expect("checked as the scenario was resolved")
                .into()
        }
    }
}

/// The frames of a physical layer whose symbols are detected one by one.
pub(super) fn symbols(radio: &RadioConfig, stream: impl Fn(&str) -> Stream) -> SymbolFrames {
    let [fading, phy, shadowing] = ["channel", "phy", "shadowing"].map(stream);
    radio.symbols(&fading, &phy, &shadowing).expect("checked as the scenario was resolved")
}

fn frame_link(setup: &FrameSetup, rate_bps: f64, delay: SimTime) -> ArqLinkConfig {
    let FrameSetup { frame_size, frame_time: _, clock, segmentation, header, protocol, feedback } = *setup;
    ArqLinkConfig {
        rate_bps,
        frame_size,
        clock,
        delay,
        segmentation,
        header,
        soft_buffer: SoftBufferConfig::default(),
        reverse: ReverseConfig {
            rate_bps: feedback.rate_bps,
            feedback_size: feedback.size,
            delay: feedback.delay,
            loss: feedback.loss,
        },
        protocol,
    }
}

/// The links of a wired segment, of the data and of the acknowledgements.
pub(super) fn wired([there, back]: &[HopSetup; 2], seed: RunSeed) -> [NamedMedium; 2] {
    let [wired, _, _, wired_reverse] = PATH;
    let segment = |hop, direction: &str| Medium::from(link(hop, seed, direction));
    [segment(there, "wired.dl").named(wired), segment(back, "wired.ul").named(wired_reverse)]
}

/// Hop of the scenario that results call `name`; `None` if there is none.
pub(crate) fn hop<'a>(setup: &'a Setup, name: &str) -> Option<&'a HopSetup> {
    let [wired, forward, reverse, wired_reverse] = PATH;
    let around = setup.network.around()?;
    let segment = |at: usize| around.wired.as_ref().map(|both| &both[at]);
    match name {
        name if name == forward => setup.links().map(|links| &links.forward),
        name if name == reverse => Some(&around.reverse),
        name if name == wired => segment(0),
        name if name == wired_reverse => segment(1),
        _ => None,
    }
}
