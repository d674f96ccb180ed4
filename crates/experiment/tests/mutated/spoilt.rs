//! Inputs of mutation: valid scenarios of every kind of network, and the files that they name.

/// Valid scenarios, which mutation changes.
pub(crate) const BASES: [&str; 18] = [
    r#"
        schema = 1
        run = { duration = "2000 slots", runs = 1 }
        channel = { model = "markov", p_e = 0.05, fd_t = 0.02 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "newreno", w_max = 24, rto = { fixed = "100 slots" } }
    "#,
    r#"
        schema = 1
        run = { duration = "40 s", warmup = "1 s", runs = 1 }
        channel = { model = "iid", p_e = 0.1 }
        link = { rate = "9600 bit/s", packet_size = "576 B", frame_size = "24 B", framing = { payload = "20 B" }, headers = { compressed = "3 B", ppp = "4 B" }, arq = { protocol = "rlp-is99", max_retransmissions = 3 } }
        tcp = { flavour = "ns2", variant = "tahoe", headers = "40 B", w_max = 4 }
    "#,
    r#"
        schema = 1
        run = { duration = "5 s", runs = 1 }
        channel = { model = "rayleigh", p_e = 0.02, fd_t = 0.05 }
        link = { rate = "2 Mbit/s", packet_size = "1500 B", delay = "10 ms", queue = { limit = "50 packets", discipline = "codel" } }
        reverse = { rate = "500 kbit/s", channel = { model = "iid", p_e = 0.01 } }
        wired = { rate = "10 Mbit/s", one_way_delay = "10 ms", queue = { limit = "40 packets", discipline = "red" } }
        tcp = { flavour = "rfc", variant = "cubic", w_max = 100 }
        [flows]
        bulk = { count = 2, start = "1 s", stagger = "100 ms", access_delay = "3 ms" }
        file = { traffic = "transfer", size = "50 kB" }
        voice = { traffic = "udp", rate = "80 kbit/s", on = "1 s", off = "1 s", times = "exponential" }
        web = { traffic = "arrivals", size = "3 kB", sizes = "pareto", arrivals_per_s = 5 }
    "#,
    r#"
        schema = 1
        run = { segments = 500, runs = 1 }
        channel = { model = "drop-list", drops = [3, 7, 100] }
        link = { rate = "1 Mbit/s", packet_size = "1000 B", frame_size = "100 B", arq = { protocol = "selective-repeat", window = 16 } }
        reverse = { rate = "1 Mbit/s", frame_size = "40 B", arq = { protocol = "go-back-n", window = 8 } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 50, rfc = { profile = "linux" } }
    "#,
    r#"
        schema = 1
        run = { duration = "3000 slots", runs = 1 }
        channel = { model = "none" }
        link = { rate = "700 Gbit/s", packet_size = "120 B" }
        tcp = { variant = "reno", w_max = 24 }
        flows = { a = { traffic = "udp", rate = "900 Gbit/s" } }
    "#,
    r#"
        schema = 1
        methods = ["analysis", "analysis:bounds", "formula"]
        run = { duration = "1000 slots", runs = 1 }
        channel = { model = "markov", p_e = 0.01, fd_t = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "tahoe", w_max = 12, rto = { fixed = "100 slots" } }
    "#,
    r#"
        schema = 2
        run = { duration = "3 s", warmup = "500 ms", runs = 1 }
        channel = { model = "iid", p_e = 0.001 }
        link = { rate = "10 Mbit/s", packet_size = "1500 B", queue = { discipline = "dualpi2", limit = "100 ms" } }
        wired = { rtt = "25 ms" }
        tcp = { variant = "sack", w_max = 200 }
        [flows]
        bulk = { tcp = { flavour = "quic", congestion = "bbr-v3" } }
        voice = { count = 2, tcp = { congestion = "prague" } }
        web = { tcp = { flavour = "quic", congestion = "cubic", quic = { probes = 1 } } }
    "#,
    r#"
        schema = 2
        run = { duration = "1 s", runs = 1 }
        mesh = { topology = "chain", hops = 4, mac = "nulling" }
        link = { packet_size = "2312 B" }
        tcp = { flavour = "ns2", variant = "newreno", cwnd_limit = { per_hop = 0.357 } }
        flows = { bulk = { traffic = "bulk", rate = "3 Mbit/s" } }
    "#,
    r#"
        schema = 2
        run = { duration = "500 ms", runs = 1 }
        cell = { preset = "lte", profile = "EVA", scheduler = "proportional-fair", prediction = { horizon = "2 slots" } }
        link = { packet_size = "1500 B", queue = { limit = "100 packets" } }
        reverse = { rate = "10 Mbit/s", delay = "8 ms" }
        wired = { rtt = "30 ms" }
        tcp = { flavour = "rfc", variant = "sack", w_max = 100 }
        [flows]
        bulk = { count = 2, radio = { mean_snr_db = { from = 3, to = 22 }, speed = "3 km/h" } }
        web = { radio = { mean_snr_db = 12, speed = "30 km/h" }, tcp = { congestion = "cubic" } }
    "#,
    r#"
        schema = 2
        run = { duration = "2 s", runs = 1 }
        channel = { model = "block-rayleigh", snr_db = 12, antennas = { correlation = "urban" } }
        phy = { scheme = "stbc-2", detector = "mmse-osic", modulation = "qpsk", symbol_rate = "8 kBd", combining = { stage = "stacked" } }
        link = { frame_size = "30 B", framing = { header = "readable" }, arq = { protocol = "rlp-nack", max_retransmissions = 3 } }
        wired = { one_way_delay = "100 ms" }
        tcp = { flavour = "ns2", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20 }
    "#,
    // Links that follow a file: opportunities in both directions, a table of rates, and rain on the path of a
    // satellite.
    r#"
        schema = 2
        run = { duration = "3 s", runs = 1 }
        channel = { model = "iid", p_e = 0.01 }
        link = { packet_size = "1500 B", delay = "10 ms", trace = { opportunities = "cell.up" }, queue = { limit = "30 packets" } }
        reverse = { delay = "10 ms", trace = { opportunities = "other.up" }, queue = { limit = "100 packets" } }
        tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 200 }
        flows = { bulk = { count = 2 }, voice = { traffic = "udp", rate = "80 kbit/s" } }
    "#,
    r#"
        schema = 2
        run = { duration = "3 s", runs = 1 }
        channel = { model = "none" }
        link = { packet_size = "1500 B", trace = { rates = "path.csv", period = "2 s" }, queue = { limit = "200 packets", discipline = "dualpi2" } }
        wired = { rtt = "20 ms", rate = "20 Mbit/s", queue = { limit = "50 packets", discipline = "pie" } }
        tcp = { flavour = "quic", variant = "sack", congestion = "bbr-v3", w_max = 200 }
    "#,
    r#"
        schema = 2
        run = { duration = "5 s", runs = 1 }
        reverse = { rate = "2 Mbit/s", delay = "260 ms", queue = { limit = "unlimited" } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 1500 }
        link = { packet_size = "1500 B", delay = "260 ms", queue = { limit = "500 packets" }, trace = { attenuation = "rain.csv", modcod = "dvb-s2", period = "60 s", budget = { transmit_power_dbm = 82, path_loss_db = 174, noise_figure_db = 2, bandwidth_hz = 5e6, adaptation_delay = "1 s", margin_db = 0.5 } } }
    "#,
    // A shaped link with a policer, jitter and aggregated acknowledgements; losses from a file.
    r#"
        schema = 2
        run = { duration = "2 s", runs = 1 }
        channel = { model = "trace", file = "losses.txt", format = "auto", clock = "slot" }
        link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "5 ms", queue = { limit = "40 packets" }, shaper = { rate = "5 Mbit/s", burst = "15 kB" }, policer = { rate = "8 Mbit/s", burst = "30 kB" }, jitter = { std = "1 ms" } }
        reverse = { rate = "10 Mbit/s", delay = "5 ms", aggregation = { period = "10 ms" } }
        tcp = { flavour = "rfc", variant = "sack", w_max = 100, rfc = { profile = "recommended" } }
    "#,
    // A mesh with node positions from a file; a cell whose user has recorded ratios.
    r#"
        schema = 2
        run = { duration = "500 ms", runs = 1 }
        mesh = { file = "nodes.csv", mac = "nulling", routing = "shortest-path" }
        link = { packet_size = "1000 B" }
        tcp = { flavour = "rfc", variant = "sack", w_max = 8 }
        flows = { bulk = { }, web = { traffic = "udp", rate = "100 kbit/s" } }
    "#,
    r#"
        schema = 2
        run = { duration = "500 ms", runs = 1 }
        cell = { bins = 3, scheduler = "round-robin", shadowing = { sigma_db = 4, spacing = "20 m" }, feedback = { delay = "2 ms" } }
        link = { packet_size = "1000 B", queue = { limit = "30 packets" } }
        reverse = { rate = "1 Mbit/s" }
        tcp = { flavour = "quic", variant = "sack", w_max = 100 }
        [flows]
        bulk = { radio = { trace = "sinr.csv" } }
        voice = { count = 2, traffic = "udp", rate = "80 kbit/s", radio = { mean_snr_db = 8, speed = "50 km/h" } }
    "#,
    // Frames with an error-rate table; frames whose scheme follows a policy.
    r#"
        schema = 2
        run = { duration = "2 s", runs = 1 }
        channel = { model = "block-rayleigh", snr_db = 6 }
        phy = { scheme = "siso", modulation = "qpsk", symbol_rate = "8 kBd", fidelity = "table", table = "fer.csv" }
        link = { frame_size = "30 B", arq = { protocol = "selective-repeat", window = 16 } }
        wired = { one_way_delay = "100 ms" }
        tcp = { flavour = "rfc", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20 }
    "#,
    r#"
        schema = 2
        run = { duration = "2 s", runs = 1 }
        channel = { model = "block-rayleigh", snr_db = 9, fd_t = 3e-4, antennas = { n_t = 4, n_r = 4, correlation = "rural" }, shadowing_db = 4, decorrelation = "1 s" }
        phy = { symbol_rate = "8 kBd", policy = "switching.csv" }
        link = { frame_size = "30 B", arq = { protocol = "go-back-n", window = 8 } }
        tcp = { flavour = "rfc", variant = "sack", mss = "536 B", headers = "40 B", w_max = 20 }
    "#,
];

