import tseslint from 'typescript-eslint'
import svelte from 'eslint-plugin-svelte'

/** Size limits of the house rules: a function is one step, a file fits in the head. */
const sizes = {
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
  'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
}

export default tseslint.config(
  { ignores: ['node_modules/', '.program/', '.runtime/', '.sandbox/', 'ui/dist/', 'docs/'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      ...sizes,
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'No enums: a union of literals says the same.' },
        { selector: 'Decorator', message: 'No decorators: the object graph is in compose.ts.' },
      ],
    },
  },
  {
    // Command output is what these files are for.
    files: ['appliance/commands/**', 'appliance/main.ts', 'scripts/**'],
    rules: { 'no-console': 'off' },
  },
  {
    // Tables: one row after the other, to be looked up and not read.
    files: ['appliance/mail/refusals.ts', 'appliance/storage/schema.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    // A describe block is a table of contents, not a step.
    files: ['test/**'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      'no-restricted-imports': [
        'error',
        { name: 'fast-check', message: 'Import test/world/fast-check.ts: it fixes the seed.' },
      ],
    },
  },
  {
    files: ['test/world/fast-check.ts'],
    rules: { 'no-restricted-imports': 'off' },
  },
  ...svelte.configs.recommended.map((entry) => ({ ...entry, files: entry.files ?? ['ui/**/*.svelte'] })),
  {
    files: ['ui/**/*.svelte', 'ui/**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
    rules: { 'max-lines': ['error', { max: 200, skipBlankLines: true, skipComments: true }] },
  },
)
