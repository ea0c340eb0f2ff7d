/**
 * Reads the models of mail servers for simulations, a TOML file. Validates the whole file and reports all errors at
 * once.
 */
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import type { Receiver, ReceiverLimit } from '../mail/receiver.ts'
import { checkValue } from './check-value.ts'
import { parseReply } from '../mail/reply.ts'
import { readTables, type ReportError } from './tables.ts'

/** The models shipped with the program. */
const SHIPPED = join(import.meta.dirname, '..', '..', 'config', 'receivers.toml')

const Reply = Type.String({ minLength: 1 })
const Names = Type.Array(Type.String({ minLength: 1 }))
const Milliseconds = Type.Integer({ minimum: 1, maximum: 60_000 })
const Minutes = Type.Integer({ minimum: 1, maximum: 10_080 })

const LIMIT = {
  most: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  reply: Reply,
  source: Type.String({ minLength: 1 }),
}
const LimitSchema = Type.Object(LIMIT, { additionalProperties: false })
const RateSchema = Type.Object(
  {
    ...LIMIT,
    new_ip: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    growth: Type.Optional(Type.Number({ minimum: 1, maximum: 100 })),
    penalty_minutes: Minutes,
  },
  { additionalProperties: false },
)
const WaitSchema = Type.Object({ minutes: Minutes, reply: Reply }, { additionalProperties: false })

const ReceiverSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 40 }),
    mx: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 10 }),
    domains: Type.Optional(Names),
    share: Type.Number({ minimum: 0, maximum: 1_000_000 }),
    round_trip_ms: Milliseconds,
    accept_ms: Milliseconds,
    unknown: Type.Optional(Reply),
    full: Type.Optional(Reply),
    connections: Type.Optional(LimitSchema),
    messages_per_connection: Type.Optional(LimitSchema),
    recipients_per_message: Type.Optional(LimitSchema),
    messages_per_minute: Type.Optional(RateSchema),
    greylist: Type.Optional(WaitSchema),
    unknown_ip: Type.Optional(WaitSchema),
  },
  { additionalProperties: false },
)
type Written = Static<typeof ReceiverSchema>

/** Default replies for entries that don't set them. */
const UNKNOWN = '550 5.1.1 <{recipient}>: Recipient address rejected: User unknown'
const FULL = '452 4.2.2 <{recipient}>: Mailbox full'
const ESTIMATE = 'estimate'
const ID = /^[a-z][a-z0-9-]{0,39}$/

/** The receiver for domains that no entry names. */
export const OTHER_RECEIVER = 'hosting'

/**
 * Loads the models.
 * @param file default: the shipped one
 * @throws InvalidTable
 */
export function loadReceivers(file: string = SHIPPED): Receiver[] {
  return readTables('The receivers', file, (document, complain) => {
    const receivers = Object.entries(document).flatMap(([id, table]) => readReceiver(id, table, complain))
    if (!(OTHER_RECEIVER in document))
      complain(OTHER_RECEIVER, `the table [${OTHER_RECEIVER}] is missing. It receives for all other domains.`)
    complainOfShared(receivers, complain)
    return receivers
  })
}

function readReceiver(id: string, table: unknown, complain: ReportError): Receiver[] {
  if (!ID.test(id))
    complain(id, `${id} is not a valid name: use lowercase letters, digits and -, at most 40.`)
  const misfits = checkValue(ReceiverSchema, table, id)
  for (const { path, found, expected } of misfits)
    complain(path, `${path} is ${found}; expected ${expected}.`)
  if (misfits.length > 0) return []
  const written = table as Written // it fits the schema
  for (const name of [
    'connections',
    'messages_per_connection',
    'recipients_per_message',
    'messages_per_minute',
  ] as const) {
    const { source, reply } = written[name] ?? {}
    refuseReply(`${id}.${name}.reply`, reply, complain)
    if (source !== undefined && source !== ESTIMATE && !/^https:\/\/\S+$/.test(source))
      complain(`${id}.${name}.source`, `${id}.${name}.source is not an https: URL or "${ESTIMATE}".`)
  }
  refuseReply(`${id}.unknown`, written.unknown, complain)
  refuseReply(`${id}.full`, written.full, complain)
  refuseReply(`${id}.greylist.reply`, written.greylist?.reply, complain)
  refuseReply(`${id}.unknown_ip.reply`, written.unknown_ip?.reply, complain)
  return [toReceiver(id, written)]
}

function refuseReply(key: string, reply: string | undefined, complain: ReportError): void {
  if (reply !== undefined && (parseReply(reply)?.code ?? 0) < 400)
    complain(key, `${key} is not a refusal such as "450 4.2.0 Try again later".`)
}

function toReceiver(id: string, written: Written): Receiver {
  const { messages_per_minute: rate, unknown = UNKNOWN, full = FULL } = written
  return {
    id,
    name: written.name,
    mx: written.mx.map((name) => name.toLowerCase()),
    domains: (written.domains ?? []).map((name) => name.toLowerCase()),
    share: written.share,
    roundTripMs: written.round_trip_ms,
    acceptMs: written.accept_ms,
    unknown,
    full,
    connections: toLimit(written.connections),
    messagesPerConnection: toLimit(written.messages_per_connection),
    recipientsPerMessage: toLimit(written.recipients_per_message),
    messagesPerMinute: rate
      ? {
          most: rate.most,
          reply: rate.reply,
          source: sourceOf(rate.source),
          newIp: rate.new_ip ?? null,
          growth: rate.growth ?? 1,
          penaltyMinutes: rate.penalty_minutes,
        }
      : null,
    greylist: written.greylist ?? null,
    unknownIp: written.unknown_ip ?? null,
  }
}

const sourceOf = (source: string): string | null => (source === ESTIMATE ? null : source)

const toLimit = (written: Static<typeof LimitSchema> | undefined): ReceiverLimit | null =>
  written ? { most: written.most, reply: written.reply, source: sourceOf(written.source) } : null

/** Reports domains of two receivers, because the order of the file would decide. */
function complainOfShared(receivers: readonly Receiver[], complain: ReportError): void {
  const owners = new Map<string, string>()
  for (const { id, domains } of receivers)
    for (const domain of domains) {
      const owner = owners.get(domain) ?? id
      if (owner !== id) complain(`${id}.domains`, `${id}.domains has ${domain}, which ${owner} also has.`)
      owners.set(domain, owner)
    }
}
