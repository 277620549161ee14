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

#include "pto/host-run.hpp"
#include "npz.hpp"
#include "pto/wsp/backend/npu/launch.hpp"

namespace pto::host {

namespace npu = pto::wsp::backend::npu;

// Memory of a launch, each byte of which knows whether it holds a value.
class LaunchMemory : public npu::Memory {
public:
    void *get(const std::string &name, std::uint64_t bytes) override {
        if (bytes > UINT32_MAX - 8192) return nullptr;
        return tensors_.blank(name, static_cast<std::size_t>(bytes));
    }
    void copy(void *to, const void *from, std::uint64_t bytes) override {
        npu::Memory::copy(to, from, bytes);
        copy_values(to, from, bytes);
    }
    void *given(const std::string &name, const std::vector<std::uint8_t> &bytes) {
        if (bytes.size() > UINT32_MAX - 8192) return nullptr;
        return tensors_.given(name, bytes.data(), bytes.size());
    }

private:
    Tensors tensors_;
};

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
    void array(npu::Tensor &tensor, const char *name, const char *elem, std::size_t rank, npu::Role role) {
        const Array *found = find(name);
        if (found == nullptr) {
            if (role == npu::Role::input) fail(std::string("there is no array `") + name + "`: it is an input" + listed());
            tensor.rank = static_cast<std::uint8_t>(rank);
            names_[&tensor] = name;
            return;
        }
        take(tensor, name, *found, elem, rank);
    }

    // An array that the program states, where none is given.
    void stated(const char *name, std::initializer_list<std::int64_t> values) {
        for (const Array &array : arrays_) {
            if (array.name == name) return;
        }
        Array array;
        array.name = name;
        array.descr = "<i8";
        array.shape = {values.size()};
        array.bytes.resize(values.size() * sizeof(std::int64_t));
        if (values.size() != 0) std::memcpy(array.bytes.data(), values.begin(), array.bytes.size());
        arrays_.push_back(std::move(array));
    }

    // A table of a workload.
    std::vector<std::int64_t> table(const char *name) { return numbers<std::int64_t>(name); }

    // How many elements a table has.
    void has_length(const char *name, const std::vector<std::int64_t> &table, std::int64_t length) {
        if (static_cast<std::int64_t>(table.size()) != length) {
            fail(std::string("table `") + name + "` has " + told(table.size()) + " elements, but must have " + told(length));
        }
    }

    // Its elements are lengths.
    void has_lengths(const char *name, const std::vector<std::int64_t> &table) {
        for (const std::int64_t length : table) {
            if (length < 0) fail(std::string("table `") + name + "` has the length " + told(length));
        }
    }

    // An axis ends at 0 or later.
    void is_extent(const char *axis, bool holds) {
        if (!holds) fail(std::string("axis `") + axis + "` has a negative extent");
    }

    // Its elements are where the rows of `columns` begin, and the end of the last.
    void has_rows(const char *name, const std::vector<std::int64_t> &table, const std::vector<std::int64_t> &columns) {
        std::int64_t before = 0;
        for (const std::int64_t at : table) {
            const bool good = at >= before && at <= static_cast<std::int64_t>(columns.size());
            if (!good) fail(std::string("table `") + name + "` is no row pointer: after " + told(before) + " comes " + told(at) + " of " + told(columns.size()) + " entries");
            before = at;
        }
    }

    // The elements of a tensor, which generators read.
    void integers(npu::IntArray &array, const npu::Tensor &tensor, npu::IntType type) {
        array = npu::IntArray{tensor.data, tensor.data == nullptr ? 0 : tensor.extents[0], type};
    }