/// Files that the scenarios name, with their texts.
pub(crate) const FILES: [(&str, &str); 10] = [
    ("cell.up", "3\n5\n5\n9\n17\n40\n41\n41\n41\n100\n"),
    ("other.up", "1\n2\n3\n4\n"),
    ("path.csv", "time_s,rate_bps,delay_s,loss\n0,8e6,0.005,0\n0.5,0,0.005,0\n0.75,4e6,0.1,0.25\n"),
    ("rain.csv", "time_s attenuation_db\n0 0\n1 5\n2 11\n4 0.5\n"),
    ("losses.txt", "0\n0\n1\n0\n1\n1\n0\n0\n0\n0\n"),
    ("nodes.csv", "node,x_m,y_m\n0,0,0\n1,150,10\n2,300,0\n3,420,-60\n"),
    ("sinr.csv", "time_s,sinr_db\n0,12\n0.1,18\n0.3,-4\n"),
    ("sinr3.csv", "0,12,11,10\n0.2,3,19,7\n"),
    ("fer.csv", "snr_db,transmissions,residual\n0,1,0.9\n6,1,0.5\n12,1,0.1\n0,2,0.5\n6,2,0.1\n12,2,0.01\n"),
    (
        "switching.csv",
        "axis,from,to,phy.scheme,phy.detector\nchannel.snr_db,-20,2.5,stbc-half,linear\nchannel.snr_db,2.5,40,stbc-1,ml\n",
    ),
];
