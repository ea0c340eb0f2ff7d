/** Renders an archive as an Atom feed (RFC 4287). Pure. */
import { FEED_NAME } from '../mail/archive.ts'
import { escapeHtml } from '../mail/page-frame.ts'
import type { ArchivedItem, ArchiveView } from './page.ts'

/** Characters that XML 1.0 §2.2 doesn't allow, not even as references. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|[\ufffe\uffff]|\p{Cs}/gu

/** Escapes a text for XML, also within quoted attributes. It doesn't use CDATA, so `]]>` needs no special treatment. */
const escapeXml = (text: string): string => escapeHtml(text.replaceAll(FORBIDDEN, ''))

const element = (name: string, text: string, attributes = ''): string =>
  `<${name}${attributes}>${escapeXml(text)}</${name}>`

const instant = (at: number): string => new Date(at).toISOString()

/** The feed of an archive. */
export interface Feed {
  xml: string
  /** The last change (Unix milliseconds). */
  updatedAt: number
}

/**
 * Renders the newest broadcasts.
 * @param view url: absolute, and the base of all URLs in the feed
 * @param about teamId: determines the feed's ID, which stays the same when its URL changes. updatedAt: of the settings
 */
export function renderFeed(
  view: Pick<ArchiveView, 'title' | 'description' | 'team' | 'url'>,
  { teamId, updatedAt: changedAt }: { teamId: string; updatedAt: number | null },
  items: readonly ArchivedItem[],
): Feed {
  const updatedAt = Math.max(changedAt ?? 0, ...items.map(({ sentAt }) => sentAt))
  const entries = items.map(({ id, subject, summary, sentAt }) =>
    [
      '<entry>',
      element('id', `urn:uuid:${id}`),
      element('title', subject),
      `<link rel="alternate" type="text/html" href="${escapeXml(`${view.url}/${id}`)}"/>`,
      element('published', instant(sentAt)),
      element('updated', instant(sentAt)),
      ...(summary === '' ? [] : [element('summary', summary)]),
      '</entry>',
    ].join('\n'),
  )
  const xml = [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    element('id', `urn:uuid:${teamId}`),
    element('title', view.title),
    ...(view.description === null ? [] : [element('subtitle', view.description)]),
    `<link rel="self" type="application/atom+xml" href="${escapeXml(`${view.url}/${FEED_NAME}`)}"/>`,
    `<link rel="alternate" type="text/html" href="${escapeXml(view.url)}"/>`,
    `<author>${element('name', view.team)}</author>`,
    element('updated', instant(updatedAt)),
    ...entries,
    '</feed>',
    '',
  ]
  return { xml: xml.join('\n'), updatedAt }
}
