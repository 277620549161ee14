// Arrays in files: numpy's `.npy`, and `.npz` archives of them.
//
// Members of an archive may be stored or deflated; they are written stored. The same arrays give the same bytes: the date of
// members is the first that archives know. Whatever stands in a file, reading ends with arrays or with the text of a fault.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "inflate.hpp"
#include "npy.hpp"

namespace pto::host {

// An archive in memory.
class Npz {
public:
    // Takes the bytes of an archive, and reads its table of contents. False with the fault, which `what` begins.
    bool open(const std::string &what, std::vector<uint8_t> bytes, std::string &fault) {
        what_ = what;
        bytes_ = std::move(bytes);
        members_.clear();
        const char *wrong = read_table();
        if (wrong == nullptr) {
            wrong = check_places();
        }
        if (wrong != nullptr) {
            members_.clear();
            const bool npy = bytes_.size() > 5 && std::memcmp(bytes_.data(), "\x93NUMPY", 6) == 0;
            const char *help = npy ? "it is a single array: read it as `.npy`" : "write it with `numpy.savez`";
            say(fault, {what_, " is not a whole `.npz` archive: ", wrong, "; ", help});
            return false;
        }
        return true;
    }

    // Names of the arrays, in the order of the table, without `.npy`.
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const Member &member : members_) {
            all.push_back(member.name);
        }
        return all;
    }

    // Reads the array of a name; false with the fault.
    bool read(const std::string &name, Array &array, std::string &fault) const {
        const std::string what = what_ + ", entry `" + name + "`";
        return with_memory(what, fault, [&] { return read_member(what, name, array, fault); });
    }

    // The bytes of an archive of arrays: what stands before the elements of each, and what stands behind all.
    static bool layout(const std::vector<Array> &arrays, std::vector<std::string> &before, std::string &behind,
                       std::string &fault) {
        uint64_t at = 0;
        std::string table;
        for (const Array &array : arrays) {
            const auto same = [&](const Array &other) { return other.name == array.name; };
            const bool named = !array.name.empty() && array.name.size() < 0xFFF0;
            if (!named || std::count_if(arrays.begin(), arrays.end(), same) > 1) {
                say(fault, {"arrays of an archive have names, each one of its own: `", array.name, "`"});
                return false;
            }
            if (!Npy::check(array, fault)) {
                return false;
            }
            const std::string header = Npy::header_of(array), name = array.name + ".npy";
            const size_t size = header.size() + array.bytes.size();
            uint32_t sum = checksum(reinterpret_cast<const uint8_t *>(header.data()), header.size());
            sum = checksum(array.bytes.data(), array.bytes.size(), sum);
            table += record(name, size, sum, &at);
            before.push_back(record(name, size, sum, nullptr) + header);
            at += before.back().size() + array.bytes.size();
        }
        behind = table + end_of(arrays.size(), table.size(), at);
        return true;
    }

