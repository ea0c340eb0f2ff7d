/**
 * Shows how a lane finds a provider's undocumented limit. Prints, per minute, the rate that the lane allowed, and the
 * numbers of messages that were accepted and refused. The lane is the daemon's own; provider and clock are simulated.
 * usage: ./scripts/bench pace [--limit 60] [--window 60] [--minutes 30] [--lifted MINUTE]
 */
import { parseArgs } from 'node:util'
import { loadProviders } from '../../appliance/config/config.ts'
import { Providers } from '../../appliance/shaping/shaping.ts'
import { runLane, slidingLimit, until } from '../../test/world/hidden-limit.ts'

const { values } = parseArgs({
  options: {
    limit: { type: 'string', default: '60' },
    window: { type: 'string', default: '60' },
    minutes: { type: 'string', default: '30' },
    lifted: { type: 'string' },
  },
})
const [limit, seconds, minutes] = [values.limit, values.window, values.minutes].map(Number) as [
  number,
  number,
  number,
]
const lifted = values.lifted === undefined ? Infinity : Number(values.lifted)
const start = Date.UTC(2026, 0, 1)

const run = runLane({
  provider: new Providers(loadProviders({ connections: 10 })).get('hosting.example'),
  server: until(start + lifted * 60_000, slidingLimit(limit, seconds * 1000), () => true),
  minutes,
  start,
  refusal: {
    said: { code: 450, enhanced: '4.7.1', text: 'Too many messages' },
    note: 'it temporarily accepts no more mail from this server (rate limit)',
    asks: { kind: 'slow', minutes: 15 },
  },
})

console.log(`${limit} messages in any ${seconds} seconds, 10 connections, more mail than can be sent\n`)
console.log('minute  allowed  accepted  refused')
for (const [at, { allowed, accepted, refused }] of run.entries())
  console.log(
    [at + 1, allowed, accepted, refused].map((cell, n) => String(cell).padStart([6, 8, 9, 8][n]!)).join(' '),
  )
const sum = (of: 'accepted' | 'refused'): number => run.reduce((total, minute) => total + minute[of], 0)
console.log(`\n${sum('accepted')} accepted, ${sum('refused')} refused`)
