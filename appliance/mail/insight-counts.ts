/** How many sent emails of a domain failed each check. Pure. */
import { formatDay, listDays } from './reputation.ts'

/** Descriptions of emails that fail a check, used after a number: `412 emails without a plain-text part`. */
const CHECK_WORDS: Readonly<Record<string, string>> = {
  alike: 'whose plain text and HTML say different things',
  alt: 'with images without a description',
  content: 'without content',
  'display-name': 'whose sender name shows another address',
  dmarc: 'sent while DMARC, SPF or DKIM wasn’t valid',
  elements: 'with scripts, forms or frames',
  embedded: 'with images as data: URLs',
  http: 'with http links or images',
  'image-only': 'that are an image with hardly any text',
  images: 'with images that can’t be loaded',
  language: 'that don’t say their language',
  'link-domain': 'with links to other domains',
  'link-text': 'with links that show another domain than they lead to',
  links: 'with links that lead nowhere',
  lookalike: 'with lookalike domains in links',
  placeholder: 'with a placeholder left',
  reply: 'from a no-reply address',
  sender: 'from a domain that was removed',
  shortener: 'with shortened links',
  size: 'longer than Gmail shows',
  subdomain: 'not sent from a subdomain',
  subject: 'with a subject that is too long, all capitals or empty',
  text: 'without a plain-text part',
  tracking: 'whose tracked links lead to another domain',
  weight: 'of more than 10 MB',
}

/** How many emails failed a check. */
export interface FailedCheck {
  check: string
  emails: number
  /** `412 emails without a plain-text part`. */
  note: string
}

/** The counts of a domain. */
export interface InsightCounts {
  /** How many emails were checked. */
  checked: number
  /** Checks that some emails failed, sorted by the number of emails, largest first. */
  failed: FailedCheck[]
  /** Every day of the period, oldest first. */
  days: { date: string; checked: number; failed: { check: string; emails: number }[] }[]
}

/** Returns the first UTC day of a period up to now: YYYY-MM-DD. */
export const firstDay = (now: number, days: number): string => formatDay(listDays(now, days)[0]!)

function noteOf(check: string, emails: number): string {
  const noun = emails === 1 ? '1 email' : `${emails.toLocaleString('en')} emails`
  return `${noun} ${CHECK_WORDS[check] ?? `that fail the check ${check}`}`
}

/** Adds up the counts of days. @param rows of storage; `check` is empty for emails that were checked */
export function sumInsights(
  rows: readonly { day: string; check: string; n: number }[],
  now: number,
  count: number,
): InsightCounts {
  const byDay = Map.groupBy(rows, ({ day }) => day)
  const days = listDays(now, count).map((start) => {
    const date = formatDay(start)
    const all = byDay.get(date) ?? []
    return {
      date,
      checked: all.find(({ check }) => check === '')?.n ?? 0,
      failed: all.flatMap(({ check, n }) => (check === '' ? [] : [{ check, emails: n }])),
    }
  })
  const sums = new Map<string, number>()
  for (const { failed } of days)
    for (const { check, emails } of failed) sums.set(check, (sums.get(check) ?? 0) + emails)
  const failed = [...sums].map(([check, emails]) => ({ check, emails, note: noteOf(check, emails) }))
  return {
    checked: days.reduce((sum, { checked }) => sum + checked, 0),
    failed: failed.toSorted((a, b) => b.emails - a.emails || (a.check < b.check ? -1 : 1)),
    days,
  }
}
