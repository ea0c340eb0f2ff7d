import type { SealingStorage } from '../storage/storage.ts'

/**
 * Wipes what the secrets were before from the free space of the database, once after everything was sealed.
 * @returns false when it could not: a disk without room, or another process in the way. The next start tries again
 */
export function cleanOnce(dataDir: string, storage: SealingStorage, now: number): boolean {
  if (storage.readSealing(dataDir)?.cleanedAt !== null) return true
  try {
    storage.cleanSecrets(dataDir, now)
    return true
  } catch {
    return false // Mail goes out all the same, and `posthaste secrets status` says it.
  }
}
