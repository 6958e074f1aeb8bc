// Feeds words from a file into the design, with pauses at random, and prints what comes out: sim WORDS PAUSE SEED.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "Vstream_wrapper.h"

static void tick(Vstream_wrapper &top, uint32_t word, bool valid) {
    top.in_data = word;
    top.in_valid = valid;
    top.clk = 0;
    top.eval();
    top.clk = 1;
    top.eval();
    if (top.out_valid) std::printf("%u\n", static_cast<unsigned>(top.out_data));
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    Vstream_wrapper top;
    std::mt19937 draw(std::strtoul(argv[3], nullptr, 10));
    std::uniform_real_distribution<double> uniform(0, 1);
    const double pause = std::strtod(argv[2], nullptr);
    top.rst = 1;
    tick(top, 0, false);
    top.rst = 0;
    std::ifstream words(argv[1]);
    words >> std::hex;
    for (uint32_t word; words >> word;) {
        while (uniform(draw) < pause) tick(top, draw(), false);
        tick(top, word, true);
    }
    for (int i = 0; i < 8; i++) tick(top, 0, false);
    top.final();
    return 0;
}
