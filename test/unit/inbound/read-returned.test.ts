import { describe, expect, test } from 'vitest'
import { classifyReturnedMessage } from '../../../appliance/inbound/reading/read-returned.ts'
import type { ParsedReturnedMessage } from '../../../appliance/mail/returned.ts'
import { shippedRules } from './rules.ts'
import { AUTO_REPLIES, CHALLENGES, NEAR_MISSES } from './samples/automatic.ts'
import { COMPLAINTS, LIKE_COMPLAINTS } from './samples/feedback.ts'
import { PLAIN, PLAIN_DELAYS } from './samples/plain.ts'
import { DMARC_REPORTS, TLS_REPORTS } from './samples/reports.ts'
import type { Sample } from './samples/sample.ts'
import { NOT_FINAL, STRUCTURED } from './samples/structured.ts'

const rules = shippedRules()
const read = (message: string): ParsedReturnedMessage => classifyReturnedMessage(Buffer.from(message), rules)

/** Returns what was read, in a sample's format. */
function outcome(sample: Sample, { kind, recipients, references }: ParsedReturnedMessage): object {
  return {
    kind,
    ...(sample.recipients && { recipients: recipients.map(({ final }) => final) }),
    ...(sample.category !== undefined && { category: recipients[0]?.category }),
    ...(sample.invalid !== undefined && { invalid: recipients.some(({ invalid }) => invalid) }),
    ...(sample.messageId !== undefined && { messageId: references.messageId }),
  }
}

const expected = ({ origin: _, name: __, message: ___, ...rest }: Sample): object => rest

/** Returns the samples that are read differently than expected, with both results. */
const wrong = (samples: readonly Sample[], turn = (message: string) => message): object[] =>
  samples.flatMap((sample) => {
    const found = outcome(sample, read(turn(sample.message)))
    const wanted = expected(sample)
    return JSON.stringify(Object.entries(found).sort()) === JSON.stringify(Object.entries(wanted).sort())
      ? []
      : [{ sample: `${sample.origin}: ${sample.name}`, found, wanted }]
  })

const BOUNCES = [...STRUCTURED, ...PLAIN]
const AUTOMATIC = [...AUTO_REPLIES, ...CHALLENGES, ...NEAR_MISSES]

/** Recall: every sample of each class must be read as expected. */
describe.each([
  ['structured bounces', STRUCTURED, 154],
  ['plain-text bounces', PLAIN, 51],
  ['non-final reports', [...NOT_FINAL, ...PLAIN_DELAYS], 71],
  ['complaints', COMPLAINTS, 34],
  ['complaint lookalikes', LIKE_COMPLAINTS, 7],
  ['automatic replies', AUTO_REPLIES, 41],
  ['challenges', CHALLENGES, 3],
  ['near misses', NEAR_MISSES, 12],
])('the samples of %s', (_, samples, count) => {
  test('there are as many samples as docs/inbound.md says', () => {
    expect(samples).toHaveLength(count)
  })

  test.each([
    ['CRLF', (message: string) => message],
    ['LF', (message: string) => message.replaceAll('\r\n', '\n')],
    ['CR', (message: string) => message.replaceAll('\r\n', '\r')],
  ])('classifies all samples correctly with %s line endings', (_, turn) => {
    expect(wrong(samples, turn)).toEqual([])
  })
})

test('bounce samples come from at least 39 origins', () => {
  expect(new Set(BOUNCES.map(({ origin }) => origin)).size).toBeGreaterThanOrEqual(39)
})

test('classifies no other sample as a bounce, a complaint or an invalid address', () => {
  const others = [...NOT_FINAL, ...PLAIN_DELAYS, ...AUTOMATIC, ...LIKE_COMPLAINTS]
  const found = others.map(({ message }) => read(message))
  expect(found.filter(({ kind }) => kind === 'bounce' || kind === 'complaint')).toEqual([])
  expect(found.flatMap(({ recipients }) => recipients).filter(({ invalid }) => invalid)).toEqual([])
})

test.each([...DMARC_REPORTS, ...TLS_REPORTS])('finds the attached report in "$name"', ({ message, kind }) => {
  expect(read(message)).toMatchObject({ kind, report: expect.any(Uint8Array) as Uint8Array })
})

test('returns references to the original email from a returned message', () => {
  const { references } = read(STRUCTURED[0]!.message)
  expect(references).toEqual({
    messageId: '<0197a-1@send.sender.example>',
    returnPath: 'bounce+0197a0000000000000000000000000aa@send.sender.example',
    envelopeId: null,
    inReplyTo: [],
    fields: { 'x-posthaste-stream': 'broadcasts', 'feedback-id': '1:2:broadcast:acme' },
    to: 'ada@recipient.example',
    subject: 'Your order',
  })
})

test('results can be cloned between threads', () => {
  const found = read(COMPLAINTS[0]!.message)
  expect(structuredClone(found)).toEqual(found)
})
