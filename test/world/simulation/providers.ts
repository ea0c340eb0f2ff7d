import { loadReceivers } from '../../../appliance/config/config.ts'
import type { Receiver } from '../../../appliance/mail/receiver.ts'
import type { Personality, Rule } from './personality.ts'
import { greylist, mostConnections, mostTransactions, rate, signedOnly } from './rules.ts'

const MINUTE = 60_000

/** The models that `posthaste simulate` uses, too: exchangers, replies and limits. */
const MODELS = new Map(loadReceivers().map((receiver) => [receiver.id, receiver]))

/** What the real server is given besides a model. */
type Ours = Omit<Personality, 'name' | 'mx' | 'unknown' | 'full' | 'rules'> & {
  mx?: string[]
  rules?: () => Rule[]
}

/** Makes a personality of a model. Both sending IPs are new to it. */
function modeled(id: string, { rules = () => [], ...ours }: Ours): Personality {
  const model = MODELS.get(id)
  if (!model) throw new Error(`config/receivers.toml has no receiver ${id}.`)
  const { mx, unknown, full } = model
  return { mx, unknown, full, ...ours, name: id, rules: () => [...rules(), ...rulesOf(model)] }
}

function rulesOf({
  connections,
  messagesPerConnection,
  messagesPerMinute: most,
  unknownIp,
}: Receiver): Rule[] {
  const rules: Rule[] = []
  if (unknownIp) {
    const wait = unknownIp.minutes * MINUTE
    rules.push(greylist({ key: 'source', wait, when: 'connect', reply: unknownIp.reply }))
  }
  if (connections) rules.push(mostConnections(connections.most, connections.reply))
  if (messagesPerConnection)
    rules.push(mostTransactions(messagesPerConnection.most, messagesPerConnection.reply))
  if (most)
    rules.push(
      rate({
        perMinute: most.newIp ?? most.most,
        growth: most.growth,
        penalty: most.penaltyMinutes * MINUTE,
        reply: most.reply,
        ...(most.reply.startsWith('421') && { then: 'close' }),
      }),
    )
  return rules
}

/**
 * Receivers modeled on the big providers. Their replies are the providers' own (config/bounces.toml names the sources).
 * Limits without a source in config/receivers.toml are plausible guesses.
 */
export const PROVIDERS: readonly Personality[] = [
  modeled('gmail', {
    says: 'A rate limit per sending IP that grows with its age; requires signatures.',
    share: 45,
    rules: () => [
      signedOnly(
        '550-5.7.26 Your email has been blocked because the sender is unauthenticated.\n550 5.7.26 Gmail requires all senders to authenticate with either SPF or DKIM. - gsmtp',
      ),
    ],
  }),
  modeled('outlook', {
    says: 'Microsoft consumer mailboxes: "server busy" above the rate limit.',
    share: 12,
    domains: 3,
    mx: ['*.olc.protection.outlook.com'],
    tls: 'self-signed',
  }),
  modeled('yahoo', {
    says: 'Defers a sending IP with TSS04 after unexpected volume; 20 messages per connection.',
    share: 10,
    domains: 2,
  }),
  modeled('business', {
    says: 'Companies on Microsoft 365: one provider behind many domains.',
    share: 8,
    domains: 12,
    mx: ['*.mail.protection.outlook.com'],
    tls: 'self-signed',
    healthy: true,
  }),
  modeled('icloud', {
    says: '421 after five messages on a connection.',
    share: 6,
    domains: 2,
    healthy: true,
  }),
  modeled('comcast', { says: 'Throttles with RL000010 above the rate limit.', share: 2 }),
  modeled('orange', {
    says: 'Three connections per sending IP; the fourth gets 421.',
    share: 2,
    healthy: true,
  }),
  modeled('gmx', {
    says: 'Valid TLS; 100 messages per connection.',
    share: 2,
    domains: 3,
    tls: 'trusted',
    healthy: true,
  }),
  modeled('t-online', { says: 'Refuses an unknown sending IP with 554 for two hours.', share: 1 }),
]
