import tseslint from 'typescript-eslint';
import maxLinesPerTest from './scripts/max-lines-per-test.mjs';

const message = 'Write the members themselves: this spread only tells Prettier where to break lines.';
const spreadOfLiteral = [
  'ObjectExpression > SpreadElement > ObjectExpression',
  'ObjectExpression > SpreadElement > TSAsExpression > ObjectExpression',
  ':matches(ArrayExpression, CallExpression, NewExpression) > SpreadElement > ArrayExpression',
  ':matches(ArrayExpression, CallExpression, NewExpression) > SpreadElement > TSAsExpression > ArrayExpression',
].map((selector) => ({ selector, message }));

const alarmByHand = {
  selector: ':not(TSAsExpression) > ObjectExpression > Property[key.name="alarm"][value.value=true]',
  message: 'Mark the line with `alarmOf(name)`: the name is what operators count, list and silence.',
};

/** What a statement begins with: a text of another kind that begins with such a word goes on in another way. */
const statement = String.raw`/^\s*(select [^]* from |select \w+\(|insert into |update \w+ (\w+ )?set |delete from |with \w+ as )/i`;
const onlyInDb =
  'Statements and transactions stand in src/db: write a function there that is named after what it promises.';
const sqlOutsideOfDb = [
  {
    selector:
      'CallExpression[callee.property.name=/^(transaction|transactional|getKysely|createQueryBuilder|returnsRow)$/]',
    message: onlyInDb,
  },
  {
    selector: 'MemberExpression[object.property.name="db"][property.name=/^(query|first|call|value|entities|orm)$/]',
    message: onlyInDb,
  },
  {
    selector:
      'MemberExpression[object.name=/^(db|database|inside)$/][property.name=/^(query|first|call|value|entities|orm)$/]',
    message: onlyInDb,
  },
  { selector: `Literal[value=${statement}]`, message: onlyInDb },
  { selector: `TemplateElement:first-child[value.raw=${statement}]`, message: onlyInDb },
];

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
      'no-restricted-syntax': ['error', ...spreadOfLiteral],
    },
  },
  {
    files: ['**/*.mjs'],
    rules: { 'no-restricted-syntax': ['error', ...spreadOfLiteral] },
  },
  {
    // The other half of `only-db-knows-the-tables` in .dependency-cruiser.cjs.
    files: ['src/**/*.ts', 'console/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
    ignores: ['src/db/**', 'packages/dev-stack/src/servers/**'],
    rules: { 'no-restricted-syntax': ['error', ...spreadOfLiteral, ...sqlOutsideOfDb, alarmByHand] },
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
    files: [
      'src/**/*.ts',
      'packages/{sandbox,dev-stack}/src/**/*.ts',
      'console/**/*.{ts,tsx}',
      'bench/**/*.ts',
      'scripts/**/*.mjs',
    ],
    // A migration is one list of statements and is never changed once released.
    ignores: ['src/db/migrations/*.ts'],
    rules: {
      'max-lines': ['error', { max: 350 }],
      'max-lines-per-function': ['error', { max: 80, IIFEs: true }],
    },
  },
  {
    // Tables of cases and the `describe` around tests make a file of tests longer; each test and each helper is a function like others.
    files: ['test/**/*.ts'],
    plugins: { tollgate: { rules: { 'max-lines-per-test': maxLinesPerTest } } },
    rules: {
      'max-lines': ['error', { max: 500 }],
      'tollgate/max-lines-per-test': ['error', { max: 80 }],
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
