import { expect, test } from 'vitest'
import type { Step, Transcript } from '../../../appliance/mail/transcript.ts'
import { parseTranscript, serializeTranscript } from '../../../appliance/storage/deliveries.ts'
import * as fc from '../../world/fast-check.ts'

const said = (name: Step['name'], more: Partial<Step> = {}): Step => ({
  name,
  host: 'mx.x.example',
  ip: '192.0.2.1',
  sent: null,
  reply: null,
  note: null,
  at: 5,
  ms: 1,
  ...more,
})
const transcript = (steps: Step[]): Transcript => ({
  steps,
  host: 'mx.x.example',
  ip: '192.0.2.1',
  tls: null,
  source: '192.0.2.7',
})

test('a transcript is read back as written, whichever fields its steps have', () => {
  const text = fc.constantFrom(null, '', 'mx1.x.example', 'mx2.x.example')
  const step = fc.record<Step>({
    name: fc.constantFrom('resolve', 'connect', 'ehlo', 'mail', 'rcpt'),
    host: text,
    ip: text,
    sent: text,
    note: text,
    reply: fc.constantFrom(null, { code: 250, enhanced: null, text: 'ok' }),
    at: fc.nat(),
    ms: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      expect(parseTranscript(serializeTranscript(transcript(steps)))).toEqual(transcript(steps))
    }),
  )
})

test('stores values that every step repeats once', () => {
  const steps = [said('resolve', { host: null, ip: null }), said('connect'), said('ehlo', { sent: 'EHLO a' })]
  expect(JSON.parse(serializeTranscript(transcript(steps)))).toEqual({
    steps: [
      { name: 'resolve', at: 5, ms: 1 },
      { name: 'connect', host: 'mx.x.example', ip: '192.0.2.1', at: 5, ms: 1 },
      { name: 'ehlo', sent: 'EHLO a', at: 5, ms: 1 },
    ],
    host: 'mx.x.example',
    ip: '192.0.2.1',
    tls: null,
    source: '192.0.2.7',
  })
})

test('reads a transcript that was stored with all fields', () => {
  const whole = transcript([said('connect'), said('quit', { host: null, ip: null })])
  expect(parseTranscript(JSON.stringify(whole))).toEqual(whole)
})
