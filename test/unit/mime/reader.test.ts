import { expect, test } from 'vitest'
import { composeMessage } from '../../../appliance/intake/compose.ts'
import { parseMailbox } from '../../../appliance/mail/address.ts'
import { createMimeReader } from '../../../appliance/mime/mime.ts'
import { readComposedMessage } from '../../../appliance/mime/read-composed.ts'
import { testCapacity } from '../../world/capacity.ts'
import { createTestClock } from '../../world/clock.ts'

const readerAt = (clock: ReturnType<typeof createTestClock>) =>
  createMimeReader({ clock, turns: testCapacity(clock, '/nowhere').turns })

const mixed = (text: string, html: string): Uint8Array =>
  Buffer.from(
    [
      'From: app@acme.example',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      text,
      '--b',
      'Content-Type: text/html',
      '',
      html,
      '--b--',
      '',
    ].join('\r\n'),
  )

/** Links that never end. Converting them to text takes the parser minutes and blocks its thread. */
const endless = mixed('Hello', `${'<a href="'.repeat(90)}\r\n`.repeat(400))

test('rejects a message that takes too long to parse, and parses later ones', async () => {
  const clock = createTestClock()
  const reader = readerAt(clock)
  const reading = reader.read(endless, 'a')
  const refused = expect(reading).rejects.toMatchObject({
    key: 'message_malformed',
    message: 'The message cannot be accepted: parsing its parts takes too much time or memory.',
  })
  await clock.advance(10_000)
  await refused
  const after = await reader.read(mixed('Hello', `<p>${'word '.repeat(10_000)}</p>`), 'a')
  expect(after.text).toMatch(/^Hello\n\n+word word /)
})

test('a parser thread handles several messages, valid or not', async () => {
  const reader = readerAt(createTestClock())
  const large = mixed('Hello', `<p>${'word '.repeat(10_000)}</p>`)
  const nested = Array.from({ length: 300 }, (_, n) =>
    [`Content-Type: multipart/mixed; boundary=b${n}`, '', `--b${n}`, ''].join('\r\n'),
  ).join('')
  expect((await reader.read(large, 'a')).html).toContain('word word')
  await expect(
    reader.read(Buffer.from(`${nested}\r\nx\r\n${'x\r\n'.repeat(5000)}`), 'a'),
  ).rejects.toMatchObject({
    key: 'message_malformed',
    message: 'The message cannot be accepted: its parts are nested too deeply.',
  })
  expect((await reader.read(large, 'a')).text).toMatch(/^Hello/)
})

test('replaces an idle parser thread after a minute', async () => {
  const clock = createTestClock()
  const reader = readerAt(clock)
  const large = mixed('Hello', `<p>${'word '.repeat(10_000)}</p>`)
  expect((await reader.read(large, 'a')).text).toMatch(/^Hello/)
  await clock.advance(60_000)
  expect((await reader.read(large, 'a')).text).toMatch(/^Hello/)
})

test('rejects a message that exhausts the parser’s memory, and the parser recovers', async () => {
  const reader = readerAt(createTestClock())
  const nested = Buffer.from(
    `From: a@b.example\r\n${'Content-Type: message/rfc822\r\n\r\n'.repeat(1_000_000)}`,
  )
  await expect(reader.read(nested, 'a')).rejects.toMatchObject({ key: 'message_malformed' })
  expect((await reader.read(mixed('Hello', `<p>${'word '.repeat(10_000)}</p>`), 'a')).text).toMatch(/^Hello/)
  await reader.close()
})

test('parses a message with a very large number of short lines', async () => {
  const reader = readerAt(createTestClock())
  const message = Buffer.from(
    `From: a@b.example\r\nContent-Type: text/html\r\n\r\n${'ab\r\n'.repeat(500_000)}`,
  )
  const { html } = await reader.read(message, 'a')
  expect(html).toBe('ab\n'.repeat(500_000))
  await reader.close()
})

test('rejects messages nested more than 1000 levels', async () => {
  const reader = readerAt(createTestClock())
  const nested = (depth: number) =>
    Buffer.from(`From: a@b.example\r\n${'Content-Type: message/rfc822\r\n\r\n'.repeat(depth)}Hello\r\n`)
  expect((await reader.read(nested(1000), 'a')).attachments).toHaveLength(1)
  await expect(reader.read(nested(1002), 'a')).rejects.toMatchObject({
    message: 'The message cannot be accepted: it has more than 1000 parts.',
  })
  await reader.close()
})

test('parses large messages in a worker thread, whether composed here or received', async () => {
  const reader = readerAt(createTestClock())
  const [html, text] = ['<p>Größe</p>\n'.repeat(200_000), 'A line of text\n'.repeat(50_000)]
  const from = parseMailbox('hi@acme.example')!
  const { message, content } = await composeMessage({
    from,
    to: [from],
    cc: [],
    replyTo: [],
    subject: 'Hello',
    headers: [],
    attachments: [],
    messageId: '<1@acme.example>',
    date: 0,
    html,
    text,
  })
  expect(content).toEqual({ place: 'message', html: null, text: null })
  // The first read starts the thread.
  await reader.readComposed(message, 'a')
  const before = process.threadCpuUsage()
  const back = await reader.readComposed(message, 'a')
  const arrived = await reader.read(message, 'a')
  const { user } = process.threadCpuUsage(before)
  await reader.close()
  // Compared as booleans, because the diff would be megabytes long.
  expect([back.html === html, back.text === text]).toEqual([true, true])
  expect([arrived.html?.trim() === html.trim(), arrived.text?.trim() === text.trim()]).toEqual([true, true])
  const here = process.threadCpuUsage()
  readComposedMessage(message)
  expect(user).toBeLessThan(process.threadCpuUsage(here).user)
})
