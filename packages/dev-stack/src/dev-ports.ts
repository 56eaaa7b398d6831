import { choosePort } from '../../../src/main/processes/choose-port.ts';
import { StartRefused } from './start-refused.ts';

const defaultPorts = { PORT: 8080, SANDBOX_PORT: 8090, TEMPORAL_PORT: 7233, TEMPORAL_UI_PORT: 8233, PGPORT: 5432 };

/** The ports in the environment. Throws `StartRefused` for text that is not a port. */
export function wantedPorts(env: Record<string, string | undefined>): typeof defaultPorts {
  const port = (name: keyof typeof defaultPorts) => {
    const text = env[name];
    if (text === undefined || text === '') return defaultPorts[name];
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
      throw new StartRefused(`${name} must be a port from 0 to 65535`);
    return Number(text);
  };
  return {
    PORT: port('PORT'),
    SANDBOX_PORT: port('SANDBOX_PORT'),
    TEMPORAL_PORT: port('TEMPORAL_PORT'),
    TEMPORAL_UI_PORT: port('TEMPORAL_UI_PORT'),
    PGPORT: port('PGPORT'),
  };
}

export interface PortKeeper {
  /** Starts a server: the first time on the wanted port or a free one, afterwards always on the same port. */
  start<T>(run: (port: number) => Promise<T>): Promise<T>;
  /** The port. Chosen now if none was chosen before. */
  port(): Promise<number>;
}

export type Ports = ReturnType<typeof createPorts>;

/** Gives each server a port. `notes` collects a sentence for each port that is not the wanted one. */
export function createPorts() {
  const taken = new Set<number>();
  const notes: string[] = [];
  function keep({ label, wanted, host }: { label: string; wanted: number; host?: string }): PortKeeper {
    let chosen: Promise<number> | null = null;
    let settled = false;
    const choose = (from: number) => (chosen = choosePort(from, taken, host));
    return {
      port: () => chosen ?? choose(wanted),
      async start(run) {
        for (let tries = 1; ; tries++) {
          const port = await (chosen ?? choose(wanted));
          try {
            const running = await run(port);
            if (!settled && port !== wanted)
              notes.push(
                wanted === 0
                  ? `${label} has the free port ${port}.`
                  : `Port ${wanted} was taken: ${label} is on ${port}.`,
              );
            settled = true;
            return running;
          } catch (error) {
            // Another program may take the port before the server listens. Only the first start may then choose another port.
            const lost = !settled && tries < 3 && (await choosePort(port, new Set(), host)) !== port;
            if (!lost) throw error;
            await choose(0);
          }
        }
      },
    };
  }
  return { keep, notes };
}
