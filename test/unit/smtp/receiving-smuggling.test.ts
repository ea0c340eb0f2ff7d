import { afterAll, beforeAll, expect, test } from 'vitest'
import { play, readDialogs } from '../../dialogs/runner.ts'
import { startDoor, type Door } from './harness.ts'

/**
 * Tests SMTP smuggling at the public MX (CVE-2023-51764, CVE-2023-51765, CVE-2023-51766, CVE-2024-27938). Only CR LF .
 * CR LF ends a message here, whatever other servers accept. Smuggled content never becomes a message or a command.
 */

let door: Door
beforeAll(async () => {
  door = await startDoor()
  const acme = await door.senders.findDomain({ teamId: door.teamId, name: 'acme.example' })
  await door.senders.updateDomain({ teamId: door.teamId, id: acme!.id, settings: { receiving: true } })
})
afterAll(() => door.close())

const ENVELOPE = [
  '< 220 …',
  '> EHLO mx.customer.example',
  '* 250-STARTTLS',
  '> MAIL FROM:<ada@customer.example>',
  '< 250 …',
  '> RCPT TO:<box@acme.example>',
  '< 250 2.1.5 …',
]
const raw = (bytes: string) => `! ${JSON.stringify(bytes)}`
const END = ['> NOOP', '< 250 2.0.0 Ok', '> QUIT', '< 221 2.0.0 Goodbye', '= closed']

async function talk(...lines: string[]): Promise<void> {
  const [dialog] = readDialogs(['=== a conversation @relay', ...ENVELOPE, ...lines].join('\n'))
  expect(await play(dialog!, door)).toBeNull()
}
async function subjects(): Promise<string[]> {
  const { items } = await door.storage.listReceivedEmails(
    { teamId: door.teamId, limit: 100 },
    door.clock.now(),
  )
  return items.map(({ subject }) => subject).toReversed()
}

const EVIL =
  'MAIL FROM:<boss@acme.example>\r\nRCPT TO:<box@acme.example>\r\nDATA\r\nSubject: evil\r\n\r\nx\r\n.\r\n'

test.each([
  ['\n.\n', 'LF'],
  ['\n.\r\n', 'LF'],
  ['\r\n.\n', 'LF'],
  ['\r.\r', 'CR'],
  ['\r\n.\r', 'CR'],
  ['\r.\r\n', 'CR'],
  ['\r\n\0.\r\n', 'NUL'],
  ['\r\n.\0\r\n', 'NUL'],
  ['\r\r\n.\r\r\n', 'CR'],
  ['\r\n.\r\r\n', 'CR'],
  ['\n\n.\n\n', 'LF'],
  ['\n.\r\r\n', 'LF'],
  ['\n.\r', 'LF'],
  ['\r.\n', 'CR'],
  ['\r\n.\r\0\n', 'CR'],
])('%j does not end a message', async (end, what) => {
  await talk(
    '> DATA',
    '< 354 …',
    raw(`Subject: first\r\n\r\nfirst${end}${EVIL}`),
    `< 554 5.6.0 The message has a bare ${what}. …`,
    ...END,
  )
  expect(await subjects()).not.toContain('evil')
})

test('BDAT chunks cannot smuggle a message, and octets beyond the chunk size are commands', async () => {
  const chunk = 'Subject: c\r\n\r\na\n.\nb\r\n'
  await talk(raw(`BDAT ${chunk.length} LAST\r\n${chunk}`), '< 554 5.6.0 … bare LF. …', ...END)
  await talk(
    raw('BDAT 14 LAST\r\nSubject: d\r\n\r\nRCPT TO:<box@acme.example>\r\n'),
    '< 250 2.0.0 Received as …',
    '< 503 5.5.1 …',
    ...END,
  )
  const dots = 'Subject: dots\r\n\r\n\r\n.\r\nMAIL FROM:<a@b.example>\r\n'
  await talk(raw(`BDAT ${dots.length} LAST\r\n${dots}`), '< 250 2.0.0 Received as …', ...END)
  expect((await subjects()).slice(-2)).toEqual(['d', 'dots'])
})

test('rejects DATA after BDAT in one transaction', async () => {
  await talk(
    raw('BDAT 4\r\na: b'),
    '< 250 2.0.0 4 octets received',
    '> DATA',
    '< 503 5.5.1 …',
    '> RSET',
    '< 250 2.0.0 Ok',
    ...END,
  )
})

test('rejects message data before the 354 reply, and accepts commands pipelined after its end', async () => {
  await talk(raw('DATA\r\nSubject: early\r\n\r\nx\r\n.\r\n'), '< 503 5.5.1 …')
  const next = 'MAIL FROM:<ada@customer.example>\r\nRCPT TO:<x@acme.example>\r\nRCPT TO:<x@other.example>\r\n'
  await talk(
    '> DATA',
    '< 354 …',
    raw(`Subject: one\r\n\r\nx\r\n.\r\n${next}`),
    '< 250 2.0.0 Received as …',
    '< 250 2.1.0 …',
    '< 250 2.1.5 …',
    '< 554 5.7.1 …',
    ...END,
  )
  expect(await subjects()).not.toContain('early')
  expect((await subjects()).at(-1)).toBe('one')
})

test('received mail may have lines of up to 10,000 octets', async () => {
  await talk(
    '> DATA',
    '< 354 …',
    raw(`Subject: l\r\n\r\n${'x'.repeat(10_001)}\r\n.\r\n`),
    '< 554 5.6.0 …',
    ...END,
  )
  await talk('> DATA', '< 354 …', raw(`Subject: m\r\n\r\n${'x'.repeat(9_990)}\r\n.\r\n`), '< 250 …', ...END)
  expect((await subjects()).at(-1)).toBe('m')
})
