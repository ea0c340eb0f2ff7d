import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createHealthChecks, type HealthDeps } from '../../../appliance/watch/health.ts'
import { createTestClock } from '../../world/clock.ts'
import { makePlace } from '../storage/places.ts'

const GIGABYTE = 2 ** 30
const NO_READ = 'The database did not respond within 5 seconds. Check the disk and data_dir, then restart.'
const NO_WRITE = 'The database did not complete a write within 5 seconds. Check the disk under data_dir.'

async function health(more: Partial<HealthDeps> = {}) {
  const storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  const clock = createTestClock()
  const freeBytes = () => Promise.resolve(GIGABYTE)
  const checks = createHealthChecks({
    storage,
    clock,
    freeBytes,
    leastFree: 100_000_000,
    lastFailure: () => null,
    ...more,
  })
  return { storage, clock, checks }
}

/** A storage call that never returns, as on a disk that hangs. */
const never = () => new Promise<never>(() => undefined)
const soon = () => Promise.resolve(0)

describe('a health check', () => {
  test('a health check passes while the storage responds and the disk has space', async () => {
    const { checks, storage } = await health()
    expect(await checks.alive()).toEqual({ ok: true, reasons: [] })
    expect(await checks.ready()).toEqual({ ok: true, reasons: [] })
    await storage.close()
  })

  test('a health check reports neither alive nor ready when the storage rejects calls', async () => {
    const { checks, storage } = await health()
    await storage.close()
    expect(await checks.alive()).toEqual({ ok: false, reasons: [NO_READ] })
    expect(await checks.ready()).toEqual({ ok: false, reasons: [NO_READ, NO_WRITE] })
  })

  test('a health check times out a hanging read after five seconds', async () => {
    const { checks, clock, storage } = await health({
      storage: { nextDue: never, purgeReceipts: soon },
    })
    let answer: unknown
    const asked = checks.alive().then((said) => (answer = said))
    await clock.advance(4000)
    expect(answer).toBeUndefined()
    await clock.advance(1000)
    await asked
    expect(answer).toEqual({ ok: false, reasons: [NO_READ] })
    await storage.close()
  })

  test('a health check reports alive but not ready while writes hang', async () => {
    const { checks, clock, storage } = await health({
      storage: { nextDue: soon, purgeReceipts: never },
    })
    expect(await checks.alive()).toEqual({ ok: true, reasons: [] })
    const asked = checks.ready()
    await clock.advance(5000)
    expect(await asked).toEqual({ ok: false, reasons: [NO_WRITE] })
    await storage.close()
  })

  test('a health check reports not ready after a failed write, even if an empty write succeeds', async () => {
    const { checks, storage } = await health({ lastFailure: () => 'database or disk is full' })
    expect(await checks.ready()).toEqual({
      ok: false,
      reasons: [
        'The last change could not be stored. See the log for the reason, and check the disk under data_dir.',
      ],
    })
    expect((await checks.alive()).ok).toBe(true)
    await storage.close()
  })

  test('a health check reports not ready below storage.min_free_mb, and ignores unknown disk space', async () => {
    let free: number | null = 100_000_000 - 1
    const { checks, storage } = await health({ freeBytes: () => Promise.resolve(free) })
    expect(await checks.ready()).toEqual({
      ok: false,
      reasons: [
        'The disk under data_dir has less than 100 MB free (storage.min_free_mb), so mail is refused. Free some space.',
      ],
    })
    free += 1
    expect((await checks.ready()).ok).toBe(true)
    free = null
    expect((await checks.ready()).ok).toBe(true)
    await storage.close()
  })

  test('a health check reports alive but not ready once the node is stopping', async () => {
    const { checks, storage } = await health()
    checks.stopping()
    expect(await checks.alive()).toEqual({ ok: true, reasons: [] })
    expect(await checks.ready()).toEqual({
      ok: false,
      reasons: ['This node is stopping. It will restart, or another node will take over.'],
    })
    await storage.close()
  })
})
