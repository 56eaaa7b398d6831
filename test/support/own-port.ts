import { choosePort } from '../../src/main/processes/choose-port.ts';

/**
 * A free port for a server that is told its port before it starts. Each worker of Jest has ports of its own below those that the system gives to
 * connections and to port 0, so that nobody takes it before the server does.
 */
export const chooseOwnPort = (taken = new Set<number>()): Promise<number> => choosePort(anyOwnPort(), taken);

const anyOwnPort = (): number =>
  20_000 + (Number(process.env['JEST_WORKER_ID'] ?? 0) % 6) * 2_000 + Math.floor(Math.random() * 2_000);
