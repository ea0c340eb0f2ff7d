/**
 * The document for the preview frame. The message is a stranger's: it is locked in four times. The frame is sandboxed
 * with nothing allowed (no scripts, no forms, an origin of its own); the policy below forbids every load; and what could
 * act without loading (refresh, prefetch, base, frames) is taken out,
 * together with the addresses of remote images.
 */

/** Must come first in the document: a policy in a meta element binds only what follows it (CSP3 §3.3). */
const POLICY = "default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'"

const ACTIVE = 'script, meta, base, link, iframe, frame, object, embed'

export interface Prepared {
  document: string
  /** How many things the message wanted from other servers. */
  remote: number
  /** Whether it says which colours it has, and which in the dark. */
  colours: 'none' | 'own' | 'dark'
}

/** Makes `html` safe to show; `inline` gives the images that `cid:` means; `dark`: as a reader shows it that is set to dark. */
export function prepare(html: string, inline: ReadonlyMap<string, string>, dark = false): Prepared {
  const message = new DOMParser().parseFromString(html, 'text/html')
  const [remote, colours] = [unload(message), coloursIn(message)]
  for (const element of message.querySelectorAll(ACTIVE)) element.remove()
  for (const link of message.querySelectorAll('a, area')) {
    // A new window is not allowed in the sandbox, so a click does nothing: it must not turn the frame into another site.
    link.setAttribute('target', '_blank')
    link.removeAttribute('ping')
  }
  for (const image of message.querySelectorAll('img[src^="cid:" i]')) {
    const found = inline.get(contentId(image.getAttribute('src') ?? ''))
    if (found !== undefined) image.setAttribute('src', found)
  }
  const head =
    `<!doctype html><meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">' +
    `<style>:root{color-scheme:${dark ? 'dark' : 'light'}}img{max-width:100%}</style>`
  return { document: head + message.documentElement.outerHTML, remote, colours }
}

const DARK = /prefers-color-scheme\s*:\s*dark/i
const COLOUR = /(^|[\s;{])(background|background-color|color)\s*:/i
/** The attributes of HTML 3.2, which mail still has. */
const COLOURED = '[bgcolor], [background], body[text], font[color]'

/** A reader that is set to dark turns only what a message leaves to it: what its declarations say, without drawing it. */
function coloursIn(message: Document): Prepared['colours'] {
  const css = [...message.querySelectorAll('style, [style]')].map((element) =>
    element.tagName === 'STYLE' ? element.textContent : (element.getAttribute('style') ?? ''),
  )
  if (css.some((text) => DARK.test(text))) return 'dark'
  const own = message.querySelector(COLOURED) !== null || css.some((text) => COLOUR.test(text))
  return own ? 'own' : 'none'
}

/** The Content-ID that a `cid:` URL means (RFC 2392 §2). */
function contentId(url: string): string {
  try {
    return decodeURIComponent(url.slice('cid:'.length))
  } catch {
    // A stray percent sign: taken as it stands.
    return url.slice('cid:'.length)
  }
}

/** Attributes whose value a browser fetches by itself. */
const FETCHED = ['src', 'srcset', 'background', 'poster', 'data', 'href', 'xlink:href']
const REMOTE = /(^|[\s,])\s*([a-z][a-z0-9+.-]*:)?\/\//i
const REMOTE_CSS = /(url\(|@import)\s*["']?\s*(https?:)?\/\//i

/** Takes out what would be fetched from elsewhere, and counts it. What style sheets ask for is left to the policy. */
function unload(message: Document): number {
  let count = 0
  for (const element of message.querySelectorAll('*')) {
    if (element.matches('a, area, script, meta, base')) continue
    for (const name of FETCHED) {
      if (!REMOTE.test(element.getAttribute(name) ?? '')) continue
      element.removeAttribute(name)
      count += 1
    }
    const css = element.tagName === 'STYLE' ? element.textContent : element.getAttribute('style')
    if (REMOTE_CSS.test(css ?? '')) count += 1
  }
  return count
}
