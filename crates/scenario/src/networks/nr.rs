//! Resolution of a 5G NR cell: table `nr`.

use super::around::{self, Around, Forward};
use super::users::{Users, refuse_times};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::OnNetwork;
use crate::tables::{
    Channel, FlowSetup, Link, NrBearer, NrModel, Packets, Phy, Queue, Radio, Reverse, Scenario, TrafficSetup,
    five_qi,
};
use crossfade_core::SimTime;
use crossfade_link::{OutsideClass, QueueConfig};
use crossfade_nr::{BearerConfig, FurtherBearer, Grants, NrConfig, StackConfig, USUAL_PRIORITY};

/// Resolved NR cell, with acknowledgements on its uplink or on one reverse link for each user.
#[derive(Clone, Debug)]
pub struct NrSetup {
    /// Downlink (and uplink) of the cell.
    pub model: NrModel,
    /// Reverse links of the users, and the wired segment that the users share.
    pub around: Around,
    /// Bearers of the flows; empty without an uplink.
    pub bearers: Vec<NamedBearer>,
    /// Distinct downlink queues of the users.
    pub queues: Vec<NamedQueue>,
    /// Number of transport blocks in a run of method phy; 0 without method phy.
    pub frames: u64,
}

/// Bearer of a flow, with the scenario keys from which its values come.
#[derive(Clone, Debug)]
pub struct NamedBearer {
    /// Parameters of RLC, PDCP and logical channel.
    pub config: BearerConfig,
    /// Table of the bearer's RLC: `flows.NAME.bearer.rlc` if the flow gives one or has a class (5QI), else `nr.rlc`.
    pub rlc: String,
    /// Key of the bearer's t-Reordering: `flows.NAME.bearer.reordering` if the flow gives one or has a class (5QI),
    /// else `nr.reordering`.
    pub reordering: String,
    /// Key of the bearer's discardTimer: `flows.NAME.bearer.discard` if the flow gives one or has a class (5QI), else
    /// `nr.discard`.
    pub discard: String,
    /// Queue of the bearer's packets on the downlink.
    pub queue: NamedQueue,
}

impl NamedBearer {
    /// Bearer with the values of the cell, not of a flow.
    fn of_cell(config: BearerConfig, queue: NamedQueue) -> Self {
        let [rlc, reordering, discard] = ["nr.rlc", "nr.reordering", "nr.discard"].map(String::from);
        Self { config, rlc, reordering, discard, queue }
    }
}

/// Downlink queue of a user, with the scenario table that describes it.
#[derive(Clone, Debug)]
pub struct NamedQueue {
    /// Table of the queue: `flows.NAME.queue` if the flow has one, else `link.queue`.
    pub table: String,
    /// Discipline and limit of the queue.
    pub config: QueueConfig,
    /// Size in bytes of the largest packets in the queue.
    pub packet_size: u32,
}

impl NamedQueue {
    /// Configuration of the queue; `None` if it is the common drop-tail queue of the cell.
    fn own(&self) -> Option<QueueConfig> {
        let is_usual = self.table == COMMON_QUEUE && matches!(self.config, QueueConfig::DropTail(_));
        (!is_usual).then_some(self.config)
    }
}

/// Table of the queue of flows that have no queue of their own.
const COMMON_QUEUE: &str = "link.queue";

impl NrSetup {
    /// Longest transit time of a packet over the downlink that waits only for a slot with data.
    pub fn way_of_data(&self) -> SimTime {
        way_of_data(&self.model.config)
    }

    /// Longest transit time of a packet over the uplink that waits only for a request occasion, its grant and a slot;
    /// zero without an uplink.
    pub fn way_of_acks(&self) -> SimTime {
        way_of_acks(&self.model.config)
    }

    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let around = self.around.transit(flow.packet_size, flow.ack_size());
        self.way_of_data() + self.way_of_acks() + around + flow.access_delay * 2
    }
}

/// Refuses keys of queues, quality classes and bearers of flows outside an NR cell.
pub(super) fn refuse_queues(scenario: &Scenario) -> Result<(), ScenarioError> {
    if !scenario.nr.is_absent() && scenario.wlan.is_absent() {
        return Ok(());
    }
    for (name, flow) in &scenario.flows {
        for (key, is_given) in [
            ("queue", !flow.queue.is_absent()),
            ("five_qi", flow.five_qi.is_some()),
            ("beside", flow.beside.is_some()),
            ("bearer", !flow.bearer.is_absent()),
            ("ports", flow.ports.is_some()),
        ] {
            if is_given {
                let problem = "needs an nr, whose users have queues and bearers of their own";
                return Err(ScenarioError::key(format!("flows.{name}.{key}"), problem));
            }
        }
    }
    Ok(())
}

