/** The programs whose databases can be imported. */
export const importPrograms = ['one-api', 'new-api', 'litellm'] as const;

export type ImportProgram = (typeof importPrograms)[number];

/** Who pays in another program, a user or a team. It becomes a project. */
export interface ImportedOwner {
  /** Such as `17` for user 17 of one-api, or `team:…` of LiteLLM. */
  id: string;
  name: string;
  enabled: boolean;
  /** What may still be spent. Below zero: what is owed. */
  credits: number;
  /** How far below zero holds may go: for an owner without a budget. */
  overdraft: number;
  /** Remarks and names for operators. */
  metadata: Record<string, string>;
}

/** A key or token. Its secret stays as it is. */
export interface ImportedKey {
  id: string;
  ownerId: string;
  name: string;
  secret: KeySecret;
  /** A key that is disabled there has expired here, so that it can be enabled again. */
  enabled: boolean;
  /** Unix seconds. */
  expiresAt: number | null;
  /** What may still be spent, over the life of the key. */
  budget: number | null;
  budgetDaily: number | null;
  budgetMonthly: number | null;
  models: string[] | null;
  ipRanges: string[] | null;
  rpm: number | null;
  inFlightMax: number | null;
  metadata: Record<string, string>;
}

/** Texts by which clients authenticate, or the SHA-256 of one in lower-case hexadecimal with the parts that may be shown. */
export type KeySecret = { plain: string[] } | { sha256: string; prefix: string; last4: string };

/** A configured upstream. */
export interface ImportedChannel {
  id: string;
  name: string;
  family: string;
  baseUrl: string;
  /** At least one. */
  credentials: string[];
  groups: string[];
  /** Lower numbers first, as here. */
  priority: number;
  weight: number;
  enabled: boolean;
  rpm: number | null;
  tpm: number | null;
  /** The names that clients use, each with the name that the upstream has. */
  models: Record<string, string>;
}

/** A price of a model in credits for 1,000 tokens, or for a request. Null: the program's database does not say. */
export interface ImportedPrice {
  input: number | null;
  output: number | null;
  cachedInput: number | null;
  request: number | null;
}

/** Something that an operator should read. `refused` records stop the import unless they are skipped. */
export interface ImportNotice {
  kind: 'left_out' | 'changed' | 'check' | 'refused';
  /** Such as `token 12 (web) of user alice`. */
  subject: string;
  sentence: string;
}

/** All that one source has. */
export interface ImportedInstallation {
  /** The quota of one US dollar, in one-api and new-api. */
  quotaPerUsd: number;
  owners: ImportedOwner[];
  keys: ImportedKey[];
  channels: ImportedChannel[];
  prices: Map<string, ImportedPrice>;
  /** Factors of prices, by the name of the group. */
  groupRatios: Map<string, number>;
  /** The group of each owner. */
  groupOf: Map<string, string>;
  /** Codes that were not redeemed. */
  redemptions: { id: string; code: string; name: string; credits: number; expiresAt: number | null }[];
  /** What has no counterpart here, counted: `chat logs` → 1,200. */
  leftOut: Map<string, number>;
  notices: ImportNotice[];
}

/** What one-api and new-api take as the default of `QuotaPerUnit`. */
const quotaPerUsdDefault = 500_000;

export const emptyInstallation = (): ImportedInstallation => ({
  quotaPerUsd: quotaPerUsdDefault,
  owners: [],
  keys: [],
  channels: [],
  prices: new Map(),
  groupRatios: new Map(),
  groupOf: new Map(),
  redemptions: [],
  leftOut: new Map(),
  notices: [],
});
