// Package agentmetrics is the Collector connector agent_metrics: it counts what
// coding agents did, from their spans, as cumulative metrics.
//
// The counts equal the spans that the Collector has acknowledged:
//
//   - A span counts once. The ids of the last million spans are remembered, so a
//     request that is sent again after a refusal or a lost answer adds nothing.
//   - Concurrent requests do not overtake each other: they add to one total, and
//     only totals leave the connector, in one order.
//   - With a storage, a request is acknowledged when its counts and ids are on disk.
//     A Collector that is stopped or killed continues its totals where they were.
//
// Without a storage totals begin at zero at each start. A span that is repeated
// after a million others counts again.
package agentmetrics
