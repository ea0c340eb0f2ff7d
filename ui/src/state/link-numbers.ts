/** Numbers of contacts who clicked the links of an email, shown in the email itself. */

export interface LinkClicks {
  url: string
  /** Number of contacts who clicked the link. */
  unique_clicks: number
}

/** Inline styles that look the same in light and dark messages. */
const BADGE =
  'display:inline-block;margin:0 0 0 4px;padding:0 6px;border-radius:9px;background:#fde68a;color:#1c1917;' +
  'font:600 12px/18px system-ui,sans-serif;text-decoration:none;text-transform:none;letter-spacing:0;white-space:nowrap'

/**
 * Shows beside each web link how many contacts clicked it. Links with the same URL show the same number, because clicks
 * don't distinguish them.
 * @param html as readers see it, with merge tags filled in
 */
export function addLinkNumbers(html: string, links: readonly LinkClicks[]): string {
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
