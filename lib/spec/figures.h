/* The rows of the catalogue (result/catalogue.h): X(id, NUMBER or PERCENT for people, members of
 * struct figure_kind). They are here because a threshold bounds one of the first list, by its key
 * of JSON; those of the second are made of others, most with a price, and have none. */
#pragma once

/* clang-format off */
#define FIGURES_KEYED(X) \
    X(THROUGHPUT, NUMBER, "throughput", "Throughput", NULL, "throughput", "throughput", "benchd_point_throughput", \
      "Throughput of a point, all trainers together: the median over its trials.", \
      .has_interval = true, .is_independent = true, .offset = POINT(throughput)) \
    X(SPEEDUP, NUMBER, "speedup", "Speedup", "SPEEDUP", "speedup", "speedup", "benchd_point_speedup", \
      "Throughput divided by the baseline's.", \
      .has_interval = true, .place = PLACE_ROOM, .offset = POINT(speedup)) \
    X(EFFICIENCY, PERCENT, "efficiency", "Efficiency", "EFFICIENCY", "efficiency", "efficiency", "benchd_point_efficiency", \
      "Speedup / number of trainers; the baseline's is 1.", \
      .has_interval = true, .place = PLACE_TABLE, .offset = POINT(efficiency)) \
    X(EFFICIENCY_PER_POD, PERCENT, "efficiency-per-pod", "Efficiency per pod", "EFF/POD", "efficiency_per_pod", "efficiencyPerPod", NULL, \
      "Speedup divided by the number of pods, servers among them.", \
      .has_interval = true, .place = PLACE_MORE, .compute = efficiency_per_pod) \
    X(EFFICIENCY_PER_CPU, PERCENT, "efficiency-per-cpu", "Efficiency per CPU", "EFF/CPU", "efficiency_per_cpu", "efficiencyPerCpu", NULL, \
      "Speedup divided by the CPUs of all pods.", \
      .has_interval = true, .place = PLACE_MORE, .compute = efficiency_per_cpu) \
    X(EXCHANGE_SHARE, PERCENT, "exchange-share", "Share of the exchange in a trainer's step", NULL, "exchange_share", "exchangeShare", "benchd_point_exchange_share", \
      "Send, wait and receive of a step divided by the whole step, each as the mean over trainers and trials; of programs that report phases.", \
      .compute = exchange_share) \
    X(TIME_TO_ACCURACY, NUMBER, "time-to-accuracy", "Time to accuracy", NULL, "time_to_accuracy_s", "timeToAccuracy", NULL, \
      "Time until the model has the accuracy, or the loss, that the definition names.", \
      .unit = "s", .has_interval = true, .is_independent = true, .needs = NEEDS_GOAL, .place = PLACE_ACCURACY, .offset = GOAL(time_to_accuracy)) \
    X(TIME_SPEEDUP, NUMBER, "time-to-accuracy-speedup", "Speedup of the time to accuracy", "SPEEDUP", "time_to_accuracy_speedup", "timeToAccuracySpeedup", NULL, \
      "The baseline's time to accuracy divided by the point's.", \
      .has_interval = true, .needs = NEEDS_GOAL, .place = PLACE_ACCURACY, .offset = GOAL(time_speedup)) \
    X(TIME_EFFICIENCY, PERCENT, "time-to-accuracy-efficiency", "Efficiency of the time to accuracy", "EFFICIENCY", "time_to_accuracy_efficiency", "timeToAccuracyEfficiency", NULL, \
      "Speedup of the time to accuracy divided by the number of trainers.", \
      .has_interval = true, .needs = NEEDS_GOAL, .place = PLACE_ACCURACY, .offset = GOAL(time_efficiency)) \
    X(ACCURACY_AFTER_TIME, PERCENT, "accuracy-after-time", "Accuracy after a time", NULL, "accuracy_after_time", "accuracyAfterTime", NULL, \
      "Accuracy after the time that the definition names.", \
      .has_interval = true, .is_independent = true, .needs = NEEDS_TIME, .place = PLACE_ACCURACY, .offset = GOAL(accuracy_after_time)) \
    X(STRAGGLER_SHARE, PERCENT, "straggler-share", "Share of the slowest trainer in a step", "STRAGGLER", "straggler_share", "stragglerShare", "benchd_point_straggler_share", \
      "Time that the others lose to the slowest trainer, as a share of a step: its own work less the mean, the median over trials; of programs that report phases.", \
      .has_interval = true, .place = PLACE_MORE, .of_trial = straggler_share) \
    X(PEAK_MEMORY, NUMBER, "peak-memory", "Peak memory of a trainer", "PEAK MIB", "peak_memory_mib", "peakMemory", "benchd_point_peak_memory", \
      "Resident memory that the largest trainer of a trial needed at most; the median over trials; of programs that report it.", \
      .unit = "MiB", .has_interval = true, .is_independent = true, .place = PLACE_MORE, .of_trial = peak_memory)

#define FIGURES_MADE(X) \
    X(COST, NUMBER, "cost", "Cost", NULL, NULL, NULL, NULL, \
      "Cost of a million samples, with a price; if the CPUs are unknown, as in a rehearsal, use /pod-hour.", \
      .unit = "a million", .has_interval = true, .is_cost = true, .compute = cost) \
    X(TIME_COST, NUMBER, "time-to-accuracy-cost", "Cost of a trial up to its accuracy", "COST", NULL, NULL, NULL, \
      "Cost of a trial until it reaches the target: price x pods (or CPUs) x hours.", \
      .unit = "a trial", .has_interval = true, .is_cost = true, .needs = NEEDS_GOAL, .place = PLACE_ACCURACY, .offset = GOAL(time_cost), .compute = time_cost) \
    X(PRICE_INDEX, NUMBER, "price-index", "Price index N / S^2", NULL, NULL, NULL, NULL, \
      "N / S^2 against the baseline: below 1 the speed rises by more than the price.", \
      .has_interval = true, .compute = price_index)
/* clang-format on */

#define FIGURE_ID(id, ...) FIGURE_##id,
enum figure_id {
    FIGURES_KEYED(FIGURE_ID) N_FIGURES_KEYED,
    FIGURE_LAST_KEYED = N_FIGURES_KEYED - 1,
    FIGURES_MADE(FIGURE_ID)
};
#undef FIGURE_ID
