import { expect, test } from 'vitest'
import type { LaneDay, LaneRecord, Storage } from '../../appliance/storage/storage.ts'
import { T0 } from './fixtures.ts'

const lane = (source: string, provider: string, more: Partial<LaneRecord> = {}): LaneRecord => ({
  source,
  provider,
  state: '{"connections":4}',
  pausedUntil: null,
  reason: null,
  reasonAt: null,
  updatedAt: T0,
  ...more,
})

const day = (source: string, provider: string, date: string, counts: Partial<LaneDay> = {}): LaneDay => ({
  source,
  provider,
  day: date,
  sent: 0,
  delivered: 0,
  deferred: 0,
  bounced: 0,
  ...counts,
})

export function lanesContract(storage: () => Storage): void {
  test('returns the last saved state of a lane, by source and provider', async () => {
    const paused = { pausedUntil: T0 + 9, reason: 'Yahoo replied TSS04.', reasonAt: T0, updatedAt: T0 + 1 }
    await storage().saveLanes({ lanes: [lane('auto', 'yahoo'), lane('192.0.2.1', 'yahoo')] }, T0)
    await storage().saveLanes({ lanes: [lane('auto', 'yahoo', paused), lane('auto', 'google')] }, T0)
    expect(await storage().listLanes({}, T0)).toEqual([
      lane('192.0.2.1', 'yahoo'),
      lane('auto', 'google'),
      lane('auto', 'yahoo', paused),
    ])
    await storage().saveLanes({ lanes: [] }, T0)
    expect(await storage().listLanes({}, T0)).toHaveLength(3)
  })

  test('keeps provider settings until they are removed', async () => {
    const save = (provider: string, settings: Record<string, unknown> | null, now: number) =>
      storage().saveProviderSettings({ provider, settings }, now)
    await save('yahoo', { connections: 2 }, T0)
    await save('google', { connections: 9, note: 'é' }, T0)
    await save('yahoo', { connections: 3 }, T0 + 1)
    expect(await storage().listProviderSettings({}, T0)).toEqual([
      { provider: 'google', settings: { connections: 9, note: 'é' }, updatedAt: T0 },
      { provider: 'yahoo', settings: { connections: 3 }, updatedAt: T0 + 1 },
    ])
    await save('google', null, T0)
    await save('nobody', null, T0)
    expect(await storage().listProviderSettings({}, T0)).toMatchObject([{ provider: 'yahoo' }])
  })

  test('adds up the daily counts of lanes', async () => {
    const first = day('auto', 'yahoo', '2026-01-01', { sent: 5, delivered: 4, deferred: 1 })
    const other = day('auto', 'yahoo', '2026-01-02', { sent: 1, bounced: 1 })
    await storage().addLaneDays({ days: [first, other] }, T0)
    await storage().addLaneDays({ days: [first, day('192.0.2.1', 'yahoo', '2026-01-02', { sent: 7 })] }, T0)
    const daysOf = (source: string, since: string) => storage().listLaneDays({ source, since }, T0)
    expect(await daysOf('auto', '2026-01-01')).toEqual([
      day('auto', 'yahoo', '2026-01-01', { sent: 10, delivered: 8, deferred: 2 }),
      other,
    ])
    expect(await daysOf('192.0.2.1', '2026-01-01')).toEqual([
      day('192.0.2.1', 'yahoo', '2026-01-02', { sent: 7 }),
    ])
    expect(await daysOf('auto', '2026-01-02')).toEqual([other])
    expect(await daysOf('auto', '2026-01-03')).toEqual([])
  })

  test('removes old daily counts of lanes', async () => {
    const days = [
      day('auto', 'yahoo', '2025-01-01', { sent: 1 }),
      day('auto', 'google', '2025-01-02', { sent: 2 }),
    ]
    await storage().addLaneDays({ days }, T0)
    expect(await storage().purgeLaneDays({ before: '2025-01-02' }, T0)).toBe(1)
    expect(await storage().purgeLaneDays({ before: '2025-01-02' }, T0)).toBe(0)
    const left = await storage().listLaneDays({ source: 'auto', since: '2025-01-01' }, T0)
    expect(left.filter(({ day: date }) => date < '2026')).toEqual([days[1]])
  })
}
