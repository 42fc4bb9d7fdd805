/* The render thread and its queue, and that nobody else waits for it. The store's reader
 * is held up by the test, and the clock is the test's own, so that nothing depends on how
 * fast the machine is. */
#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/str.h"
#include "daemon/web/cpu_budget.h"
#include "daemon/web/render.h"
#include "daemon/web/web.h"
#include "fake_daemon.h"
#include "result_fixture.h"
#include "tests/store/store_folder.h"

#define S_NS INT64_C(1000000000)
#define WAITING 5 /* jobs of a rig's renderer */

/* --- The store's reader and the clock: these replace those of the program (-Wl,--wrap) ------- */

static struct store_ops reader_ops;
static const struct store_ops *real_ops;
static atomic_bool is_held;      /* list_runs waits */
static sem_t is_waiting, may_go; /* in list_runs; one post each */
static atomic_llong now_ns;
static atomic_llong cpu_ns, submitter_cpu_ns; /* of the render thread; of who submits */
static sem_t has_looked; /* the render thread, at its CPU time; one post each */
static pthread_t submitter;

int64_t __wrap_clock_monotonic_ns(void);
int64_t __wrap_clock_monotonic_ns(void)
{
    return atomic_load(&now_ns);
}

int64_t __wrap_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void)
{
    const bool is_submitter = pthread_equal(pthread_self(), submitter) != 0;
    if (!is_submitter) {
        assert_int_equal(sem_post(&has_looked), 0);
    }
    return atomic_load(is_submitter ? &submitter_cpu_ns : &cpu_ns);
}

static int list_runs_held(struct store *s, struct run_row **ret, size_t *ret_n, struct err *err)
{
    if (atomic_load(&is_held)) {
        assert_int_equal(sem_post(&is_waiting), 0);
        assert_int_equal(sem_wait(&may_go), 0);
    }
    return real_ops->list_runs(s, ret, ret_n, err);
}

int __real_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err);
int __wrap_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err);
int __wrap_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err)
{
    int r = __real_store_open_reader(url, must_stop, ctx, ret, err);
    if (r >= 0) {
        real_ops = (*ret)->ops;
        reader_ops = *real_ops;
        reader_ops.list_runs = list_runs_held;
        (*ret)->ops = &reader_ops;
    }
    return r;
}

/* --- The rig ---------------------------------------------------------------------------------- */

struct rig {
    char folder[64], url[96];
    struct store *store;
    struct fixture run;
    struct fake_daemon daemon;
    struct daemon_view *view;
    struct renderer *renderer;
};

/* Those that are done; one post each. */
static struct render_job *done_jobs[256];
static size_t n_done, n_taken; /* n_done: of the render thread, until it has ended */
static sem_t done;

static void on_done(struct render_job *job)
{
    assert_true(n_done < N_ROWS(done_jobs));
    done_jobs[n_done++] = job;
    assert_int_equal(sem_post(&done), 0);
}

static struct rig *rig_new(void)
{
    struct rig *rig = xnew(struct rig);
    rig->store = store_in_folder(rig->folder, rig->url);
    fixture_init(&rig->run, "{grid: {pservers: [1], trainers: [1, 2]}}", "  repeats: {min: 3}\n",
                 8);
    store_put_def(rig->store, rig->run.def,
                  &(struct run_status){.phase = RUN_SUCCEEDED, .ended_unix_ms = 1});
    store_put_attempt(rig->store, rig->run.def, fixture_throughput(&rig->run, 0, 0, 50), NULL, 0);
    rig->view = daemon_view_new();
    now_ns = 1000 * S_NS;
    cpu_ns = submitter_cpu_ns = 0;
    submitter = pthread_self();
    is_held = false;
    assert_int_equal(sem_init(&is_waiting, 0, 0) | sem_init(&may_go, 0, 0), 0);
    assert_int_equal(sem_init(&has_looked, 0, 0), 0);
    assert_int_equal(sem_init(&done, 0, 0), 0);
    n_done = n_taken = 0;
    return rig;
}

