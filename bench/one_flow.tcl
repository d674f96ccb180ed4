# One Reno flow over 10 Mbit/s and 20 ms each way with losses after the link, until SEGMENTS were delivered.
# ns one_flow.tcl CASE SEGMENTS      CASE: iid | markov
# Prints the transmissions, the delivered segments and the simulated time.
set case [lindex $argv 0]
set segments [lindex $argv 1]
set ns [new Simulator]
set sender_node [$ns node]
set receiver_node [$ns node]
$ns duplex-link $sender_node $receiver_node 10Mb 20ms DropTail
$ns queue-limit $sender_node $receiver_node 100000
$ns queue-limit $receiver_node $sender_node 100000

set rng [new RNG]
$rng seed 1
if {$case == "iid"} {
    set loss [new ErrorModel]
    $loss unit pkt
    $loss set rate_ 0.01
    set variable [new RandomVariable/Uniform]
    $variable use-rng $rng
    $loss ranvar $variable
} else {
    # Two states of exponentially distributed lengths in packets: 1 % of packets lost, in bursts of mean length 4.07.
    set good [new RandomVariable/Exponential]
    $good use-rng $rng
    $good set avg_ [expr 4.07 * 99]
    set bad [new RandomVariable/Exponential]
    $bad use-rng $rng
    $bad set avg_ 4.07
    set loss [new ErrorModel/TwoState $good $bad pkt]
}
$loss drop-target [new Agent/Null]
$ns link-lossmodel $loss $sender_node $receiver_node

Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ 64
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$ns attach-agent $sender_node $tcp
$ns attach-agent $receiver_node $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
proc watch {} {
    global ns tcp segments
    if {[$tcp set ack_] >= $segments} {
        puts "sent [$tcp set ndatapack_] delivered [$tcp set ack_] time [$ns now]"
        exit 0
    }
    $ns at [expr [$ns now] + 1.0] watch
}
$ns at 1.0 watch
$ns run
