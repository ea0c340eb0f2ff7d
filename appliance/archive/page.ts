/**
 * Renders the pages of an archive as HTML without scripts. Pure. All text from teams is escaped; emails are shown in a
 * frame with its own origin.
 */
import { archivePath, FEED_NAME } from '../mail/archive.ts'
import { escapeHtml, renderPageFrame, type RenderedPage } from '../mail/page-frame.ts'
import { DEFAULT_PAGE, type PageLanguage, type UnsubscribePage } from '../mail/unsubscribe-page.ts'
import { ARCHIVE_TEXTS } from './texts.ts'

/** The data that all pages of an archive show. */
export interface ArchiveView {
  slug: string
  title: string
  description: string | null
  team: string
  page: UnsubscribePage
  language: PageLanguage
  /** Path of the sign-up form; null for no link. */
  formPath: string | null
  /** Absolute URL of the archive. */
  url: string
  indexed: boolean
}

/** A broadcast in the list. */
export interface ArchivedItem {
  id: string
  subject: string
  summary: string
  /** Unix milliseconds. */
  sentAt: number
}

const STYLE = `
a{color:inherit}
a:focus-visible,iframe:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
nav{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1.25rem;margin:1rem 0}
nav a{display:inline-flex;align-items:center;min-height:44px}
a.main{padding:.5rem 1.25rem;border-radius:8px;background:var(--accent);color:var(--on-accent);font-weight:500;text-decoration:none}
ul.emails{list-style:none;margin:1.5rem 0;padding:0;border-top:1px solid var(--line)}
ul.emails li{padding:1rem 0;border-bottom:1px solid var(--line)}
ul.emails h2{font-size:1.125rem;line-height:1.35;margin:0}
ul.emails p{margin:.25rem 0 0}
time{font-size:.875rem}
`

/** The page of a broadcast is as wide as the window; its frame fills the remaining height. */
const WIDE = `
body{max-width:56rem;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;padding-top:1.25rem;padding-bottom:1.25rem}
header{margin-bottom:.75rem}
main{flex:1;display:flex;flex-direction:column}
h1{margin:0 0 .25rem}
main nav{margin:.25rem 0 0}
iframe{flex:1;width:100%;min-height:32rem;margin-top:.75rem;border:1px solid var(--line);border-radius:8px;background:#fff}
footer{margin-top:1.25rem}
`

const dateIn = (language: PageLanguage, at: number): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(at)

const timeOf = (language: PageLanguage, at: number): string =>
  `<time datetime="${new Date(at).toISOString()}">${escapeHtml(dateIn(language, at))}</time>`

const link = (path: string, words: string, more = ''): string =>
  `<a href="${escapeHtml(path)}"${more}>${escapeHtml(words)}</a>`

/** Returns the links in the head of a page: its canonical URL, and the feed. */
const headOf = ({ url, title }: ArchiveView, own: string): string =>
  `<link rel="canonical" href="${escapeHtml(own)}">
<link rel="alternate" type="application/atom+xml" title="${escapeHtml(title)}" href="${escapeHtml(`${url}/${FEED_NAME}`)}">`

const signUp = ({ formPath, language }: ArchiveView): string =>
  formPath === null ? '' : link(formPath, ARCHIVE_TEXTS[language].subscribe, ' class="main"')

/**
 * Renders a page of the list.
 * @param older cursor of the next page; null on the last page. first: whether this is the newest
 */
export function renderArchive(
  view: ArchiveView,
  items: readonly ArchivedItem[],
  { older, first }: { older: string | null; first: boolean },
): RenderedPage {
  const { slug, title, team, description, language, url, indexed } = view
  const words = ARCHIVE_TEXTS[language]
  const path = archivePath(slug)
  const rows = items.map(
    ({ id, subject, summary, sentAt }) => `<li>
<h2>${link(archivePath(slug, id), subject)}</h2>
${timeOf(language, sentAt)}
${summary === '' ? '' : `<p>${escapeHtml(summary)}</p>`}
</li>`,
  )
  const pages = [
    first ? '' : link(path, words.newest),
    older === null ? '' : link(`${path}?after=${encodeURIComponent(older)}`, words.older, ' rel="next"'),
  ].join('')
  const body = [
    description === null ? '' : `<p>${escapeHtml(description)}</p>`,
    `<nav aria-label="${escapeHtml(title)}">${signUp(view)}${link(`${path}/${FEED_NAME}`, words.feed)}</nav>`,
    rows.length === 0
      ? `<p>${escapeHtml(words.empty)}</p>`
      : `<ul class="emails">\n${rows.join('\n')}\n</ul>`,
    pages === '' ? '' : `<nav aria-label="${escapeHtml(words.pages)}">${pages}</nav>`,
  ]
  // Search engines index only the first page, because the others change with each broadcast.
  const head = headOf(view, url)
  // Omit the team's name if it is already the heading.
  const name = view.page.logo === null && title === team ? '' : team
  return renderPageFrame(
    { ...view, team: name, head, indexed: indexed && first },
    title,
    visible(body),
    STYLE,
  )
}

const visible = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n')

/**
 * Renders the page of a broadcast.
 * @param content path of the email's own page
 */
export function renderArchived(
  view: ArchiveView,
  { id, subject, sentAt }: Omit<ArchivedItem, 'summary'>,
  content: string,
): RenderedPage {
  const { slug, language, url } = view
  const words = ARCHIVE_TEXTS[language]
  const body = [
    timeOf(language, sentAt),
    `<nav aria-label="${escapeHtml(view.title)}">${link(archivePath(slug), words.all)}${signUp(view)}</nav>`,
    `<iframe title="${escapeHtml(words.email(subject))}" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" src="${escapeHtml(content)}"></iframe>`,
  ]
  const head = headOf(view, `${url}/${id}`)
  return renderPageFrame({ ...view, head }, subject, visible(body), STYLE + WIDE)
}

/** Renders the page for everything that isn't public. */
export function renderUnknown(language: PageLanguage): RenderedPage {
  const { notFoundTitle, notFoundText } = ARCHIVE_TEXTS[language]
  const view = { page: DEFAULT_PAGE, language, team: '' }
  return renderPageFrame(view, notFoundTitle, `<p>${escapeHtml(notFoundText)}</p>`)
}
