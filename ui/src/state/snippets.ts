/** A first email in the languages that people paste from, filled in with what is known. */

export const LANGUAGES = [
  ['curl', 'curl'],
  ['node', 'Node'],
  ['python', 'Python'],
] as const
export type Language = (typeof LANGUAGES)[number][0]

export interface Blanks {
  /** Origin of the API, without a slash at the end. */
  origin: string
  token: string
  /** The domain of the From address. */
  domain: string
}

/** Sends one email with the token, ready to paste. */
export function snippet(language: Language, { origin, token, domain }: Blanks): string {
  const from = `Me <hello@${domain}>`
  const to = 'someone@example.com'
  const words = `from: '${from}',\n  to: '${to}',\n  subject: 'Hello',\n  text: 'It works.',`
  switch (language) {
    case 'curl':
      return `curl ${origin}/emails \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{
    "from": "${from}",
    "to": "${to}",
    "subject": "Hello",
    "text": "It works."
  }'`
    case 'node':
      return `// npm install resend
import { Resend } from 'resend'

const posthaste = new Resend('${token}', {
  baseUrl: '${origin}',
})

const { data, error } = await posthaste.emails.send({
  ${words}
})
console.log(error ?? data)`
    case 'python':
      return `# pip install resend
import resend

resend.api_url = "${origin}"
resend.api_key = "${token}"

email = resend.Emails.send({
    "from": "${from}",
    "to": "${to}",
    "subject": "Hello",
    "text": "It works.",
})
print(email["id"])`
  }
}
