// Runs the program of a package, whose `main` is `run_package`, many times in one process. Each run has to write the bytes of the one whose tasks run
// as they are generated.
//
// Arguments: --trials, the folder of inputs, a folder for outputs, the number of seeds, that of threads or 0 for steps, then options of every
// run. Other runs are those of the program, and leave a copy of their inputs where the environment says.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

// All files of a package may be compiled with another name for it.
#undef main

int run_package(int argc, char **argv);

namespace trials {

using Files = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

// The files that a run writes; none where it fails.
static Files outputs(const char *inputs, const char *to, Words words) {
    words.insert(words.begin(), {"run", "--inputs", inputs, "--outputs", to});
    std::vector<char *> given;
    for (std::string &word : words) given.push_back(word.data());
    Files files;
    if (run_package(static_cast<int>(given.size()), given.data()) != 0) return files;
    for (const auto &entry : std::filesystem::directory_iterator(to)) {
        std::ifstream file(entry.path(), std::ios::binary);
        files[entry.path().filename().string()].assign(std::istreambuf_iterator<char>(file), {});
    }
    for (const auto &file : files) std::filesystem::remove(std::filesystem::path(to) / file.first);
    return files;
}

static int run(int argc, char **argv) {
    if (argc < 6) return 2;
    const Words options(argv + 6, argv + argc);
    const auto ran = [&](const Words &more) {
        Words all = options;
        all.insert(all.end(), more.begin(), more.end());
        return outputs(argv[2], argv[3], all);
    };
    const Files want = ran({"--serial"});
    if (want.empty()) return 1;
    int runs = 0;
    for (const char *aicpus : {"1", "4"}) {
        for (const char *window : {"1", "1024"}) {
            for (int seed = 0; seed < std::atoi(argv[4]); ++seed, ++runs) {
                Words words = {"--aicpus", aicpus, "--window", window, "--seed", std::to_string(seed)};
                if (std::strcmp(argv[5], "0") != 0) words.insert(words.end(), {"--threads", argv[5]});
                if (ran(words) == want) continue;
                std::fprintf(stderr, "%s AICPUs, window %s, seed %d: not the bytes of a serial run\n", aicpus, window, seed);
                return 1;
            }
        }
    }
    for (const auto &[name, bytes] : want) std::ofstream(std::filesystem::path(argv[3]) / name, std::ios::binary) << bytes;
    std::printf("%d runs\n", runs);
    return 0;
}

}  // namespace trials

int main(int argc, char **argv) {
    if (argc > 1 && std::strcmp(argv[1], "--trials") == 0) return trials::run(argc, argv);
    const char *kept = std::getenv("TRIALS_INPUTS");
    for (int at = 1; kept != nullptr && at + 1 < argc; ++at) {
        if (std::strcmp(argv[at], "--inputs") == 0) std::filesystem::copy(argv[at + 1], kept);
    }
    return run_package(argc, argv);
}
