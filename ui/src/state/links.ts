/** The links of a message: where they lead, and where they were made to lead when clicks are counted. */
export interface MessageLink {
  /** What the reader sees; empty for a picture without words. */
  words: string
  /** As the app wrote it. */
  href: string
  /** As it was sent, through our own address; null where it was sent as it is, or where that cannot be told. */
  sent: string | null
}

/** The links of an html text, in its order. */
function linksIn(html: string): { words: string; href: string }[] {
  const message = new DOMParser().parseFromString(html, 'text/html')
  return [...message.querySelectorAll('a[href], area[href]')].map((link) => {
    const texts = [link.textContent, link.querySelector('img')?.alt, link.getAttribute('alt')]
    const words = texts.find((text) => text?.trim()) ?? ''
    return { words: words.trim().replaceAll(/\s+/g, ' '), href: link.getAttribute('href') ?? '' }
  })
}

/**
 * Pairs the links of the html as the app gave it with those of the html as it was sent: rewriting keeps their order and number.
 * @param sent null where the source has no html
 */
export function messageLinks(given: string, sent: string | null): MessageLink[] {
  const [links, others] = [linksIn(given), sent === null ? [] : linksIn(sent)]
  return links.map((link, at) => {
    const other = others.length === links.length ? others[at]?.href : undefined
    return { ...link, sent: other === undefined || other === link.href ? null : other }
  })
}
