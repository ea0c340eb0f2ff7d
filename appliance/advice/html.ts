/** Reads what the checks need to know of HTML. Pure. */
import { Parser } from 'htmlparser2'

/** What a reader and a mail client see of an HTML part. */
export interface Page {
  /** Targets of links, with the text that readers click, and the descriptions of images in them. */
  links: { href: string; text: string; alt: string }[]
  images: { src: string; hasAlt: boolean }[]
  /** Visible text. */
  text: string
  /** Elements that mail clients remove, such as forms. */
  removed: string[]
  /** Whether it is a document without a language. */
  isWithoutLanguage: boolean
}

/** Gmail clips HTML after 102,400 bytes (characters). */
const MOST = 256 * 1024
const REMOVED = new Set(['script', 'form', 'iframe', 'object', 'embed', 'video', 'audio'])
const UNSEEN = new Set(['style', 'script', 'title', 'head'])

/** Returns what the checks read of a part, so that a huge one costs no more. */
export const beginningOf = (part: string | null): string => (part ?? '').slice(0, MOST)

/** Reads the beginning of an HTML part. */
export function readPage(html: string | null): Page {
  const page: Page = { links: [], images: [], text: '', removed: [], isWithoutLanguage: false }
  let open: Page['links'][number] | undefined
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
  parser.end(beginningOf(html))
  return page
}
