/**
 * Reads an audience that Mailchimp exported: a ZIP archive, or its CSV files of subscribed, unsubscribed and cleaned
 * contacts. Also reads the archive of a whole account, with its templates and campaigns. Pure.
 */
import { inflateRawSync } from 'node:zlib'
import { readContactFile, type ContactFile } from '../audience/audience.ts'
import { readCsv } from '../mail/csv.ts'
import { Refusal } from '../mail/refusals.ts'
import { isIntact, getPackedBytes, listZipEntries, type ZipEntry } from '../mail/zip.ts'
import { MAX_EXPORT, newExport, addObject, decodeTextFile, type Export, type ExportFile } from './files.ts'
import { HostedError } from './hosted.ts'
import { addContent, isContentFile } from './mailchimp-content.ts'
import { ContactCollector } from './people.ts'

/** Maximum number of files in an archive. */
const MOST_ENTRIES = 10_000
/** Columns about the contact's state in Mailchimp, which don't become contact properties. */
const IGNORED = [
  'tags',
  'unsub_time',
  'clean_time',
  'unsub_campaign_title',
  'unsub_campaign_id',
  'unsub_reason',
]

/**
 * Reads the files. Tags become segments. Cleaned addresses become suppressions, because mail to them bounced. Templates
 * and campaigns become template drafts.
 */
export function readMailchimp(files: readonly ExportFile[]): Export {
  const found = newExport()
  const people = new ContactCollector(found)
  const all = files.flatMap(unpacked)
  const content = all.filter(({ name }) => isContentFile(name))
  for (const file of all) if (!content.includes(file)) take(file, found, people)
  addContent(content, found)
  return found
}

function take(file: ExportFile, found: Export, people: ContactCollector): void {
  const { contacts, failed } = read(file)
  const [isOut, isCleaned, isNever] = ['unsubscribed', 'cleaned', 'nonsubscribed'].map((word) =>
    isNamed(file.name, word),
  )
  const problem = (line: number, text: string) =>
    found.problems.push({ kind: 'contacts', what: `${file.name}, line ${line}`, text })
  for (const { line, reason } of failed) problem(line, reason)
  for (const { line, email, cells, ...contact } of contacts) {
    const cleanedAt = cells.get('clean_time') ?? ''
    if (isCleaned || cleanedAt !== '') {
      addObject(found, '/suppressions', { email, origin: 'bounce', created_at: timeOf(cleanedAt) })
      continue
    }
    if (isNever) {
      problem(line, 'this person never subscribed')
      continue
    }
    const unsubscribed = contact.unsubscribed === true || isOut === true
    people.add({ ...contact, email, unsubscribed, segments: tagsOf(cells.get('tags') ?? '') })
  }
}

function read(file: ExportFile): ContactFile {
  const text = decodeTextFile(file)
  try {
    const found = readContactFile(text, { ignored: IGNORED })
    if (found.service === 'mailchimp') return found
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new HostedError(`${file.name}, line 1: ${error.message}`, null, { cause: error })
  }
  throw new HostedError(
    `${file.name}, line 1: expected the columns of a Mailchimp export: Email Address, MEMBER_RATING, LEID, EUID.`,
  )
}

/**
 * Whether a file is named after a state, such as `cleaned_email_audience_export_1a2b.csv`. `nonsubscribed`: people who
 * bought something in a shop and never asked for mail.
 */
const isNamed = (name: string, state: string): boolean =>
  new RegExp(`(^|[/\\\\])${state}_[^/\\\\]*$`, 'i').test(name)

/** Reads tags, written as `"VIP","Trade fair"`. */
const tagsOf = (cell: string): string[] =>
  [...readCsv(cell, { separator: ',' })].flatMap(({ cells }) => cells.map((tag) => tag.trim()))

/** Mailchimp writes times as `2024-05-01 10:20:30`, in UTC. */
const timeOf = (cell: string | undefined): string | null =>
  cell !== undefined && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(cell) ? `${cell}Z` : null

/** Matches the folders of an account export that have the contacts. The other folders have reports and images. */
const CONTACT_FOLDER = /(^|\/)(lists|audiences)\//i

/** Returns the CSV and content files of an archive, or the file itself. */
function unpacked(file: ExportFile): ExportFile[] {
  const bytes = Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength)
  if (bytes.length < 4 || bytes.readUInt32LE(0) !== 0x04034b50) return [file]
  const listed = listZipEntries(bytes, MOST_ENTRIES)
  if (!listed) throw new HostedError(`${file.name} is a damaged ZIP archive, or has too many files.`)
  const isAccount = listed.some(({ name }) => isContentFile(name) || CONTACT_FOLDER.test(name))
  const entries = listed.filter(
    ({ name }) => isContentFile(name) || (/\.csv$/i.test(name) && (!isAccount || CONTACT_FOLDER.test(name))),
  )
  if (entries.length === 0) throw new HostedError(`${file.name} has no CSV file.`)
  return entries.map((entry) => {
    const name = `${file.name}/${entry.name}`
    return { name, bytes: contentOf(bytes, entry, name) }
  })
}

function contentOf(archive: Buffer, entry: ZipEntry, name: string): Uint8Array {
  const packed = getPackedBytes(archive, entry)
  if (entry.encrypted) throw new HostedError(`${name} is encrypted.`)
  if (!packed || (entry.method !== 0 && entry.method !== 8))
    throw new HostedError(`${name} is damaged, or compressed in another way than deflate.`)
  const bytes = entry.method === 0 ? packed : inflated(packed, name)
  if (!isIntact(bytes, entry)) throw new HostedError(`${name} is damaged: its checksum differs.`)
  return bytes
}

function inflated(packed: Buffer, name: string): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: MAX_EXPORT })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'ERR_BUFFER_TOO_LARGE' ? `is larger than ${MAX_EXPORT / 1024 / 1024} MB` : 'is damaged'
    throw new HostedError(`${name} ${why}.`, null, { cause: error })
  }
}
