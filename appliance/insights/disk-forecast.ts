/** How long the disk lasts, from what the daemon wrote down of the last days. */
import { statfs } from 'node:fs/promises'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Finding } from '../mail/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { viewDisk, type DiskView } from '../housekeeping/housekeeping.ts'

/** What the forecast is made of. */
export interface ForecastFacts {
  /** UTC days of which it is known what was held. */
  days: number
  disk: Pick<DiskView, 'held' | 'room' | 'fullInDays'>
  /** Bytes that may be held (`retention.disk_budget_mb`); null: as many as the disk has. */
  budget: number | null
}

export interface ForecastDeps {
  storage: Pick<Storage, 'diskUse' | 'listDiskDays'>
  clock: Clock
  config: Pick<Config, 'data_dir' | 'retention'>
}

const MB = 1_000_000
/** A warning from so many days on: a week is enough to buy a disk, and `posthaste status` says the same. */
const LEAST_DAYS = 7

/** Asks the storage and the disk; null where the disk cannot be asked, which the finding about the disk says. */
export async function measureForecast({
  storage,
  clock,
  config,
}: ForecastDeps): Promise<ForecastFacts | null> {
  const onDisk = await freeOn(config.data_dir)
  if (onDisk === null) return null
  const { disk_budget_mb: megabytes } = config.retention
  const budget = megabytes === undefined ? null : megabytes * MB
  const days = await storage.listDiskDays({}, clock.now())
  return { days: days.length, disk: await viewDisk(storage, clock, { budget, onDisk }), budget }
}

async function freeOn(dataDir: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(dataDir)
    return bavail * bsize
  } catch {
    // Why it cannot be looked at is said by the finding about the disk.
    return null
  }
}

/** What it means. The growth is that of the appliance: what other programs write is not known here. */
export function judgeForecast({ days, disk, budget }: ForecastFacts): Finding {
  const about = { id: 'disk-forecast', title: 'Disk forecast' }
  const { held, room, fullInDays } = disk
  const where = budget === null ? 'on the disk' : 'on the disk or in retention.disk_budget_mb'
  const now = `${megabytes(held)} used, ${megabytes(room)} left ${where}`
  if (days < 2)
    return {
      ...about,
      status: 'skipped',
      found: `${now}. The growth rate is known after two days; it is recorded once a day.`,
      advice: null,
    }
  if (fullInDays === null)
    return {
      ...about,
      status: 'ok',
      found: `${now}. Disk usage did not grow in the last week.`,
      advice: null,
    }
  const found = `${now}. At last week's rate, that lasts ${fullInDays} ${fullInDays === 1 ? 'day' : 'days'}.`
  if (fullInDays > LEAST_DAYS) return { ...about, status: 'ok', found, advice: null }
  return {
    ...about,
    status: 'warning',
    found,
    advice:
      budget === null
        ? 'The server accepts no mail when the disk is full. Shorten the periods in [retention], set retention.disk_budget_mb, or move data_dir to a larger disk. To see disk usage, run: posthaste retention'
        : 'Above the budget, bodies are deleted early. Raise retention.disk_budget_mb, shorten the periods in [retention], or move data_dir to a larger disk. To see disk usage, run: posthaste retention',
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / MB)} MB`
