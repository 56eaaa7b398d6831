import tseslint from 'typescript-eslint';

export default tseslint.config(
  {
    ignores: [
      'node_modules/',
      '.tollgate/',
      'coverage/',
      'console/dist/',
      'console/src/api/*-types.ts',
      'packages/*/dist/',
    ],
  },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'console/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ObjectExpression > SpreadElement > ObjectExpression',
          message: 'Write the members themselves: this spread only tells Prettier where to break lines.',
        },
      ],
    },
  },
  {
    // Only configuration reads the environment; everything else is handed what it needs.
    files: ['src/**/*.ts'],
    ignores: ['src/main/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only src/main reads the environment.' },
      ],
    },
  },
  {
    // A file that needs more has a second file inside it, and a function a second function.
    files: ['src/**/*.ts', 'packages/{sandbox,dev-stack}/src/**/*.ts'],
    // A migration is one list of statements and is never changed once released.
    ignores: ['src/db/migrations/*.ts'],
    rules: {
      'max-lines': ['error', { max: 350 }],
      'max-lines-per-function': ['error', { max: 80, IIFEs: true }],
    },
  },
  {
    // The other half of `one-way-out-of-the-house` in .dependency-cruiser.cjs: globals open sockets without an import.
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'].map((name) => ({
          name,
          message: 'Call upstreams by src/adapters/upstream/call-upstream.ts and everything else by the egress guard.',
        })),
      ],
    },
  },
);