private:
    static constexpr uint32_t stored = 0;
    static constexpr uint32_t deflated = 8;
    static constexpr uint32_t local_mark = 0x04034B50, table_mark = 0x02014B50, end_mark = 0x06054B50;
    static constexpr uint32_t wide_end_mark = 0x06064B50, wide_place_mark = 0x07064B50;
    // Bytes of the records without names and what is added.
    static constexpr size_t local_bytes = 30, table_bytes = 46, end_bytes = 22, wide_end_bytes = 56, wide_place_bytes = 20;
    static constexpr uint32_t full = 0xFFFFFFFF;
    static constexpr uint64_t wide_version = 45;
    // 1 January 1980.
    static constexpr uint64_t date = 0x21;

    struct Member {
        std::string name;
        uint32_t method;
        uint32_t sum;
        uint64_t packed;
        uint64_t size;
        // Where its record stands, and where its bytes begin.
        uint64_t record;
        uint64_t at;
    };

    // A number of so many bytes; the caller knows that they are there.
    uint64_t number(uint64_t at, unsigned bytes) const {
        uint64_t value = 0;
        for (unsigned byte = 0; byte < bytes; ++byte) {
            value |= static_cast<uint64_t>(bytes_[at + byte]) << (8 * byte);
        }
        return value;
    }

    bool has(uint64_t at, uint64_t bytes) const { return at <= bytes_.size() && bytes <= bytes_.size() - at; }

    bool is(uint64_t at, uint64_t bytes, uint32_t mark) const { return has(at, bytes) && number(at, 4) == mark; }

    // Reads the table; null, or what is wrong.
    const char *read_table() {
        // A comment may stand behind the last record.
        uint64_t end = bytes_.size() < end_bytes ? 0 : bytes_.size() - end_bytes;
        const uint64_t first = end - std::min<uint64_t>(end, 0xFFFF);
        while (!is(end, end_bytes, end_mark)) {
            if (end == first) {
                return "the end of its table of contents is missing";
            }
            --end;
        }
        uint64_t count = number(end + 10, 2), size = number(end + 12, 4), at = number(end + 16, 4);
        if (end >= wide_place_bytes && is(end - wide_place_bytes, wide_place_bytes, wide_place_mark)) {
            end = number(end - wide_place_bytes + 8, 8);
            if (!is(end, wide_end_bytes, wide_end_mark)) {
                return "the end of its table of contents is missing";
            }
            count = number(end + 32, 8), size = number(end + 40, 8), at = number(end + 48, 8);
        }
        if (at > end || size != end - at) {
            return "the place of its table of contents is damaged";
        }
        for (; count > 0; --count) {
            if (const char *wrong = read_record(at, end); wrong != nullptr) {
                return wrong;
            }
        }
        return at == end ? nullptr : "its table of contents is damaged";
    }

    // Reads one record of the table, which ends at `end`, and goes behind it.
    const char *read_record(uint64_t &at, uint64_t end) {
        if (!is(at, table_bytes, table_mark)) {
            return "a record of its table of contents is damaged";
        }
        const uint64_t name = number(at + 28, 2), extra = number(at + 30, 2), comment = number(at + 32, 2);
        if (end - at < table_bytes || end - at - table_bytes < name + extra + comment) {
            return "a record of its table of contents is damaged";
        }
        Member member{};
        member.name.assign(reinterpret_cast<const char *>(bytes_.data()) + at + table_bytes, name);
        member.method = static_cast<uint32_t>(number(at + 10, 2));
        member.sum = static_cast<uint32_t>(number(at + 16, 4));
        member.packed = number(at + 20, 4), member.size = number(at + 24, 4), member.record = number(at + 42, 4);
        read_wide(member, at + table_bytes + name, extra);
        const bool encrypted = (number(at + 8, 2) & 1) != 0;
        at += table_bytes + name + extra + comment;
        if (!member.name.empty() && member.name.back() == '/') {
            return nullptr;
        }
        if (encrypted || (member.method != stored && member.method != deflated)) {
            return "a member is encrypted or packed in another way than stored or deflated";
        }
        if (member.name.size() > 4 && member.name.compare(member.name.size() - 4, 4, ".npy") == 0) {
            member.name.resize(member.name.size() - 4);
        }
        members_.push_back(std::move(member));
        return nullptr;
    }

    // Numbers of 64 bits stand in what is added to a record, in this order, for those that are full.
    void read_wide(Member &member, uint64_t at, uint64_t extra) const {
        while (extra >= 4) {
            const uint64_t kind = number(at, 2);
            uint64_t bytes = std::min(number(at + 2, 2), extra - 4);
            at += 4, extra -= 4 + bytes;
            if (kind == 1) {
                for (uint64_t *value : {&member.size, &member.packed, &member.record}) {
                    if (*value == full && bytes >= 8) {
                        *value = number(at, 8);
                        at += 8, bytes -= 8;
                    }
                }
                return;
            }
            at += bytes;
        }
    }

    // Finds where the bytes of members begin: they lie in the file, each apart from the others, and become no more than is
    // possible. So all arrays together are at most so many times as large as the file.
    const char *check_places() {
        std::vector<std::pair<uint64_t, uint64_t>> places;
        for (Member &member : members_) {
            if (!is(member.record, local_bytes, local_mark)) {
                return "a member is not where its table of contents says";
            }
            member.at = member.record + local_bytes + number(member.record + 26, 2) + number(member.record + 28, 2);
            if (!has(member.at, member.packed)) {
                return "it is cut off, or the size of a member is damaged";
            }
            const bool fits = member.method == stored ? member.size == member.packed
                                                      : member.size <= member.packed * max_inflation;
            if (!fits) {
                return "the size of a member is damaged";
            }
            places.emplace_back(member.record, member.at + member.packed);
        }
        std::sort(places.begin(), places.end());
        for (size_t one = 1; one < places.size(); ++one) {
            if (places[one].first < places[one - 1].second) {
                return "two members share bytes";
            }
        }
        std::vector<std::string> all = names();
        std::sort(all.begin(), all.end());
        return std::adjacent_find(all.begin(), all.end()) == all.end() ? nullptr : "two arrays have one name";
    }

    static void put(std::string &text, uint64_t value, unsigned bytes) {
        for (unsigned byte = 0; byte < bytes; ++byte) {
            text += static_cast<char>(value >> (8 * byte) & 0xFF);
        }
    }

    // The record of a stored member, before its bytes or, with where that one stands, in the table. Sizes have 64 bits, so that
    // small and large archives are written in one way.
    static std::string record(const std::string &name, uint64_t size, uint32_t sum, const uint64_t *at) {
        std::string text;
        put(text, at == nullptr ? local_mark : table_mark, 4);
        if (at != nullptr) {
            put(text, wide_version, 2);
        }
        put(text, wide_version, 2), put(text, 0, 2), put(text, stored, 2);
        put(text, 0, 2), put(text, date, 2), put(text, sum, 4);
        put(text, full, 4), put(text, full, 4);
        put(text, name.size(), 2), put(text, at == nullptr ? 20 : 28, 2);
        if (at != nullptr) {
            put(text, 0, 2), put(text, 0, 2), put(text, 0, 2), put(text, 0, 4), put(text, full, 4);
        }
        text += name;
        put(text, 1, 2), put(text, at == nullptr ? 16 : 24, 2), put(text, size, 8), put(text, size, 8);
        if (at != nullptr) {
            put(text, *at, 8);
        }
        return text;
    }

    // What ends an archive.
    static std::string end_of(uint64_t members, uint64_t table, uint64_t at) {
        std::string text;
        put(text, wide_end_mark, 4), put(text, wide_end_bytes - 12, 8), put(text, wide_version, 2), put(text, wide_version, 2);
        put(text, 0, 4), put(text, 0, 4), put(text, members, 8), put(text, members, 8), put(text, table, 8), put(text, at, 8);
        put(text, wide_place_mark, 4), put(text, 0, 4), put(text, at + table, 8), put(text, 1, 4);
        put(text, end_mark, 4), put(text, 0, 4), put(text, 0xFFFF, 2), put(text, 0xFFFF, 2);
        put(text, full, 4), put(text, full, 4), put(text, 0, 2);
        return text;
    }

    bool read_member(const std::string &what, const std::string &name, Array &array, std::string &fault) const {
        const auto member =
            std::find_if(members_.begin(), members_.end(), [&](const Member &one) { return one.name == name; });
        if (member == members_.end()) {
            say(fault, {what_, " holds no array `", name, "`"});
            return false;
        }
        array.name = name;
        std::vector<uint8_t> inflated;
        const uint8_t *bytes = bytes_.data() + member->at;
        const char *wrong = nullptr;
        if (member->method == deflated) {
            wrong = Inflater(bytes, member->packed).read(inflated, member->size);
            bytes = inflated.data();
        }
        if (wrong == nullptr && checksum(bytes, member->size) != member->sum) {
            wrong = "its checksum does not fit";
        }
        if (wrong != nullptr) {
            say(fault, {what, " is damaged: ", wrong, "; write or copy the archive again"});
            return false;
        }
        return Npy::read(what, {reinterpret_cast<const char *>(bytes), member->size}, array, fault);
    }

    std::string what_;
    std::vector<uint8_t> bytes_;
    std::vector<Member> members_;
};

