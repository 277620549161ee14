// How arrays and settings of a user become a launch: each is found by name, compared with what the program says of it,
// and copied to memory that kernels may touch.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "npy.hpp"
#include "pto/wsp/backend/npu/launch.hpp"

namespace pto::host {

namespace npu = pto::wsp::backend::npu;

class LaunchMemory;

// Arrays and settings by name. The first fault counts; later calls do nothing then.
class Inputs {
public:
    using Settings = std::vector<std::pair<std::string, std::string>>;

    Inputs(std::vector<Array> arrays, Settings settings, LaunchMemory &memory)
        : arrays_(std::move(arrays)), settings_(std::move(settings)), memory_(memory) {}

    const std::string &fault() const { return fault_; }
    bool good() const { return fault_.empty(); }
    bool good(const npu::Checked &s) {
        if (s.failed()) fail(npu::generator::text(s.trapped()));
        return good();
    }

    // An array of a tensor.
    void array(npu::Tensor &tensor, const char *name, const char *elem, std::size_t rank, npu::Role role);

    // An array that the program states, where none is given.
    void stated(const char *name, std::initializer_list<std::int64_t> values);

    // A table of a workload.
    std::vector<std::int64_t> table(const char *name);

    // How many elements a table has.
    void has_length(const char *name, const std::vector<std::int64_t> &table, std::int64_t length);

    // Its elements are lengths.
    void has_lengths(const char *name, const std::vector<std::int64_t> &table);

    // An axis ends at 0 or later.
    void is_extent(const char *axis, bool holds);

    // Its elements are where the rows of `columns` begin, and the end of the last.
    void has_rows(const char *name, const std::vector<std::int64_t> &table, const std::vector<std::int64_t> &columns);

    // The elements of a tensor, which generators read.
    void integers(npu::IntArray &array, const npu::Tensor &tensor, npu::IntType type) {
        array = npu::IntArray{tensor.data, tensor.data == nullptr ? 0 : tensor.extents[0], type};
    }

    // The arrays of a paged cache: pages as [pages, page size, heads, lanes], or with `kv_layout=HND` heads first.
    void cache(npu::Pages &pages, npu::Tensor &keys, npu::Tensor &values, const char *name, const char *elem, bool used);

    // Lengths that a launch is given beside a cache are those of its pages.
    void agree(const npu::IntArray &lengths, const npu::Pages &pages, const char *name);

    std::optional<std::uint32_t> extent_of(const npu::Tensor &tensor, std::size_t dim) const {
        if (tensor.data == nullptr) return std::nullopt;
        return tensor.extents[dim];
    }
    std::optional<std::uint32_t> extent_of(const npu::Pages &pages, std::size_t dim) const {
        switch (dim) {
            case 0: return static_cast<std::uint32_t>(pages.lengths.length);
            case 2: return pages.heads;
            case 3: return pages.lanes;
            default: return std::nullopt;
        }
    }

    // An extent that shapes name: that of the first array that is there.
    std::uint32_t extent(const char *name, std::initializer_list<std::optional<std::uint32_t>> places);

    // A value that a user may set.
    template <typename T, typename F>
    T set(std::initializer_list<const char *> names, npu::Checked &s, F otherwise) {
        for (const char *name : names) {
            if (const std::optional<std::string> text = setting(name)) return parse<T>(name, *text);
        }
        const T value = static_cast<T>(otherwise());
        good(s);
        return value;
    }

    // A value that a user must set.
    template <typename T>
    T need(std::initializer_list<const char *> names, npu::Checked &) {
        for (const char *name : names) {
            if (const std::optional<std::string> text = setting(name)) return parse<T>(name, *text);
        }
        fail(std::string("`") + *names.begin() + "` has no value: give one with --set " + *names.begin() + "=VALUE");
        return T{};
    }

