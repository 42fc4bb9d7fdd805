/* See sampler.h. */
#include "run/processes/sampler.h"

#include <math.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/parse.h"
#include "host/host.h"

#define UNMET_MIN_S 1 /* a shorter job may be missed between two looks */
/* Looks at programs are apart by 1/100 of the attempt's age, and take at most 1/200 of a CPU. */
#define LOOKS_APART 100
#define LOOKS_COST 200

struct sampler {
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_work_t work;
    bool is_busy;     /* the work is under way */
    bool is_open;     /* the devices were looked for */
    bool is_closed;   /* the timer is closed */
    uv_mutex_t mutex; /* guards what follows; held during a reading */
    struct gpus *gpus;
    struct telemetry telemetry;
    int64_t port; /* at which the workers are to meet; 0: none, or a process has listened there */
    int64_t watched_ns, looked_ns; /* since when, and the last look */
    VEC(struct cpu_watch) programs;
    int64_t began_ns, next_ns; /* the attempt, and the next look at programs */
    int64_t cost_ns;           /* CPU time of the last look, as the kernel counts it */
};

static void free_if_unused(struct sampler *s)
{
    if (s->is_closed && !s->is_busy) {
        telemetry_clear(&s->telemetry);
        vec_done_each(&s->programs, cpu_watch_done);
        gpus_close(s->gpus);
        uv_mutex_destroy(&s->mutex);
        free(s);
    }
}

static void look_at_programs(struct sampler *s)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (now_ns < s->next_ns) {
        return;
    }
    const int64_t begin_ns = clock_thread_cpu_ns();
    vec_each (struct cpu_watch, w, &s->programs) {
        if (!w->has_ended) {
            cpu_watch_look("", w, clock_monotonic_ns());
        }
    }
    /* The host of a virtual machine may take the CPU for a second in the middle of a look, and the
     * kernel counts that as its cost: of two looks the cheaper one counts. */
    const int64_t cost_ns = clock_thread_cpu_ns() - begin_ns;
    const int64_t least_ns = LOOKS_COST * (cost_ns < s->cost_ns ? cost_ns : s->cost_ns);
    const int64_t apart_ns = (now_ns - s->began_ns) / LOOKS_APART;
    s->cost_ns = cost_ns;
    s->next_ns = now_ns + (least_ns > apart_ns ? least_ns : apart_ns);
}

static void work(uv_work_t *work)
{
    struct sampler *s = work->data;
    uv_mutex_lock(&s->mutex);
    const int64_t now_ns = clock_monotonic_ns();
    if (s->gpus != NULL) {
        struct gpu_reading r;
        gpus_read(s->gpus, &r);
        r.t_ns = now_ns;
        telemetry_add(&s->telemetry, &r);
    }
    s->port = s->port != 0 && host_listens("", s->port) ? 0 : s->port;
    s->looked_ns = now_ns;
    look_at_programs(s);
    uv_mutex_unlock(&s->mutex);
}

static void on_worked(uv_work_t *work, int status)
{
    struct sampler *s = work->data;
    (void)status; /* it is never cancelled */
    s->is_busy = false;
    if (s->gpus == NULL && s->port == 0 && vec_all(&s->programs, it, it->has_ended)) {
        (void)uv_timer_stop(&s->timer); /* always 0 */
    }
    free_if_unused(s);
}

static void on_timer(uv_timer_t *timer)
{
    struct sampler *s = timer->data;
    if (!s->is_busy) { /* fails without a callback only */
        s->is_busy = uv_queue_work(s->loop, &s->work, work, on_worked) == 0;
    }
}

struct sampler *sampler_new(uv_loop_t *loop)
{
    struct sampler *s = xnew(struct sampler);
    s->loop = loop;
    s->timer.data = s->work.data = s;
    (void)uv_timer_init(loop, &s->timer); /* always 0 */
    (void)uv_mutex_init(&s->mutex);       /* fails without memory only */
    uv_unref((uv_handle_t *)&s->timer);
    return s;
}

