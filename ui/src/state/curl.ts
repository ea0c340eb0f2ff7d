import type { Email } from '../../../appliance/api/emails.ts'

/** Quoted for a POSIX shell: nothing within single quotation marks means anything. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The request that sends an email of the same content. The key is a variable: commands end up in histories.
 * @param origin of the API, without a slash at its end
 */
export function curlOf(email: Email, origin: string): string {
  const { from, to, cc, bcc, reply_to, subject, html, text, tags } = email
  const body = { from, to, cc, bcc, reply_to, subject, html, text, tags: tags.length > 0 ? tags : null }
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
  return `curl ${quoted(`${origin}/emails`)} \\
  -H "Authorization: Bearer $POSTHASTE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(given, null, 2))}`
}
