/** What is kept for how long, what it takes, and how long the disk will do. */
import type { Clock } from '../clock/clock.ts'
import { forecast } from './retention.ts'

/** What the view needs of the storage; a shape, so that this folder knows no other. */
export interface Viewable {
  diskUse(args: object, now: number): Promise<{ database: number; free: number; files: number }>
  listDiskDays(args: object, now: number): Promise<{ day: string; bytes: number }[]>
}

/** Bytes. */
export interface DiskView {
  database: number
  files: number
  /** Pages of the database that are free: they are used before the disk is. */
  freePages: number
  held: number
  /** Null: as many as the disk has. */
  budget: number | null
  /** What is left, of the disk or the budget. */
  room: number
  /** At the rate of the last week; null: it does not grow, or too little is known. */
  fullInDays: number | null
}

/**
 * @param budget bytes that may be held; null: as many as the disk has
 * @param onDisk bytes that the disk has left
 */
export async function viewDisk(
  storage: Viewable,
  clock: Clock,
  { budget, onDisk }: { budget: number | null; onDisk: number },
): Promise<DiskView> {
  const now = clock.now()
  const { database, free, files } = await storage.diskUse({}, now)
  const held = database + files
  const room = Math.min(onDisk + free, budget === null ? Infinity : Math.max(0, budget - held))
  const fullInDays = forecast(await storage.listDiskDays({}, now), room)
  return { database, files, freePages: free, held, budget, room, fullInDays }
}
