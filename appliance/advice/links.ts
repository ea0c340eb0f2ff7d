/** Checks links and images of a message. Pure. */
import { domainToUnicode } from 'node:url'
import { getDomain, parse } from 'tldts'
import { createInsight, type Insight } from '../mail/insight.ts'
import type { ParsedHtml } from './html.ts'

const SHORTENER = /^https?:\/\/(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|ow\.ly|is\.gd|youtu\.be)\//i
/** Matches the valid beginnings of a link, which may be a merge tag. */
const TARGET = /^(?:https?:\/\/[^\s/]+\.[^\s/]+|mailto:|tel:|sms:|#.|\{\{\{)/i
const HERE = /^https?:\/\/(?:localhost|127\.|10\.|192\.168\.|[^/]*\.local(?:[:/]|$))/i
/** Matches the valid beginnings of an image URL. `cid:` refers to a part of the message (RFC 2392 §2). */
const SHOWN = /^(?:https?:\/\/|cid:|data:image\/|\{\{\{)/i
/** Text that looks like a web address. */
const ADDRESS = /^(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?:[/?#:]\S*)?$/u
/** Maximum number of addresses listed in a sentence. */
const NAMED = 2

/** Checks links and images. @param own the domain of the From address */
export function checkLinks({ links, images }: ParsedHtml, own: string): Insight[] {
  const targets = links.map(({ href }) => href.trim())
  return [...brokenChecks(targets, images), ...hostChecks(links, own), ...styleChecks(targets, images)]
}

function brokenChecks(targets: string[], images: ParsedHtml['images']): Insight[] {
  const broken = targets.filter((link) => !TARGET.test(link) || HERE.test(link))
  const lost = images.map(({ src }) => src.trim()).filter((src) => !SHOWN.test(src) || HERE.test(src))
  const unnamed = images.filter(({ hasAlt }) => !hasAlt)
  return [
    createInsight('links', broken.length > 0 ? 'attention' : null, {
      note: `Some links lead nowhere: ${named(broken)}.`,
      why: 'Readers can’t follow them.',
      fix: 'Give each link an address that begins with https://.',
      well: targets.length === 0 ? 'There are no links.' : 'All links have an address.',
      evidence: broken,
    }),
    createInsight('images', lost.length > 0 ? 'attention' : null, {
      note: `Readers can’t load some images: ${named(lost)}.`,
      why: 'Mail clients show an empty frame instead.',
      fix: 'Upload the images, or give them addresses that begin with https://.',
      well: images.length === 0 ? 'There are no images.' : 'All images can be loaded.',
      evidence: lost,
    }),
    createInsight('alt', unnamed.length > 0 ? 'attention' : null, {
      note: `${unnamed.length === 1 ? 'An image has' : `${unnamed.length} images have`} no alt attribute.`,
      why: 'Many mail clients hide images at first, and screen readers read alt aloud.',
      fix: 'Describe each image in alt. Leave alt empty for decoration.',
      well: 'All images have a description.',
      evidence: unnamed.map(({ src }) => src),
    }),
  ]
}

/** Checks the sites that links lead to, and whether readers can recognize them. */
function hostChecks(links: ParsedHtml['links'], own: string): Insight[] {
  const web = links.map(({ href }) => hostOf(href)).filter((host) => host !== null)
  const foreign = web.filter((host) => zoneOf(host) !== zoneOf(own))
  const misleading = links.filter(({ href, text }) => isMisleading(href, text))
  const lookalike = web.filter(mixesAlphabets)
  return [
    createInsight(
      'link-domain',
      foreign.length === 0 ? null : foreign.length === web.length ? 'attention' : 'advice',
      {
        note: `${foreign.length === web.length ? 'All' : 'Some'} links lead to other domains than ${own}.`,
        why: 'Filters compare the links of a message with its sender.',
        fix: `Link to ${zoneOf(own)} or one of its subdomains where you can.`,
        well: web.length === 0 ? 'No link leads to another domain.' : `All links lead to ${zoneOf(own)}.`,
        evidence: foreign,
      },
    ),
    createInsight('link-text', misleading.length > 0 ? 'attention' : null, {
      note: 'The text of a link shows a different domain from its target.',
      why: 'Phishing does that, so filters and readers distrust it.',
      fix: 'Show the target of the link, or use words.',
      well: 'No link shows a different domain from its target.',
      evidence: misleading.map(({ href, text }) => `${text.trim()} leads to ${href.trim()}`),
    }),
    createInsight('lookalike', lookalike.length > 0 ? 'attention' : null, {
      note: 'A link’s domain mixes letters of several alphabets.',
      why: 'Such names imitate others, and filters block them.',
      fix: 'Link to a domain in one alphabet.',
      well: 'No domain mixes alphabets.',
      evidence: lookalike,
    }),
  ]
}

function styleChecks(targets: string[], images: ParsedHtml['images']): Insight[] {
  const short = targets.filter((link) => SHORTENER.test(link))
  const plain = [...targets, ...images.map(({ src }) => src)].filter(
    (one) => /^http:\/\//i.test(one) && !HERE.test(one),
  )
  const embedded = images.filter(({ src }) => /^data:/i.test(src))
  return [
    createInsight('shortener', short.length > 0 ? 'attention' : null, {
      note: `A link goes through a shortener: ${named(short)}.`,
      why: 'Link shorteners hide the target, so filters often treat them as spam.',
      fix: 'Link to the full address.',
      well: 'No link goes through a shortener.',
      evidence: short,
    }),
    createInsight('http', plain.length > 0 ? 'attention' : null, {
      note: `Some links or images use http: ${named(plain)}.`,
      why: 'Browsers warn about them, and some mail clients don’t load such images.',
      fix: 'Use https.',
      well: 'All links use https.',
      evidence: plain,
    }),
    createInsight('embedded', embedded.length > 0 ? 'attention' : null, {
      note: 'Some images are embedded in the HTML as data: URLs.',
      why: 'Gmail and Outlook don’t show them.',
      fix: 'Attach the images and link to them with cid:, or link to them with https.',
      well: 'No image is embedded in the HTML.',
    }),
  ]
}

/** Returns the host of a web address; null for other links and merge tags. */
function hostOf(href: string): string | null {
  if (!/^https?:\/\/[^{]/i.test(href.trim())) return null
  const url = URL.parse(href.trim())
  return url?.hostname.includes('.') ? url.hostname : null
}

const zoneOf = (host: string): string => getDomain(host, { validateHostname: false }) ?? host

function isMisleading(href: string, text: string): boolean {
  const host = hostOf(href)
  const shown = ADDRESS.exec(text.trim())?.[1]
  if (host === null || shown === undefined) return false
  const { domain: zone, isIcann } = parse(shown.toLowerCase())
  // Words such as "node.js" aren't domains.
  return zone !== null && isIcann === true && zone !== zoneOf(domainToUnicode(host)) && zone !== zoneOf(host)
}

/** Reports whether a label mixes Latin letters with Cyrillic or Greek ones (UTS #39 §5.1). */
function mixesAlphabets(host: string): boolean {
  return domainToUnicode(host)
    .split('.')
    .some((label) => /\p{Script=Latin}/u.test(label) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(label))
}

/** Lists the first addresses, for a sentence. */
function named(addresses: readonly string[]): string {
  const first = addresses
    .slice(0, NAMED)
    .map((one) => (one.trim() === '' ? 'an empty one' : one.slice(0, 80)))
  const more = addresses.length - first.length
  return first.join(', ') + (more > 0 ? ` and ${more} more` : '')
}
