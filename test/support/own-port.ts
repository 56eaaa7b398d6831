import { choosePort } from '../../src/main/processes/choose-port.ts';

/** The ports of this test file. A server may still be starting on one of them, so that it seems free. */
const ownPorts = new Set<number>();

/**
 * A free port for a server that is told its port before it starts, which this file has not had before. Each worker of
 * Jest has ports of its own below those that `choosePort` gives to any server and the system to connections and to port 0, so that no other program takes it
 * before the server does.
 */
export async function chooseOwnPort(): Promise<number> {
  let port = anyOwnPort();
  while (ownPorts.has(port)) port = anyOwnPort();
  return choosePort(port, ownPorts);
}

/** For each of at most six workers, whose ids begin at 1, and for what prepares the run, which has no id. */
const ranges = 7;
const portsOfRange = 1_400;

const anyOwnPort = (): number =>
  10_000 +
  (Number(process.env['JEST_WORKER_ID'] ?? 0) % ranges) * portsOfRange +
  Math.floor(Math.random() * portsOfRange);

/** Own ports for everything that `npm start` starts, as its environment names them. */
export async function ownPortsOfStart(): Promise<Record<string, string>> {
  const ports: Record<string, string> = {};
  for (const name of ['PORT', 'SANDBOX_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'PGPORT'])
    ports[name] = String(await chooseOwnPort());
  return ports;
}
