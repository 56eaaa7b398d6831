import { Server as HttpServer } from 'node:http';
import { Server as HttpsServer } from 'node:https';

/**
 * Servers of a test keep idle connections longer than the gateway does, as those of providers do. With Node's five seconds, a process that was
 * delayed closes a connection on which a submit has just arrived, and the outcome of that submit is unknown. Jest runs this before each test file.
 */
const usualMs = 5_000;
const patientMs = 600_000;

for (const { prototype } of [HttpServer, HttpsServer]) {
  // Jest shares the modules of Node between the test files of a process.
  if (Object.hasOwn(prototype, 'listen')) continue;
  const listen = Reflect.get(prototype, 'listen') as (...args: unknown[]) => HttpServer;
  prototype.listen = function (this: HttpServer | HttpsServer, ...args: unknown[]): HttpServer {
    if (this.keepAliveTimeout === usualMs) this.keepAliveTimeout = patientMs;
    return Reflect.apply(listen, this, args);
  };
}
