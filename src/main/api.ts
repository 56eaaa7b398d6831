import cluster from 'node:cluster';
import { runApiProcesses } from './api-processes.ts';
import { configOrExit } from './run-process.ts';

const config = configOrExit();
if (config.http.processes > 1 && cluster.isPrimary) await runApiProcesses(config);
else await import('./serve-api.ts');
