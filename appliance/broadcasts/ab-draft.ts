/** A/B tests of drafts: reads them from requests, and checks whether they can be sent. */
import { compileInput } from '../document/given.ts'
import { isSameEmail, variantContents } from '../mail/ab-content.ts'
import {
  type AbTest,
  LEAST_TESTED,
  SHARE,
  type Variant,
  type VariantBody,
  VARIANTS,
  WAIT_HOURS,
  WHOLE,
} from '../mail/ab-test.ts'
import type { BroadcastContent } from '../mail/broadcast.ts'
import { createInsight, type Insight } from '../mail/insight.ts'
import { type Refusal, refuse } from '../mail/refusals.ts'
import { listNumberedLinks } from '../tracking/tracking.ts'
import { hasUnsubscribeLink, UNSUBSCRIBE_TAG } from './checks.ts'

/** An A/B test in a request. Undefined: the default. */
export interface AbTestInput {
  share?: number | undefined
  waitHours?: number | null | undefined
  variants: VariantInput[]
}

/** Null or undefined: the same as in variant A. */
export interface VariantInput {
  fromName?: string | null | undefined
  subject?: string | null | undefined
  previewText?: string | null | undefined
  html?: string | null | undefined
  text?: string | null | undefined
  document?: unknown
}

/** Maximum length of a sender name in characters. */
const MOST_NAME = 200
const isWhole = (n: number, { least, most }: { least: number; most: number }): boolean =>
  Number.isInteger(n) && n >= least && n <= most

/**
 * Reads an A/B test, and compiles the documents of its variants.
 *
 * Refuses: `invalid_field`, `too_many`.
 */
export async function readAbTest({
  share = SHARE.usual,
  waitHours,
  variants: given,
}: AbTestInput): Promise<AbTest> {
  if (share !== WHOLE && !isWhole(share, SHARE))
    throw invalid('share', `a whole number from ${SHARE.least} to ${SHARE.most}, or ${WHOLE} to test all`)
  const isTimed = waitHours !== undefined && waitHours !== null
  if (share === WHOLE && isTimed) throw invalid('wait_hours', 'absent with a `share` of 100: nobody waits')
  if (isTimed && !isWhole(waitHours, WAIT_HOURS))
    throw invalid('wait_hours', `a whole number from ${WAIT_HOURS.least} to ${WAIT_HOURS.most}`)
  if (given.length === 0) throw invalid('variants', 'at least one variant besides the broadcast itself')
  if (given.length >= VARIANTS.length)
    throw refuse('too_many', { limit: VARIANTS.length - 1, things: 'variants besides the broadcast itself' })
  const variants: Variant[] = []
  for (const [index, one] of given.entries()) variants.push(await readVariant(one, index))
  return { share, waitHours: share === WHOLE ? null : (waitHours ?? WAIT_HOURS.usual), variants }
}

async function readVariant(given: VariantInput, index: number): Promise<Variant> {
  const { fromName = null, subject = null, previewText = null } = given
  const at = `variants[${index}]`
  if (fromName !== null && (fromName.length > MOST_NAME || /[\r\n]|\{\{\{/.test(fromName)))
    throw invalid(`${at}.from_name`, `one line of at most ${MOST_NAME} characters, without merge tags`)
  if (subject === '') throw invalid(`${at}.subject`, 'a subject, or null for that of the broadcast')
  const { body, preheader } = await readBody(given, at)
  return { fromName, subject, previewText: previewText ?? preheader, body }
}

/** `preheader`: the preview text of a document; null without a document. */
async function readBody(
  { html, text, document: given }: VariantInput,
  at: string,
): Promise<{ body: VariantBody | null; preheader: string | null }> {
  if (given === undefined || given === null) {
    if (html === undefined || html === null) {
      if (text !== undefined && text !== null) throw invalid(`${at}.text`, 'absent without `html`')
      return { body: null, preheader: null }
    }
    return { body: { html, text: text ?? null, document: null }, preheader: null }
  }
  for (const [field, value] of Object.entries({ html, text }))
    if (value) throw invalid(`${at}.${field}`, 'absent beside `document`, which it is made from')
  const { preheader, ...body } = await compileInput(given, { preheader: false })
  return { body, preheader: preheader === '' ? null : preheader }
}

const invalid = (field: string, expected: string): Refusal =>
  refuse('invalid_field', { field: `ab_test.${field}`, expected })

/** The domain settings that an A/B test depends on. */
interface ClickDomain {
  name: string
  clickTracking: boolean
}

/**
 * Checks that the variants of a draft differ, can be sent, and that clicks are counted.
 *
 * Refuses: `invalid_field`, which names the variant.
 */
export function checkAbTest(content: BroadcastContent, domain: ClickDomain): void {
  const [problem] = abTestProblems(content, domain)
  if (problem) throw problem
}

function abTestProblems(content: BroadcastContent, { name, clickTracking }: ClickDomain): Refusal[] {
  if (!content.abTest) return []
  const contents = variantContents(content)
  const untracked = clickTracking
    ? []
    : [
        refuse('invalid_field', {
          field: 'ab_test',
          expected: `a domain that tracks clicks: turn it on for ${name}`,
        }),
      ]
  const each = contents.map((own, index): Refusal | undefined => {
    const field = index === 0 ? 'html' : `ab_test.variants[${index - 1}]`
    const twin = contents.findIndex((other) => isSameEmail(own, other))
    if (twin < index)
      return refuse('invalid_field', {
        field,
        expected: `something that differs from variant ${VARIANTS[twin]!}`,
      })
    const part = index === 0 ? field : `${field}.html`
    if (listNumberedLinks(own.html ?? '').length === 0)
      return refuse('invalid_field', {
        field: part,
        expected: 'at least one link whose clicks can be counted',
      })
    if (!hasUnsubscribeLink(own))
      return refuse('invalid_field', { field: part, expected: `an unsubscribe link: ${UNSUBSCRIBE_TAG}` })
    return undefined
  })
  return [...untracked, ...each.flatMap((one) => one ?? [])]
}

/**
 * Returns findings about the A/B test of a draft; none without one.
 * @param args domain: undefined: the draft can't be sent from its address; eligible: contacts that would get it
 */
export function abTestInsights(
  content: BroadcastContent,
  { domain, eligible }: { domain: ClickDomain | undefined; eligible: number },
): Insight[] {
  const { abTest } = content
  if (!abTest) return []
  const problems = domain === undefined ? [] : abTestProblems(content, domain)
  const variants = abTest.variants.length + 1
  const each = Math.floor((eligible * abTest.share) / 100 / variants)
  const needed = Math.ceil((LEAST_TESTED * variants * 100) / abTest.share)
  const [problem] = problems
  return [
    createInsight('ab_test', problem ? 'block' : null, {
      note: problem?.message ?? '',
      why: 'The winner is the variant whose links most people click.',
      fix: 'Change the variant, or remove the A/B test.',
      well: 'The variants differ, and their clicks are counted.',
    }),
    createInsight('ab_test_size', each < LEAST_TESTED ? 'attention' : null, {
      note: `About ${each.toLocaleString('en')} contacts get each variant of the test. Their clicks may say little.`,
      why: 'With few clicks, chance decides which variant wins.',
      fix: `Test with at least ${LEAST_TESTED} contacts for each variant: with this share, a segment of ${needed.toLocaleString('en')}.`,
      well: `About ${each.toLocaleString('en')} contacts get each variant of the test.`,
    }),
  ]
}
