/* Runs as benchd sends them: files (store/run_file.h) that are read as a store. */
#include <stdio.h>
#include <unistd.h>

#include "ctl/cluster/cluster_internal.h"
#include "ctl/runs/room.h"

/* What benchd answered, unpacked, into the file `path`. */
static int unpack(const void *data, size_t len, const char *path, struct err *err)
{
    FILE *in = fmemopen((void *)(uintptr_t)data, len, "rb"); /* it is only read */
    if (in == NULL) {
        return err_set(err, EPROTO, "it is empty");
    }
    const int r = run_file_unpack(in, path, RUN_FILE_MAX_BYTES, err);
    (void)fclose(in); /* as above */
    return r;
}

int cluster_read_file(const void *data, size_t len, const struct run_status *status,
                      struct loaded_run *ret, struct err *err)
{
    _cleanup_(freep) char *room = NULL;
    struct run_file_head head = {0};
    struct store *file = NULL;
    struct run_row row = {0};
    int r = room_make(&room, err);
    if (r < 0) {
        return r;
    }
    r = unpack(data, len, room, err);
    r = r < 0 ? r : run_file_open(room, &file, &head, err);
    (void)unlink(room); /* it is open, or not needed */
    run_file_head_done(&head);
    r = r < 0 ? r : run_file_run(file, &row, err);
    if (r < 0) {
        store_close(file);
        return err_wrap(err, r, "benchd's answer");
    }
    /* If the run has ended alike in both, the store knows more: its dates have milliseconds. */
    if (status != NULL &&
        (!run_phase_is_final(status->phase) || status->phase != row.status.phase)) {
        row.status = *status;
    }
    r = loaded_run_read(file, &row, ret, err);
    if (r < 0) {
        store_close(file);
        return r;
    }
    ret->file = file;
    return 0;
}

/* GET of the run's file, with these arguments. */
static int get_file(struct cluster *c, const char *name, const char *args,
                    struct cluster_answer *ret, struct err *err)
{
    _cleanup_(freep) char *path = cluster_api_path(name, "/file%s", args);
    return cluster_api_call(c, path, ret, err);
}

int cluster_load_file(struct cluster *c, const char *name, const struct run_status *status,
                      struct loaded_run *ret, struct err *err)
{
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    const int r = get_file(c, name, "", &a, err);
    return r < 0 ? r : cluster_read_file(buf_cstr(&a.body), a.body.len, status, ret, err);
}

int cluster_fetch_file(struct cluster *c, const char *name, const char *args, const char *path,
                       struct err *err)
{
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    int r = get_file(c, name, args, &a, err);
    if (r >= 0 && (r = unpack(buf_cstr(&a.body), a.body.len, path, err)) < 0) {
        r = err_wrap(err, r, "benchd's answer");
    }
    return r;
}
