//! Runs a program behind an emulated link: the smallest use of this crate.
//!
//! ```sh
//! cargo run -p crossfade-live --example tun_link -- --rate 9600 --frame 24 --payload 20 --loss 0.1 \
//!     --fd-t 0.01 --protocol rlp-is99 -- COMMAND
//! ```
//!
//! runs COMMAND on a host whose only network is the link: all packets from the other host, 10.77.0.1, pass the link.
//! The other host answers pings; `--far COMMAND` runs a shell command there. When COMMAND has ended, the counts of the
//! link are printed.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("error: Linux only");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use crossfade_channel::{Clock, Iid, LossProcess, MarkovLoss, TwoStateMarkov};
    use crossfade_core::{RunSeed, SimTime, Stream};
    use crossfade_link::arq::{
        ArqLinkConfig, ArqProtocol, FrameClock, FrameHeader, GoBackNConfig, LossyFrames, Packing, Reading,
        Release, ReverseConfig, RlpNackConfig, SegmentationConfig, SelectiveRepeatConfig, SoftBufferConfig,
        StopAndWaitConfig,
    };
    use crossfade_link::trace::{Schedule, TraceLinkConfig};
    use crossfade_link::{LinkConfig, QueueConfig, QueueLimit};
    use crossfade_live::{Emulation, Host, LiveLink, PumpConfig, PumpReport, gain_privileges};
    use std::error::Error;
    use std::process::{Child, Command, ExitCode};

    const USAGE: &str = "tun_link [--rate BIT/S] [--delay S] [--loss P_E [--fd-t F]] [--queue PACKETS]
         [--protocol PROTOCOL --frame BYTES [--payload BYTES] [--retransmissions N]] [--trace FILE]
         [--mtu BYTES] [--seed N] [--far COMMAND] [-- COMMAND [ARGUMENT]...]
