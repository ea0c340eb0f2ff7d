/** Checks the bucket for large messages: writes, reads and deletes an object. */
import type { Finding } from '../mail/finding.ts'
import type { Storage } from '../storage/storage.ts'

/** Time for the three requests above which there is a warning. Each large message waits for about one of them. */
const SLOW_MS = 1500

const ABOUT = { id: 'bodies', title: 'Large messages' }

/**
 * Checks the bucket. Returns no finding without one.
 * @param bodies the setting storage.bodies
 */
export async function checkBodies(
  storage: Pick<Storage, 'probeBodies'>,
  bodies: 'engine' | 's3',
): Promise<Finding[]> {
  const isUsed = bodies === 's3'
  try {
    const found = await storage.probeBodies()
    if (found === null) return []
    const { bucket, endpoint, respondedIn } = found
    const isSlow = respondedIn > SLOW_MS
    return [
      {
        ...ABOUT,
        status: isSlow ? 'warning' : 'ok',
        found: `Wrote, read and deleted an object in the bucket ${bucket} at ${endpoint} in ${respondedIn} ms.`,
        advice: isSlow
          ? 'Each large message waits for the bucket. Use one that is closer, or raise s3.larger_than_kb.'
          : null,
      },
    ]
  } catch (error) {
    return [
      {
        ...ABOUT,
        status: isUsed ? 'failed' : 'warning',
        found: (error as Error).message,
        advice: isUsed
          ? 'Large messages are refused temporarily, and those in the bucket wait, until it responds. Nothing accepted is lost.'
          : 'Earlier messages in the bucket cannot be read until it responds. New messages are stored elsewhere.',
      },
    ]
  }
}
