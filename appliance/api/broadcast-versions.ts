/** Versions of drafts of broadcasts. */
import { Type, type Static } from 'typebox'
import type {
  BroadcastVersion as Stored,
  BroadcastVersionSummary as StoredSummary,
} from '../storage/storage.ts'
import { AbTest, presentAbTest } from './broadcast-ab-test.ts'
import { BroadcastRef } from './broadcasts.ts'
import { operationsIn } from './operation.ts'
import { page, path, pathUuid, query } from './parameters.ts'
import { integer, kind, Nullable, object, string } from './schemas.ts'
import { Id, listOf, presentDocument, StoredDocument, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

const summary = {
  id: Id,
  subject: string('The subject.'),
  author: string('The person or API key that changed it last; empty: not known.'),
  created_at: Timestamp,
  updated_at: Timestamp,
}
export const BroadcastVersionSummary = object('A version of a draft.', summary)
export const BroadcastVersionList = listOf(BroadcastVersionSummary, 'versions')
export type BroadcastVersionList = Static<typeof BroadcastVersionList>

export const BroadcastVersion = object('A version of a draft, with its content.', {
  object: kind('broadcast_version'),
  broadcast_id: Id,
  ...summary,
  from: string('The From field.'),
  reply_to: Nullable(Type.Array(Type.String()), 'Address for replies.'),
  preview_text: Nullable(Type.String(), 'The preview text.'),
  html: Nullable(Type.String(), 'The HTML.'),
  text: Nullable(Type.String(), 'The plain text.'),
  document: StoredDocument,
  ab_test: AbTest,
})
export type BroadcastVersion = Static<typeof BroadcastVersion>

export const RestoreBroadcastVersion = object('What the caller knows of the draft.', {
  edits: Type.Optional(integer('The `edits` that you read: refused with 409 if somebody changed it since.')),
})

const id = pathUuid('The id of the broadcast.')
const params = path({ id })
const versionParams = path({ id, version_id: pathUuid('The id of the version.') })
const operation = operationsIn('Broadcasts')

export const listBroadcastVersions = operation('GET /broadcasts/:id/versions', {
  summary: 'List the versions of a draft',
  description:
    'The last 50. The newest has the current content. Changes by one author within 5 minutes are one version. Not part of the hosted API.',
  params,
  querystring: query(page),
  response: { 200: BroadcastVersionList },
})
export const getBroadcastVersion = operation('GET /broadcasts/:id/versions/:version_id', {
  summary: 'Get a version of a draft',
  description: 'Not part of the hosted API.',
  params: versionParams,
  response: { 200: BroadcastVersion },
})
export const restoreBroadcastVersion = operation('POST /broadcasts/:id/versions/:version_id/restore', {
  summary: 'Restore a version of a draft',
  description:
    'The draft gets the version’s sender, subject, preview text and content. Its recipients don’t change. Not part of the hosted API.',
  params: versionParams,
  body: Nullable(RestoreBroadcastVersion),
  response: { 200: BroadcastRef },
  errors: ['409'],
})

export const presentBroadcastVersionSummary = (
  version: StoredSummary,
): Static<typeof BroadcastVersionSummary> => ({
  id: version.id,
  subject: version.subject,
  author: version.author,
  created_at: timestamp(version.createdAt),
  updated_at: timestamp(version.updatedAt),
})

export function presentBroadcastVersion(version: Stored): BroadcastVersion {
  const { from, replyTo, previewText, html, text } = version.content
  return {
    object: 'broadcast_version',
    broadcast_id: version.broadcastId,
    ...presentBroadcastVersionSummary(version),
    from,
    reply_to: replyTo.length > 0 ? replyTo : null,
    preview_text: previewText,
    html,
    text,
    document: presentDocument(version.document),
    ab_test: presentAbTest(version.content.abTest),
  }
}
