/** The layers of docs/ARCHITECTURE.md: which may import which. Run by `npm run check` on src, packages and console/src. */
const layer = (name, ...sees) => ({
  name: `${name}-sees-only-${sees.join('-') || 'itself'}`,
  severity: 'error',
  from: { path: `^src/${name}(/|[.]ts$)` },
  to: { path: '^(src|packages)/', pathNot: `^src/(${[name, ...sees].join('|')})(/|[.]ts$)` },
});
const typesOnly = (from, to) => ({
  name: `${from}-takes-only-types-from-${to}`,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: `^src/${to}/`, dependencyTypesNot: ['type-only'] },
});

module.exports = {
  forbidden: [
    layer('domain'),
    // Answers that services make, for both APIs.
    layer('schemas', 'domain'),
    layer('platform', 'domain'),
    layer('adapters', 'domain', 'platform'),
    layer('db', 'domain'),
    layer('config', 'platform'),
    layer('caches', 'domain', 'db', 'platform', 'config'),
    // What a process knows of the configured channels.
    layer('channels', 'domain', 'db', 'platform', 'config', 'caches'),
    // The types of what main builds; it imports from the layers below it and nothing above.
    layer('deps', 'domain', 'db', 'adapters', 'platform', 'caches', 'channels', 'config'),
    layer('services', 'domain', 'schemas', 'db', 'adapters', 'platform', 'caches', 'channels', 'deps', 'config'),
    layer('activities', 'domain', 'services', 'deps', 'config'),
    layer('workflows', 'domain', 'activities'),
    // What operators can do, for the command line and the admin API.
    layer(
      'admin',
      'domain',
      'schemas',
      'db',
      'adapters',
      'platform',
      'caches',
      'channels',
      'deps',
      'config',
      'services',
    ),
    layer('http', 'domain', 'schemas', 'services', 'admin', 'caches', 'channels', 'platform', 'deps', 'config'),
    typesOnly('workflows', 'activities'),
    typesOnly('http', 'caches'),
    typesOnly('http', 'channels'),
    {
      name: 'nothing-imports-main',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/main/' },
      to: { path: '^src/main/' },
    },
    {
      name: 'production-needs-no-package-of-ours',
      severity: 'error',
      comment: 'The image has src alone: sandbox and development stack are for developers.',
      from: { path: '^src/' },
      to: { path: '^packages/' },
    },
    {
      name: 'sandbox-stands-alone',
      severity: 'error',
      from: { path: '^packages/sandbox/', pathNot: '^packages/sandbox/src/(main|sandbox-models)[.]ts$' },
      to: { path: '^(src|packages)/', pathNot: '^(packages/sandbox|src/domain|src/platform)/' },
    },
    {
      name: 'deps-holds-only-types',
      severity: 'error',
      from: { path: '^src/deps[.]ts$' },
      to: { dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-layers-touch-no-node-core',
      severity: 'error',
      from: { path: '^src/(domain|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'domain-uses-no-package-but-zod',
      severity: 'error',
      comment: 'The schemas of the catalog are words of the domain: its types come from them.',
      from: { path: '^src/domain/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'one-way-out-of-the-house',
      severity: 'error',
      comment: 'Outbound sockets are opened by the egress guard, the upstream caller and the servers in main only.',
      from: {
        path: '^src/(domain|db|caches|channels|services|admin|activities|workflows|http|adapters|platform)/',
        pathNot: '^src/(http/server/server|adapters/upstream/call-upstream|platform/egress/[^/]+)[.]ts$',
      },
      to: { path: '(^|/)(undici|http|https|net|tls|dns)(/|$)', pathNot: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-db-knows-the-tables',
      severity: 'error',
      comment:
        'Entities, transactions and statements stand in src/db. The development stack administrates its own server by pg.',
      from: { path: '^(src|packages|console/src)/', pathNot: '^(src/db|packages/dev-stack/src/servers)/' },
      to: { path: '^src/db/entities/|(^|/)node_modules/(@mikro-orm|mikro-orm|kysely|mysql2|pg)/|^(node:)?sqlite$' },
    },
    {
      name: 'console-takes-only-words-and-schemas',
      severity: 'error',
      comment: 'A browser runs the console: of src it may have the pure layers, which use no package but zod.',
      from: { path: '^console/src/' },
      to: { path: '^(src|packages)/', pathNot: '^src/(domain|schemas)/' },
    },
    {
      name: 'src-and-packages-need-no-console',
      severity: 'error',
      from: { path: '^(src|packages)/' },
      to: { path: '^console/src/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
