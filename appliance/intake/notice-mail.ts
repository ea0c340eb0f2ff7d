/** Formats a notice as plain text and as HTML that loads nothing. Pure. */

/** An email to a user, as plain text without markup. */
export interface Notice {
  /** Its kind, for the log and the tag `notice`: `password_reset`, `invitation`. Letters, digits, underscores. */
  kind: string
  /** One address. */
  to: string
  subject: string
  /** One paragraph each. */
  paragraphs: string[]
  /** The only link: a button in HTML, a separate line in text. */
  action: { label: string; url: string } | null
  /** Paragraphs after the link: how long it is valid, and what to do about an unexpected email. */
  after: string[]
  attachment?: { filename: string; contentType: string; content: Uint8Array }
  /** Additional header fields. */
  headers?: HeaderField[]
  /** A notice with the same value is sent only once. */
  once?: string
}

interface HeaderField {
  name: string
  value: string
}

/** Formats the text part. */
export function formatNoticeText({ paragraphs, action, after }: Notice, hostname: string): string {
  const link = action === null ? [] : [`${action.label}:\n${action.url}`]
  return `${[...paragraphs, ...link, ...after, `-- \n${signature(hostname)}`].join('\n\n')}\n`
}

const signature = (hostname: string): string => `Sent by the Posthaste server ${hostname}`

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)!};`)

const TEXT = 'margin:0 0 16px;font:15px/1.5 system-ui,sans-serif'
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#1f5fd0;color:#ffffff;font:600 15px/1.3 system-ui,sans-serif;text-decoration:none'

/** Formats the HTML part. Styles are inline, because many mail readers drop others. The link is also shown as text. */
export function formatNoticeHtml({ paragraphs, action, after, subject }: Notice, hostname: string): string {
  const paragraph = (text: string) => `<p style="${TEXT}">${escaped(text)}</p>`
  const link =
    action === null
      ? []
      : [
          `<p style="${TEXT}"><a href="${escaped(action.url)}" style="${BUTTON}">${escaped(action.label)}</a></p>`,
          `<p style="${TEXT};color:#666666;word-break:break-all">${escaped(action.url)}</p>`,
        ]
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>`,
    '<body style="margin:0;padding:24px"><div style="max-width:560px">',
    ...paragraphs.map(paragraph),
    ...link,
    ...after.map(paragraph),
    `<p style="${TEXT};color:#666666">${escaped(signature(hostname))}</p>`,
    '</div></body></html>',
  ].join('\n')
}