/// Fills in bearers and priorities of those users whose flow has a quality class or a bearer table, and bearers (with
/// downlink queues) of flows beside others. Returns the bearers of all flows.
fn resolve_bearers(
    scenario: &mut Scenario,
    users: &Users,
    model: &mut NrModel,
    queues: &[NamedQueue],
    slot: SimTime,
) -> Result<Vec<NamedBearer>, ScenarioError> {
    let mut named = Vec::new();
    let usual = model.config.stack.as_ref().map(StackConfig::usual_bearer);
    let of_cell = |queue: &NamedQueue| usual.map(|usual| NamedBearer::of_cell(usual, queue.clone()));
    if scenario.flows.is_empty() {
        named.extend(queues.iter().filter_map(of_cell));
    }
    let mut number = 0;
    // Number of the first flow in the network; flows of arrivals come last, and flows from outside have count 0.
    let mut first = 0;
    let classes = outside_classes(&users.flows);
    let entries = scenario.flows.iter_mut().zip(&users.flows).zip(queues).enumerate();
    for (at, (((name, flow), setup), queue)) in entries {
        let is_numbered = !matches!(setup.traffic, TrafficSetup::Arrivals { .. });
        let flows = first..first + if is_numbered { setup.count } else { 0 };
        first = flows.end;
        let of_flow = number..number + setup.ends.len();
        let is_first = setup.beside.is_none();
        if is_first {
            number = of_flow.end;
            if flow.five_qi.is_none() && flow.bearer.is_absent() {
                named.extend(of_cell(queue));
                continue;
            }
        }
        if setup.is_on_shared_bearer {
            // In a sweep over this key the others are present at all points.
            (flow.five_qi, flow.queue) = (None, Queue::default());
            flow.bearer = NrBearer { shared: flow.bearer.shared, ..NrBearer::default() };
            continue;
        }
        let [class_key, bearer_key] = ["five_qi", "bearer"].map(|key| format!("flows.{name}.{key}"));
        let class = flow.five_qi.map(|class| five_qi(&class_key, class)).transpose()?;
        let Some(stack) = &mut model.config.stack else {
            let key = if class.is_some() { class_key } else { bearer_key };
            return Err(ScenarioError::missing("nr.uplink", &format!("a table, with {key}")));
        };
        let usual = class.map_or(stack.usual_bearer(), |(_, bearer)| bearer);
        let source = |key: &str, is_given: bool| {
            if is_given || class.is_some() { format!("{bearer_key}.{key}") } else { format!("nr.{key}") }
        };
        let rlc = source("rlc", !flow.bearer.rlc.is_absent());
        let reordering = source("reordering", flow.bearer.reordering.is_some());
        let discard = source("discard", flow.bearer.discard.is_some());
        let bearer = flow.bearer.resolve(&bearer_key, usual, slot)?;
        named.push(NamedBearer { config: bearer, rlc, reordering, discard, queue: queue.clone() });
        if is_first {
            stack.own.resize(number.max(stack.own.len()), None);
            stack.own[of_flow.clone()].fill(Some(bearer));
            if let Some((priority, _)) = class {
                model.config.users[of_flow].iter_mut().for_each(|user| user.priority = priority);
            }
            continue;
        }
        for (place, [_, port]) in setup.ends.iter().enumerate() {
            stack.further.push(FurtherBearer {
                user: *port as usize - 1,
                flows: flows.clone().skip(place).step_by(setup.ends.len()).collect(),
                outside: classes[at],
                bearer,
                level: class.map_or(USUAL_PRIORITY, |(level, _)| level),
                queues: [queue.own(), stack.uplink.discipline],
            });
        }
    }
    check_priorities(scenario, users)?;
    Ok(named)
}

