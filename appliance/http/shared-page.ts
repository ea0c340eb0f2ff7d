/**
 * The pages behind a link to an email. Pure. The email is untrusted: it is shown in a frame with its own origin
 * (sandbox), runs no scripts and loads nothing.
 */
import { timestamp } from '../api/timestamp.ts'
import type { Email } from '../storage/storage.ts'

/** Content security policy of the page that embeds the email. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"

/**
 * Content security policy of the email itself, even when someone opens its URL without the page: no scripts, no forms,
 * and no content from other servers. Links may open another window, outside the sandbox.
 */
export const CONTENT_POLICY = contentPolicy('data:')

/** The same for mail that a team published: images are loaded, as in a mail program. */
export const PUBLISHED_POLICY = contentPolicy('data: https: http:')

function contentPolicy(images: string): string {
  return `default-src 'none'; img-src ${images}; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox`
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 1rem 0 }
dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere }
iframe { width: 100%; height: 75vh; border: 1px solid #8888; border-radius: .5rem; background: #fff }
footer { margin-top: 1rem; font-size: .85rem; opacity: .7 }`

/** Renders the page around an email. `content` is the URL of `renderContentPage`. Bcc isn't shown. */
export function renderSharedPage(email: Email, content: string, expiresAt: number): string {
  const facts: [string, string][] = [
    ['From', email.from],
    ['To', email.to.join(', ')],
    ['Cc', email.cc.join(', ')],
    ['Date', `${timestamp(email.scheduledAt ?? email.createdAt).slice(0, 16)} UTC`],
  ]
  const shown = facts.filter(([, value]) => value !== '')
  return page(
    email.subject,
    `<h1>${escape(email.subject)}</h1>
<dl>${shown.map(([name, value]) => `<dt>${name}</dt><dd>${escape(value)}</dd>`).join('')}</dl>
<iframe title="The email" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" src="${escape(content)}"></iframe>
<footer>Remote images are not loaded. This link works until ${timestamp(expiresAt).slice(0, 16)} UTC.</footer>`,
  )
}

/** Renders the email alone: its HTML, or else its text. */
export function renderContentPage({ html, text }: { html: string | null; text: string | null }): string {
  const head =
    '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><base target="_blank">' +
    '<style>:root{color-scheme:light}img{max-width:100%}</style>'
  return html === null
    ? `${head}<pre style="white-space:pre-wrap;font:inherit;overflow-wrap:anywhere">${escape(text ?? '')}</pre>`
    : head + html
}

/** Renders a page with a message, such as why there is no email. */
export function renderNoticePage(title: string, text: string): string {
  return page(title, `<h1>${escape(title)}</h1>\n<p>${escape(text)}</p>`)
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title><style>${STYLE}</style>
${body}
</html>
`
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!)
}