static struct rig *rig_with_renderer(bool counts_submitter)
{
    struct rig *rig = rig_new();
    const struct render_params params = {.view = rig->view,
                                         .store_url = rig->url,
                                         .max_waiting = WAITING,
                                         .counts_submitter = counts_submitter,
                                         .on_done = on_done};
    assert_int_equal(renderer_new(&params, &rig->renderer, NULL), 0);
    return rig;
}

static void rig_freep(struct rig **p)
{
    struct rig *rig = *p;
    renderer_free(rig->renderer);
    fake_daemon_done(&rig->daemon);
    daemon_view_free(rig->view);
    store_close(rig->store);
    fixture_done(&rig->run);
    store_folder_remove(rig->folder);
    free(rig);
}

/* `path` must live as long as the job. */
static struct render_job job_of(const char *path)
{
    struct render_job job = {.req = {.path = path}};
    routes_find(path, &job.route);
    return job;
}

/* Waits for the next job that is done. */
static struct render_job *next_done(void)
{
    assert_int_equal(sem_wait(&done), 0);
    return done_jobs[n_taken++];
}

/* Holds the thread in a job that lists the runs. */
static void hold(struct rig *rig, struct render_job *job)
{
    is_held = true;
    *job = job_of("/api/v1/runs");
    assert_true(renderer_submit(rig->renderer, job));
    assert_int_equal(sem_wait(&is_waiting), 0);
}

static void let_go(void)
{
    is_held = false;
    assert_int_equal(sem_post(&may_go), 0);
}

/* Asks for a path and drops the answer. */
static void ask(struct rig *rig, const char *path)
{
    struct render_job job = job_of(path);
    assert_true(renderer_submit(rig->renderer, &job));
    assert_ptr_equal(next_done(), &job);
    assert_int_equal(job.code, 200);
    body_free(job.body);
}

/* --- Tests ------------------------------------------------------------------------------------ */

TEST(test_too_many_wait)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    struct render_job first, jobs[WAITING + 1];
    hold(rig, &first);
    for (size_t i = 0; i < N_ROWS(jobs); i++) {
        jobs[i] = job_of("/api/v1/runs");
        assert_int_equal(renderer_submit(rig->renderer, &jobs[i]), i < WAITING);
    }
    let_go();
    for (size_t i = 0; i < 1 + WAITING; i++) {
        struct render_job *job = next_done();
        assert_ptr_equal(job, i == 0 ? &first : &jobs[i - 1]);
        assert_int_equal(job->code, 200);
        body_free(job->body);
    }
    renderer_stop(rig->renderer);
}

static void publish_driving(struct rig *rig, bool is_driving)
{
    rig->daemon.facts.runs[RUN_RUNNING] = is_driving;
    fake_daemon_publish(&rig->daemon, rig->view);
}

/* Submits a job when one of the threads has had its share of the CPU, and none is left. */
static void use_up(struct rig *rig, atomic_llong *whose, struct render_job *job)
{
    struct render_job first;
    hold(rig, &first);
    *whose += CPU_BUDGET_BURST_NS;
    *job = job_of("/");
    assert_true(renderer_submit(rig->renderer, job));
    let_go();
    assert_ptr_equal(next_done(), &first);
    body_free(first.body);
}

/* The thread has looked again, by its own clock, since it began to rest. */
static void expect_rest(void)
{
    while (sem_trywait(&has_looked) == 0) {
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sem_wait(&has_looked), 0);
    }
    assert_int_equal(sem_trywait(&done), -1);
}

/* While a run is driven, readers wait for their share of a CPU. */
TEST(test_readers_have_a_share)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    struct render_job waiting;
    publish_driving(rig, true);
    use_up(rig, &submitter_cpu_ns, &waiting);
    expect_rest();
    now_ns += CPU_BUDGET_SLICE_NS * CPU_BUDGET_SHARE;
    assert_ptr_equal(next_done(), &waiting);
    assert_int_equal(waiting.code, 200);
    body_free(waiting.body);
    publish_driving(rig, false);
    cpu_ns += 100 * S_NS;
    ask(rig, "/"); /* nothing is driven: at once */
    renderer_stop(rig->renderer);
}

