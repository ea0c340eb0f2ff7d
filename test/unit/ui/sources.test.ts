import { expect, test } from 'vitest'
import { summarizeSources } from '../../../ui/src/state/sources.ts'

type Given = Parameters<typeof summarizeSources>[0][number]

const source = (state: Given['state'], ...found: Given['checks'][number]['status'][]): Given => ({
  state,
  checks: found.map((status, i) => ({ id: `ptr:${i}`, status }) as Given['checks'][number]),
})
const sound = source('active', 'ok', 'skipped')

test.each([
  [[source('active')], 'Your IP is in use. No problems found.'],
  [[source('suspended')], 'Your IP needs attention.'],
  [[sound, sound], 'All 2 IPs are in use. No problems found.'],
  [[sound, source('active', 'warning')], '1 of 2 IPs needs attention.'],
  [[sound, source('suspended'), source('active', 'ok', 'failed')], '2 of 3 IPs need attention.'],
])('summarizes the sending IPs %o as %s', (sources, words) => {
  expect(summarizeSources(sources)).toBe(words)
})