/// Outside class of each flow's packets in live runs, which selects the bearer of packets of real programs. If some
/// flows stand for such packets (traffic `outside`), only these have a class; otherwise, all flows have one. Class 0
/// takes all packets that no other class matches. `None` for flows without a class, including those beyond the greatest
/// number of classes.
pub fn outside_classes(flows: &[FlowSetup]) -> Vec<Option<OutsideClass>> {
    let is_outside = |flow: &FlowSetup| matches!(flow.traffic, TrafficSetup::Outside);
    let has_outside = flows.iter().any(is_outside);
    let mut last = 0;
    let class = |flow: &FlowSetup| {
        let is_usual = if has_outside { flow.ports.is_empty() } else { flow.beside.is_none() };
        if has_outside && !is_outside(flow) {
            return None;
        }
        if is_usual {
            return OutsideClass::new(0);
        }
        last = OutsideClass::COUNT.min(last + 1);
        OutsideClass::new(last)
    };
    flows.iter().map(class).collect()
}

/// Refuses a user if only some of its bearers have a priority of their own: these numbers (1 to 16) and the priority
/// levels of classes are different scales.
fn check_priorities(scenario: &Scenario, users: &Users) -> Result<(), ScenarioError> {
    let flows = || scenario.flows.iter().zip(&users.flows).enumerate();
    for (place, _) in flows().filter(|(_, (_, setup))| setup.beside.is_none()) {
        let is_own = |setup: &FlowSetup| setup.beside == Some(place) && !setup.is_on_shared_bearer;
        let bearers = flows().filter(|(other, (_, setup))| *other == place || is_own(setup));
        let (with, without): (Vec<_>, Vec<_>) =
            bearers.map(|(_, (named, _))| named).partition(|(_, flow)| flow.bearer.priority.is_some());
        if let ([(with, _), ..], [(without, _), ..]) = (&with[..], &without[..]) {
            let key = format!("flows.{without}.bearer.priority");
            let problem = format!("between 1 and 16, as flows.{with}, a bearer of the same user, has one");
            return Err(ScenarioError::missing(&key, &problem));
        }
    }
    Ok(())
}

/// Resolves the queue of a user from the table `key`.
fn resolve_queue(
    key: &str,
    queue: &mut Queue,
    rate_bps: f64,
    packets: Packets,
    slot: SimTime,
) -> Result<QueueConfig, ScenarioError> {
    refuse_times(key, queue)?;
    let found = queue.resolve(key, Some(rate_bps), packets, slot)?;
    queue.check_room(key, packets.largest)?;
    Ok(found)
}

/// Fills in the uplink queue of all users, from the table `nr.uplink.queue`.
fn resolve_queue_up(
    scenario: &mut Scenario,
    users: &Users,
    config: &mut NrConfig,
    slot: SimTime,
) -> Result<(), ScenarioError> {
    let table = &mut scenario.nr.uplink;
    let Some(stack) = config.stack.as_ref().filter(|_| !table.queue.is_absent()) else { return Ok(()) };
    let rate_bps = config.of_uplink(&stack.uplink).peak_bps();
    let found = resolve_queue("nr.uplink.queue", &mut table.queue, rate_bps, users.packets(), slot)?;
    let uplink = &mut config.stack.as_mut().expect("an uplink needs the stack").uplink;
    uplink.queue = found.limit();
    if let QueueConfig::DropTail(_) = found {
        // A queue table with a limit alone is equivalent to the key limit.
        table.limit = std::mem::take(&mut table.queue).limit;
    } else {
        uplink.discipline = Some(found);
    }
    Ok(())
}

/// Fills in the downlink queues of users, which are those of their flows or else the queue of `link`. Returns the queue
/// of each flow; without flows, the queue of the only user.
fn resolve_queues(
    scenario: &mut Scenario,
    users: &Users,
    model: &mut NrModel,
    slot: SimTime,
) -> Result<Vec<NamedQueue>, ScenarioError> {
    // A queue discipline converts times to bytes at the peak rate.
    let (rate_bps, packets) = (model.config.peak_bps(), users.packets());
    let resolve = |table: String, queue: &mut Queue, packet_size: u32| {
        let config = resolve_queue(&table, queue, rate_bps, packets, slot)?;
        Ok(NamedQueue { table, config, packet_size })
    };
    let common = resolve(COMMON_QUEUE.into(), &mut scenario.link.queue, users.usual)?;
    model.config.queue = common.config.limit();
    let mut of_users = model.config.users.iter_mut();
    let mut of_flows = Vec::new();
    for ((name, flow), setup) in scenario.flows.iter_mut().zip(&users.flows) {
        let queue = if flow.queue.is_absent() {
            NamedQueue { packet_size: setup.packet_size, ..common.clone() }
        } else {
            resolve(format!("flows.{name}.queue"), &mut flow.queue, setup.packet_size)?
        };
        if setup.beside.is_none() {
            of_users.by_ref().take(setup.ends.len()).for_each(|user| user.queue = queue.own());
        }
        of_flows.push(queue);
    }
    of_users.for_each(|user| user.queue = common.own());
    if of_flows.is_empty() {
        of_flows.push(common);
    }
    Ok(of_flows)
}

