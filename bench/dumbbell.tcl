# Twenty flows (NewReno or SACK) through 45 Mbit/s and 20 ms with a drop-tail queue of 100 packets, until SEGMENTS were
# delivered. Sender I is 1 + I ms away from the bottleneck and its receiver 1 ms; flows begin within the
# first second.
# ns dumbbell.tcl CASE SEGMENTS      CASE: newreno | sack
# Prints the transmissions, the delivered segments and the simulated time.
set case [lindex $argv 0]
set segments [lindex $argv 1]
set flows 20
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 45Mb 20ms DropTail
# 100 packets wait: ns-2 counts the packet in transmission as part of its queue.
$ns queue-limit $left $right 101
$ns queue-limit $right $left 100000

Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 64
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
for {set i 0} {$i < $flows} {incr i} {
    set sender_node [$ns node]
    set receiver_node [$ns node]
    # Access links at 100 Gbit/s, so that only the bottleneck delays packets.
    $ns duplex-link $sender_node $left 100Gb [expr 1 + $i]ms DropTail
    $ns duplex-link $right $receiver_node 100Gb 1ms DropTail
    $ns queue-limit $sender_node $left 100000
    $ns queue-limit $right $receiver_node 100000
    if {$case == "sack"} {
        set tcp($i) [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
    } else {
        set tcp($i) [new Agent/TCP/Newreno]
        set sink [new Agent/TCPSink]
    }
    $ns attach-agent $sender_node $tcp($i)
    $ns attach-agent $receiver_node $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr double($i) / $flows] "$ftp start"
}
proc watch {} {
    global ns tcp segments flows
    set delivered 0
    set sent 0
    for {set i 0} {$i < $flows} {incr i} {
        incr delivered [$tcp($i) set ack_]
        incr sent [$tcp($i) set ndatapack_]
    }
    if {$delivered >= $segments} {
        puts "sent $sent delivered $delivered time [$ns now]"
        exit 0
    }
    $ns at [expr [$ns now] + 1.0] watch
}
$ns at 1.0 watch
$ns run
