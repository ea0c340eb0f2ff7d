/** What strangers see of a broadcast in the team's public archive: its content, without anything of a recipient. */
import { archivePath } from '../mail/archive.ts'
import type { Clock } from '../clock/clock.ts'
import { ARCHIVE_KEY, LINK_KEYS, parseMerge, renderMerge } from '../merge/merge.ts'
import type { Broadcast, Storage } from '../storage/storage.ts'
import {
  parseRevision,
  type RecipientData,
  type Revision,
  renderSubject,
  computeMergeValues,
} from './revision.ts'

/** The content of a broadcast for strangers. Its HTML is untrusted. */
export interface PublishedContent {
  subject: string
  /** The preview text; null without one. */
  previewText: string | null
  html: string | null
  text: string | null
}

/** Nobody: tags become their fallbacks, or empty. */
const NOBODY: RecipientData = { contactId: '', email: '', firstName: null, lastName: null, properties: {} }

/**
 * Renders a stored revision (JSON) without values of a recipient, tracking and unsubscribe links. Pure.
 * @param previewText of the broadcast; the revision has it only as part of its HTML
 */
export function publishedContent(stored: string, previewText: string | null): PublishedContent {
  const revision = JSON.parse(stored) as Revision
  const { archiveUrl = null, properties } = revision
  const keys = archiveUrl === null ? [...LINK_KEYS, ARCHIVE_KEY] : [...LINK_KEYS]
  const html = revision.html === null ? null : withoutLinks(revision.html, keys)
  const parsed = parseRevision({ ...revision, html })
  const values = computeMergeValues(NOBODY, properties, { unsubscribe: null, archive: archiveUrl })
  return {
    subject: renderSubject(parsed, values),
    previewText: previewText && renderMerge(parseMerge('text', previewText, 'preview_text'), values),
    html: parsed.parsed.html && renderMerge(parsed.parsed.html, values),
    text: parsed.parsed.text && renderMerge(parsed.parsed.text, values),
  }
}

/**
 * Removes the targets of links that begin with a tag without fallback. Otherwise they would become empty, and lead to
 * the page itself.
 */
function withoutLinks(html: string, keys: readonly string[]): string {
  const tag = String.raw`\{\{\{[ \t]{0,20}(?:${keys.join('|')})[ \t]{0,20}\|?\}\}\}`
  const value = String.raw`"[ \t\r\n]{0,20}${tag}[^"]*"|'[ \t\r\n]{0,20}${tag}[^']*'|${tag}[^\s>"']*`
  return html.replaceAll(new RegExp(String.raw`\shref[ \t]{0,20}=[ \t]{0,20}(?:${value})`, 'gi'), '')
}

/**
 * Returns the URL of a broadcast's page in the archive; null if it isn't published, the archive is disabled, or no one
 * could open it.
 * @param origin origin of the links in its emails; null if there is no public one
 */
export async function archiveUrlOf(
  { storage, clock }: { storage: Pick<Storage, 'getArchive'>; clock: Clock },
  { teamId, id, archivedAt }: Pick<Broadcast, 'teamId' | 'id' | 'archivedAt'>,
  origin: string | null,
): Promise<string | null> {
  if (archivedAt === null || origin === null) return null
  const { status, slug } = await storage.getArchive({ teamId }, clock.now())
  return status === 'enabled' && slug !== null ? `${origin}${archivePath(slug, id)}` : null
}
