import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

// For `node --import`: notes each package of OpenTelemetry and of MikroORM that a process loads, in the file that LOADED_MODULES names.
registerHooks({
  load(url, context, next) {
    const name = /node_modules\/(@(?:opentelemetry|mikro-orm)\/[^/]+|@temporalio\/interceptors-[^/]+)/.exec(url)?.[1];
    if (name !== undefined) appendFileSync(process.env.LOADED_MODULES, `${name}\n`);
    return next(url, context);
  },
});
