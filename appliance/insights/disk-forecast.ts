/** Forecasts when the disk will be full, from the usage that the daemon recorded in recent days. */
import { statfs } from 'node:fs/promises'
import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import type { Finding } from '../mail/finding.ts'
import type { Storage } from '../storage/storage.ts'
import { reportDiskUsage, type DiskUsageReport } from '../housekeeping/housekeeping.ts'

/** The input of the forecast. */
export interface ForecastFacts {
  /** UTC days with a known usage. */
  days: number
  disk: Pick<DiskUsageReport, 'held' | 'room' | 'fullInDays'>
  /** Number of bytes that may be used (`retention.disk_budget_mb`); null for the whole disk. */
  budget: number | null
}

export interface ForecastDeps {
  storage: Pick<Storage, 'diskUse' | 'listDiskDays'>
  clock: Clock
  config: Pick<Config, 'data_dir' | 'retention'>
}

const MB = 1_000_000
/**
 * Number of remaining days below which there is a warning: a week is enough to add a disk. `posthaste status` uses the
 * same limit.
 */
const LEAST_DAYS = 7

/** Measures the usage and the disk; null if the disk can't be read, which the disk check reports. */
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
  return { days: days.length, disk: await reportDiskUsage(storage, clock, { budget, onDisk }), budget }
}

async function freeOn(dataDir: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(dataDir)
    return bavail * bsize
  } catch {
    // The disk check reports the reason.
    return null
  }
}

/** Evaluates the forecast. It covers only the server's own growth, not that of other programs. */
export function evaluateForecast({ days, disk, budget }: ForecastFacts): Finding {
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
