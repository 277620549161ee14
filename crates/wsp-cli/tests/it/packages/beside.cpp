// Runs packages that are libraries, each on a thread of its own.
//
// Arguments: how often, then of each package its library, the folder of its inputs, and one with a folder for the outputs of each round.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
    const int rounds = std::atoi(argv[1]);
    std::vector<std::thread> threads;
    std::vector<int> failed(static_cast<std::size_t>(argc), 0);
    for (int at = 2; at + 2 < argc; at += 3) {
        void *library = dlopen(argv[at], RTLD_NOW | RTLD_LOCAL);
        void *found = library == nullptr ? nullptr : dlsym(library, "_Z11run_packageiPPc");
        if (found == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
        threads.emplace_back([=, &failed] {
            const auto run = reinterpret_cast<int (*)(int, char **)>(found);
            for (int round = 0; round < rounds; ++round) {
                std::string seed = std::to_string(round), outputs = std::string(argv[at + 2]) + "/" + seed;
                std::vector<std::string> words = {"run", "--inputs", argv[at + 1], "--outputs", outputs, "--seed", seed, "--aicpus", "3"};
                if (round % 2 == 1) words.insert(words.end(), {"--threads", "2"});
                std::vector<char *> given;
                for (std::string &word : words) given.push_back(word.data());
                failed[static_cast<std::size_t>(at)] |= run(static_cast<int>(given.size()), given.data());
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    for (const int status : failed) {
        if (status != 0) return 1;
    }
    return 0;
}
