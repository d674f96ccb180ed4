# TCP NewReno over a chain of 802.11b stations, as in tests/data/golden/ns2-chain; routes by AODV.
# ns chain.tcl HOPS CWL SECONDS
set hops [lindex $argv 0]; set cwl [lindex $argv 1]; set seconds [lindex $argv 2]
Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ 0
Phy/WirelessPhy set CSThresh_ 3.652e-10
Phy/WirelessPhy set RXThresh_ 3.652e-10
Phy/WirelessPhy set CPThresh_ 1e9
Queue/DropTail/PriQueue set Prefer_Routing_Protocols 1
set ns [new Simulator]
$ns trace-all [open /dev/null w]
set topo [new Topography]
$topo load_flatgrid [expr 200 * $hops + 400] 400
create-god [expr $hops + 1]
$ns node-config -adhocRouting AODV -llType LL -macType Mac/802_11 -ifqType Queue/DropTail/PriQueue -ifqLen 25 \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo -agentTrace OFF -routerTrace OFF -macTrace OFF
for {set i 0} {$i <= $hops} {incr i} {
    set node($i) [$ns node]
    $node($i) set X_ [expr 200 * $i + 100]; $node($i) set Y_ 200; $node($i) set Z_ 0
    $node($i) random-motion 0
}
set tcp [new Agent/TCP/Newreno]
$tcp set packetSize_ 2272
$tcp set window_ $cwl
set sink [new Agent/TCPSink]
$ns attach-agent $node(0) $tcp
$ns attach-agent $node($hops) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 1.0 "$ftp start"
$ns at $seconds "finish"
proc finish {} {
    global sink tcp seconds
    puts "Mbit/s [expr [$tcp set ack_] * 2312 * 8.0 / ($seconds - 1) / 1e6]"
    exit 0
}
$ns run
