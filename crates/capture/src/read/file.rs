//! Streaming reader of the two capture formats: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng).

use super::error::ReadError;
use super::headers::{Frame, Packet, is_known};

const PCAP_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
/// Largest accepted number of captured bytes of a packet: tcpdump's largest snapshot length.
const MOST_CAPTURED: u32 = 262_144;
/// Largest accepted pcapng block in bytes: a packet of any size with its options fits.
const MOST_BLOCK: u32 = 16 << 20;
const MOST_INTERFACES: usize = 4096;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;

const NANOS: i128 = 1_000_000_000;
/// Latest time in nanoseconds since 1970 (in 2096), and its negative the earliest: the difference of two fits into 64
/// bits.
const LATEST_NS: i128 = 4_000_000_000_000_000_000;

/// Interface of a pcapng file: link type and time format of its packets.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u32,
    /// Time units per second.
    per_second: u64,
    /// Seconds to add to each time of the interface.
    offset_s: i64,
}

#[derive(Clone, Debug, Default)]
enum Format {
    #[default]
    Unknown,
    Pcap {
        is_big: bool,
        nanos_a_unit: i64,
        link_type: u32,
    },
    Pcapng {
        is_big: bool,
        interfaces: Vec<Interface>,
    },
}

/// Numbers of packets read so far.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    packets: u64,
    /// Number of packets on interfaces with an unsupported link type; `link_type` is that of the first.
    foreign: u64,
    link_type: Option<u32>,
}

/// Reads a pcap or pcapng file that is handed over in chunks.
#[derive(Clone, Debug, Default)]
pub struct FileReader {
    /// Received bytes that are not parsed yet.
    rest: Vec<u8>,
    /// Offset of `rest` in the file, in bytes.
    at: u64,
    format: Format,
    counts: Counts,
    /// True after zeros where a packet or block should begin: blocks of the file that a crashed machine had not
    /// written.
    is_over: bool,
}

impl FileReader {
    /// Reads the next chunk of the file. `each` is called with every frame complete by now, and with its TCP or UDP
    /// packet, `None` if it has none.
    ///
    /// # Errors
    /// If the bytes are no capture, or if `each` returns an error.
    pub fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(Frame<'_>, Option<Packet>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        if self.is_over {
            return Ok(());
        }
        self.rest.extend_from_slice(chunk);
        let rest = std::mem::take(&mut self.rest);
        let mut from = 0;
        loop {
            let bytes = &rest[from..];
            if !matches!(self.format, Format::Unknown) && is_padding(bytes) {
                self.is_over = true;
                return Ok(());
            }
            let taken = match &mut self.format {
                Format::Unknown => self.begin(bytes)?,
                Format::Pcap { is_big, nanos_a_unit, link_type } => {
                    let of = (*is_big, *nanos_a_unit, *link_type);
                    pcap_packet(bytes, self.at, of, &mut self.counts.packets, &mut each)?
                }
                Format::Pcapng { is_big, interfaces } => {
                    block(bytes, self.at, is_big, interfaces, &mut self.counts, &mut each)?
                }
            };
            if taken == 0 {
                break;
            }
            from += taken;
            self.at += taken as u64;
        }
        self.rest = rest;
        self.rest.drain(..from);
        Ok(())
    }

    /// Ends the file; returns true if it is incomplete: it ends in the middle of a packet, as that of a killed tcpdump,
    /// or in zeros, as that of a crashed machine.
    ///
    /// # Errors
    /// If the file is too short for a capture, or if all its packets have unsupported link types.
    pub fn finish(&self) -> Result<bool, ReadError> {
        match (&self.format, self.counts.link_type) {
            (Format::Unknown, _) => Err(ReadError::NotACapture),
            (_, Some(link_type)) if self.counts.foreign == self.counts.packets => {
                Err(ReadError::LinkType(link_type))
            }
            _ => Ok(self.is_over || !self.rest.is_empty()),
        }
    }

    /// True if the file ended in zeros, after which further chunks are ignored.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Number of packets read so far.
    pub fn packets(&self) -> u64 {
        self.counts.packets
    }

    /// Recognizes the format by the first bytes. Returns the number of bytes parsed, 0 if more are needed.
    fn begin(&mut self, bytes: &[u8]) -> Result<usize, ReadError> {
        let Some(magic) = bytes.first_chunk::<4>() else { return Ok(0) };
        let (little, big) = (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic));
        if little == SECTION {
            self.format = Format::Pcapng { is_big: false, interfaces: Vec::new() };
            // A section header is parsed as a block; until all of it is there, the format stays unknown.
            let Format::Pcapng { is_big, interfaces } = &mut self.format else { return Ok(0) };
            let taken = block(bytes, self.at, is_big, interfaces, &mut self.counts, &mut |_, _| Ok(()))?;
            if taken == 0 {
                self.format = Format::Unknown;
            }
            return Ok(taken);
        }
        let known = |magic| match magic {
            0xa1b2_c3d4_u32 => Some(1000),
            0xa1b2_3c4d => Some(1),
            _ => None,
        };
        let (is_big, nanos_a_unit) = match (known(little), known(big)) {
            (Some(nanos), _) => (false, nanos),
            (_, Some(nanos)) => (true, nanos),
            _ => return Err(ReadError::NotACapture),
        };
        if bytes.len() < PCAP_HEADER {
            return Ok(0);
        }
        // The upper bits are the length of the frame check sequence.
        let link_type = word(bytes, 20, is_big) & 0x0fff_ffff;
        if !is_known(link_type) {
            return Err(ReadError::LinkType(link_type));
        }
        self.format = Format::Pcap { is_big, nanos_a_unit, link_type };
        Ok(PCAP_HEADER)
    }
}

