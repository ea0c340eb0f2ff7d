/**
 * Prepares an untrusted message for the preview frame. Four measures isolate it: the frame is sandboxed (no scripts, no
 * forms, a separate origin); the policy below forbids all requests; elements that act without a request (refresh,
 * prefetch, base, frames) are removed; and URLs of remote resources are removed from attributes.
 */

/** Must be first in the document: a policy in a meta element applies only to what follows it (CSP3 §3.3). */
const POLICY = "default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'"

const ACTIVE = 'script, meta, base, link, iframe, frame, object, embed'

export interface PreparedPreview {
  document: string
  /** Number of remote resources in the message. */
  remote: number
  /** Colors that the message sets; `dark` if it has a dark variant. */
  colours: 'none' | 'own' | 'dark'
}

/**
 * Makes `html` safe to show. `inline` maps Content-IDs to images for `cid:` URLs; `dark` shows the message as a mail
 * client in dark mode would.
 */
export function preparePreview(
  html: string,
  inline: ReadonlyMap<string, string>,
  dark = false,
): PreparedPreview {
  const message = new DOMParser().parseFromString(html, 'text/html')
  const [remote, colours] = [unload(message), coloursIn(message)]
  for (const element of message.querySelectorAll(ACTIVE)) element.remove()
  for (const link of message.querySelectorAll('a, area')) {
    // The sandbox blocks new windows, so that a click does nothing instead of navigating the frame.
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
/** Presentational attributes of HTML 3.2, which email still uses. */
const COLOURED = '[bgcolor], [background], body[text], font[color]'

/**
 * Returns which colors a message sets, without rendering it. In dark mode, mail clients change only the colors that a
 * message doesn't set.
 */
function coloursIn(message: Document): PreparedPreview['colours'] {
  const css = [...message.querySelectorAll('style, [style]')].map((element) =>
    element.tagName === 'STYLE' ? element.textContent : (element.getAttribute('style') ?? ''),
  )
  if (css.some((text) => DARK.test(text))) return 'dark'
  const own = message.querySelector(COLOURED) !== null || css.some((text) => COLOUR.test(text))
  return own ? 'own' : 'none'
}

/** Returns the Content-ID of a `cid:` URL (RFC 2392 §2). */
function contentId(url: string): string {
  try {
    return decodeURIComponent(url.slice('cid:'.length))
  } catch {
    // The percent-encoding is malformed, so return the Content-ID without decoding it.
    return url.slice('cid:'.length)
  }
}

/** Attributes with URLs that browsers load automatically. */
const FETCHED = ['src', 'srcset', 'background', 'poster', 'data', 'href', 'xlink:href']
const REMOTE = /(^|[\s,])\s*([a-z][a-z0-9+.-]*:)?\/\//i
const REMOTE_CSS = /(url\(|@import)\s*["']?\s*(https?:)?\/\//i

/** Removes URLs of remote resources from attributes, and counts them. The policy blocks remote URLs in style sheets. */
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