/// Distinct queues by table, without those of flows on the bearer of another flow.
fn queues_in_use(queues: Vec<NamedQueue>, flows: &[FlowSetup]) -> Vec<NamedQueue> {
    let is_idle = |place: usize| flows.get(place).is_some_and(|flow| flow.is_on_shared_bearer);
    let mut found: Vec<NamedQueue> = Vec::new();
    for (_, queue) in queues.into_iter().enumerate().filter(|(place, _)| !is_idle(*place)) {
        match found.iter_mut().find(|other| other.table == queue.table) {
            Some(other) => other.packet_size = other.packet_size.max(queue.packet_size),
            None => found.push(queue),
        }
    }
    found
}

/// Longest wait for a slot with data, plus this slot and the propagation delay.
fn way_of_data(config: &NrConfig) -> SimTime {
    let period = config.duplex.period();
    let with_data: Vec<u64> = (0..2 * period).filter(|slot| config.data_symbols(*slot) > 0).collect();
    let gap = with_data.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(period);
    config.numerology.slot() * (gap + 1) + config.propagation
}

/// Longest wait for a request occasion, its grant and a slot of the uplink, plus this slot and propagation delays.
fn way_of_acks(config: &NrConfig) -> SimTime {
    let Some(stack) = &config.stack else { return SimTime::ZERO };
    let uplink = &stack.uplink;
    let period = config.duplex.period();
    let of_uplink: Vec<u64> = (0..2 * period).filter(|slot| config.duplex.is_uplink(*slot)).collect();
    let gap = of_uplink.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(period);
    let (slots, ways) = match uplink.grants {
        Grants::Requested => (uplink.request_period_slots + uplink.processing_slots + uplink.k2 + 2 * gap, 3),
        Grants::Proactive => (gap, 1),
        Grants::Configured { period_slots, .. } => (period_slots.max(gap), 1),
    };
    config.numerology.slot() * (slots + 1) + config.propagation * ways
}

/// Fills in the defaults of an NR cell, which replaces the link.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, NrSetup), ScenarioError> {
    let Scenario { phy, channel, link, cell, mesh, .. } = &*scenario;
    let bare = Link { packet_size: link.packet_size, queue: link.queue.clone(), ..Link::default() };
    for (key, is_given) in [
        ("cell", !cell.is_absent()),
        ("mesh", !mesh.is_absent()),
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
    ] {
        if is_given {
            let reason = "the NR cell carries the data; of link it takes packet_size and queue alone";
            return Err(ScenarioError::contradiction(key, "nr", reason));
        }
    }
    if !scenario.nr.uplink.is_absent() && scenario.reverse != Reverse::default() {
        let reason = "acknowledgements take the uplink of the cell";
        return Err(ScenarioError::contradiction("reverse", "nr.uplink", reason));
    }
    let numerology = scenario.nr.resolve_numerology()?;
    let slot = numerology.slot();
    let mut users = Users::resolve(scenario, slot, files)?;
    let mut alone = Radio::default();
    let mut radios = users.radios(&mut scenario.flows, "nr.radio", &mut alone);
    let mut model = scenario.nr.resolve(numerology, &mut radios, users.limit, files)?;
    let queues = resolve_queues(scenario, &users, &mut model, slot)?;
    resolve_queue_up(scenario, &users, &mut model.config, slot)?;
    let bearers = resolve_bearers(scenario, &users, &mut model, &queues, slot)?;
    // The flows now hold the values of the common radio.
    scenario.nr.radio = if scenario.flows.is_empty() { alone } else { Radio::default() };
    let frames = users.frames;
    let queues = queues_in_use(queues, &users.flows);
    let ahead = Forward {
        ways: [way_of_data(&model.config), way_of_acks(&model.config)],
        limit: users.limit,
        data: users.packets(),
        satellite: None,
    };
    let around = around::resolve(scenario, &mut users.flows, ahead, slot, files)?;
    Ok((
        OnNetwork { slot, packet_size: users.usual, flows: users.flows },
        NrSetup { model, around, bearers, queues, frames },
    ))
}