PROTOCOL: stop-and-wait, go-back-n, selective-repeat, rlp-is99, rlp-nack. FILE: delivery opportunities.
The way from COMMAND to the other host has the same rate and delay, and no loss.";

    type Failure = Box<dyn Error>;

    struct Options {
        rate: f64,
        delay: f64,
        loss: f64,
        fd_t: Option<f64>,
        queue: usize,
        protocol: Option<String>,
        frame: u32,
        payload: Option<u32>,
        retransmissions: u32,
        trace: Option<String>,
        mtu: u32,
        seed: u64,
        far: Option<String>,
        command: Vec<String>,
    }

    impl Options {
        fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
            let mut options = Self {
                rate: 1e6,
                delay: 0.010,
                loss: 0.0,
                fd_t: None,
                queue: 100,
                protocol: None,
                frame: 125,
                payload: None,
                retransmissions: 3,
                trace: None,
                mtu: 1500,
                seed: 1,
                far: None,
                command: vec![std::env::var("SHELL").unwrap_or("sh".to_owned())],
            };
            let mut arguments = arguments.peekable();
            while let Some(name) = arguments.next() {
                if name == "--" {
                    if arguments.peek().is_some() {
                        options.command = arguments.collect();
                    }
                    break;
                }
                let value = arguments.next().ok_or_else(|| format!("{name}: no value\n{USAGE}"))?;
                let result = options.set(&name, &value);
                result.map_err(|error| format!("{name} {value}: {error}"))?;
            }
            Ok(options)
        }

        fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
            match name {
                "--rate" => self.rate = number(value, 1.0, 1e12)?,
                "--delay" => self.delay = number(value, 0.0, 3600.0)?,
                "--loss" => self.loss = number(value, 0.0, 1.0)?,
                "--fd-t" => self.fd_t = Some(number(value, 0.0, 10.0)?),
                "--queue" => self.queue = number(value, 1.0, 1e6)? as usize,
                "--protocol" => self.protocol = Some(value.to_owned()),
                "--frame" => self.frame = number(value, 1.0, 65535.0)? as u32,
                "--payload" => self.payload = Some(number(value, 1.0, 65535.0)? as u32),
                "--retransmissions" => self.retransmissions = number(value, 0.0, 1e9)? as u32,
                "--trace" => self.trace = Some(value.to_owned()),
                "--mtu" => self.mtu = number(value, 68.0, 65535.0)? as u32,
                "--seed" => self.seed = value.parse()?,
                "--far" => self.far = Some(value.to_owned()),
                _ => return Err(format!("no such option\n{USAGE}").into()),
            }
            Ok(())
        }

        fn delay(&self) -> SimTime {
            SimTime::from_secs_f64(self.delay)
        }

        /// Creates the loss process for transmissions that last `slot`.
        fn loss(&self, slot: SimTime) -> Result<Box<dyn LossProcess>, Failure> {
            let stream = RunSeed { seed: self.seed, run: 0 }.stream("channel.dl");
            Ok(match self.fd_t {
                None => Box::new(Iid::new(self.loss, stream)?),
                Some(fd_t) => {
                    let chain = TwoStateMarkov::from_rayleigh(self.loss, fd_t)?;
                    Box::new(MarkovLoss::new(&chain, Clock::Slot(slot), stream))
                }
            })
        }

        fn queue(&self) -> QueueConfig {
            QueueConfig::DropTail(Some(QueueLimit::Packets(self.queue)))
        }

        /// Random stream of the queue, which uses no random numbers.
        fn draws(&self) -> Stream {
            RunSeed { seed: self.seed, run: 0 }.stream("queue.dl")
        }

        /// Creates the link under test.
        fn downlink(&self) -> Result<LiveLink, Failure> {
            if let Some(protocol) = &self.protocol {
                return self.arq(protocol);
            }
            let slot = SimTime::to_transmit(self.mtu, self.rate);
            let (delay, queue, draws, loss) = (self.delay(), self.queue(), self.draws(), self.loss(slot)?);
            if let Some(path) = &self.trace {
                let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
                let trace = text.parse().map_err(|error| format!("{path}: {error}"))?;
                let schedule = Schedule::Opportunities(trace);
                return Ok(TraceLinkConfig { schedule, delay, delays: None, queue, draws, loss }.build()?);
            }
            Ok(LinkConfig { rate_bps: Some(self.rate), delay, queue, draws, loss }.build()?)
        }

        fn uplink(&self) -> Result<LiveLink, Failure> {
            let loss = Box::new(Iid::new(0.0, RunSeed { seed: self.seed, run: 0 }.stream("channel.ul"))?);
            let (rate_bps, delay, queue) = (Some(self.rate), self.delay(), self.queue());
            Ok(LinkConfig { rate_bps, delay, queue, draws: self.draws(), loss }.build()?)
        }

        fn arq(&self, protocol: &str) -> Result<LiveLink, Failure> {
            let frame_time = SimTime::to_transmit(self.frame, self.rate);
            let reverse = ReverseConfig::ideal(self.delay().saturating_add(frame_time));
            // Time from the start of a frame to its acknowledgement, in whole frames.
            let there_and_back = frame_time + self.delay() + reverse.delay;
            let timeout = frame_time * there_and_back.as_nanos().div_ceil(frame_time.as_nanos());
            let max_retransmissions = Some(self.retransmissions);
            let window = u32::try_from(timeout / frame_time).unwrap_or(u32::MAX);
            let protocol = match protocol {
                "stop-and-wait" => {
                    ArqProtocol::StopAndWait(StopAndWaitConfig { timeout, max_retransmissions })
                }
                "go-back-n" => ArqProtocol::GoBackN(GoBackNConfig { window, timeout, max_retransmissions }),
                "selective-repeat" => ArqProtocol::SelectiveRepeat(SelectiveRepeatConfig {
                    window: window.saturating_mul(8),
                    timeout,
                    max_retransmissions,
                    release: Release::InOrder,
                }),
                "rlp-is99" => ArqProtocol::RlpIs99(Reading::F.config(self.retransmissions)),
                "rlp-nack" => ArqProtocol::RlpNack(RlpNackConfig::new(self.retransmissions, frame_time)),
                _ => return Err(format!("--protocol {protocol}: no such protocol\n{USAGE}").into()),
            };
            let config = ArqLinkConfig {
                rate_bps: self.rate,
                frame_size: self.frame,
                clock: FrameClock::Slotted,
                delay: self.delay(),
                segmentation: SegmentationConfig {
                    payload: self.payload.unwrap_or(self.frame),
                    packing: Packing::Padded,
                    framing: 0,
                    header_compression: None,
                },
                header: FrameHeader::Lost,
                soft_buffer: SoftBufferConfig::default(),
                reverse,
                protocol,
            };
            let channel = LossyFrames { loss: self.loss(frame_time)? };
            let feedback = RunSeed { seed: self.seed, run: 0 }.stream("feedback.dl");
            Ok(config.build(self.queue(), self.draws(), channel, feedback)?)
        }
    }

    fn number(value: &str, least: f64, most: f64) -> Result<f64, Failure> {
        let number: f64 = value.parse()?;
        let is_allowed = (least..=most).contains(&number);
        if is_allowed { Ok(number) } else { Err(format!("must be {least} to {most}").into()) }
    }

    /// Child process that is killed when the emulation ends.
    struct Guest(Child);

    impl Drop for Guest {
        fn drop(&mut self) {
            // The program may have ended by itself.
            self.0.kill().ok();
            self.0.wait().ok();
        }
    }

    fn run() -> Result<ExitCode, Failure> {
        let options = Options::parse(std::env::args().skip(1))?;
        let (downlink, uplink) = (options.downlink()?, options.uplink()?);
        gain_privileges()?;
        let hosts = Host::pair(options.mtu)?;
        let [far, near] = &hosts;
        let emulation = Emulation::start(&hosts, downlink, uplink, PumpConfig::default())?;
        let far_command = options.far.as_ref();
        let guest = far_command.map(|text| far.spawn(Command::new("sh").args(["-c", text])).map(Guest));
        let guest = guest.transpose()?;
        let (program, arguments) = options.command.split_first().expect("there is a default");
        eprintln!("{program} on {}, the other end is {}", near.address(), far.address());
        let status = near.spawn(Command::new(program).args(arguments))?.wait()?;
        drop(guest);
        let report = emulation.stop()?;
        print("to COMMAND", &report.forward);
        print("from COMMAND", &report.reverse);
        Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
    }

    fn print(direction: &str, report: &PumpReport) {
        let PumpReport { link, lateness, ring_drops, refused, .. } = report;
        eprintln!(
            "{direction}: {} packets in, {} out ({} bytes), {} lost, {} dropped by the queue",
            report.packets,
            link.arrivals,
            link.arrived_bytes,
            link.losses,
            link.queue_drops + refused,
        );
        if let Some(arq) = &report.arq {
            eprintln!(
                "  frame_error_rate {:.4}, frame_transmissions_per_frame {:.4}, \
                 residual_frame_error_rate {:.6}",
                arq.frame_error_rate(),
                arq.frame_transmissions_per_frame(),
                arq.residual_frame_error_rate(),
            );
        }
        if let [Some(p50), Some(p99)] = [0.5, 0.99].map(|p| lateness.quantile(p)) {
            let [p50, p99] = [p50, p99].map(|at| at.as_secs_f64() * 1e3);
            eprintln!("  late by {p50:.3} ms (median), {p99:.3} ms (99 %); {ring_drops} packets never seen");
        }
    }

    pub(crate) fn main() -> ExitCode {
        run().unwrap_or_else(|error| {
            eprintln!("error: {error}");
            ExitCode::from(2)
        })
    }
}
