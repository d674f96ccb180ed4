//! Errors in scenarios of links with frames.

use serde_json::{Value, json};

use super::{assert_refused, load};

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn frames_and_their_protocols() {
    const FRAMES: &str = r#"
        schema = 1
        channel = { model = "iid", p_e = 0.01 }
        tcp = { flavour = "ns2", variant = "tahoe", headers = "40 B", w_max = 4 }
        [link]
        rate = "9600 bit/s"
        packet_size = "576 B"
        frame_size = "24 B"
    "#;
    load(FRAMES, json!({})).unwrap();
    let arq = |arq: Value| json!([["link.arq", arq]]);
    let cases: Vec<(Value, &str)> = vec![
        (json!([["link.frame_size", "0 B"]]), "link.frame_size = \"0 B\": must be at least 1 B"),
        (json!([["link.frame_size", 24]]), "link.frame_size = 24: must be a whole number of bytes such as"),
        (
            json!([["link.rate", "1 bit/s"]]),
            "link.rate = \"1 bit/s\": too slow: a packet would take more than",
        ),
        (
            json!([["link.rate", "8 bit/s"], ["link.framing.payload", "1 B"]]),
            "link.rate = \"8 bit/s\": too slow: the frames of a packet would take more than 1 h",
        ),
        (
            json!([["link.frame_size", null], ["link.arq", { "protocol": "stop-and-wait" }]]),
            "link.arq: needs link.frame_size, such as \"30 B\"",
        ),
        (
            json!([["link.frame_size", null], ["link.framing.slotted", true]]),
            "link.framing: needs link.frame_size",
        ),
        (
            json!([["link.frame_size", null], ["link.headers.ppp", "4 B"]]),
            "link.headers: needs link.frame_size",
        ),
        (json!([["reverse.frame_size", "24 B"]]), "reverse.frame_size = \"24 B\": needs reverse.rate"),
        (json!([["reverse.arq.protocol", "go-back-n"]]), "reverse.arq: needs reverse.frame_size"),
        (json!([["reverse.aggregation.thinning", 2]]), "reverse.aggregation.period: missing"),
        (
            json!([["reverse.aggregation.period", "0 s"]]),
            "reverse.aggregation.period = \"0 s\": must be longer than 0 s",
        ),
        (
            json!([["reverse.aggregation", { "period": "60 ms", "thinning": 0 }]]),
            "reverse.aggregation.thinning = 0: must be at least 1",
        ),
        (json!([["link.jitter.n_std", 2]]), "link.jitter.std: missing"),
        (json!([["reverse.jitter.std", "0 s"]]), "reverse.jitter.std = \"0 s\": must be longer than 0 s"),
        (
            json!([["link.jitter", { "std": "5 ms", "n_std": 0 }]]),
            "link.jitter.n_std = 0: must be above 0 and at most 100",
        ),
        (json!([["link.jitter", { "std": "5 ms", "rate": "0 bit/s" }]]), "link.jitter.rate"),
        (json!([["link.jitter", { "std": "5 ms", "spike_steps": 5 }]]), "link.jitter.spike_share: missing"),
        (json!([["link.jitter.spike_share", "7 %"]]), "link.jitter.std: missing"),
        (
            json!([["link.jitter", { "std": "5 ms", "spike_share": 0.1, "spike_steps": 0 }]]),
            "link.jitter.spike_steps = 0: must be above 0 and at most 100",
        ),
        (
            json!([["link.jitter", { "std": "5 ms", "spike_share": 0.1, "spike_step": "0 ms" }]]),
            "link.jitter.spike_step = \"0 s\": must be longer than 0 s",
        ),
        (
            json!([["link.policer", { "rate": "1 Mbit/s", "burst": "1 kB" }]]),
            "link.policer.rate = \"1000000 bit/s\": must be at most the rate of the link, or the bucket polices nothing",
        ),
        (json!([["link.policer.rate", "1 kbit/s"]]), "link.policer.burst: missing"),
        (
            json!([["link.policer", { "rate": "1 kbit/s", "burst": "100 B" }]]),
            "link.policer.burst = \"100 B\": must hold a packet of \"576 B\"",
        ),
        (
            json!([["link.shaper", { "rate": "1 kbit/s", "burst": "1 kB" }]]),
            "link.shaper contradicts link.frame_size: a shaped link sends whole packets at a constant rate",
        ),
        (json!([["link.shaper.rate", "1 kbit/s"]]), "link.shaper.burst: missing"),
        (json!([["link.shaper.burst", "1 kB"]]), "link.shaper.rate: missing"),
        (
            json!([["link.shaper", { "rate": "1 Mbit/s", "burst": "1 kB" }]]),
            "link.shaper.rate = \"1000000 bit/s\": must be at most the rate of the link",
        ),
        (
            json!([["link.shaper", { "rate": "1 kbit/s", "burst": "100 B" }]]),
            "link.shaper.burst = \"100 B\": must hold a packet of \"576 B\"",
        ),
        (
            json!([["link.framing.payload", "25 B"]]),
            "link.framing.payload = \"25 B\": must be at least 1 B and at most link.frame_size = \"24 B\"",
        ),
        (json!([["link.framing.payload", "0 B"]]), "link.framing.payload = \"0 B\": must be at least 1 B"),
        (
            json!([["link.framing.packing", "tight"]]),
            "link.framing.packing = \"tight\": must be one of padded",
        ),
        (json!([["link.framing.slotted", 1]]), "link.framing.slotted = 1: must be true or false"),
        (
            json!([["link.framing.header", "gone"]]),
            "link.framing.header = \"gone\": must be one of lost, readable",
        ),
        (json!([["link.framing.size", "24 B"]]), "link.framing.size: unknown key"),
        (json!([["link.headers.tcp_ip", "40 B"]]), "link.headers.tcp_ip: needs link.headers.compressed"),
        (
            json!([["link.headers", { "compressed": "3 B", "tcp_ip": "1400 B" }]]),
            "link.headers.tcp_ip = \"1400 B\": must be at most 40 B, the headers of a packet (tcp.headers)",
        ),
        (
            json!([["link.headers.compressed", "41 B"]]),
            "link.headers.compressed = \"41 B\": must be at most link.headers.tcp_ip = \"40 B\"",
        ),
        (
            json!([["link.queue", { "discipline": "codel" }]]),
            "link.queue.discipline = \"codel\": needs link.queue.limit, such as \"100 packets\"",
        ),
        (
            json!([["reverse.queue.limit", "20 ms"]]),
            "reverse.queue.limit = \"20 ms\": needs a link with a rate: without one nothing waits",
        ),
        (
            json!([["link.queue.limit", "0 bdp"]]),
            "link.queue.limit = \"0 bdp\": must be a number of packets or bytes such as \"50 packets\" or \"750 kB\", a \
             time such as \"200 ms\", a number of bandwidth-delay products such as \"1 bdp\", or \"unlimited\"",
        ),
        (
            json!([["channel", { "model": "markov", "fd_t": 0.1, "clock": "slot" }]]),
            "channel.clock = \"slot\": must be frame or transmission on a link with frames",
        ),
        (
            json!([["link.frame_size", null], ["channel", { "model": "markov", "fd_t": 0.1, "clock": "frame" }]]),
            "channel.clock = \"frame\": must be slot or transmission on a link without frame_size",
        ),
        (arq(json!({ "protocol": "rlp" })), "link.arq.protocol = \"rlp\": must be one of rlp-is99, rlp-nack"),
        (
            arq(json!({ "max_retransmissions": 3 })),
            "link.arq.max_retransmissions contradicts link.arq.protocol = \"none\": it takes no other key",
        ),
        (
            arq(json!({ "feedback": { "loss": 0.1 } })),
            "link.arq.feedback contradicts link.arq.protocol = \"none\": it takes no other key",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "window": 4 })),
            "link.arq.window contradicts link.arq.protocol = \"stop-and-wait\": it takes max_retransmissions, \
             timeout, feedback",
        ),
        (
            arq(json!({ "protocol": "go-back-n", "window": "0 bdp" })),
            "link.arq.window = \"0 bdp\": must be a whole number, between 1 and 1048576, or a number of bandwidth-delay products such as \
             \"2 bdp\"",
        ),
        (
            arq(json!({ "protocol": "go-back-n", "window": 0 })),
            "link.arq.window = 0: must be between 1 and 1048576",
        ),
        (
            arq(json!({ "protocol": "go-back-n", "window": 4, "timeout": "0 frames" })),
            "link.arq.timeout = \"0 frames\": must be longer than 0 s",
        ),
        (
            arq(json!({ "protocol": "go-back-n", "window": 4, "timeout": "200 days" })),
            "link.arq.timeout = \"200 days\": must be a time such as \"100 ms\" or \"4 frames\"",
        ),
        (
            arq(json!({ "protocol": "go-back-n", "window": 4, "timeout": "3000 h" })),
            "link.arq.timeout = \"10800000 s\": must be at most 100 days",
        ),
        (
            arq(json!({ "protocol": "selective-repeat", "window": 4, "delivery": "any" })),
            "link.arq.delivery = \"any\": must be one of in-order, immediate",
        ),
        (
            arq(json!({ "protocol": "rlp-is99", "max_retransmissions": "unlimited" })),
            "link.arq.max_retransmissions = \"unlimited\": must be a number, at most 1000, for protocol \"rlp-is99\"",
        ),
        (
            arq(json!({ "protocol": "rlp-nack", "max_retransmissions": -1 })),
            "link.arq.max_retransmissions = -1: must be",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "max_retransmissions": "many" })),
            "link.arq.max_retransmissions = \"many\": must be a whole number, at most 1000000, or \"unlimited\"",
        ),
        (
            arq(json!({ "protocol": "rlp-is99", "reading": "h" })),
            "link.arq.reading = \"h\": must be one of a, b, c",
        ),
        (
            arq(json!({ "protocol": "rlp-is99", "round_trip": "0 frames" })),
            "link.arq.round_trip = \"0 frames\": must be at least 1 frame",
        ),
        (
            arq(json!({ "protocol": "rlp-is99", "guard": "1.5 frames" })),
            "link.arq.guard = \"1.5 frames\": must be a whole number of frames such as \"5 frames\"",
        ),
        (
            arq(json!({ "protocol": "rlp-is99", "buffer": 129 })),
            "link.arq.buffer = 129: must be between 1 and 128",
        ),
        (
            arq(json!({ "protocol": "rlp-nack", "reading": "a" })),
            "link.arq.reading contradicts link.arq.protocol = \"rlp-nack\"",
        ),
        (arq(json!({ "protocol": "rlp-nack", "ack_period": 0 })), "link.arq.ack_period = 0: must be"),
        (
            arq(json!({ "protocol": "stop-and-wait", "feedback": { "rate": "1 kbit/s" } })),
            "link.arq.feedback.rate: needs link.arq.feedback.size",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "feedback": { "size": "9 B" } })),
            "link.arq.feedback.size: needs link.arq.feedback.rate",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "feedback": { "rate": "1 kbit/s", "size": "0 B" } })),
            "link.arq.feedback.size = \"0 B\": must be at least 1 B",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "feedback": { "loss": 2 } })),
            "link.arq.feedback.loss = 2: must be between 0 and 1",
        ),
        (
            arq(json!({ "protocol": "stop-and-wait", "feedback": { "rate": "1e-9 bit/s", "size": "9 B" } })),
            "link.arq.feedback.rate = \"1e-9 bit/s\": too slow: an acknowledgement would take",
        ),
        (
            json!([["tcp", { "flavour": "paper", "gate": "slot", "rto": { "fixed": "1 s" } }]]),
            "tcp.gate = \"slot\"",
        ),
    ];
    for (set, expected) in cases {
        assert_refused(load(FRAMES, json!({ "set": set })), &[expected], &set);
    }
}
