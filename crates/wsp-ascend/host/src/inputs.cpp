// How arrays and settings of a user become a launch: the part that is the same for all packages.
#include <pto/host/inputs.hpp>
#include <pto/host/launch_memory.hpp>

#include <algorithm>
#include <cstring>

namespace pto::host {

void Inputs::array(npu::Tensor &tensor, const char *name, const char *elem, std::size_t rank, npu::Role role) {
    const Array *found = find(name);
    if (found == nullptr) {
        if (role == npu::Role::input) fail(std::string("there is no array `") + name + "`: it is an input" + listed());
        tensor.rank = static_cast<std::uint8_t>(rank);
        names_[&tensor] = name;
        return;
    }
    take(tensor, name, *found, elem, rank);
}

void Inputs::stated(const char *name, std::initializer_list<std::int64_t> values) {
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

std::vector<std::int64_t> Inputs::table(const char *name) { return numbers<std::int64_t>(name); }

void Inputs::has_length(const char *name, const std::vector<std::int64_t> &table, std::int64_t length) {
    if (static_cast<std::int64_t>(table.size()) != length) {
        fail(std::string("table `") + name + "` has " + told(table.size()) + " elements, but must have " + told(length));
    }
}

void Inputs::has_lengths(const char *name, const std::vector<std::int64_t> &table) {
    for (const std::int64_t length : table) {
        if (length < 0) fail(std::string("table `") + name + "` has the length " + told(length));
    }
}

void Inputs::is_extent(const char *axis, bool holds) {
    if (!holds) fail(std::string("axis `") + axis + "` has a negative extent");
}

void Inputs::has_rows(const char *name, const std::vector<std::int64_t> &table, const std::vector<std::int64_t> &columns) {
    std::int64_t before = 0;
    for (const std::int64_t at : table) {
        const bool good = at >= before && at <= static_cast<std::int64_t>(columns.size());
        if (!good) fail(std::string("table `") + name + "` is no row pointer: after " + told(before) + " comes " + told(at) + " of " + told(columns.size()) + " entries");
        before = at;
    }
}

void Inputs::cache(npu::Pages &pages, npu::Tensor &keys, npu::Tensor &values, const char *name, const char *elem, bool used) {
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

void Inputs::agree(const npu::IntArray &lengths, const npu::Pages &pages, const char *name) {
    for (std::uint64_t at = 0; good() && at < lengths.length && at < pages.lengths.length; ++at) {
        if (lengths.low(at) == pages.lengths.low(at)) continue;
        fail(std::string("`") + name + "[" + told(at) + "]` is " + told(lengths.low(at)) + ", but the pages of request " + told(at) + " hold " +
             told(pages.lengths.low(at)) + " positions");
    }
}

std::uint32_t Inputs::extent(const char *name, std::initializer_list<std::optional<std::uint32_t>> places) {
    for (const std::optional<std::uint32_t> &place : places) {
        if (place) return *place;
    }
    fail(std::string("no array gives extent `") + name + "` a value");
    return 0;
}

void Inputs::is_generated_for(const char *name, const npu::IntArray &have, const npu::IntArray &made) {
    if (have.length != made.length) {
        return is_of_another_launch(std::string("`") + name + "` has " + told(have.length) + " elements", told(made.length));
    }
    for (std::uint64_t at = 0; at < have.length; ++at) {
        if (have.low(at) == made.low(at)) continue;
        return is_of_another_launch("element " + told(at) + " of `" + name + "` is " + told(have.low(at)), told(made.low(at)));
    }
}

void Inputs::has_extent(const npu::Pages &pages, std::size_t dim, std::uint32_t extent) {
    const std::optional<std::uint32_t> have = extent_of(pages, dim);
    if (have && *have != extent) {
        const char *what[] = {"requests", "positions", "heads", "elements per head"};
        fail(std::string("the cache has ") + told(*have) + " " + what[dim] + ", but must have " + told(extent));
    }
}

void Inputs::shape(npu::Tensor &tensor, std::initializer_list<std::uint32_t> extents, std::size_t elem_bytes) {
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

bool Inputs::all_used() {
    for (const Array &array : arrays_) {
        if (good() && used_.count(array.name) == 0) fail("nothing takes array `" + array.name + "`" + asked());
    }
    for (const auto &[name, value] : settings_) {
        if (good() && used_settings_.count(name) == 0) fail("nothing takes setting `" + name + "`");
    }
    return good();
}

const Array *Inputs::find(const std::string &name) {
    used_[name] = true;
    for (const Array &array : arrays_) {
        if (array.name == name) return &array;
    }
    return nullptr;
}

const Array *Inputs::need(const std::string &name) {
    const Array *found = find(name);
    if (found == nullptr) fail("there is no array `" + name + "`" + listed());
    return found;
}

std::optional<std::string> Inputs::setting(const std::string &name) {
    used_settings_[name] = true;
    for (const auto &[key, value] : settings_) {
        if (key == name) return value;
    }
    return std::nullopt;
}

std::string Inputs::listed() const {
    std::string text;
    for (const Array &array : arrays_) text += (text.empty() ? "; there are " : ", ") + array.name;
    return text;
}

std::string Inputs::asked() const {
    std::string text;
    for (const auto &[name, _] : used_) text += (text.empty() ? "; the program takes " : ", ") + name;
    return text;
}

void Inputs::take(npu::Tensor &tensor, const std::string &name, const Array &found, const char *elem, std::size_t rank) {
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

std::optional<npu::IntType> Inputs::int_type(const Array &array) {
    if (array.descr == "<i4") return npu::IntType::i32;
    if (array.descr == "<u4") return npu::IntType::u32;
    if (array.descr == "<i8") return npu::IntType::i64;
    if (array.descr == "<u8") return npu::IntType::u64;
    return std::nullopt;
}

bool Inputs::whole(const std::string &name, const Array &found, const std::string &elem, std::vector<std::uint8_t> &converted) {
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

bool Inputs::is_narrow(const Array &found, std::vector<std::uint8_t> &wide) {
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

template <typename T>
std::vector<T> Inputs::numbers(const std::string &name) {
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

npu::IntArray Inputs::table_array(npu::Tensor &tensor, const std::string &name, const std::vector<std::uint32_t> &numbers) {
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

void Inputs::table(npu::Pages &pages, const std::string &of, std::uint32_t count) {
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

void Inputs::is_of_another_launch(const std::string &have, const std::string &made) {
    fail(have + ", and the tasks of this package are those of a launch with " + made + ": emit it with the arrays and values of this one, or without `--expand table`");
}

}  // namespace pto::host
