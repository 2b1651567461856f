/* external.c - reads elements that a model has in another file.
 *
 * A model may come from anyone, so that the path must lead to a regular file below the model's folder: it is relative,
 * without "..", and each of its parts is opened in the one before, where links are not followed. */
#define _GNU_SOURCE
#include "onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path that is being opened. */
typedef struct walk {
    const bp__onnx_tensor *tensor;
    int at; /* the folder that was opened last */
} walk;

static bp_status fail_external(const bp__onnx_tensor *tensor, bp_status status, const char *reason) {
    bp__shown_text name, location;
    return bp__fail(status, "tensor '%s' has its elements in the file '%s': %s", bp__bytes_show(tensor->name, &name),
                    bp__bytes_show(tensor->location, &location), reason);
}

static bp_status fail_errno(const bp__onnx_tensor *tensor) {
    const int error = errno;
    char reason[128];
    return error == ELOOP || error == EMLINK
               ? fail_external(tensor, BP_E_UNTRUSTED, "a part of this path is a link, which could lead elsewhere")
               : fail_external(tensor, error == ENOENT || error == ENOTDIR ? BP_E_NOT_FOUND : BP_E_IO,
                               strerror_r(error, reason, sizeof reason));
}

/* Opens the next part of the path in the folder that was opened last. */
static bp_status step_into(walk *w, const unsigned char *part, size_t length, bool last) {
    char name[NAME_MAX + 1];
    const int flags = last ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY;
    if (length == 0 || (length == 1 && part[0] == '.')) {
        return BP_OK;
    }
    if (length > NAME_MAX || memchr(part, 0, length) || (length == 2 && part[0] == '.' && part[1] == '.')) {
        return fail_external(w->tensor, BP_E_UNTRUSTED, "the path must stay below the model's folder, without \"..\"");
    }
    memcpy(name, part, length);
    name[length] = '\0';
    const int opened = openat(w->at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags);
    if (opened < 0) {
        return fail_errno(w->tensor);
    }
    close(w->at);
    w->at = opened;
    return BP_OK;
}

static bp_status open_below(walk *w) {
    const bp__bytes path = w->tensor->location;
    if (bp__bytes_empty(path) || *path.at == '/') {
        return fail_external(w->tensor, BP_E_UNTRUSTED, "the path must be relative to the model's folder");
    }
    for (const unsigned char *at = path.at; at < path.end;) {
        const unsigned char *slash = memchr(at, '/', (size_t)(path.end - at)), *end = slash ? slash : path.end;
        BP__TRY(step_into(w, at, (size_t)(end - at), !slash));
        at = slash ? slash + 1 : path.end;
    }
    return BP_OK;
}

static bp_status read_part(const walk *w, char *memory) {
    const bp__onnx_tensor *tensor = w->tensor;
    struct stat facts;
    if (fstat(w->at, &facts) != 0) {
        return fail_errno(tensor);
    }
    if (!S_ISREG(facts.st_mode)) {
        return fail_external(tensor, BP_E_IO, "it is not a regular file");
    }
    if (tensor->offset > facts.st_size || tensor->bytes > facts.st_size - tensor->offset) {
        return fail_external(tensor, BP_E_FORMAT, "it has fewer bytes than the tensor");
    }
    for (int64_t done = 0; done < tensor->bytes;) {
        const ssize_t got = pread(w->at, memory + done, (size_t)(tensor->bytes - done), tensor->offset + done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? fail_external(tensor, BP_E_IO, "it became shorter") : fail_errno(tensor);
        }
        done += got;
    }
    return BP_OK;
}

bp_status bp__onnx_external(const bp__onnx_tensor *tensor, const char *folder, void *memory) {
    if (!folder) {
        return fail_external(tensor, BP_E_UNSUPPORTED, "the model is not in a folder");
    }
    if (tensor->length >= 0 && tensor->length != tensor->bytes) {
        return fail_external(tensor, BP_E_FORMAT, "its length is not the length of the tensor");
    }
    walk w = {tensor, open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)};
    if (w.at < 0) {
        return fail_errno(tensor);
    }
    bp_status status = open_below(&w);
    status = status == BP_OK ? read_part(&w, memory) : status;
    close(w.at);
    return status;
}
