// 4 x 4 QPSK at 12 dB with IT++: a program for phy_peers.py. Usage: itpp_mimo SECONDS
//
// Prints a line for each detector: name, speed of detection alone and of the whole simulation (channel, noise, mapping,
// detection, counting) in million vectors per second, and bit error rate. The channel is new every 30 vectors. IT++ has maximum likelihood (ND_UQAM, max-log, set up once per
// channel), but no ordered successive interference cancellation: its loop is written here with IT++'s matrices.
#include <itpp/itcomm.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

using namespace itpp;

static const int ANTENNAS = 4, USES = 30, FRAMES = 64;
static const double RHO = std::pow(10.0, 1.2);

static double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

struct Frame {
    cmat channel;
    std::vector<bvec> bits;
    std::vector<cvec> received;
};

static Frame draw(ND_UQAM& modem) {
    Frame frame;
    frame.channel = std::sqrt(RHO / ANTENNAS) * randn_c(ANTENNAS, ANTENNAS);
    for (int use = 0; use < USES; use++) {
        frame.bits.push_back(randb(2 * ANTENNAS));
        frame.received.push_back(frame.channel * modem.modulate_bits(frame.bits.back()) + randn_c(ANTENNAS));
    }
    return frame;
}

static int wrong(const bvec& a, const bvec& b) {
    int count = 0;
    for (int i = 0; i < a.size(); i++) count += a(i) != b(i);
    return count;
}

struct Ml {
    ND_UQAM modem{ANTENNAS, 4};
    QLLRvec apriori, aposteriori;
    Ml() : apriori(2 * ANTENNAS), aposteriori(2 * ANTENNAS) { apriori.zeros(); }

    int detect(const Frame& frame) {
        int errors = 0;
        modem.init_soft_demodulator(frame.channel, 1.0);
        bvec decided(2 * ANTENNAS);
        for (int use = 0; use < USES; use++) {
            modem.demodulate_soft_bits(frame.received[use], apriori, aposteriori, ND_UQAM::FULL_ENUM_MAXLOG);
            for (int bit = 0; bit < 2 * ANTENNAS; bit++) decided(bit) = aposteriori(bit) < 0;
            errors += wrong(decided, frame.bits[use]);
        }
        return errors;
    }
};

struct Osic {
    ND_UQAM modem{ANTENNAS, 4};

    int detect(const Frame& frame) {
        // Detection order and filter row of each stage, computed once per channel.
        std::vector<int> left = {0, 1, 2, 3}, order;
        std::vector<cvec> rows;
        cmat h = frame.channel;
        while (!left.empty()) {
            cmat omega = inv(hermitian_transpose(h) * h + to_cmat(eye(h.cols())));
            int best = 0;
            for (int k = 1; k < h.cols(); k++)
                if (omega(k, k).real() < omega(best, best).real()) best = k;
            rows.push_back(conj(h) * omega.get_row(best));
            order.push_back(left[best]);
            left.erase(left.begin() + best);
            if (h.cols() > 1) h.del_col(best);
        }
        static const double level = std::sqrt(0.5);
        int errors = 0;
        cvec columns[ANTENNAS];
        for (int k = 0; k < ANTENNAS; k++) columns[k] = frame.channel.get_col(k);
        for (int use = 0; use < USES; use++) {
            cvec y = frame.received[use];
            for (int i = 0; i < ANTENNAS; i++) {
                std::complex<double> z = 0;
                for (int k = 0; k < ANTENNAS; k++) z += rows[i](k) * y(k);
                const std::complex<double> s(z.real() < 0 ? -level : level, z.imag() < 0 ? -level : level);
                const cvec& column = columns[order[i]];
                for (int k = 0; k < ANTENNAS; k++) y(k) -= column(k) * s;
                const std::complex<double> sent = symbol(frame.bits[use], order[i]);
                errors += (sent.real() < 0) != (s.real() < 0);
                errors += (sent.imag() < 0) != (s.imag() < 0);
            }
        }
        return errors;
    }

    // ND_UQAM's symbol for the two bits of an antenna; the caller uses only the signs of its parts.
    std::complex<double> symbol(const bvec& bits, int antenna) const { return map[2 * bool(bits(2 * antenna)) + bool(bits(2 * antenna + 1))]; }

    std::complex<double> map[4];
    Osic() {
        for (int i = 0; i < 4; i++) {
            bvec bits(2 * ANTENNAS);
            bits.zeros();
            bits(0) = i / 2;
            bits(1) = i % 2;
            map[i] = modem.modulate_bits(bits)(0);
        }
    }
};

template <class Detector>
static void measure(const char* name, double seconds) {
    Detector detector;
    std::vector<Frame> frames;
    for (int i = 0; i < FRAMES; i++) frames.push_back(draw(detector.modem));
    double start = cpu_seconds(), elapsed;
    long count = 0, errors = 0;
    do {
        for (const Frame& frame : frames) errors += detector.detect(frame);
        count += FRAMES;
    } while ((elapsed = cpu_seconds() - start) < seconds);
    const double alone = count * USES / elapsed * 1e-6;
    start = cpu_seconds();
    count = errors = 0;
    do {
        for (int i = 0; i < FRAMES; i++) errors += detector.detect(draw(detector.modem));
        count += FRAMES;
    } while ((elapsed = cpu_seconds() - start) < seconds);
    const double whole = count * USES / elapsed * 1e-6;
    std::cout << name << ' ' << alone << ' ' << whole << ' ' << double(errors) / (count * USES * 2 * ANTENNAS) << std::endl;
}

int main(int, char** arguments) {
    RNG_reset(1);
    const double seconds = std::atof(arguments[1]);
    measure<Osic>("mmse-osic", seconds);
    measure<Ml>("ml", seconds);
}
