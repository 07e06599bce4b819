#include "hip_host.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hkc::emu {

namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

/// The kernel copies within this process and reports bad addresses. Where it may not (a sandbox that forbids the
/// call), the copy is an ordinary one, as it is for any other HIP library.
bool transfer(Transfer call, void* local, void* client, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        const iovec here{static_cast<char*>(local) + done, bytes - done};
        const iovec there{static_cast<char*>(client) + done, bytes - done};
        const ssize_t moved = call(getpid(), &here, 1, &there, 1, 0);
        if (moved > 0) {
            done += static_cast<size_t>(moved);
        } else if (moved < 0 && (errno == ENOSYS || errno == EPERM)) {
            void* const to = call == process_vm_readv ? here.iov_base : there.iov_base;
            void* const from = call == process_vm_readv ? there.iov_base : here.iov_base;
            std::memmove(to, from, bytes - done);
            return true;
        } else if (moved == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool read_client(void* to, const void* from, size_t bytes) {
    return transfer(process_vm_readv, to, const_cast<void*>(from), bytes);
}

bool write_client(void* to, const void* from, size_t bytes) {
    return transfer(process_vm_writev, const_cast<void*>(from), to, bytes);
}

}  // namespace hkc::emu
