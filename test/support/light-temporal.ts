/**
 * Settings of a Temporal server for tests, which need less CPU time than the defaults. The task queues of a test are too small for
 * four partitions each. The Go runtime collects garbage less often and uses more memory.
 */
export const lightTemporal = {
  settings: { 'matching.numTaskqueueReadPartitions': '1', 'matching.numTaskqueueWritePartitions': '1' },
  environment: { GOGC: '400' },
};
