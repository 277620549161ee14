// Writes arrays, shows those of files, and reads damaged files.
#include "pto/host/npz.hpp"

#include <cinttypes>

using namespace pto::host;

namespace {

// One array of every type, one without dimensions and one without elements.
std::vector<Array> sample() {
    std::vector<Array> arrays;
    for (const ElementType &type : element_types) {
        arrays.push_back({std::string("x.") + type.name, type.descr, {2, 3}, std::vector<uint8_t>(6 * type.bytes)});
        for (size_t byte = 0; byte < arrays.back().bytes.size(); ++byte) {
            arrays.back().bytes[byte] = static_cast<uint8_t>(byte);
        }
    }
    arrays.push_back({"scalar", "<f8", {}, std::vector<uint8_t>(8)});
    arrays.push_back({"empty", "<f4", {0, 7}, {}});
    return arrays;
}

void show(const Array &array) {
    std::printf("%s %s %s %08" PRIx32 "\n", array.name.c_str(), array.descr.c_str(), shown(array.shape).c_str(),
                checksum(array.bytes.data(), array.bytes.size()));
}

void must(bool good, const std::string &fault) {
    if (!good) {
        std::puts(fault.c_str());
        std::exit(1);
    }
}

void write(const std::string &folder) {
    std::string fault;
    const std::vector<Array> arrays = sample();
    // The second replaces the first.
    for (int round = 0; round < 2; ++round) {
        must(write_npz(folder + "/arrays.npz", arrays, fault), fault);
        must(write_npy(folder + "/array.npy", arrays.front(), fault), fault);
    }
}

void read(const std::string &path) {
    std::string fault;
    if (path.size() > 4 && path.substr(path.size() - 4) == ".npy") {
        Array array;
        read_npy(path, array, fault) ? show(array) : void(std::puts(fault.c_str()));
        return;
    }
    Npz archive;
    if (!open_npz(path, archive, fault)) {
        std::puts(fault.c_str());
        return;
    }
    for (const std::string &name : archive.names()) {
        Array array;
        fault.clear();
        archive.read(name, array, fault) ? show(array) : void(std::puts(fault.c_str()));
    }
}

// What is not written leaves no file.
void refuse(const std::string &folder) {
    std::vector<Array> arrays = {{"x", "<f4", {2}, std::vector<uint8_t>(8)}};
    const auto say = [&](const std::string &path) {
        std::string fault;
        const bool written = write_npz(path, arrays, fault);
        std::printf("%s: %s\n", written ? "written" : "refused", fault.c_str());
    };
    say(folder);
    say(folder + "/none/x.npz");
    say("/dev/null");
    arrays.push_back(arrays[0]);
    say(folder + "/x.npz");
    arrays[1].name = "";
    say(folder + "/x.npz");
    arrays[1] = {"y", "<f4", {3}, std::vector<uint8_t>(8)};
    say(folder + "/x.npz");
    arrays[1] = {"y", "<U3", {}, std::vector<uint8_t>(12)};
    say(folder + "/x.npz");
}

uint64_t drawn(uint64_t &state) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

// Damages bytes: bits, numbers, what is cut off, and what stands elsewhere.
void damage(std::vector<uint8_t> &bytes, uint64_t &state) {
    static const uint64_t numbers[] = {0, 1, 0xFF, 0xFFFF, 0xFFFFFFFF, UINT64_MAX, UINT64_MAX - 45, 1u << 31};
    for (uint64_t round = drawn(state) % 3 + 1; round > 0 && !bytes.empty(); --round) {
        const size_t at = drawn(state) % bytes.size(), other = drawn(state) % bytes.size();
        const size_t count = std::min<size_t>({size_t{1} << drawn(state) % 4, bytes.size() - at, bytes.size() - other});
        switch (drawn(state) % 5) {
        case 0: bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << drawn(state) % 8); break;
        case 1: std::memcpy(&bytes[at], &numbers[drawn(state) % 8], count); break;
        case 2: std::memmove(&bytes[at], &bytes[other], count); break;
        case 3: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
        default: bytes.resize(drawn(state) % 8 == 0 ? at : bytes.size() + 1);
        }
    }
}

// Reads whatever there is; what is taken for an array is one.
void read_damaged(const std::vector<uint8_t> &bytes, bool archive, size_t (&seen)[2]) {
    std::string fault;
    std::vector<Array> arrays;
    if (archive) {
        Npz npz;
        ++seen[!npz.open("it", bytes, fault)];
        for (const std::string &name : npz.names()) {
            arrays.emplace_back();
            std::string why;
            const bool good = npz.read(name, arrays.back(), why);
            ++seen[!good];
            must(good == why.empty(), "a fault without a text");
            good ? void() : arrays.pop_back();
        }
    } else {
        arrays.emplace_back();
        const bool good = Npy::read("it", {reinterpret_cast<const char *>(bytes.data()), bytes.size()}, arrays[0], fault);
        ++seen[!good];
        must(good == fault.empty(), "a fault without a text");
        good ? void() : arrays.pop_back();
    }
    for (const Array &array : arrays) {
        must(Npy::check(array, fault), fault);
    }
}

void mutate(int files, char **paths) {
    constexpr size_t rounds = 10000;
    uint64_t state = 0x9E3779B97F4A7C15;
    size_t seen[2] = {};
    for (int file = 0; file < files; ++file) {
        std::vector<uint8_t> whole;
        std::string fault;
        const std::string path = paths[file];
        must(read_file(path, whole, fault), fault);
        for (size_t round = 0; round < rounds / static_cast<size_t>(files); ++round) {
            std::vector<uint8_t> bytes = whole;
            damage(bytes, state);
            read_damaged(bytes, path.substr(path.size() - 4) == ".npz", seen);
        }
    }
    std::printf("%zu %zu\n", seen[0], seen[1]);
}

}  // namespace

int main(int count, char **words) {
    const std::string what = count > 2 ? words[1] : "";
    for (int word = 2; word < count; ++word) {
        if (what == "write") write(words[word]);
        if (what == "read") read(words[word]);
        if (what == "refuse") refuse(words[word]);
    }
    if (what == "mutate") mutate(count - 2, words + 2);
}