/* Scrapes have a share of their own: what the HTTP thread works for readers
 * is not theirs to pay. */
TEST(test_scrapes_do_not_pay_for_readers)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(false);
    struct render_job scrape;
    publish_driving(rig, true);
    use_up(rig, &submitter_cpu_ns, &scrape);
    assert_ptr_equal(next_done(), &scrape); /* the clock has not moved */
    body_free(scrape.body);
    use_up(rig, &cpu_ns, &scrape);
    expect_rest();
    now_ns += CPU_BUDGET_SLICE_NS * CPU_BUDGET_SHARE;
    assert_ptr_equal(next_done(), &scrape);
    body_free(scrape.body);
    renderer_stop(rig->renderer);
}

/* Who waits for that share hears in time that there is none. */
TEST(test_a_share_that_comes_too_late)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    struct render_job waiting;
    publish_driving(rig, true);
    use_up(rig, &cpu_ns, &waiting);
    expect_rest();
    now_ns += RENDER_TIMEOUT_NS;
    cpu_ns += 100 * S_NS;
    assert_ptr_equal(next_done(), &waiting);
    assert_int_equal(waiting.code, 503);
    assert_true(waiting.must_retry_later);
    body_free(waiting.body);
    renderer_stop(rig->renderer);
}

/* Who has waited too long is told to come again; who came later is served. */
TEST(test_time_is_over)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    struct render_job first, waiting = job_of("/"), late = job_of("/");
    hold(rig, &first);
    assert_true(renderer_submit(rig->renderer, &waiting));
    now_ns += RENDER_TIMEOUT_NS;
    assert_true(renderer_submit(rig->renderer, &late));
    let_go();
    const struct {
        struct render_job *job;
        int code;
    } rows[] = {{&first, 503}, {&waiting, 503}, {&late, 200}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct render_job *job = next_done();
        assert_ptr_equal(job, rows[i].job);
        /* SQLite asks for the time only now and then, so the first may get through. */
        if (i > 0) {
            assert_int_equal(job->code, rows[i].code);
            assert_int_equal(job->must_retry_later, rows[i].code == 503);
        }
        body_free(job->body);
    }
    renderer_stop(rig->renderer);
}

TEST(test_stop)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    renderer_stop(rig->renderer);
    struct render_job late = job_of("/"); /* it would wait for ever */
    assert_false(renderer_submit(rig->renderer, &late));
    assert_int_equal(n_done, 0);
}

TEST(test_stop_with_work)
{
    _cleanup_(rig_freep) struct rig *rig = rig_with_renderer(true);
    struct render_job first, waiting = job_of("/"), other = job_of("/api/v1/runs");
    hold(rig, &first);
    assert_true(renderer_submit(rig->renderer, &waiting));
    assert_true(renderer_submit(rig->renderer, &other));
    let_go();
    renderer_stop(rig->renderer);
    assert_int_equal(n_done, 3); /* nobody is forgotten */
    for (size_t i = 0; i < n_done; i++) {
        const struct render_job *job = done_jobs[i];
        assert_true(job->code == 200 || (job->code == 503 && job->must_retry_later));
        body_free(job->body);
    }
}

