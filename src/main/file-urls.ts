import type { Config } from '../config/load-config.ts';
import { deriveKeys } from '../platform/crypto/seal.ts';
import { createUrlSigner, type UrlSigner } from '../platform/crypto/signed-url.ts';

/** Signs the URLs of stored files, with keys derived from the master keys. */
export const createFileUrls = ({ http, secrets }: Pick<Config, 'http' | 'secrets'>): UrlSigner =>
  createUrlSigner({
    keys: deriveKeys(secrets.masterKeys, 'file-urls'),
    baseUrl: http.publicBaseUrl === '' ? `http://${http.host}:${http.port}` : http.publicBaseUrl,
  });
