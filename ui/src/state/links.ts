/** A link of a message, with its target before and after click tracking was added. */
export interface MessageLink {
  /** The visible text; empty for an image without alt text. */
  words: string
  /** The target in the HTML that the app sent. */
  href: string
  /** The tracking URL in the sent message; null if the link wasn't changed, or if the URL is unknown. */
  sent: string | null
}

/** Returns the links in HTML, in order. */
function linksIn(html: string): { words: string; href: string }[] {
  const message = new DOMParser().parseFromString(html, 'text/html')
  return [...message.querySelectorAll('a[href], area[href]')].map((link) => {
    const texts = [link.textContent, link.querySelector('img')?.alt, link.getAttribute('alt')]
    const words = texts.find((text) => text?.trim()) ?? ''
    return { words: words.trim().replaceAll(/\s+/g, ' '), href: link.getAttribute('href') ?? '' }
  })
}

/**
 * Pairs the links of the app's HTML with those of the sent HTML, since click tracking keeps their order and number.
 * @param sent null if the source has no HTML
 */
export function pairLinks(given: string, sent: string | null): MessageLink[] {
  const [links, others] = [linksIn(given), sent === null ? [] : linksIn(sent)]
  return links.map((link, at) => {
    const other = others.length === links.length ? others[at]?.href : undefined
    return { ...link, sent: other === undefined || other === link.href ? null : other }
  })
}