/* Sends a request on a connection of its own; `header`: "" or a line with its end. */
static void get_with(const char *address, const char *path, const char *header, int *ret_fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {.tv_sec = 20}; /* an answer that does not come is a failure */
    assert_int_equal(setsockopt(*ret_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(connect(*ret_fd, (struct sockaddr *)&to, sizeof(to)), 0);
    char request[256];
    const int len = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n%s\r\n", path, header);
    assert_int_equal(write(*ret_fd, request, (size_t)len), len);
}

static void get(const char *address, const char *path, int *ret_fd)
{
    get_with(address, path, "", ret_fd);
}

static void assert_answer(int fd, const char *status)
{
    char line[16] = "";
    assert_int_equal(recv(fd, line, 12, MSG_WAITALL), 12);
    assert_string_equal(line + 9, status);
    (void)close(fd);
}

/* While the store is read for one client, the probes and scrapes of others are
 * answered, and benchd can end. */
TEST(test_probes_wait_for_nobody)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    const struct web_params params = {rig->view, rig->url, "127.0.0.1:0", NULL};
    struct web *web = NULL;
    int slow, probe;
    rig->daemon.not_ready = "the lease is not held";
    fake_daemon_publish(&rig->daemon, rig->view);
    assert_int_equal(web_new(&params, &web, NULL), 0);
    is_held = true;
    get(web_address(web), "/api/v1/runs", &slow);
    assert_int_equal(sem_wait(&is_waiting), 0);
    static const struct {
        const char *path, *status;
    } rows[] = {{"/healthz", "200"}, {"/readyz", "503"}, {"/metrics", "200"}, {"/none", "404"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        get(web_address(web), rows[i].path, &probe);
        assert_answer(probe, rows[i].status);
    }
    let_go();
    assert_answer(slow, "200");
    web_free(web);
}

/* With a read key the runs are for those who have it; probes and metrics are for all. */
TEST(test_read_key)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    const struct web_params params = {rig->view, rig->url, "127.0.0.1:0", "0123456789abcdef"};
    static const char right[] = WEB_READ_KEY ": 0123456789abcdef\r\n";
    static const struct {
        const char *path, *header, *status;
    } rows[] = {
        {"/api/v1/runs", "", "403"},
        {"/api/v1/runs", WEB_READ_KEY ": 0123456789abcdee\r\n", "403"},
        {"/api/v1/runs", WEB_READ_KEY ": 0123456789abcde\r\n", "403"},
        {"/api/v1/runs", WEB_READ_KEY ": 0123456789abcdef0\r\n", "403"},
        {"/api/v1/runs", WEB_READ_KEY ":\r\n", "403"},
        {"/api/v1/runs", "Authorization: Bearer 0123456789abcdef\r\n", "403"},
        {"/api/v1/runs/x", "", "403"}, /* also whether a run is there */
        {"/api/v1/runs/x/results", "", "403"},
        {"/api/v1/runs/x/file", "", "403"},
        {"/api/v1/runs/x/logs?point=0", "", "403"},
        {"/", "", "403"},
        {"/runs/x", "", "403"},
        {"/api/v1/runs", right, "200"},
        {"/runs/x", right, "404"},
        {"/", right, "200"},
        {"/metrics", "", "200"},
        {"/healthz", "", "200"},
        {"/none", "", "404"},
    };
    struct web *web = NULL;
    assert_int_equal(web_new(&params, &web, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int fd;
        print_message("# %s, %s\n", rows[i].path, rows[i].header);
        get_with(web_address(web), rows[i].path, rows[i].header, &fd);
        assert_answer(fd, rows[i].status);
    }
    web_free(web);
}

/* The loop looks at least once a second: an old look shows that it hangs. */
TEST(test_a_loop_that_hangs)
{
    struct daemon_facts facts = {.look_ns = 100 * S_NS, .is_healthy = true, .is_ready = true};
    struct err why = {0};
    assert_true(daemon_facts_are_healthy(&facts, facts.look_ns + DAEMON_STALL_NS, &why));
    assert_false(daemon_facts_are_healthy(&facts, facts.look_ns + 7 * S_NS, &why));
    assert_string_equal(why.msg, "the loop has not turned for 7 s");
    assert_false(daemon_facts_are_ready(&facts, facts.look_ns + 7 * S_NS, NULL));
    facts.look_ns = 0; /* it has not begun */
    assert_true(daemon_facts_are_ready(&facts, 900 * S_NS, &why));
    facts.is_healthy = false;
    (void)err_set(&facts.not_healthy, ESHUTDOWN, "shutting down");
    assert_false(daemon_facts_are_ready(&facts, 900 * S_NS, &why));
    assert_string_equal(why.msg, "shutting down");
}
