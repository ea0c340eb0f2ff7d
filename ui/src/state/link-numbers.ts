/** The clicks on the links of an email, shown in the email itself. */

export interface LinkClicks {
  url: string
  /** Contacts that clicked it. */
  unique_clicks: number
}

/** Drawn alike on light and dark messages, whatever their own styles say. */
const BADGE =
  'display:inline-block;margin:0 0 0 4px;padding:0 6px;border-radius:9px;background:#fde68a;color:#1c1917;' +
  'font:600 12px/18px system-ui,sans-serif;text-decoration:none;text-transform:none;letter-spacing:0;white-space:nowrap'

/**
 * Puts a number beside each link that was counted. Links with the same address share it: a click doesn't say which of them it was.
 * @param html already as a reader gets it
 */
export function withLinkNumbers(html: string, links: readonly LinkClicks[]): string {
  if (links.length === 0) return html
  const clicks = new Map(links.map(({ url, unique_clicks: contacts }) => [url, contacts]))
  const message = new DOMParser().parseFromString(html, 'text/html')
  for (const link of message.querySelectorAll('a[href]')) {
    const url = link.getAttribute('href')!.trim()
    if (!/^https?:/i.test(url)) continue
    const contacts = clicks.get(url) ?? 0
    const badge = message.createElement('span')
    badge.setAttribute('style', BADGE)
    badge.textContent = `${contacts.toLocaleString('en')} clicked`
    link.append(badge)
  }
  return `<!doctype html>${message.documentElement.outerHTML}`
}