    // The arrays of a paged cache: pages as [pages, page size, heads, lanes], or with `kv_layout=HND` heads first.
    void cache(npu::Pages &pages, npu::Tensor &keys, npu::Tensor &values, const char *name, const char *elem, bool used) {
        const std::string of = name;
        const Array *k = need(of + ".k");
        const Array *v = used ? need(of + ".v") : find(of + ".v");
        const std::string layout = setting("kv_layout").value_or("NHD");
        const bool is_hnd = layout == "HND";
        if (!is_hnd && layout != "NHD") fail("`kv_layout` is `" + layout + "`, and there are NHD and HND");
        if (!good()) return;
        take(keys, of + ".k", *k, elem, 4);
        if (v != nullptr) take(values, of + ".v", *v, elem, 4);
        if (!good()) return;
        if (v != nullptr && v->shape != k->shape) fail("`" + of + ".k` and `" + of + ".v` differ in shape");
        pages.page_size = keys.extents[is_hnd ? 2 : 1];
        pages.heads = keys.extents[is_hnd ? 1 : 2];
        pages.lanes = keys.extents[3];
        pages.position_stride = is_hnd ? pages.lanes : std::int64_t{pages.heads} * pages.lanes;
        pages.head_stride = is_hnd ? std::int64_t{pages.page_size} * pages.lanes : pages.lanes;
        if (pages.page_size == 0 || pages.heads == 0 || pages.lanes == 0) {
            fail("cache `" + of + "` has pages without elements");
        }
        table(pages, of, keys.extents[0]);
    }

    // Lengths that a launch is given beside a cache are those of its pages.
    void agree(const npu::IntArray &lengths, const npu::Pages &pages, const char *name) {
        for (std::uint64_t at = 0; good() && at < lengths.length && at < pages.lengths.length; ++at) {
            if (lengths.low(at) == pages.lengths.low(at)) continue;
            fail(std::string("`") + name + "[" + told(at) + "]` is " + told(lengths.low(at)) + ", but the pages of request " + told(at) + " hold " +
                 told(pages.lengths.low(at)) + " positions");
        }
    }

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
    std::uint32_t extent(const char *name, std::initializer_list<std::optional<std::uint32_t>> places) {
        for (const std::optional<std::uint32_t> &place : places) {
            if (place) return *place;
        }
        fail(std::string("no array gives extent `") + name + "` a value");
        return 0;
    }

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

    void is_generated_for(const char *name, const npu::IntArray &have, const npu::IntArray &made) {
        if (have.length != made.length) {
            return is_of_another_launch(std::string("`") + name + "` has " + told(have.length) + " elements", told(made.length));
        }
        for (std::uint64_t at = 0; at < have.length; ++at) {
            if (have.low(at) == made.low(at)) continue;
            return is_of_another_launch("element " + told(at) + " of `" + name + "` is " + told(have.low(at)), told(made.low(at)));
        }
    }

    void has_extent(const npu::Pages &pages, std::size_t dim, std::uint32_t extent) {
        const std::optional<std::uint32_t> have = extent_of(pages, dim);
        if (have && *have != extent) {
            const char *what[] = {"requests", "positions", "heads", "elements per head"};
            fail(std::string("the cache has ") + told(*have) + " " + what[dim] + ", but must have " + told(extent));
        }
    }

    // The extents that the program says.
    void shape(npu::Tensor &tensor, std::initializer_list<std::uint32_t> extents, std::size_t elem_bytes) {
        if (!good()) return;
        std::size_t d = 0;
        for (const std::uint32_t extent : extents) {
            if (tensor.data != nullptr && tensor.extents[d] != extent) {
                fail("dimension " + told(d) + " of array `" + names_[&tensor] + "` is " + told(tensor.extents[d]) +
                     ", but must be " + told(extent));
            }
            tensor.extents[d++] = extent;
        }
        for (; d < npu::max_rank; ++d) tensor.extents[d] = 1;
        tensor.rank = static_cast<std::uint8_t>(extents.size());
        tensor.elem_bytes = static_cast<std::uint8_t>(elem_bytes);
    }

    template <typename F>
    void require(int number, npu::Checked &s, F holds) {
        if (!good(s)) return;
        const bool held = holds();
        if (good(s) && !held) fail("requirement " + told(number) + " of the program does not hold for these arrays and values");
    }

    // Every array and every setting has been asked for.
    bool all_used() {
        for (const Array &array : arrays_) {
            if (good() && used_.count(array.name) == 0) fail("nothing takes array `" + array.name + "`" + asked());
        }
        for (const auto &[name, value] : settings_) {
            if (good() && used_settings_.count(name) == 0) fail("nothing takes setting `" + name + "`");
        }
        return good();
    }

private:
    template <typename T>
    static std::string told(T value) {
        return std::to_string(value);
    }

    void fail(const std::string &why) {
        if (fault_.empty()) fault_ = why;
    }

