/* A pod with each field that its facts are read from, and no other but the name. */
#pragma once

static const char whole_pod[] =
    "{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
    "\"deletionTimestamp\":\"2026-01-01T00:10:30Z\",\"deletionGracePeriodSeconds\":30,"
    "\"ownerReferences\":[{\"uid\":\"u-1\"},{\"kind\":\"BenchmarkRun\",\"controller\":true}],"
    "\"labels\":{\"benchd.io/role\":\"pserver\",\"benchd.io/point\":\"1\",\"benchd.io/trial\":"
    "\"2\",\"benchd.io/attempt\":\"3\",\"benchd.io/replica-index\":\"4\","
    "\"kueue.x-k8s.io/queue-name\":\"q\"}},"
    "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"side\"},{\"name\":\"main\","
    "\"env\":[{\"name\":\"BENCHD_ROLE\"}],\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}}]},"
    "\"status\":{\"phase\":\"Failed\",\"reason\":\"r\",\"message\":\"m\",\"podIP\":\"10.0.0."
    "7\","
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":\"DisruptionTarget\","
    "\"status\":\"True\",\"reason\":\"dr\",\"message\":\"dm\"},{\"type\":\"PodScheduled\","
    "\"status\":\"False\",\"reason\":\"sr\",\"message\":\"sm\"},{\"type\":"
    "\"TerminationTarget\",\"status\":\"True\",\"reason\":\"er\",\"message\":\"em\"},{\"type\":"
    "\"PodReadyToStartContainers\",\"status\":\"False\"}],"
    "\"initContainerStatuses\":[{\"name\":\"main\",\"image\":\"i\",\"state\":{\"waiting\":{"
    "\"reason\":\"wr\",\"message\":\"wm\"}}}],"
    "\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{\"name\":\"main\","
    "\"imageID\":\"id\",\"containerID\":\"c\",\"restartCount\":5,\"state\":{\"terminated\":{"
    "\"exitCode\":137,\"signal\":9,\"reason\":\"tr\",\"message\":\"tm\",\"startedAt\":"
    "\"2026-01-01T00:01:00Z\",\"finishedAt\":\"2026-01-01T00:02:00Z\"}}}]}}";