// Says why a file cannot be read or written.
inline bool no_file(const std::string &path, const char *what, const std::string &why, std::string &fault) {
    say(fault, {"`", path, "` cannot be ", what, ": ", why});
    return false;
}

// The bytes of a file; false with the fault.
inline bool read_file(const std::string &path, std::vector<uint8_t> &bytes, std::string &fault) {
    std::error_code code;
    if (std::filesystem::exists(path, code) && !std::filesystem::is_regular_file(path, code)) {
        return no_file(path, "read", "it is no regular file", fault);
    }
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        return no_file(path, "read", std::strerror(errno), fault);
    }
    uint8_t part[1 << 16];
    for (size_t got = 0; (got = std::fread(part, 1, sizeof part, file)) > 0;) {
        bytes.insert(bytes.end(), part, part + got);
    }
    const bool good = std::ferror(file) == 0;
    std::fclose(file);
    return good || no_file(path, "read", "the system says that it is damaged", fault);
}

// Writes parts to a file, one after the other. What stood there before is replaced only by the whole.
inline bool write_file(const std::string &path, const std::vector<std::string_view> &parts, std::string &fault) {
    std::error_code code;
    std::filesystem::path target = std::filesystem::weakly_canonical(path, code);
    target = code || target.empty() ? std::filesystem::path(path) : target;
    if (std::filesystem::exists(target, code) && !std::filesystem::is_regular_file(target, code)) {
        return no_file(path, "written", "it is no regular file", fault);
    }
    std::filesystem::path partial;
    std::FILE *file = nullptr;
    // Others may write at the same time.
    for (unsigned number = 0; file == nullptr && (number == 0 || errno == EEXIST) && number < 1000; ++number) {
        partial = target.parent_path() / (".pto-" + std::to_string(number) + ".partial");
        file = std::fopen(partial.c_str(), "wbx");
    }
    if (file == nullptr) {
        return no_file(path, "written", std::strerror(errno), fault);
    }
    bool good = true;
    for (const std::string_view part : parts) {
        // An empty part has no address.
        good = good && (part.empty() || std::fwrite(part.data(), 1, part.size(), file) == part.size());
    }
    // A full device may say so at the end only.
    good = std::fclose(file) == 0 && good;
    const std::string why = good ? "" : std::strerror(errno);
    if (good) {
        std::filesystem::rename(partial, target, code);
        good = !code;
    }
    if (!good) {
        std::error_code ignored;
        std::filesystem::remove(partial, ignored);
        return no_file(path, "written", why.empty() ? code.message() : why, fault);
    }
    return true;
}