    const Array *find(const std::string &name) {
        used_[name] = true;
        for (const Array &array : arrays_) {
            if (array.name == name) return &array;
        }
        return nullptr;
    }
    const Array *need(const std::string &name) {
        const Array *found = find(name);
        if (found == nullptr) fail("there is no array `" + name + "`" + listed());
        return found;
    }
    std::optional<std::string> setting(const std::string &name) {
        used_settings_[name] = true;
        for (const auto &[key, value] : settings_) {
            if (key == name) return value;
        }
        return std::nullopt;
    }

    std::string listed() const {
        std::string text;
        for (const Array &array : arrays_) text += (text.empty() ? "; there are " : ", ") + array.name;
        return text;
    }
    std::string asked() const {
        std::string text;
        for (const auto &[name, _] : used_) text += (text.empty() ? "; the program takes " : ", ") + name;
        return text;
    }

    void take(npu::Tensor &tensor, const std::string &name, const Array &found, const char *elem, std::size_t rank) {
        if (!good()) return;
        if (found.shape.size() != rank) {
            return fail("array `" + name + "` has " + told(found.shape.size()) + " dimensions, but must have " + told(rank));
        }
        const ElementType *type = element_type(elem);
        std::vector<std::uint8_t> converted;
        const bool same = type != nullptr && holds(found, *type);
        if (!same && !whole(name, found, elem, converted)) return;
        const std::vector<std::uint8_t> &bytes = same ? found.bytes : converted;
        tensor.rank = static_cast<std::uint8_t>(rank);
        for (std::size_t d = 0; d < npu::max_rank; ++d) {
            const std::uint64_t extent = d < rank ? found.shape[d] : 1;
            if (extent > UINT32_MAX) return fail("array `" + name + "` has an extent beyond 4294967295");
            tensor.extents[d] = static_cast<std::uint32_t>(extent);
        }
        tensor.elem_bytes = static_cast<std::uint8_t>(type->bytes);
        tensor.bytes = bytes.size();
        tensor.data = memory_.given(name, bytes);
        names_[&tensor] = name;
        if (tensor.data == nullptr) fail("array `" + name + "` has 4 GiB or more");
    }

    // The type of an array of whole numbers of 32 or 64 bits.
    static std::optional<npu::IntType> int_type(const Array &array) {
        if (array.descr == "<i4") return npu::IntType::i32;
        if (array.descr == "<u4") return npu::IntType::u32;
        if (array.descr == "<i8") return npu::IntType::i64;
        if (array.descr == "<u8") return npu::IntType::u64;
        return std::nullopt;
    }

    // Whole numbers as those of another type, in which all of them are.
    bool whole(const std::string &name, const Array &found, const std::string &elem, std::vector<std::uint8_t> &converted) {
        const std::optional<npu::IntType> type = int_type(found);
        const std::uint64_t size = type == npu::IntType::i64 || type == npu::IntType::u64 ? 8 : 4;
        npu::Checked s;
        const auto convert = [&](auto zero) {
            using T = decltype(zero);
            const npu::IntArray array{found.bytes.data(), found.bytes.size() / size, *type};
            for (std::uint64_t at = 0; at < array.length; ++at) {
                const T value = s.load<T>(array, at);
                const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
                converted.insert(converted.end(), bytes, bytes + sizeof value);
            }
        };
        const bool fits = elem == "i32" || elem == "u32" || elem == "i64" || elem == "u64";
        if (!type || !fits) {
            fail("array `" + name + "` holds elements of numpy's type " + found.descr + ", and the kernels of this package are made for " + elem);
            return false;
        }
        if (elem == "i32") convert(std::int32_t{});
        if (elem == "u32") convert(std::uint32_t{});
        if (elem == "i64") convert(std::int64_t{});
        if (elem == "u64") convert(std::uint64_t{});
        if (s.failed()) fail("array `" + name + "` holds a number that is no " + elem);
        return good();
    }

    // Whether an array holds whole numbers of 8 or 16 bits, or truth values; then they are those of 32 bits.
    static bool is_narrow(const Array &found, std::vector<std::uint8_t> &wide) {
        const auto widen = [&](auto zero) {
            using T = decltype(zero);
            for (std::size_t at = 0; at + sizeof(T) <= found.bytes.size(); at += sizeof(T)) {
                T narrow;
                std::memcpy(&narrow, found.bytes.data() + at, sizeof narrow);
                const std::int32_t value = narrow;
                const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
                wide.insert(wide.end(), bytes, bytes + sizeof value);
            }
            return true;
        };
        if (found.descr == "|i1") return widen(std::int8_t{});
        if (found.descr == "|u1" || found.descr == "|b1") return widen(std::uint8_t{});
        if (found.descr == "<i2") return widen(std::int16_t{});
        if (found.descr == "<u2") return widen(std::uint16_t{});
        return false;
    }

