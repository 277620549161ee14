// Streams of a device, and which task is launched on which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../../version.hpp"

namespace pto::wsp::backend::npu {

// What the runtime of a device does to its streams; each gives 0, or a code of the runtime's own. CANN's aclrtCreateStream,
// aclrtSynchronizeStream and aclrtDestroyStream have these types, aclrtStream being a pointer.
struct StreamApi {
    int (*create)(void** stream);
    int (*synchronize)(void* stream);
    int (*destroy)(void* stream);
};

class StreamManager {
public:
    explicit StreamManager(const StreamApi& api) : api_(api) {}
    StreamManager(const StreamManager&) = delete;
    StreamManager& operator=(const StreamManager&) = delete;
    // Streams are waited for by their user: what is destroyed is not synchronized before.
    ~StreamManager() {
        for (void* stream : streams_) api_.destroy(stream);
    }

    // Creates streams until there are so many; the first code that is not 0, or 0.
    int create_streams(int count) {
        while (size() < count) {
            void* stream = nullptr;
            if (const int code = api_.create(&stream); code != 0) return code;
            streams_.push_back(stream);
        }
        return 0;
    }

    int size() const { return static_cast<int>(streams_.size()); }

    // A task is launched on a stream, numbered from 0; a task that has one is moved. False when there is no such stream.
    bool assign_stream(std::int32_t task_id, int stream_id) {
        if (stream_id < 0 || stream_id >= size()) return false;
        task_to_stream_[task_id] = stream_id;
        return true;
    }

    // The stream of a task, to launch it on; null for a task that has none.
    void* stream_of(std::int32_t task_id) const {
        const auto found = task_to_stream_.find(task_id);
        return found == task_to_stream_.end() ? nullptr : streams_[static_cast<std::size_t>(found->second)];
    }

    // What synchronize_stream gives for a stream that there is not.
    static constexpr int no_stream = -1;

    // Waits until what was launched on a stream is complete; the code of the runtime.
    int synchronize_stream(int stream_id) {
        if (stream_id < 0 || stream_id >= size()) return no_stream;
        return api_.synchronize(streams_[static_cast<std::size_t>(stream_id)]);
    }

    // Waits for all streams, also behind one that failed; the first code that is not 0, or 0.
    int synchronize_all() {
        int first = 0;
        for (int stream = 0; stream < size(); ++stream) {
            const int code = synchronize_stream(stream);
            first = first != 0 ? first : code;
        }
        return first;
    }

private:
    StreamApi api_;
    std::vector<void*> streams_;
    std::unordered_map<std::int32_t, int> task_to_stream_;
};

}  // namespace pto::wsp::backend::npu
