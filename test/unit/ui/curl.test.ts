import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Email } from '../../../appliance/api/emails.ts'
import { buildCurlCommand } from '../../../ui/src/state/curl.ts'

const email: Email = {
  object: 'email',
  id: '0199c0de-7a10-7c3e-9b6f-000000000001',
  message_id: null,
  from: 'Ada’s shop <shop@acme.example>',
  to: ['bob@reader.example'],
  created_at: '2026-11-20 20:39:59.54+00',
  subject: "It's here: $HOME `id` \\n",
  bcc: null,
  cc: null,
  reply_to: null,
  last_event: 'delivered',
  scheduled_at: null,
  html: '<p>"quoted" \'single\'</p>',
  text: null,
  tags: [],
}

test('a generated curl command passes the exact content through the shell', () => {
  // `curl` is a function that prints its last argument.
  const script = `curl() { for last; do :; done; printf %s "$last"; }\n${buildCurlCommand(email, 'https://mail.acme.example')}`
  const body = JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' })) as unknown
  expect(body).toEqual({ from: email.from, to: email.to, subject: email.subject, html: email.html })
})
