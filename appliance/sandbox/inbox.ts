import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import type { Clock } from '../clock/clock.ts'
import type { Resolver } from '../dns/dns.ts'
import { newId } from '../mail/ids.ts'
import type { Storage } from '../storage/storage.ts'
import { createMailauthResolver } from '../verification/verification.ts'
import type { CapturedMessage } from './exchanger.ts'
import { parseReturnPath } from '../mail/return-path.ts'

/** Metadata of a captured message. */
export interface InboxEntry {
  id: string
  /** The team that sent the message; null for mail without a team, such as a forwarded bounce. */
  teamId: string | null
  receivedAt: number
  mailFrom: string
  rcptTo: string[]
  from: string
  to: string
  subject: string
  size: number
  tls: string | null
  /** Results of verifying the message as a receiver would: `pass`, `fail`, `none`, … */
  dkim: string
  spf: string
  dmarc: string
  /**
   * The Authentication-Results that a receiver would add (RFC 8601), unfolded; null for messages stored by older
   * versions.
   */
  authenticationResults: string | null
}

/** An entry with its content. */
export interface InboxMessage extends InboxEntry {
  html: string | null
  text: string | null
  /** The source of the message, limited to the first megabyte. */
  source: string
}

/** The mail captured by the sandbox: a folder of messages, newest first. */
export interface Inbox {
  add(message: CapturedMessage): Promise<void>
  list(reader: InboxReader, limit: number): InboxEntry[]
  get(reader: InboxReader, id: string): Promise<InboxMessage | undefined>
}

/** The reader of the inbox. A team sees its own mail, and the operator's team also sees mail without a team. */
export interface InboxReader {
  teamId: string
  operator: boolean
}

const KEPT = 1000
const SOURCE_BYTES = 1024 * 1024

/** Verifies a message as its receiver would. Uses mailauth, because it is an independent implementation. */
async function verify(
  message: CapturedMessage,
  resolver: Resolver,
): Promise<Pick<InboxEntry, 'dkim' | 'spf' | 'dmarc' | 'authenticationResults'>> {
  // Loaded when the first message is captured, because the library takes 20 MB.
  const { authenticate } = await import('mailauth')
  const result = await authenticate(message.raw, {
    ip: message.ip,
    helo: message.helo,
    sender: message.mailFrom,
    mta: 'sandbox',
    resolver: createMailauthResolver(resolver),
    disableArc: true,
    disableBimi: true,
  })
  const signatures = result.dkim.results.map(({ status }) => status.result)
  return {
    dkim: signatures.find((verdict) => verdict === 'pass') ?? signatures[0] ?? 'none',
    spf: result.spf ? result.spf.status.result : 'none',
    dmarc: result.dmarc ? result.dmarc.status.result : 'none',
    authenticationResults: resultsIn(result.headers),
  }
}

/** Returns the value of the Authentication-Results field; null if there is none. */
const resultsIn = (headers: string): string | null =>
  /^Authentication-Results:\s*(.*(?:\r?\n[ \t].*)*)/im.exec(headers)?.[1]?.replaceAll(/\s+/g, ' ').trim() ??
  null

async function load(folder: string): Promise<InboxEntry[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const entries = await Promise.all(names.map((name) => readEntry(join(folder, name))))
  return entries.filter((entry) => entry !== undefined)
}

async function readEntry(file: string): Promise<InboxEntry | undefined> {
  const text = await readFile(file, 'utf8')
  try {
    // Older entries don't have these fields.
    const older = { teamId: null, authenticationResults: null }
    return { ...older, ...(JSON.parse(text) as Omit<InboxEntry, keyof typeof older>) }
  } catch {
    // The entry is incomplete because the daemon was killed. That shouldn't prevent the sandbox from starting.
    return undefined
  }
}

export interface InboxDeps {
  clock: Clock
  resolver: Resolver
  storage: Pick<Storage, 'teamOfEmail'>
}

const mayRead = ({ teamId, operator }: InboxReader, entry: InboxEntry): boolean =>
  entry.teamId === null ? operator : entry.teamId === teamId

/** Opens the inbox in `folder`. Creates the folder if it doesn't exist. */
export async function openInbox(folder: string, deps: InboxDeps): Promise<Inbox> {
  const entries = await load(folder)
  const teamOf = async ({ mailFrom }: CapturedMessage): Promise<string | null> => {
    const emailId = parseReturnPath(mailFrom)?.emailId
    if (emailId === undefined) return null
    return (await deps.storage.teamOfEmail({ emailId }, deps.clock.now())) ?? null
  }
  const file = (id: string, kind: 'json' | 'eml'): string => join(folder, `${id}.${kind}`)

  async function forgetOldest(): Promise<void> {
    while (entries.length > KEPT) {
      const { id } = entries.shift()!
      await Promise.all([rm(file(id, 'json'), { force: true }), rm(file(id, 'eml'), { force: true })])
    }
  }

  return {
    async add(message) {
      const now = deps.clock.now()
      const parsed = await PostalMime.parse(message.raw)
      const header = (name: string): string => parsed.headers.find(({ key }) => key === name)?.value ?? ''
      const entry: InboxEntry = {
        id: newId(now),
        teamId: await teamOf(message),
        receivedAt: now,
        mailFrom: message.mailFrom,
        rcptTo: message.rcptTo,
        from: header('from'),
        to: header('to'),
        subject: parsed.subject ?? '',
        size: message.raw.length,
        tls: message.tls,
        ...(await verify(message, deps.resolver)),
      }
      await writeFile(file(entry.id, 'eml'), message.raw, { mode: 0o600 })
      await writeFile(file(entry.id, 'json'), JSON.stringify(entry), { mode: 0o600 })
      entries.push(entry)
      // Sort by ID, like the folder, because concurrent messages don't finish verification in that order.
      entries.sort((a, b) => (a.id < b.id ? -1 : 1))
      await forgetOldest()
    },
    list: (reader, limit) =>
      entries
        .filter((entry) => mayRead(reader, entry))
        .slice(-limit)
        .reverse(),
    async get(reader, id) {
      const entry = entries.find((candidate) => candidate.id === id && mayRead(reader, candidate))
      if (!entry) return undefined
      const raw = await readFile(file(id, 'eml'))
      const { html, text } = await PostalMime.parse(raw)
      const source = raw.subarray(0, SOURCE_BYTES).toString('utf8')
      return { ...entry, html: html ?? null, text: text ?? null, source }
    },
  }
}