// Opens the archive of a file, of which arrays are then read by their names.
inline bool open_npz(const std::string &path, Npz &archive, std::string &fault) {
    return with_memory("`" + path + "`", fault, [&] {
        std::vector<uint8_t> bytes;
        return read_file(path, bytes, fault) && archive.open("`" + path + "`", std::move(bytes), fault);
    });
}

// Reads all arrays of an archive; false with the fault.
inline bool read_npz(const std::string &path, std::vector<Array> &arrays, std::string &fault) {
    return with_memory("`" + path + "`", fault, [&] {
        Npz archive;
        if (!open_npz(path, archive, fault)) {
            return false;
        }
        for (const std::string &name : archive.names()) {
            arrays.emplace_back();
            if (!archive.read(name, arrays.back(), fault)) {
                return false;
            }
        }
        return true;
    });
}

// Writes arrays to an archive, in this order; false with the fault.
inline bool write_npz(const std::string &path, const std::vector<Array> &arrays, std::string &fault) {
    return with_memory("`" + path + "`", fault, [&] {
        std::vector<std::string> before;
        std::string behind;
        if (!Npz::layout(arrays, before, behind, fault)) {
            return false;
        }
        std::vector<std::string_view> parts;
        for (size_t one = 0; one < arrays.size(); ++one) {
            parts.push_back(before[one]);
            parts.emplace_back(reinterpret_cast<const char *>(arrays[one].bytes.data()), arrays[one].bytes.size());
        }
        parts.push_back(behind);
        return write_file(path, parts, fault);
    });
}

// Reads the array of a `.npy` file; its name stays as it is.
inline bool read_npy(const std::string &path, Array &array, std::string &fault) {
    return with_memory("`" + path + "`", fault, [&] {
        std::vector<uint8_t> bytes;
        return read_file(path, bytes, fault) &&
               Npy::read("`" + path + "`", {reinterpret_cast<const char *>(bytes.data()), bytes.size()}, array, fault);
    });
}

// Writes an array to a `.npy` file.
inline bool write_npy(const std::string &path, const Array &array, std::string &fault) {
    return with_memory("`" + path + "`", fault, [&] {
        if (!Npy::check(array, fault)) {
            return false;
        }
        const std::string header = Npy::header_of(array);
        return write_file(path, {header, {reinterpret_cast<const char *>(array.bytes.data()), array.bytes.size()}}, fault);
    });
}

}  // namespace pto::host
