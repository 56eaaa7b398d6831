import { createUpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { s3Backend } from '../../src/platform/files/file-backend-s3.ts';
import { createOidcClient } from '../../src/platform/oidc/oidc-client.ts';

/** Calls the server of its argument as a provider, as a bucket and as an identity provider. Prints nothing: the server sees what arrived. */
const origin = process.argv[2] ?? '';
const caller = createUpstreamCaller({ totalMs: 60_000 });
await caller.call(
  { channelId: 'chn_test', baseUrl: `${origin}/provider`, credential: 'none' },
  { path: '/models', method: 'GET', headers: {}, signal: AbortSignal.timeout(60_000) },
);
await caller.close();
const bucket = {
  s3Bucket: 'bucket',
  s3Region: '',
  s3Endpoint: origin,
  s3AccessKeyId: 'id',
  s3SecretAccessKey: 'secret',
};
await s3Backend(bucket)
  .open('outputs/some.png', undefined)
  .catch(() => undefined);
await createOidcClient({
  issuer: `${origin}/issuer`,
  clientId: 'console',
  clientSecret: '',
  redirectUri: `${origin}/back`,
})
  .begin()
  .catch(() => undefined);
process.exit();
