/** The public archive of a team's broadcasts. */
import { Type, type Static } from 'typebox'
import type { ArchiveDetails } from '../mail/archive.ts'
import { ARCHIVE_LIMITS, ARCHIVE_STATUSES } from '../mail/archive.ts'
import { operationsIn } from './operation.ts'
import { boolean, kind, literals, Nullable, object, optionalText, string } from './schemas.ts'
import { Timestamp } from './shared.ts'
import { timestampOrNull } from './timestamp.ts'

const { title, description, slug, shortestSlug } = ARCHIVE_LIMITS
const SLUG = `Part of its URL: ${shortestSlug} to ${slug} lower-case letters, digits and single hyphens, unique on this server`
const TITLE = `Heading of its pages, at most ${title} characters; null for the team’s name.`
const DESCRIPTION = `Text below the heading, at most ${description} characters; null for no text.`
const DOMAIN = 'A domain of the team, whose tracking host is in its URL; null for this server’s own host.'
const FORM = 'The sign-up form that its pages link to; null for no link.'
const INDEXED = 'Whether search engines may list its pages.'
const status = literals(ARCHIVE_STATUSES, 'disabled: its pages and its feed don’t exist.')

/** GET and PATCH /archive. Not part of the hosted API. */
export const Archive = object('The public archive of a team’s broadcasts.', {
  object: kind('archive'),
  status,
  slug: Nullable(Type.String(), `${SLUG}; null until it is first enabled.`),
  title: Nullable(Type.String(), TITLE),
  description: Nullable(Type.String(), DESCRIPTION),
  domain: Nullable(Type.String(), DOMAIN),
  form_id: Nullable(Type.String(), FORM),
  indexed: boolean(INDEXED),
  url: Nullable(
    Type.String(),
    'URL of its first page; null while it is disabled, and if the server has no public address.',
  ),
  feed_url: Nullable(Type.String(), 'Its Atom feed; null without `url`.'),
  updated_at: Nullable(Timestamp, 'Time of the last change; null if it was never changed.'),
})
export type Archive = Static<typeof Archive>

export const UpdateArchive = object('What to change. Other fields stay the same.', {
  status: Type.Optional(status),
  slug: Type.Optional(
    string(
      `${SLUG}. Links to broadcasts in sent mail lead to the new URL. Default: made from the team’s name.`,
    ),
  ),
  title: optionalText(TITLE),
  description: optionalText(DESCRIPTION),
  domain: optionalText(DOMAIN),
  form_id: optionalText(FORM),
  indexed: Type.Optional(boolean(INDEXED)),
})
export type UpdateArchive = Static<typeof UpdateArchive>

const operation = operationsIn('Archive')

export const getArchive = operation('GET /archive', {
  summary: 'Get the public archive',
  description: 'Not part of the hosted API.',
  response: { 200: Archive },
})
export const updateArchive = operation('PATCH /archive', {
  summary: 'Change the public archive',
  description:
    'It shows the sent broadcasts with `archive`: true. Takes effect at once. Not part of the hosted API.',
  body: UpdateArchive,
  response: { 200: Archive },
})

export const presentArchive = (archive: ArchiveDetails): Archive => ({
  object: 'archive',
  status: archive.status,
  slug: archive.slug,
  title: archive.title,
  description: archive.description,
  domain: archive.domain,
  form_id: archive.formId,
  indexed: archive.indexed,
  url: archive.url,
  feed_url: archive.feedUrl,
  updated_at: timestampOrNull(archive.updatedAt),
})