/// True if zeros stand where a packet or block should begin.
fn is_padding(bytes: &[u8]) -> bool {
    bytes.len() >= PACKET_HEADER && bytes[..PACKET_HEADER].iter().all(|byte| *byte == 0)
}

fn word(bytes: &[u8], at: usize, is_big: bool) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).unwrap_or([0; 4]);
    if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

fn half(bytes: &[u8], at: usize, is_big: bool) -> u16 {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).unwrap_or([0; 2]);
    if is_big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
}

fn pcap_packet(
    bytes: &[u8],
    at: u64,
    (is_big, nanos_a_unit, link_type): (bool, i64, u32),
    packets: &mut u64,
    each: &mut impl FnMut(Frame<'_>, Option<Packet>) -> Result<(), ReadError>,
) -> Result<usize, ReadError> {
    if bytes.len() < PACKET_HEADER {
        return Ok(0);
    }
    let [seconds, units, kept, length] = [0, 4, 8, 12].map(|at| word(bytes, at, is_big));
    // Header of another capture, in either byte order: files were concatenated.
    let is_header = |magic: u32| matches!(magic, 0xa1b2_c3d4 | 0xa1b2_3c4d | SECTION);
    if is_header(seconds) || is_header(seconds.swap_bytes()) {
        return Err(ReadError::Another(at));
    }
    if kept > MOST_CAPTURED {
        let allowed = "at most 262144 bytes";
        return Err(ReadError::Length { what: "the packet", at, length: kept.into(), allowed });
    }
    let end = PACKET_HEADER + kept as usize;
    if bytes.len() < end {
        return Ok(0);
    }
    *packets += 1;
    let time_ns = (i64::from(seconds) * NANOS as i64 + i64::from(units) * nanos_a_unit).min(LATEST_NS as i64);
    let frame = Frame { time_ns, link_type, interface: 0, length, bytes: &bytes[PACKET_HEADER..end] };
    each(frame, Packet::of(&frame))?;
    Ok(end)
}

fn block(
    bytes: &[u8],
    at: u64,
    is_big: &mut bool,
    interfaces: &mut Vec<Interface>,
    counts: &mut Counts,
    each: &mut impl FnMut(Frame<'_>, Option<Packet>) -> Result<(), ReadError>,
) -> Result<usize, ReadError> {
    if bytes.len() < 12 {
        return Ok(0);
    }
    let kind = word(bytes, 0, *is_big);
    if kind == SECTION {
        *is_big = match word(bytes, 8, false) {
            BYTE_ORDER => false,
            order if order.swap_bytes() == BYTE_ORDER => true,
            _ => return Err(ReadError::NotACapture),
        };
        // Interface descriptions hold for their section only.
        interfaces.clear();
    }
    let length = word(bytes, 4, *is_big);
    let least = if kind == SECTION { 28 } else { 12 };
    if !length.is_multiple_of(4) || !(least..=MOST_BLOCK).contains(&length) {
        let allowed = "a multiple of 4 of at most 16 MiB, with the block's own fields";
        return Err(ReadError::Length { what: "the block", at, length: length.into(), allowed });
    }
    let length = length as usize;
    if bytes.len() < length {
        return Ok(0);
    }
    let body = &bytes[8..length - 4];
    match kind {
        INTERFACE => {
            if interfaces.len() == MOST_INTERFACES {
                return Err(ReadError::Interfaces(MOST_INTERFACES));
            }
            interfaces.push(interface(body, *is_big, interfaces.len())?);
        }
        PACKET | OLD_PACKET => {
            counts.packets += 1;
            let number = if kind == PACKET { word(body, 0, *is_big) } else { half(body, 0, *is_big).into() };
            let Some(of) = interfaces.get(number as usize) else {
                return Err(ReadError::Interface { packet: counts.packets, interface: number });
            };
            let [high, low, kept, length] = [4, 8, 12, 16].map(|at| word(body, at, *is_big));
            let Some(kept_bytes) = body.get(20..20_usize.saturating_add(kept as usize)) else {
                let allowed = "no more than its block holds";
                return Err(ReadError::Length { what: "the packet", at, length: kept.into(), allowed });
            };
            if !is_known(of.link_type) {
                counts.foreign += 1;
                counts.link_type.get_or_insert(of.link_type);
                return Ok(body.len() + 12);
            }
            let time_ns = time(u64::from(high) << 32 | u64::from(low), *of);
            let frame =
                Frame { time_ns, link_type: of.link_type, interface: number, length, bytes: kept_bytes };
            each(frame, Packet::of(&frame))?;
        }
        SIMPLE_PACKET => return Err(ReadError::NoTime(counts.packets + 1)),
        _ => {}
    }
    Ok(length)
}

fn time(units: u64, of: Interface) -> i64 {
    let nanos = i128::from(units) * NANOS / i128::from(of.per_second) + i128::from(of.offset_s) * NANOS;
    nanos.clamp(-LATEST_NS, LATEST_NS) as i64
}

fn interface(body: &[u8], is_big: bool, number: usize) -> Result<Interface, ReadError> {
    let mut found = Interface { link_type: half(body, 0, is_big).into(), per_second: 1_000_000, offset_s: 0 };
    let mut at = 8;
    while at + 4 <= body.len() {
        let (code, length) = (half(body, at, is_big), usize::from(half(body, at + 2, is_big)));
        let Some(value) = body.get(at + 4..at + 4 + length) else { break };
        match (code, value) {
            (0, _) => break,
            (9, [resolution]) => {
                let exponent = u32::from(resolution & 0x7f);
                let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
                let most = 1_000_000_000_000;
                let units = base.checked_pow(exponent).filter(|units| *units <= most);
                found.per_second =
                    units.ok_or(ReadError::Resolution { interface: number, value: *resolution })?;
            }
            (14, offset) if length == 8 => {
                let [first, second] = [0, 4].map(|at| u64::from(word(offset, at, is_big)));
                let offset = if is_big { first << 32 | second } else { second << 32 | first };
                found.offset_s = offset.cast_signed();
            }
            _ => {}
        }
        at += 4 + length.next_multiple_of(4);
    }
    Ok(found)
}