static void on_closed(uv_handle_t *handle)
{
    struct sampler *s = handle->data;
    s->is_closed = true;
    free_if_unused(s);
}

void sampler_close(struct sampler *s)
{
    uv_close((uv_handle_t *)&s->timer, on_closed);
}

void sampler_begin(struct sampler *s)
{
    uv_mutex_lock(&s->mutex);
    if (!s->is_open) {
        s->is_open = true;
        s->gpus = gpus_open(GPU_LIBRARY);
    }
    telemetry_clear(&s->telemetry);
    vec_done_each(&s->programs, cpu_watch_done);
    s->began_ns = clock_monotonic_ns();
    s->next_ns = s->cost_ns = s->port = 0;
    if (s->gpus != NULL) {
        gpus_forget(s->gpus);
    }
    /* Cannot fail: the callback is not NULL, and the timer is not closing. It is stopped at once
     * where nothing is to be looked at. */
    (void)uv_timer_start(&s->timer, on_timer, 0, TELEMETRY_INTERVAL_MS);
    uv_mutex_unlock(&s->mutex);
}

void sampler_choose(struct sampler *s, const char *visible, const char *port)
{
    uv_mutex_lock(&s->mutex);
    if (s->gpus != NULL) {
        gpus_choose(s->gpus, visible == NULL ? "all" : visible);
    }
    if (port != NULL && parse_i64_in(port, 1, UINT16_MAX, &s->port) == 0) {
        s->watched_ns = s->looked_ns = clock_monotonic_ns();
    }
    uv_mutex_unlock(&s->mutex);
}

void sampler_watch(struct sampler *s, int pid, const char *cpus)
{
    uv_mutex_lock(&s->mutex);
    struct cpu_watch *w = vec_push(&s->programs);
    *w = (struct cpu_watch){.pid = pid, .has_guard = true, .cpus = xstrdup_or_null(cpus)};
    cpu_watch_look("", w, clock_monotonic_ns());
    uv_mutex_unlock(&s->mutex);
}

void sampler_look(struct sampler *s)
{
    uv_mutex_lock(&s->mutex);
    s->next_ns = 0;
    look_at_programs(s);
    uv_mutex_unlock(&s->mutex);
}

static struct cpu_watch *find_program(const struct sampler *s, int pid)
{
    return vec_find(&s->programs, it, it->pid == pid);
}

void sampler_watch_end(struct sampler *s, int pid)
{
    uv_mutex_lock(&s->mutex);
    struct cpu_watch *w = find_program(s, pid);
    if (w != NULL && !w->has_ended) {
        cpu_watch_look("", w, clock_monotonic_ns());
        w->has_ended = true;
    }
    uv_mutex_unlock(&s->mutex);
}

struct cpu_count sampler_count(struct sampler *s, int pid, int64_t from_ns, int64_t to_ns)
{
    uv_mutex_lock(&s->mutex);
    struct cpu_watch *w = find_program(s, pid);
    if (w != NULL && !w->has_ended) {
        cpu_watch_look("", w, clock_monotonic_ns());
    }
    const struct cpu_count count =
        w == NULL ? (struct cpu_count){0} : cpu_watch_between(w, from_ns, to_ns);
    uv_mutex_unlock(&s->mutex);
    return count;
}

double sampler_unmet_s(struct sampler *s)
{
    uv_mutex_lock(&s->mutex);
    const double unmet_s = s->port == 0 ? 0 : (double)(s->looked_ns - s->watched_ns) / 1e9;
    uv_mutex_unlock(&s->mutex);
    return unmet_s < UNMET_MIN_S ? NAN : unmet_s;
}

void sampler_end(struct sampler *s, int64_t from_ns, int64_t to_ns, struct metrics *ret)
{
    uv_mutex_lock(&s->mutex);
    telemetry_figures(&s->telemetry, from_ns, to_ns, ret);
    uv_mutex_unlock(&s->mutex);
    (void)uv_timer_stop(&s->timer); /* always 0 */
}
