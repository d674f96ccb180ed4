// One Wi-Fi access point and its stations in ns-3: a program for against_ns3_wifi.py.
//
// Usage: ns3_wifi STANDARD MCS STREAMS WIDTH_MHZ GUARD_NS WINDOW STATIONS DIRECTION RATE_MBPS SECONDS SEED
//
// STANDARD is n, ac or ax; DIRECTION is down or up; each station's UDP source of 1472 bytes offers RATE_MBPS. Prints the goodput
// of UDP payload in Mbit/s from half a second after the sources begin, the number of MPDUs that arrived, and the user time of Simulator::Run in seconds.
// Sources of several stations begin at 2.5 s, when all are associated, and SECONDS count from 2 s on.
//
// Limits of ns-3 beyond those of the standard are lifted: A-MPDUs of best effort have the standard's limit, packets wait up
// to 10 s, queues hold 2000 packets, no RTS precedes aggregates up to 65,535 bytes, a missing block acknowledgement is
// followed by the data instead of a BAR, and retries are not limited. By default ns-3 counts all failures of a station, across
// successes, and at every seventh failure drops an aggregate, resets the contention window and sends a BAR. Written for ns-3.37
// with its Yans channel, its fastest channel.
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/applications-module.h>
#include <ns3/wifi-module.h>
#include <ns3/he-configuration.h>
#include <ns3/ht-configuration.h>

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <string>

using namespace ns3;

static uint64_t bytes = 0, packets = 0;
static double from = 1;

static void Received(Ptr<const Packet> packet) {
    packets++;
    if (Simulator::Now() >= Seconds(from)) bytes += packet->GetSize();
}

static double UserSeconds() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec * 1e-6;
}

int main(int argc, char** argv) {
    if (argc != 12) {
        std::cerr << "see the head of bench/ns3_wifi.cc\n";
        return 2;
    }
    const std::string standard = argv[1], direction = argv[8];
    const int mcs = std::atoi(argv[2]), streams = std::atoi(argv[3]), width = std::atoi(argv[4]);
    const int guard = std::atoi(argv[5]), window = std::atoi(argv[6]), stations = std::atoi(argv[7]);
    const double mbps = std::atof(argv[9]), seconds = std::atof(argv[10]);
    RngSeedManager::SetRun(std::atoi(argv[11]));
    const double begin = stations > 1 ? 2.5 : 0.5;
    from = begin + 0.5;

    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(10)));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("2000p")));
    Config::SetDefault("ns3::HeConfiguration::MpduBufferSize", UintegerValue(window));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(4692480));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(1000));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", UintegerValue(1000));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));

    NodeContainer accessPoint(1), others(stations);
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(width) + ", BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(streams));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(streams));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(streams));

    WifiHelper wifi;
    std::string mode;
    uint32_t longest = 65535;
    if (standard == "n") {
        wifi.SetStandard(WIFI_STANDARD_80211n);
        mode = "HtMcs" + std::to_string(8 * (streams - 1) + mcs);
    } else if (standard == "ac") {
        wifi.SetStandard(WIFI_STANDARD_80211ac);
        mode = "VhtMcs" + std::to_string(mcs);
        longest = 1048575;
    } else {
        wifi.SetStandard(WIFI_STANDARD_80211ax);
        mode = "HeMcs" + std::to_string(mcs);
        longest = 6500631;
    }
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode), "ControlMode",
                                 StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("crossfade");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(longest));
    NetDeviceContainer stationDevices = wifi.Install(phy, mac, others);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(longest));
    NetDeviceContainer accessPointDevice = wifi.Install(phy, mac, accessPoint);
    NetDeviceContainer all(accessPointDevice, stationDevices);
    for (uint32_t i = 0; i < all.GetN(); i++) {
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(all.Get(i));
        if (standard != "ax") device->GetHtConfiguration()->SetShortGuardIntervalSupported(guard == 400);
        if (standard == "ax") device->GetHeConfiguration()->SetGuardInterval(NanoSeconds(guard));
    }

    MobilityHelper mobility;
    Ptr<ListPositionAllocator> positions = CreateObject<ListPositionAllocator>();
    for (int i = 0; i <= stations; i++) positions->Add(Vector(i == 0 ? 0.0 : 0.5, 0.01 * i, 0.0));
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(accessPoint);
    mobility.Install(others);

    InternetStackHelper internet;
    internet.Install(accessPoint);
    internet.Install(others);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer accessPointAddress = addresses.Assign(accessPointDevice);
    Ipv4InterfaceContainer stationAddresses = addresses.Assign(stationDevices);

    for (int i = 0; i < stations; i++) {
        const bool isDown = direction == "down";
        const uint16_t port = 9000 + i;
        UdpServerHelper server(port);
        Ptr<Node> to = isDown ? others.Get(i) : accessPoint.Get(0);
        Ptr<Node> from = isDown ? accessPoint.Get(0) : others.Get(i);
        ApplicationContainer sink = server.Install(to);
        sink.Start(Seconds(0));
        sink.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
        UdpClientHelper client(isDown ? stationAddresses.GetAddress(i) : accessPointAddress.GetAddress(0), port);
        client.SetAttribute("MaxPackets", UintegerValue(4294967295U));
        client.SetAttribute("Interval", TimeValue(Seconds(1472 * 8 / (mbps * 1e6))));
        client.SetAttribute("PacketSize", UintegerValue(1472));
        ApplicationContainer source = client.Install(from);
        source.Start(Seconds(begin + 0.001 * i));
    }

    Simulator::Stop(Seconds(seconds + begin - 0.5));
    const double before = UserSeconds();
    Simulator::Run();
    const double spent = UserSeconds() - before;
    std::cout << bytes * 8 / (seconds - 1) / 1e6 << " " << packets << " " << spent << std::endl;
    Simulator::Destroy();
    return 0;
}
