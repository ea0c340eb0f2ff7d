import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../appliance/config/config.ts'
import { evaluateForecast, measureForecast } from '../../../appliance/insights/disk-forecast.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { Storage } from '../../../appliance/storage/storage.ts'
import { createTestClock } from '../../world/clock.ts'
import { said } from './fixtures.ts'

const MB = 1_000_000
const NOW = '100 MB used, 900 MB left on the disk.'

const facts = (fullInDays: number | null, days = 7, budget: number | null = null) => ({
  days,
  budget,
  disk: { held: 100 * MB, room: 900 * MB, fullInDays },
})

describe('the disk forecast', () => {
  test('the disk forecast is skipped before two days are recorded', () => {
    expect(said(evaluateForecast(facts(null, 1)))).toEqual([
      'skipped',
      `${NOW} The growth rate is known after two days; it is recorded once a day.`,
      null,
    ])
  })

  test('the disk forecast is ok if usage does not grow or the disk lasts more than a week', () => {
    expect(said(evaluateForecast(facts(null)))).toEqual([
      'ok',
      `${NOW} Disk usage did not grow in the last week.`,
      null,
    ])
    expect(said(evaluateForecast(facts(8)))).toEqual([
      'ok',
      `${NOW} At last week's rate, that lasts 8 days.`,
      null,
    ])
  })

  test('the disk forecast warns with advice if the disk lasts a week or less', () => {
    const [status, found, advice] = said(evaluateForecast(facts(7)))
    expect([status, found]).toEqual(['warning', `${NOW} At last week's rate, that lasts 7 days.`])
    expect(advice).toMatch(
      /^The server accepts no mail when the disk is full\. Shorten the periods in \[retention\], set retention\.disk_budget_mb/,
    )
    expect(said(evaluateForecast(facts(1)))[1]).toMatch(/lasts 1 day\.$/)
  })

  test('the disk forecast uses the disk budget if there is one', () => {
    const [, found, advice] = said(evaluateForecast(facts(3, 7, 1000 * MB)))
    expect(found).toContain('on the disk or in retention.disk_budget_mb')
    expect(advice).toMatch(/^Above the budget, bodies are deleted early\./)
  })
})

describe('measuring the disk forecast', () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-forecast-'))
  const clock = createTestClock()
  let storage: Storage
  beforeAll(async () => {
    storage = await openSqlite({ dataDir: folder })
  })
  afterAll(async () => {
    await storage.close()
    rmSync(folder, { recursive: true })
  })

  test('the measured disk forecast uses the recorded days and the budget', async () => {
    const loaded = loadConfig({
      env: { POSTHASTE_HOSTNAME: 'mail.acme.org', POSTHASTE_RETENTION__DISK_BUDGET_MB: '1000' },
      defaultFile: '/nonexistent',
    })
    if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
    const config = { ...loaded.config, data_dir: folder }
    expect(await measureForecast({ storage, clock, config })).toMatchObject({
      days: 0,
      budget: 1000 * MB,
      disk: { fullInDays: null },
    })
    await storage.saveDiskDay({ day: '2026-01-01', bytes: 100 * MB, since: '2025-12-01' }, clock.now())
    await storage.saveDiskDay({ day: '2026-01-03', bytes: 300 * MB, since: '2025-12-01' }, clock.now())
    const known = await measureForecast({ storage, clock, config })
    // 100 MB per day, with slightly less than 1000 MB left.
    expect(known).toMatchObject({ days: 2, disk: { fullInDays: 9 } })
    expect(
      await measureForecast({ storage, clock, config: { ...config, data_dir: '/nonexistent' } }),
    ).toBeNull()
  })
})
