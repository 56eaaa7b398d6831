import { tune } from '../../src/config/load-config.ts';

// Preloaded into the processes that a test starts (`node --import`): the fixed numbers of the configuration come from their environment
// too. In production only the settings do.
tune(process.env);
