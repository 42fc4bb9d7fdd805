/* The check of class labels that every file format shares. */
#include "worker/data/dataset_internal.h"

int labels_check(const char *path, const uint8_t *labels, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= DATA_CLASSES) {
            return err_set(err, EBADMSG, "'%s': label %u of sample %zu, expected 0 to %d", path,
                           labels[i], i, DATA_CLASSES - 1);
        }
    }
    return 0;
}
