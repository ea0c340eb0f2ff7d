/** Reports retention periods, disk usage, and when the disk will be full. */
import type { Clock } from '../clock/clock.ts'
import { forecastDaysUntilFull } from './retention.ts'

/** The storage methods that this file needs. A structural type, so that this folder doesn't import other folders. */
export interface DiskUsageStorage {
  diskUse(args: object, now: number): Promise<{ database: number; free: number; files: number }>
  listDiskDays(args: object, now: number): Promise<{ day: string; bytes: number }[]>
}

/** Bytes. */
export interface DiskUsageReport {
  database: number
  files: number
  /** Free pages of the database, which are reused before the file grows. */
  freePages: number
  held: number
  /** Maximum number of bytes to keep; null to use the whole disk. */
  budget: number | null
  /** Number of bytes left on the disk, or of the budget. */
  room: number
  /** Estimated from the last week; null when usage doesn't grow, or too little is known. */
  fullInDays: number | null
}

/**
 * Reports disk usage, and when the disk will be full.
 * @param budget maximum bytes to keep; null to use the whole disk
 * @param onDisk free bytes on the disk
 */
export async function reportDiskUsage(
  storage: DiskUsageStorage,
  clock: Clock,
  { budget, onDisk }: { budget: number | null; onDisk: number },
): Promise<DiskUsageReport> {
  const now = clock.now()
  const { database, free, files } = await storage.diskUse({}, now)
  const held = database + files
  const room = Math.min(onDisk + free, budget === null ? Infinity : Math.max(0, budget - held))
  const fullInDays = forecastDaysUntilFull(await storage.listDiskDays({}, now), room)
  return { database, files, freePages: free, held, budget, room, fullInDays }
}
