/** Code snippets that send a first email, filled in with known values. */
import { renderSmtpSnippet, type Language } from './smtp-snippets.ts'

export const LANGUAGES = [
  ['curl', 'curl'],
  ['node', 'Node'],
  ['python', 'Python'],
  ['php', 'PHP'],
] as const satisfies readonly (readonly [Language, string])[]

/** The two ways to send with an API key: the API and SMTP. */
export const SNIPPET_PROTOCOLS = [
  ['api', 'API'],
  ['smtp', 'SMTP'],
] as const
export type SnippetProtocol = (typeof SNIPPET_PROTOCOLS)[number][0]

export interface SnippetValues {
  /** Origin of the API, without a trailing slash. */
  origin: string
  /** Host and port that support STARTTLS; null if there is no SMTP listener. */
  smtp: { host: string; port: number } | null
  token: string
  /** The domain of the From address. */
  domain: string
}

/** Returns code that sends one email with the given token. Uses the API if there is no SMTP listener. */
export function renderSnippet(
  language: Language,
  way: SnippetProtocol,
  { origin, smtp, token, domain }: SnippetValues,
): string {
  const mail = { sender: `hello@${domain}`, from: `Me <hello@${domain}>`, to: 'someone@example.com' }
  return way === 'smtp' && smtp !== null
    ? renderSmtpSnippet(language, { ...mail, ...smtp, token })
    : apiSnippet(language, { ...mail, origin, token })
}

interface ApiBlanks {
  origin: string
  token: string
  from: string
  to: string
}

function apiSnippet(language: Language, { origin, token, from, to }: ApiBlanks): string {
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
  from: '${from}',
  to: '${to}',
  subject: 'Hello',
  text: 'It works.',
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
    case 'php':
      return `// composer require resend/resend-php
require 'vendor/autoload.php';

putenv('RESEND_BASE_URL=${origin}');
$posthaste = Resend::client('${token}');

$email = $posthaste->emails->send([
    'from' => '${from}',
    'to' => '${to}',
    'subject' => 'Hello',
    'text' => 'It works.',
]);
echo $email->id;`
  }
}
