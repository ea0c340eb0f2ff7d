/** Emails from a bookshop to its readers, similar to those of a real team. Pure. */

/** The sending shop's domain. */
export const SHOP = 'harbourbooks.example'
export const NEWS = 'news.harbourbooks.example'

const PEOPLE = [
  'ada',
  'amara',
  'anton',
  'beatriz',
  'chen.wei',
  'dalia',
  'edwin',
  'farid',
  'grace',
  'hanna',
  'ines',
  'jonas',
  'kofi',
  'lena',
  'mara',
  'nadia',
  'oskar',
  'priya',
  'quentin',
  'rosa',
  'samir',
  'tove',
  'ursula',
  'yuki',
]
/** Recipient domains. Frequent ones are listed more than once. */
const HOMES = [
  'bigmail.example',
  'bigmail.example',
  'bigmail.example',
  'bigmail.example',
  'outpost.example',
  'outpost.example',
  'cloudpost.example',
  'wires.example',
  'museum.example',
  'kastanien.example',
  'studio-nord.example',
]
/** Misbehaving receivers, 1% of the mail each (docs/sandbox.md). */
const TROUBLE = new Map([
  [3, 'bounce'],
  [41, 'greylist'],
  [57, 'blocked'],
  [78, 'full'],
])

interface Kind {
  from: string
  subject: (n: number) => string
  line: (n: number) => string
  tag: string
}

const KINDS: readonly Kind[] = [
  {
    from: `Harbour Books <orders@${SHOP}>`,
    subject: (n) => `Your order ${40_000 + n} is on its way`,
    line: (n) => `We handed order ${40_000 + n} to the post this morning. It should be with you on Thursday.`,
    tag: 'order_shipped',
  },
  {
    from: `Harbour Books <orders@${SHOP}>`,
    subject: (n) => `Receipt for order ${40_000 + n}`,
    line: (n) => `Thank you. You paid € ${12 + (n % 60)}.90 for order ${40_000 + n}.`,
    tag: 'receipt',
  },
  {
    from: `Harbour Books <hello@${SHOP}>`,
    subject: () => 'Set a new password',
    line: () => 'Somebody, we hope you, asked for a new password. The link works for one hour.',
    tag: 'password',
  },
  {
    from: `The Lighthouse Letter <letter@${NEWS}>`,
    subject: (n) => `Ten new books for ${n % 2 ? 'a long winter' : 'the first warm day'}`,
    line: () => 'Our booksellers read through the night. These ten they could not put down.',
    tag: 'letter',
  },
]

const html = (line: string, n: number): string => `<!doctype html>
<html><body style="margin:0;background:#f4f1ea;font:16px/1.5 Georgia,serif;color:#222">
<div style="max-width:560px;margin:0 auto;padding:32px 24px;background:#fff">
<p style="margin:0 0 24px;font-size:20px;letter-spacing:.04em;color:#1b4d5c">Harbour Books</p>
<p>Dear reader,</p><p>${line}</p>
<p><a href="https://www.${SHOP}/orders/${40_000 + n}" style="display:inline-block;padding:10px 18px;background:#1b4d5c;color:#fff;text-decoration:none">See the details</a></p>
<p style="color:#666;font-size:14px">Harbour Books, Pier 4 · <a href="https://www.${SHOP}/help" style="color:#1b4d5c">Help</a></p>
</div></body></html>`

/** Returns the `n`th email as a `POST /emails/batch` item. It is always the same for the same number. */
export function bookshopEmail(n: number): Record<string, unknown> {
  const { from, subject, line, tag } = KINDS[((n * 7) % 11) % KINDS.length]!
  const trouble = TROUBLE.get(n % 100)
  const name = PEOPLE[(n * 5) % PEOPLE.length]!
  const home = HOMES[(n * 13) % HOMES.length]!
  const to =
    n % 400 === 199
      ? `complained+${n}@resend.dev`
      : `${trouble ? `${trouble}+${n}` : `${name}${n % 90}`}@${home}`
  return {
    from,
    to,
    subject: subject(n),
    text: `Dear reader,\n\n${line(n)}\n\nHarbour Books, Pier 4\n`,
    html: html(line(n), n),
    tags: [{ name: 'kind', value: tag }],
  }
}