    // A parameter that the kernels were made for.
    template <typename T>
    void is_made_for(const char *name, T have, T made) {
        if (have == made || (have != have && made != made)) return;
        fail(std::string("`") + name + "` is " + told(have) + ", and the kernels of this package are made for " + told(made) + ": emit it with `--set " +
             name + "=" + told(have) + "`");
    }

    // A parameter, or an array, from which the tasks of this package follow.
    template <typename T>
    void is_generated_for(const char *name, T have, T made) {
        if (have == made || (have != have && made != made)) return;
        is_of_another_launch(std::string("`") + name + "` is " + told(have), told(made));
    }

    void is_generated_for(const char *name, const npu::IntArray &have, const npu::IntArray &made);

    void has_extent(const npu::Pages &pages, std::size_t dim, std::uint32_t extent);

    // The extents that the program says.
    void shape(npu::Tensor &tensor, std::initializer_list<std::uint32_t> extents, std::size_t elem_bytes);

    template <typename F>
    void require(int number, npu::Checked &s, F holds) {
        if (!good(s)) return;
        const bool held = holds();
        if (good(s) && !held) fail("requirement " + told(number) + " of the program does not hold for these arrays and values");
    }

    // Every array and every setting has been asked for.
    bool all_used();

private:
    template <typename T>
    static std::string told(T value) {
        return std::to_string(value);
    }

    void fail(const std::string &why) {
        if (fault_.empty()) fault_ = why;
    }

    const Array *find(const std::string &name);
    const Array *need(const std::string &name);
    std::optional<std::string> setting(const std::string &name);

    std::string listed() const;
    std::string asked() const;

    void take(npu::Tensor &tensor, const std::string &name, const Array &found, const char *elem, std::size_t rank);

    // The type of an array of whole numbers of 32 or 64 bits.
    static std::optional<npu::IntType> int_type(const Array &array);

    // Whole numbers as those of another type, in which all of them are.
    bool whole(const std::string &name, const Array &found, const std::string &elem, std::vector<std::uint8_t> &converted);

    // Whether an array holds whole numbers of 8 or 16 bits, or truth values; then they are those of 32 bits.
    static bool is_narrow(const Array &found, std::vector<std::uint8_t> &wide);

    // An array of a page table, or a table, as `T`.
    template <typename T = std::uint32_t>
    std::vector<T> numbers(const std::string &name);

    npu::IntArray table_array(npu::Tensor &tensor, const std::string &name, const std::vector<std::uint32_t> &numbers);

    void table(npu::Pages &pages, const std::string &of, std::uint32_t count);

    void is_of_another_launch(const std::string &have, const std::string &made);

    template <typename T>
    T parse(const char *name, const std::string &text) {
        const auto bad = [&] {
            fail("`" + text + "` is no value of `" + name + "`");
            return T{};
        };
        if (text.empty()) return bad();
        char *end = nullptr;
        if constexpr (std::is_same_v<T, bool>) {
            if (text != "true" && text != "false") return bad();
            return text == "true";
        } else if constexpr (std::is_floating_point_v<T>) {
            const double value = std::strtod(text.c_str(), &end);
            if (*end != 0) return bad();
            return static_cast<T>(value);
        } else {
            npu::Checked s;
            errno = 0;
            const bool is_negative = text[0] == '-';
            const long long low = std::strtoll(text.c_str(), &end, 10);
            T value{};
            if (is_negative) {
                value = s.cast<T>(static_cast<std::int64_t>(low));
            } else {
                errno = 0;
                value = s.cast<T>(static_cast<std::uint64_t>(std::strtoull(text.c_str(), &end, 10)));
            }
            if (*end != 0 || errno != 0 || s.failed()) return bad();
            return value;
        }
    }

    std::vector<Array> arrays_;
    Settings settings_;
    LaunchMemory &memory_;
    std::map<const npu::Tensor *, std::string> names_;
    std::map<std::string, bool> used_, used_settings_;
    std::string fault_;
};

}  // namespace pto::host
