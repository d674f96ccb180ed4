//! Media that carry packets: links and fabrics, each with a name.

use crossfade_core::{OutOfRange, SimTime};
use crossfade_link::{
    Departure, Fabric, Hop, HopConfig, Link, LinkConfig, LinkEvent, LinkReport, Parcel, PointToPoint, Push,
    QueueConfig,
};

/// A medium that carries packets: a link or a fabric.
#[expect(clippy::large_enum_variant, reason = "there are few media")]
pub enum Medium {
    /// A link, which carries packets one way from port 0 to port 1.
    Link(AnyLink),
    /// A fabric, which carries packets between any of its ports.
    Fabric(Box<dyn Fabric + Send>),
}

impl Medium {
    /// Gives the medium a name in results.
    pub fn named(self, name: impl Into<String>) -> NamedMedium {
        NamedMedium { name: name.into(), back: None, medium: self }
    }

    /// True if the medium is a hop, which knows a packet's fate when the packet enters.
    pub(crate) fn is_hop(&self) -> bool {
        matches!(self, Self::Link(AnyLink::Hop(_)))
    }

    /// Number of ports.
    pub(crate) fn ports(&self) -> u32 {
        match self {
            Self::Link(_) => 2,
            Self::Fabric(fabric) => fabric.ports(),
        }
    }

    /// Converts the medium into a fabric.
    pub(crate) fn into_fabric(self) -> Box<dyn Fabric + Send> {
        match self {
            Self::Link(link) => Box::new(PointToPoint(link)),
            Self::Fabric(fabric) => fabric,
        }
    }
}

impl<L: Into<AnyLink>> From<L> for Medium {
    fn from(link: L) -> Self {
        Self::Link(link.into())
    }
}

/// A medium with its name in results.
pub struct NamedMedium {
    /// Name of the medium in results.
    pub name: String,
    /// Name of the medium's other direction in results, if it counts its directions separately ([`LinkReport::back`]);
    /// otherwise `None`.
    pub back: Option<String>,
    /// Link or fabric that the name stands for.
    pub medium: Medium,
}

impl NamedMedium {
    /// Adds a name for the medium's other direction.
    #[must_use]
    pub fn and_back(self, name: impl Into<String>) -> Self {
        Self { back: Some(name.into()), ..self }
    }

    /// Name of the medium in results, and of its other direction if that has a name.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        [&self.name].into_iter().chain(&self.back)
    }
}

/// A link as the engine runs it: a hop, whose type the compiler knows, or a boxed link of another kind.
#[expect(clippy::large_enum_variant, reason = "there are few links")]
pub enum AnyLink {
    /// A hop, which knows a packet's fate when the packet enters.
    Hop(Hop),
    /// A link of any other kind than a hop.
    Other(Box<dyn Link + Send>),
}

impl AnyLink {
    /// Turns a hop, not used yet, into a link that schedules an event for each transmission for which packets wait.
    ///
    /// # Errors
    /// The limit of its queue admits no packet.
    pub(crate) fn without_fates(self) -> Result<Self, OutOfRange> {
        match self {
            Self::Hop(hop) => Ok(Self::Other(Box::new(hop.into_queued()?))),
            other @ Self::Other(_) => Ok(other),
        }
    }
}

impl From<HopConfig> for AnyLink {
    fn from(config: HopConfig) -> Self {
        Self::Hop(Hop::new(config))
    }
}

impl From<Box<dyn Link + Send>> for AnyLink {
    fn from(link: Box<dyn Link + Send>) -> Self {
        Self::Other(link)
    }
}

impl TryFrom<LinkConfig> for AnyLink {
    type Error = OutOfRange;

    /// # Errors
    /// A parameter of the queue outside its range.
    fn try_from(config: LinkConfig) -> Result<Self, OutOfRange> {
        if let QueueConfig::DropTail(queue_limit) = config.queue {
            let LinkConfig { rate_bps, delay, loss, .. } = config;
            return Ok(HopConfig { rate_bps, delay, queue_limit, loss }.into());
        }
        Ok(config.build()?.into())
    }
}

impl Link for AnyLink {
    #[inline]
    fn push(&mut self, now: SimTime, parcel: Parcel) -> Push {
        match self {
            Self::Hop(hop) => hop.push(now, parcel),
            Self::Other(link) => link.push(now, parcel),
        }
    }

    #[inline]
    fn next_event(&self) -> Option<SimTime> {
        match self {
            Self::Hop(hop) => hop.next_event(),
            Self::Other(link) => link.next_event(),
        }
    }

    #[inline]
    fn advance(&mut self, now: SimTime) -> Option<Departure> {
        match self {
            Self::Hop(hop) => hop.advance(now),
            Self::Other(link) => link.advance(now),
        }
    }

    fn report(&mut self, now: SimTime) -> LinkReport {
        match self {
            Self::Hop(hop) => hop.report(now),
            Self::Other(link) => link.report(now),
        }
    }

    fn trace(&mut self, keep: bool) {
        match self {
            Self::Hop(hop) => hop.trace(keep),
            Self::Other(link) => link.trace(keep),
        }
    }

    fn next_trace(&mut self) -> Option<LinkEvent> {
        match self {
            Self::Hop(hop) => hop.next_trace(),
            Self::Other(link) => link.next_trace(),
        }
    }
}
