import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { testCapacity } from '../../world/capacity.ts'

const MB = 1024 * 1024

async function receiveLarge() {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-incoming-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const body = testCapacity(systemClock, folder).receive({ teamId: 'a', ip: '192.0.2.1' })
  await body.add(Buffer.alloc(2 * MB, 'x'))
  return body
}

test('a large body is returned unchanged', async () => {
  const body = await receiveLarge()
  await body.add(Buffer.from('end'))
  const whole = await body.whole()
  expect(whole.length).toBe(2 * MB + 3)
  expect(whole.subarray(-4).toString()).toBe('xend')
  body.discard()
})

test.each(['before', 'while'])('a body discarded %s being read is rejected as malformed', async (when) => {
  const body = await receiveLarge()
  if (when === 'before') {
    body.discard()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const reading = body.whole()
  body.discard()
  await expect(reading).rejects.toMatchObject({ key: 'malformed_request' })
})
