import { expect } from 'vitest'
import type { Answer } from '../unit/http/harness.ts'

/** More with FUZZ_RUNS=20000; a failure prints the seed and the smallest request that shows it. */
export const numRuns = Number(process.env.FUZZ_RUNS ?? 200)
/** For a run that hangs. */
export const patience = { timeout: 120_000 + numRuns * 400 }

/** What every answer must be: no fault of ours, and an error in the wire's three keys, in order. */
export function assertShape({ status, headers, text, json }: Answer): void {
  expect(status).toBeLessThan(500)
  if (status < 400) return
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  const { statusCode, message, name } = json as Record<string, unknown>
  expect(text).toBe(JSON.stringify({ statusCode, message, name }))
  expect(statusCode).toBe(status)
  expect(message).toEqual(expect.stringMatching(/\S/))
  expect(name).toEqual(expect.stringMatching(/^[a-z_]+$/))
}
