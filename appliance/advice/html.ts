/** Extracts the data that the checks need from HTML. Pure. */
import { Parser } from 'htmlparser2'

/** The contents of an HTML part that are relevant to readers and mail clients. */
export interface ParsedHtml {
  /** Link targets, with the text that readers click and the alternative texts of images inside the links. */
  links: { href: string; text: string; alt: string }[]
  images: { src: string; hasAlt: boolean }[]
  /** Visible text. */
  text: string
  /** Elements that mail clients remove, such as forms. */
  removed: string[]
  /** Whether the part is a complete HTML document without a language. */
  isWithoutLanguage: boolean
}

/** Maximum number of characters that are parsed. Gmail clips HTML after 102,400 bytes. */
const MOST = 256 * 1024
const REMOVED = new Set(['script', 'form', 'iframe', 'object', 'embed', 'video', 'audio'])
const UNSEEN = new Set(['style', 'script', 'title', 'head'])

/** Returns the beginning of a part. The checks parse only that, so that a huge part costs no more. */
export const truncatePart = (part: string | null): string => (part ?? '').slice(0, MOST)

/** Parses the beginning of an HTML part. */
export function parseHtml(html: string | null): ParsedHtml {
  const page: ParsedHtml = { links: [], images: [], text: '', removed: [], isWithoutLanguage: false }
  let open: ParsedHtml['links'][number] | undefined
  let unseen = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      if (UNSEEN.has(name)) unseen += 1
      if (REMOVED.has(name)) page.removed.push(`<${name}>`)
      if (name === 'html' && !attributes.lang) page.isWithoutLanguage = true
      if (name === 'a' && attributes.href !== undefined)
        page.links.push((open = { href: attributes.href, text: '', alt: '' }))
      if (name !== 'img') return
      page.images.push({ src: attributes.src ?? '', hasAlt: attributes.alt !== undefined })
      if (open) open.alt += `${attributes.alt ?? ''} `
    },
    ontext(text) {
      if (unseen > 0) return
      page.text += `${text} `
      if (open) open.text += text
    },
    onclosetag(name) {
      if (UNSEEN.has(name)) unseen -= 1
      if (name === 'a') open = undefined
    },
  })
  parser.end(truncatePart(html))
  return page
}
