import type { Config } from '../config/load-config.ts';
import type { Database } from '../db/database.ts';
import type { Deps } from '../deps.ts';

/** The dependencies of actions by what they need. The command line opens them for one action, an API server has all of them. */
export interface ActionDeps {
  /** For actions that read the catalog's files. The command line has no database for them unless they open one. */
  catalogSettings: {
    config: Pick<Config, 'catalog' | 'accounting'>;
    db?: Database;
    openDatabase: () => Promise<Database>;
  };
  /** The database alone, without the secrets, so that these actions also run where no secrets are configured. */
  database: { db: Database; config: Omit<Config, 'secrets'> };
  /** The database, and the keys to seal, digest and sign with. */
  secrets: SecretsDeps;
  /** For importing another gateway: also the environment, in which its config.yaml names values. */
  importer: SecretsDeps & { env: Readonly<Record<string, string | undefined>> };
  /** For ending a task: the ledger, the workflows and the providers. */
  upstreams: UpstreamDeps;
  /**
   * The dependencies of a worker, for actions that run a worker's job. A run that takes longer than `answerWithinSeconds` continues after
   * the answer.
   */
  worker: UpstreamDeps & Pick<Deps, 'callbackSlots' | 'egress' | 'files'> & { answerWithinSeconds: number };
  /** For a local action that is a client of a gateway. */
  listener: { listen: (request: ListenRequest) => Promise<ListenCount> };
  /** For a local action that is a client of two gateways. */
  shadow: { send: (request: ShadowRequest) => Promise<ShadowPair[]> };
}

export interface ShadowRequest {
  /** The other gateway. */
  url: string;
  key: string;
  /** Has one request on each line. */
  file: string;
  /** This gateway. Absent: that of the environment or of `npm start`. */
  here?: string;
}

/** What a gateway answered: null for none, and for a price that it does not say. */
export interface ShadowAnswer {
  status: number | null;
  shape: string;
  usd: number | null;
}

export interface ShadowPair {
  request: string;
  there: ShadowAnswer;
  here: ShadowAnswer;
}

export interface ListenRequest {
  /** URLs of this machine. Each callback is sent to the first one where a server listens. */
  targets: readonly string[];
  /** Absent: that of the environment or of `npm start`. */
  apiKey: string | undefined;
  baseUrl: string | undefined;
}

/** How the servers of this machine answered. */
export interface ListenCount {
  accepted: number;
  refused: number;
}

/** Opens what an action needs. */
export type OpenDeps = <Need extends keyof ActionDeps>(need: Need) => Promise<ActionDeps[Need]>;

type SecretsDeps = Pick<Deps, 'db' | 'config' | 'sealer' | 'urls'>;
type UpstreamDeps = SecretsDeps &
  Pick<Deps, 'ledger' | 'logger' | 'metrics' | 'tracer' | 'workflows' | 'channels' | 'adapters'>;