    // An array of a page table, or a table, as `T`.
    template <typename T = std::uint32_t>
    std::vector<T> numbers(const std::string &name) {
        std::vector<T> all;
        const Array *found = need(name);
        if (found == nullptr || !good()) return all;
        std::vector<std::uint8_t> wide;
        const bool widened = is_narrow(*found, wide);
        const std::optional<npu::IntType> type = widened ? npu::IntType::i32 : int_type(*found);
        if (!type || found->shape.size() != 1) {
            fail("array `" + name + "` must be of one dimension, and hold whole numbers");
            return all;
        }
        const npu::IntArray array{widened ? wide.data() : found->bytes.data(), found->shape[0], *type};
        npu::Checked s;
        for (std::uint64_t at = 0; at < array.length; ++at) all.push_back(s.load<T>(array, at));
        if (s.failed()) fail("array `" + name + "` holds a number that is no index");
        return all;
    }

    npu::IntArray table_array(npu::Tensor &tensor, const std::string &name, const std::vector<std::uint32_t> &numbers) {
        std::vector<std::uint8_t> bytes(numbers.size() * sizeof(std::uint32_t));
        if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
        tensor.rank = 1;
        tensor.elem_bytes = sizeof(std::uint32_t);
        tensor.bytes = bytes.size();
        for (std::uint32_t &extent : tensor.extents) extent = 1;
        tensor.extents[0] = static_cast<std::uint32_t>(numbers.size());
        tensor.buffer = npu::no_buffer;
        tensor.data = memory_.given(name, bytes);
        return npu::IntArray{tensor.data, numbers.size(), npu::IntType::u32};
    }

    void table(npu::Pages &pages, const std::string &of, std::uint32_t count) {
        const std::vector<std::uint32_t> indptr = numbers(of + ".indptr"), indices = numbers(of + ".indices"),
                                         last = numbers(of + ".last_page_len");
        if (!good()) return;
        const auto wrong = [&](const std::string &why) { fail("the page table of cache `" + of + "`: " + why); };
        if (indptr.empty() || indptr[0] != 0) return wrong("`indptr` does not begin with 0");
        if (last.size() + 1 != indptr.size()) {
            return wrong("`indptr` has " + told(indptr.size()) + " entries, and `last_page_len` " + told(last.size()));
        }
        std::vector<std::uint32_t> lengths;
        for (std::size_t request = 0; request < last.size(); ++request) {
            if (indptr[request + 1] < indptr[request]) return wrong("`indptr` decreases at request " + told(request));
            const std::uint32_t held = indptr[request + 1] - indptr[request];
            if (indptr[request + 1] > indices.size()) return wrong("`indices` ends before request " + told(request));
            const bool fits = held == 0 ? last[request] == 0 : last[request] >= 1 && last[request] <= pages.page_size;
            if (!fits) return wrong("`last_page_len` of request " + told(request) + " is " + told(last[request]) + ", and pages hold 1 to " + told(pages.page_size) +
                                    " positions, or 0 where the request has none");
            const std::uint64_t length = held == 0 ? 0 : std::uint64_t{held - 1} * pages.page_size + last[request];
            if (length > UINT32_MAX) return wrong("request " + told(request) + " is too long");
            lengths.push_back(static_cast<std::uint32_t>(length));
        }
        for (std::size_t at = 0; at < indptr.back(); ++at) {
            if (indices[at] >= count) return wrong("`indices[" + told(at) + "]` is " + told(indices[at]) + ", and there are " + told(count) + " pages");
        }
        pages.indptr = table_array(pages.tensor_of_indptr, of + ".indptr", indptr);
        pages.indices = table_array(pages.tensor_of_indices, of + ".indices", indices);
        pages.last_page_len = table_array(pages.tensor_of_last_page_len, of + ".last_page_len", last);
        pages.lengths = table_array(pages.tensor_of_lengths, of + ".lengths", lengths);
    }

    void is_of_another_launch(const std::string &have, const std::string &made) {
        fail(have + ", and the tasks of this package are those of a launch with " + made + ": emit it with the arrays and values of this one, or without `--expand table`");
    }

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
