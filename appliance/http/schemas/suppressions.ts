import { Type, type Static } from 'typebox'
import { Deleted, Id, kind, listOf, literals, Nullable, Timestamp } from '../../api/shared.ts'

const reference = { object: kind('suppression'), id: Id }

/** POST /suppressions */
export const CreateSuppression = Type.Object(
  { email: Type.String({ description: 'The address.', examples: ['steve@example.com'] }) },
  { description: 'An address to suppress.' },
)
export const SuppressionRef = Type.Object(reference, { description: 'The suppression.' })

const summary = {
  id: Id,
  email: Type.String({ description: 'The suppressed address.' }),
  origin: literals(['bounce', 'complaint', 'manual'], {
    description: 'bounce: a hard bounce · complaint: a spam report · manual: added by a user.',
  }),
  source_id: Nullable(Type.String(), {
    description: 'The email that bounced or was reported; null: none.',
  }),
  reason: Nullable(Type.String(), { description: 'The reason, as a sentence; null: none given.' }),
  reply: Nullable(Type.String(), { description: 'The SMTP reply; null: none.' }),
  removed_at: Nullable(Timestamp, {
    description: 'When the address was last removed from the list before it was added again; null: never.',
  }),
  created_at: Timestamp,
}
/** An element of GET /suppressions, and with `object` GET /suppressions/:id. */
export const Suppression = Type.Object(
  { object: kind('suppression'), ...summary },
  { description: 'A suppressed address.' },
)
export type Suppression = Static<typeof Suppression>
export const SuppressionList = listOf(Suppression, 'suppressions')

/** POST /suppressions/import. Ours, not of the hosted service. */
export const ImportSuppressions = Type.Object(
  {
    csv: Type.String({
      description:
        'The list as CSV, at most 100,000 lines. Either with a header row (`email`, and optionally `origin`, `created_at`, `source_id`, `reason`, `reply`) or with the address in the first column.',
      examples: ['email,origin\nsteve@example.com,bounce\n'],
    }),
    origin: Type.Optional(
      literals(['bounce', 'complaint', 'manual'], {
        description: 'Origin of lines without one. Default: manual.',
      }),
    ),
    preview: Type.Optional(
      Type.Boolean({ description: 'Only report what would be imported. Default: false.' }),
    ),
  },
  { description: 'Addresses to suppress.' },
)
export const SuppressionImport = Type.Object(
  {
    object: kind('suppression_import'),
    preview: Type.Boolean({ description: 'True: nothing was changed.' }),
    lines: Type.Integer({ description: 'Number of lines read, without empty lines and the header row.' }),
    added: Type.Integer({ description: 'Number of addresses that were added, or would be added.' }),
    present: Type.Integer({
      description: 'Number of addresses that are already on the list, or repeated in the file.',
    }),
    invalid: Type.Integer({ description: 'Number of invalid lines. They are skipped.' }),
    examples: Type.Array(
      Type.Object({
        line: Type.Integer({ description: 'Line number.' }),
        text: Type.String({ description: 'Content of the line.' }),
        expected: Type.String({ description: 'What was expected.' }),
      }),
      { description: 'The first 100 invalid lines.' },
    ),
    first: Type.Array(Type.String(), { description: 'The first 10 added addresses.' }),
    ignored_columns: Type.Array(Type.String(), { description: 'Ignored columns.' }),
  },
  { description: 'The result of the import or preview.' },
)
export type SuppressionImport = Static<typeof SuppressionImport>

/** DELETE /suppressions/:id */
export const SuppressionDeleted = Type.Object(
  { ...reference, deleted: Deleted },
  { description: 'The removed suppression. The address can receive mail again.' },
)

/** POST /suppressions/batch/add: 1 to 100 addresses. */
export const AddSuppressions = Type.Object(
  { emails: Type.Array(Type.String(), { description: '1 to 100 addresses.' }) },
  { description: 'Addresses to suppress.' },
)
export const SuppressionsAdded = Type.Object(
  {
    object: kind('list'),
    data: Type.Array(SuppressionRef, { description: 'One for each address, in the order of the request.' }),
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
        description: '1 to 100 suppression ids, or `emails` instead.',
      }),
    ),
  },
  { description: 'Suppressions to remove.' },
)
export const SuppressionsRemoved = Type.Object(
  {
    object: kind('list'),
    data: Type.Array(SuppressionDeleted, { description: 'The suppressions that were found and removed.' }),
  },
  { description: 'The removed suppressions.' },
)
