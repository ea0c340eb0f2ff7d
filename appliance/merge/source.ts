/** Sources of emails with tags in them, `{{{KEY}}}` or `{{{KEY|fallback}}}`, and how they are read. Pure. */
import { refuse } from '../mail/refusals.ts'
import { oneLine } from './escape.ts'
import { createHtmlScanner, type HtmlPlace } from './html-place.ts'

/** What a source is: html, plain text, or the value of a header field such as the subject. */
export type MergeKind = 'html' | 'text' | 'header'

/** A tag of a source. */
export interface MergeTag {
  key: string
  /** What the source itself names in place of a missing value; null: nothing. */
  fallback: string | null
  /** Where it stands in html; `text` in other sources. */
  place: HtmlPlace
}

/** A source that was parsed. Plain data, so it can be stored. */
export interface MergeSource {
  kind: MergeKind
  /** Literal text and tags, in order. */
  pieces: (string | MergeTag)[]
}

/** A value for a tag. */
export interface MergeValue {
  /** Null: there is none. */
  text: string | null
  /** Stands in for a missing value where the tag names no fallback; null: nothing does, and the tag becomes empty. */
  fallback: string | null
  /** Whether the sender's own code wrote it. Then html goes into html as it is; all other values are escaped. */
  raw: boolean
}

/** Finds the value for a key; undefined: the key is unknown, or its value is missing and required. */
export type MergeValues = (key: string) => MergeValue | undefined

/** Characters of a source, and of what is made of it: as many as a request can hold. */
export const MAX_MERGED = 8 * 1024 * 1024
/** Tags of one source. */
const MAX_TAGS = 1000
/** Characters of a key, with the words before the last dot. */
const MAX_KEY = 120
/** Characters of a fallback in a source. */
const MAX_FALLBACK = 2000
const TAG = new RegExp(
  String.raw`\{\{\{(?!\{)[ \t]{0,20}([A-Za-z0-9_.]{1,${MAX_KEY}})[ \t]{0,20}(?:\|([^{}]{0,${MAX_FALLBACK}}))?\}\}\}`,
  'y',
)
const KEY = /^\w+(?:\.\w+){0,2}$/

/**
 * Parses a source.
 * @param field what refusals call it
 * Refuses: `merge_tag` for an incomplete tag, `invalid_field` for too many of them or too long a source.
 */
export function parseMerge(kind: MergeKind, source: string, field: string): MergeSource {
  if (source.length > MAX_MERGED)
    throw refuse('invalid_field', { field, expected: `at most ${MAX_MERGED} characters` })
  const pieces: MergeSource['pieces'] = []
  const scanner = kind === 'html' ? createHtmlScanner() : undefined
  let [from, tags] = [0, 0]
  for (let at = source.indexOf('{{{'); at !== -1; at = source.indexOf('{{{', from)) {
    // Of four braces, the first is text.
    while (source[at + 3] === '{') at++
    const tag = readTag(source, at, field)
    if (++tags > MAX_TAGS) throw refuse('invalid_field', { field, expected: `at most ${MAX_TAGS} tags` })
    const before = source.slice(from, at)
    if (before !== '') pieces.push(before)
    scanner?.read(before)
    pieces.push({ key: tag.key, fallback: tag.fallback, place: scanner?.place() ?? 'text' })
    from = at + tag.length
  }
  if (from < source.length) pieces.push(source.slice(from))
  return { kind, pieces }
}

function readTag(
  source: string,
  at: number,
  field: string,
): { key: string; fallback: string | null; length: number } {
  TAG.lastIndex = at
  const match = TAG.exec(source)
  const key = match?.[1]
  if (!match || !key || !KEY.test(key)) {
    const start = oneLine(source.slice(at, at + 40)).toWellFormed()
    throw refuse('merge_tag', { field, start, example: '`{{{NAME}}}` or `{{{NAME|fallback}}}`' })
  }
  const fallback = match[2]?.trim() ?? ''
  return { key, fallback: fallback === '' ? null : fallback, length: match[0].length }
}

/** The tags of sources, each key and fallback once, in the order of their first place. */
export function tagsOf(...sources: MergeSource[]): Omit<MergeTag, 'place'>[] {
  const found = new Map<string, Omit<MergeTag, 'place'>>()
  for (const piece of sources.flatMap(({ pieces }) => pieces)) {
    if (typeof piece === 'string') continue
    const { key, fallback } = piece
    found.set(`${key}|${fallback ?? ''}`, { key, fallback })
  }
  return [...found.values()]
}
