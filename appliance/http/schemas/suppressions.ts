import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from './shared.ts'

const reference = { object: kind('suppression'), id: Id }

/** POST /suppressions */
export const CreateSuppression = Type.Object(
  { email: Type.String({ description: 'The address.', examples: ['steve@example.com'] }) },
  { description: 'An address that nothing is to be sent to any more.' },
)
export const SuppressionRef = Type.Object(reference, { description: 'The suppression.' })

const summary = {
  id: Id,
  email: Type.String({ description: 'The address that nothing is sent to.' }),
  origin: literals(['bounce', 'complaint', 'manual'], {
    description: 'bounce: it is dead · complaint: its reader objected · manual: somebody put it on the list.',
  }),
  source_id: Nullable(Type.String(), {
    description: 'The email that bounced or was complained about; null: there was none.',
  }),
  reason: Nullable(Type.String(), { description: 'Why, in a sentence; null: nobody said.' }),
  reply: Nullable(Type.String(), { description: 'What the mail server said; null: no server said it.' }),
  removed_at: Nullable(Timestamp, {
    description: 'When the address was last taken off the list before it came back; null: it never was.',
  }),
  created_at: Timestamp,
}
/** An element of GET /suppressions, and with `object` GET /suppressions/:id. */
export const Suppression = Type.Object(
  { object: kind('suppression'), ...summary },
  { description: 'An address that nothing is sent to.' },
)
export type Suppression = Static<typeof Suppression>
export const SuppressionList = listOf(Suppression, 'suppressions')

/** POST /suppressions/import. Ours, not of the hosted service. */
export const ImportSuppressions = Type.Object(
  {
    csv: Type.String({
      description:
        'The list, at most 100000 lines. With column names in the first line (`email`, and as you like `origin`, `created_at`, `source_id`, `reason`, `reply`) or with the address in the first column.',
      examples: ['email,origin\nsteve@example.com,bounce\n'],
    }),
    origin: Type.Optional(
      literals(['bounce', 'complaint', 'manual'], {
        description: 'Of lines that do not say it themselves. Default: manual.',
      }),
    ),
    preview: Type.Optional(Type.Boolean({ description: 'Only tells what would happen. Default: false.' })),
  },
  { description: 'A list of addresses that nothing is to be sent to any more.' },
)
export const SuppressionImport = Type.Object(
  {
    object: kind('suppression_import'),
    preview: Type.Boolean({ description: 'True: nothing was changed.' }),
    lines: Type.Integer({ description: 'Lines that were read, without empty ones and the column names.' }),
    added: Type.Integer({ description: 'Addresses that were, or would be, added.' }),
    present: Type.Integer({ description: 'Addresses that are on the list already, or twice in this one.' }),
    invalid: Type.Integer({ description: 'Lines that cannot be used. They are left out.' }),
    examples: Type.Array(
      Type.Object({
        line: Type.Integer({ description: 'The number of the line.' }),
        text: Type.String({ description: 'What stands there.' }),
        expected: Type.String({ description: 'What was expected.' }),
      }),
      { description: 'The first 100 of the lines that cannot be used.' },
    ),
    first: Type.Array(Type.String(), { description: 'The first 10 of the addresses that are added.' }),
    ignored_columns: Type.Array(Type.String(), { description: 'Columns that nothing is made of.' }),
  },
  { description: 'What became of the list, or would.' },
)
export type SuppressionImport = Static<typeof SuppressionImport>

/** DELETE /suppressions/:id */
export const SuppressionDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  { description: 'The suppression that was removed: the address gets mail again.' },
)

/** POST /suppressions/batch/add: 1 to 100 addresses. */
export const AddSuppressions = Type.Object(
  { emails: Type.Array(Type.String(), { description: '1 to 100 addresses.' }) },
  { description: 'Addresses that nothing is to be sent to any more.' },
)
export const SuppressionsAdded = Type.Object(
  {
    object: kind('list'),
    data: Type.Array(SuppressionRef, { description: 'One for each address of the request, in its order.' }),
  },
  { description: 'The suppressions.' },
)
/** POST /suppressions/batch/remove: 1 to 100 addresses or ids, not both. */
export const RemoveSuppressions = Type.Object(
  {
    emails: Type.Optional(
      Nullable(Type.Array(Type.String()), { description: '1 to 100 addresses, or `ids` instead.' }),
    ),
    ids: Type.Optional(
      Nullable(Type.Array(Type.String()), {
        description: '1 to 100 ids of suppressions, or `emails` instead.',
      }),
    ),
  },
  { description: 'Suppressions to remove.' },
)
export const SuppressionsRemoved = Type.Object(
  {
    object: kind('list'),
    data: Type.Array(SuppressionDeleted, { description: 'Those that were found and removed.' }),
  },
  { description: 'What was removed.' },
)
