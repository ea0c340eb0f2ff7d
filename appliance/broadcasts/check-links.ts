/** Finds problems with the links and images of a draft. Pure. */
import { Parser } from 'htmlparser2'
import type { BroadcastFinding as Finding } from '../mail/broadcast.ts'

const SHORTENER = /^https?:\/\/(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|ow\.ly|is\.gd)\//i
/** How a link may begin; a merge tag may be its beginning. */
const TARGET = /^(?:https?:\/\/[^\s/]+\.[^\s/]+|mailto:|tel:|sms:|#.|\{\{\{)/i
const HERE = /^https?:\/\/(?:localhost|127\.|10\.|192\.168\.|[^/]*\.local(?:[:/]|$))/i
/** Maximum number of addresses listed in a sentence. */
const NAMED = 2

/** Builds a finding. @param wrong null: no problem, and `well` is the text */
export const finding = (
  id: string,
  wrong: Finding['verdict'] | null,
  { note, fix, well }: { note: string; fix: string; well: string },
): Finding =>
  wrong === null ? { id, verdict: 'pass', note: well, fix: null } : { id, verdict: wrong, note, fix }

/** Checks links and images of HTML. */
export function checkLinks(html: string): Finding[] {
  const { links, images, unnamed } = addressesIn(html)
  const broken = links.filter((link) => !TARGET.test(link.trim()) || HERE.test(link.trim()))
  const lost = images.filter((source) => !/^(?:https?:\/\/|\{\{\{)/i.test(source) || HERE.test(source))
  const plain = [...links, ...images].filter((one) => /^http:\/\//i.test(one) && !HERE.test(one))
  return [
    finding('links', broken.length > 0 ? 'attention' : null, {
      note: `Some links lead nowhere: ${named(broken)}.`,
      fix: 'Give each link an address that begins with https://.',
      well: links.length === 0 ? 'There are no links.' : 'All links have an address.',
    }),
    finding('images', lost.length > 0 ? 'attention' : null, {
      note: `Readers can’t load some images: ${named(lost)}.`,
      fix: 'Upload the images, or give them addresses that begin with https://.',
      well: 'All images can be loaded.',
    }),
    finding('alt', unnamed > 0 ? 'attention' : null, {
      note: `${unnamed === 1 ? 'An image has' : `${unnamed} images have`} no alt attribute.`,
      fix: 'Describe each image in alt. Leave alt empty for decoration.',
      well: 'All images have a description.',
    }),
    finding('shortener', links.some((link) => SHORTENER.test(link)) ? 'attention' : null, {
      note: 'Link shorteners are often taken for spam.',
      fix: 'Link to your own site.',
      well: 'No link goes through a shortener.',
    }),
    finding('http', plain.length > 0 ? 'attention' : null, {
      note: `Some links or images use http: ${named(plain)}.`,
      fix: 'Use https.',
      well: 'All links use https.',
    }),
  ]
}

/** Lists the first addresses, for a sentence. */
function named(addresses: readonly string[]): string {
  const first = addresses
    .slice(0, NAMED)
    .map((one) => (one.trim() === '' ? 'an empty one' : one.slice(0, 80)))
  const more = addresses.length - first.length
  return first.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function addressesIn(html: string): { links: string[]; images: string[]; unnamed: number } {
  const found = { links: [] as string[], images: [] as string[], unnamed: 0 }
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'a' && attributes.href !== undefined) found.links.push(attributes.href)
      if (name !== 'img') return
      found.images.push(attributes.src ?? '')
      if (attributes.alt === undefined) found.unnamed += 1
    },
  })
  parser.end(html)
  return found
}
