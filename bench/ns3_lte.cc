// One LTE user that downloads over TCP in ns-3: a program for against_ns3_lte.py.
//
// Usage: ns3_lte METRES RATE_MBPS SECONDS SEED
//
// 25 resource blocks each way, proportional fair, RLC AM, HARQ, a user at METRES from the base station; a server behind a
// wire of 10 ms sends a saturated TCP flow (NewReno, SACK), or UDP at RATE_MBPS if it is above 0. The RLC queue holds 1 MB instead of
// ns-3's default 10 KiB. Prints the goodput in Mbit/s without the first second, and the user time of Simulator::Run in seconds.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/lte-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <string>

using namespace ns3;

static double
UserSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + 1e-6 * usage.ru_utime.tv_usec;
}

int
main(int argc, char* argv[])
{
    if (argc != 5)
    {
        std::cerr << "usage: ns3_lte METRES RATE_MBPS SECONDS SEED\n";
        return 2;
    }
    const double metres = std::atof(argv[1]);
    const double rateMbps = std::atof(argv[2]);
    const double seconds = std::atof(argv[3]);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::atoi(argv[4]));

    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_AM_ALWAYS));
    Config::SetDefault("ns3::LteRlcAm::MaxTxBufferSize", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1400));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));

    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    Ptr<PointToPointEpcHelper> epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    lte->SetSchedulerType("ns3::PfFfMacScheduler");
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(25));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(25));

    NodeContainer server;
    server.Create(1);
    NodeContainer stations;
    stations.Create(1);
    NodeContainer users;
    users.Create(1);
    InternetStackHelper internet;
    internet.Install(server);
    internet.Install(users);

    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    wire.SetChannelAttribute("Delay", StringValue("10ms"));
    NetDeviceContainer ends = wire.Install(epc->GetPgwNode(), server.Get(0));
    Ipv4AddressHelper addresses;
    addresses.SetBase("1.0.0.0", "255.0.0.0");
    addresses.Assign(ends);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);

    MobilityHelper mobility;
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    places->Add(Vector(metres, 0, 0));
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(stations);
    mobility.Install(users);

    NetDeviceContainer stationDevices = lte->InstallEnbDevice(stations);
    NetDeviceContainer userDevices = lte->InstallUeDevice(users);
    Ipv4InterfaceContainer userAddresses = epc->AssignUeIpv4Address(userDevices);
    routing.GetStaticRouting(users.Get(0)->GetObject<Ipv4>())
        ->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
    lte->Attach(userDevices.Get(0), stationDevices.Get(0));

    const uint16_t port = 5000;
    const bool isTcp = rateMbps <= 0;
    const std::string protocol = isTcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    const InetSocketAddress target(userAddresses.GetAddress(0), port);
    ApplicationContainer sources;
    if (isTcp)
    {
        sources = BulkSendHelper(protocol, target).Install(server.Get(0));
    }
    else
    {
        OnOffHelper datagrams(protocol, target);
        datagrams.SetConstantRate(DataRate(static_cast<uint64_t>(1e6 * rateMbps)), 1400);
        sources = datagrams.Install(server.Get(0));
    }
    sources.Start(Seconds(0.5));
    PacketSinkHelper sinks(protocol, InetSocketAddress(Ipv4Address::GetAny(), port));
    Ptr<PacketSink> sink = DynamicCast<PacketSink>(sinks.Install(users.Get(0)).Get(0));

    uint64_t before = 0;
    Simulator::Schedule(Seconds(1), [&before, sink] { before = sink->GetTotalRx(); });
    Simulator::Stop(Seconds(seconds));
    const double start = UserSeconds();
    Simulator::Run();
    const double taken = UserSeconds() - start;
    std::cout << 8e-6 * static_cast<double>(sink->GetTotalRx() - before) / (seconds - 1) << " " << taken << "\n";
    Simulator::Destroy();
    return 0;
}
