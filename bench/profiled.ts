const nodeOptions = process.env['BENCH_GATEWAY_NODE_OPTIONS'];

/** What the measured programs run with beside their own environment: `BENCH_GATEWAY_NODE_OPTIONS`, to profile them. */
export const profiled: Record<string, string> = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
