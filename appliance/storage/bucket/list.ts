/** Reads the list of objects in a bucket (ListObjectsV2). */
import type { BucketResponse } from './requests.ts'

/** One page of the list. */
export interface ObjectPage {
  /** Time of modification in Unix milliseconds, by the server's clock. */
  objects: { key: string; modifiedAt: number }[]
  /** The server's time of the response, in Unix milliseconds. */
  now: number
  /** Where the next page begins; undefined after the last one. */
  next: string | undefined
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * Reads a page. The elements of the response are flat and have no attributes, and a `<` in a value is always escaped, so
 * this needs no XML parser.
 */
export function readList({ headers, body }: Pick<BucketResponse, 'headers' | 'body'>): ObjectPage {
  const text = body.toString()
  const objects = text
    .split('<Contents>')
    .slice(1)
    .map((entry) => ({
      key: valueOf(entry, 'Key') ?? '',
      modifiedAt: Date.parse(valueOf(entry, 'LastModified') ?? ''),
    }))
    // An object of unknown age is never old.
    .filter(({ modifiedAt }) => Number.isFinite(modifiedAt))
  const now = Date.parse(headers.date ?? '')
  const isCut = valueOf(text, 'IsTruncated') === 'true'
  const next = isCut ? valueOf(text, 'NextContinuationToken') : undefined
  return { objects, now, next }
}

function valueOf(text: string, element: string): string | undefined {
  const found = new RegExp(`<${element}>([^<]*)</${element}>`).exec(text)?.[1]
  return found?.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!)
}
