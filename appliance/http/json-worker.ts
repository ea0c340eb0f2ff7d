/** The worker thread that parses large request bodies; started by body.ts. */
import { isUtf8 } from 'node:buffer'
import { processJobs } from '../capacity/run-jobs.ts'
import { truncateTexts, decodeFiles, computeBodyDigest } from '../mail/json-body.ts'

export interface JsonJob {
  bytes: Uint8Array
  /** Octets to skip at the start: a byte order mark. */
  skip: number
  /** Whether to compute the digest. */
  digest: boolean
}

/** Result of parsing. `wrong`: why there is no value. */
export type JsonResult = { value: unknown; digest: string | null } | { wrong: 'not_utf8' | 'malformed' }

function read({ bytes, skip, digest }: JsonJob): JsonResult {
  if (!isUtf8(bytes)) return { wrong: 'not_utf8' }
  try {
    const value: unknown = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset + skip, bytes.length - skip).toString('utf8'),
    )
    return { value, digest: digest ? computeBodyDigest(value) : null }
  } catch (error) {
    if (error instanceof SyntaxError) return { wrong: 'malformed' }
    throw error
  }
}

processJobs(read, (result) => {
  if (!('value' in result)) return []
  const moved = decodeFiles(result.value)
  result.value = truncateTexts(result.value)
  return moved
})
