import type { Email } from '../../../appliance/api/emails.ts'

/** Quotes text for a POSIX shell, in single quotes. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Returns a curl command that sends the same content. The API key is a variable, since shells record commands.
 * @param origin origin of the API, without a trailing slash
 */
export function buildCurlCommand(email: Email, origin: string): string {
  const { from, to, cc, bcc, reply_to, subject, html, text, tags } = email
  const body = { from, to, cc, bcc, reply_to, subject, html, text, tags: tags.length > 0 ? tags : null }
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
  return `curl ${quoteForShell(`${origin}/emails`)} \\
  -H "Authorization: Bearer $POSTHASTE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(JSON.stringify(given, null, 2))}`
}
