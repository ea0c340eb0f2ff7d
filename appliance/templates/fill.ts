/** Fills the template of a request with values. Uses its published version. */
import type { Clock } from '../clock/clock.ts'
import { parseMailbox } from '../mail/address.ts'
import { refuse } from '../mail/refusals.ts'
import {
  ARCHIVE_KEY,
  checkValues,
  createContactValues,
  type MergeContact,
  type MergeKind,
  type MergeProperty,
  type MergeSource,
  type MergeValues,
  parseMerge,
  renderMerge,
  listTags,
  createVariableValues,
} from '../merge/merge.ts'
import type { Storage, Template } from '../storage/storage.ts'
import { parseTemplateRef } from './input.ts'

/** The fields of a send request that are related to templates. */
export interface TemplateRequest {
  template?: { id: string; variables?: Record<string, unknown> | null } | null
  from?: string | null
  subject?: string | null
  reply_to?: string | string[] | null
  to: string | string[]
  cc?: string | string[] | null
  bcc?: string | string[] | null
  html?: string | null
  text?: string | null
}

/** A request with the filled content, and its template; null if it uses none. */
export interface FilledRequest<T> {
  body: T
  template: { id: string; versionId: string } | null
}

/** The version to send: the published one, or the draft for a test. */
type Sent = 'published' | 'draft'

/**
 * Fills a request. Its From, subject and reply_to override those of the template. Refuses: `template_and_content`,
 * `missing_field`, `not_found`, `template_unpublished`, `invalid_field`, `merge_missing`, `merge_too_large`.
 */
export type FillTemplate = <T extends TemplateRequest>(
  body: T,
  teamId: string,
  sent?: Sent,
) => Promise<FilledRequest<T>>

interface FillDeps {
  storage: Pick<Storage, 'getTemplate' | 'getContact' | 'listContactProperties'>
  clock: Clock
}

export function createTemplateFiller({ storage, clock }: FillDeps): FillTemplate {
  const find = async (teamId: string, which: string, sent: Sent): Promise<Template> => {
    const asked = { teamId, ref: parseTemplateRef(which) }
    const draft = await storage.getTemplate(asked, clock.now())
    if (draft && sent === 'draft') return draft
    const found = await storage.getTemplate({ ...asked, published: true }, clock.now())
    if (found) return found
    throw draft
      ? refuse('template_unpublished', { name: draft.alias ?? draft.id })
      : refuse('not_found', { resource: 'Template' })
  }
  return async (body, teamId, sent = 'published') => {
    const { template: named } = body
    if (!named) return { body, template: null }
    if (isGiven(body.html) || isGiven(body.text)) throw refuse('template_and_content')
    if (named.id === '') throw refuse('missing_field', { field: 'template.id' })
    const template = await find(teamId, named.id, sent)
    const sources = sourcesOf(template, body)
    const variables = valuesOf(template, named.variables ?? {})
    const reader = readsContact(sources) ? await readerOf({ storage, clock }, body, teamId) : undefined
    const values: MergeValues = (key) => {
      if (isUnsubscribeTag(key)) return sent === 'draft' ? NOWHERE : UNSUBSCRIBE
      if (key === ARCHIVE_KEY) return NO_PAGE
      return variables(key) ?? (isOfContact(key) ? reader?.(key) : undefined)
    }
    return {
      body: { ...body, ...contentFor(template, sources, values, body) },
      template: { id: template.id, versionId: template.version.id },
    }
  }
}

const isUnsubscribeTag = (key: string): boolean => ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL'].includes(key)
/** This tag is kept, because the link is known only when the email is composed (intake/unsubscribe-tag.ts). */
const UNSUBSCRIBE = { text: '{{{UNSUBSCRIBE_URL}}}', fallback: null, raw: true }
/** In a test email, the link leads nowhere. */
const NOWHERE = { text: '#', fallback: null, raw: true }

/** Only broadcasts have a page in the archive. */
const NO_PAGE = { text: null, fallback: null, raw: false }

const isGiven = (value: string | null | undefined): boolean =>
  value !== null && value !== undefined && value !== ''

/** Parses the sources of a template. Never refuses them, because they were parsed before they were stored. */
function sourcesOf(
  { version }: Template,
  { subject }: TemplateRequest,
): Record<'subject' | 'html' | 'text', MergeSource | null> {
  const parse = (kind: MergeKind, source: string | null, field: string) =>
    source === null ? null : parseMerge(kind, source, field)
  return {
    subject: isGiven(subject) ? null : parse('header', version.subject, 'subject'),
    html: parse('html', version.html, 'html'),
    text: parse('text', version.text, 'text'),
  }
}

function valuesOf({ version }: Template, given: Record<string, unknown>): MergeValues {
  return createVariableValues(version.variables, checkValues(version.variables, given))
}

function contentFor(
  { version }: Template,
  sources: ReturnType<typeof sourcesOf>,
  values: MergeValues,
  { from, subject, reply_to: replyTo }: TemplateRequest,
): Pick<TemplateRequest, 'from' | 'subject' | 'reply_to' | 'html' | 'text'> {
  const render = (source: MergeSource | null) => source && renderMerge(source, values)
  const answersTo = replyTo === null || replyTo === undefined || replyTo.length === 0
  return {
    from: isGiven(from) ? from : version.from,
    subject: isGiven(subject) ? subject : render(sources.subject),
    reply_to: answersTo ? version.replyTo : replyTo,
    html: render(sources.html),
    text: render(sources.text),
  }
}

/**
 * Whether a key is a contact field. Properties need their prefix; a key without it is a variable, and refused if it is
 * missing.
 */
const isOfContact = (key: string): boolean =>
  key.startsWith('contact.') || ['FIRST_NAME', 'LAST_NAME', 'EMAIL'].includes(key)

const readsContact = (sources: ReturnType<typeof sourcesOf>): boolean =>
  listTags(...Object.values(sources).filter((source) => source !== null)).some(({ key }) => isOfContact(key))

/**
 * Returns the contact values of the only recipient. Undefined if there are several recipients, because nobody may see
 * another's name.
 */
async function readerOf(
  { storage, clock }: FillDeps,
  { to, cc, bcc }: TemplateRequest,
  teamId: string,
): Promise<MergeValues | undefined> {
  const everyone = [to, cc ?? [], bcc ?? []].flat().filter((one) => one !== '')
  const email = everyone.length === 1 ? parseMailbox(everyone[0]!)?.address : undefined
  if (email === undefined) return undefined
  const known = await storage.listContactProperties({ teamId }, clock.now())
  const found = await storage.getContact({ teamId, ref: { email } }, clock.now())
  const properties: Record<string, string | number> = {}
  for (const { key, label } of known) {
    const value = found && Object.hasOwn(found.properties, label) ? found.properties[label] : undefined
    if (value !== undefined) properties[key] = value
  }
  const { firstName = null, lastName = null } = found ?? {}
  const contact: MergeContact = { email, firstName, lastName, properties }
  return createContactValues(contact, known satisfies MergeProperty[], null)
}
