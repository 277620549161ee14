// Bytes of a memory or a tensor, each with who touched it last and whether it holds a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "clock.hpp"

namespace pto::host {

// An access of an instruction: what the states of bytes refer to by number.
struct Access {
  Stamp run;
  // The number of the instruction in its kernel, from 1 on, its name, and where the kernel has it.
  uint32_t instruction;
  const char* name;
  Site site;
  // The bytes of the tile that it is made through; those of the whole tensor for tensors.
  uint32_t first, end;
};

inline std::string text_of(const Access& access) {
  return "instruction " + std::to_string(access.instruction) + " " + access.name + " (" + at(access.site) + ") on " +
         name_of(access.run.unit);
}

// All accesses of the running kernel.
class Log {
 public:
  // Forgets all accesses; numbers go on, so that those in states of bytes are known to be older.
  void clear() {
    base_ += static_cast<uint32_t>(all_.size());
    all_.clear();
  }
  uint32_t add(const Access& access) {
    all_.push_back(access);
    return base_ + static_cast<uint32_t>(all_.size()) - 1;
  }
  // Null for accesses of earlier kernels.
  const Access* find(uint32_t number) const { return number < base_ ? nullptr : &all_[number - base_]; }
  // Whether numbers run out soon, and states have to be forgotten.
  bool is_full() const { return base_ > 0x40000000U; }
  void restart() { base_ = 1; }

 private:
  uint32_t base_ = 1;
  std::vector<Access> all_;
};

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::string name, uint8_t* data, uint32_t size, bool written)
      : name(std::move(name)), data(data), size(size), writes_(size), written_(size, written ? 1 : 0) {}

  std::string name;
  uint8_t* data = nullptr;
  uint32_t size = 0;

  // An access reads bytes: they are written, and what wrote them is known to be complete.
  void read(uint32_t from, uint32_t count, uint32_t number, const Access& by, const Log& log, const Clocks& clocks) {
    const uint32_t end = from + count;
    for (uint32_t byte = from, last = 0; byte < end; ++byte) {
      const uint32_t writer = writes_[byte];
      if (writer != last) {
        last = writer;
        check_order(byte, log.find(writer), "writes", by, clocks);
        check_owner(byte, log.find(writer), by);
      }
      if (written_[byte] == 0) {
        fault("poison", text_of(by) + " reads byte " + std::to_string(byte) + " of " + name + ", which holds no value");
      }
    }
    std::vector<uint32_t>& reads = reads_[static_cast<size_t>(by.run.unit)];
    if (reads.empty()) {
      reads.resize(size);
    }
    std::fill(reads.begin() + from, reads.begin() + end, number);
  }

  // An access writes bytes: what read or wrote them is known to be complete. `value`: whether they hold a value then.
  void write(uint32_t from, uint32_t count, bool value, uint32_t number, const Access& by, const Log& log,
             const Clocks& clocks) {
    const uint32_t end = from + count;
    check_all(writes_, from, end, "writes", by, log, clocks);
    for (const std::vector<uint32_t>& reads : reads_) {
      if (!reads.empty()) {
        check_all(reads, from, end, "reads", by, log, clocks);
      }
    }
    std::fill(writes_.begin() + from, writes_.begin() + end, number);
    std::fill(written_.begin() + from, written_.begin() + end, value ? 1 : 0);
  }

  // Bytes hold no value from now on.
  void poison(uint32_t from, uint32_t count) {
    std::fill(written_.begin() + from, written_.begin() + from + count, 0);
  }

  // Whether a byte holds a value.
  bool is_written(uint32_t byte) const { return written_[byte] != 0; }

  // Forgets all accesses.
  void forget() {
    std::fill(writes_.begin(), writes_.end(), 0);
    for (std::vector<uint32_t>& reads : reads_) {
      reads.clear();
    }
  }

 private:
  void check_all(const std::vector<uint32_t>& numbers, uint32_t from, uint32_t end, const char* what, const Access& by,
                 const Log& log, const Clocks& clocks) const {
    for (uint32_t byte = from, last = 0; byte < end; ++byte) {
      if (numbers[byte] != last) {
        last = numbers[byte];
        check_order(byte, log.find(last), what, by, clocks);
      }
    }
  }

  void check_order(uint32_t byte, const Access* other, const char* what, const Access& by, const Clocks& clocks) const {
    // An instruction may work in place.
    if (other == nullptr || other->instruction == by.instruction || clocks.knows(by.run.unit, other->run)) {
      return;
    }
    fault("order", text_of(by) + " touches byte " + std::to_string(byte) + " of " + name + " and does not wait for " +
                       text_of(*other) + ", which " + what + " there; the two touch bytes " + range(by) + " and " +
                       range(*other));
  }

  // Tiles that share bytes lie one in the other: a row and the column of the same bytes, a part and the whole.
  void check_owner(uint32_t byte, const Access* writer, const Access& by) const {
    if (writer == nullptr) {
      return;
    }
    const bool inside = writer->first >= by.first && writer->end <= by.end;
    const bool around = writer->first <= by.first && writer->end >= by.end;
    if (!inside && !around) {
      fault("overlap", text_of(by) + " reads byte " + std::to_string(byte) + " of " + name + " in a tile of bytes " +
                           range(by) + "; " + text_of(*writer) + " wrote it in a tile of bytes " + range(*writer));
    }
  }

  static std::string range(const Access& access) {
    return std::to_string(access.first) + ".." + std::to_string(access.end);
  }

  std::vector<uint32_t> writes_;
  std::vector<uint8_t> written_;
  std::array<std::vector<uint32_t>, units> reads_;
};

}  // namespace pto::host
