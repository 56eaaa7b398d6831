const nodeOptions = process.env['BENCH_GATEWAY_NODE_OPTIONS'];

/** Additional environment of the measured programs: `BENCH_GATEWAY_NODE_OPTIONS` can profile them. */
export const profiled: Record<string, string> = nodeOptions === undefined ? {} : { NODE_OPTIONS: nodeOptions };
