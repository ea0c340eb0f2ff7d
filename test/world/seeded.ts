import { startAppliance, type TestAppliance } from './appliance.ts'
import { createJumpingClock, type JumpingClock } from './jumping-clock.ts'
import { PATIENCE } from './patience.ts'
import { startReceiver, type Receiver } from './receiver.ts'
import { seedForm } from './seeded-forms.ts'
import { bookshopEmail, NEWS, SHOP } from './seeded-mail.ts'
import { seedReceived } from './seeded-received.ts'
import { seedAlerts } from './seeded-alerts.ts'
import { seedReports } from './seeded-reports.ts'
import { seedBlocks, seedTemplate } from './seeded-templates.ts'

/** A sandbox with history: a bookshop that has been sending for some days, with data for every dashboard page. */
export interface Seeded {
  readonly posthaste: TestAppliance
  /** IDs of objects that have their own pages. */
  readonly ids: Readonly<
    Record<
      | 'domain'
      | 'webhook'
      | 'log'
      | 'delivered'
      | 'bounced'
      | 'delayed'
      | 'inbox'
      | 'received'
      | 'report'
      | 'contact'
      | 'segment'
      | 'form'
      | 'template'
      | 'blocks'
      | 'automation'
      | 'run'
      | 'event'
      | 'broadcast'
      | 'sentBroadcast',
      string
    >
  >
  close(): Promise<void>
}

export interface Past {
  days: number
  emailsPerDay: number
  /** The dashboard's folder, instead of `ui/dist`. */
  dashboard?: string
}

const HOUR = 3_600_000
/** Hours between the batches of a day. */
const STEPS = [5, 4, 6, 9]
/** Each batch's share of the day's emails, in percent. */
const SHARES = [20, 40, 30, 10]
const BATCH = 100
type Browser = <T = unknown>(method: string, path: string, body?: unknown) => Promise<T>

/** Signs in as the owner and makes requests like the dashboard does. */
async function openBrowser({ url, ownerEmail, ownerPassword }: TestAppliance): Promise<Browser> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-requested-with': 'dashboard',
    'sec-fetch-site': 'same-origin',
  }
  const credentials = JSON.stringify({ email: ownerEmail, password: ownerPassword })
  const entered = await fetch(`${url}/session`, { method: 'POST', headers, body: credentials })
  headers.cookie = entered.headers
    .getSetCookie()
    .find((one) => one.startsWith('posthaste_session='))!
    .split(';', 1)[0]!
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as T
  }
}

/** Creates what a team sets up before it sends. */
async function furnish(
  posthaste: TestAppliance,
  receiver: Receiver,
): Promise<{ domain: string; webhook: string }> {
  const domain = await posthaste.call<{ id: string }>('POST', '/domains', { name: SHOP })
  const news = await posthaste.call<{ id: string }>('POST', '/domains', { name: NEWS })
  for (const { body } of [domain, news]) {
    await posthaste.call('POST', `/domains/${body.id}/verify`)
    // The check continues after the response. Until it ends, mail from the domain is refused.
    await found(async () => {
      const { body: now } = await posthaste.call<{ status: string }>('GET', `/domains/${body.id}`)
      return now.status === 'verified' ? body.id : undefined
    })
    await posthaste.call('PATCH', `/domains/${body.id}`, { open_tracking: true, click_tracking: true })
  }
  for (const name of ['Shop', 'Accounting', 'Newsletter'])
    await posthaste.call('POST', '/api-keys', {
      name,
      permission: name === 'Shop' ? 'full_access' : 'sending_access',
    })
  const events = ['email.delivered', 'email.bounced', 'email.complained', 'email.received']
  const webhook = await posthaste.call<{ id: string }>('POST', '/webhooks', {
    endpoint: `${receiver.url}/hooks/mail`,
    events,
  })
  for (const email of ['press@bigmail.example', 'old-address@wires.example'])
    await posthaste.call('POST', '/suppressions', { email })
  await posthaste.call('PATCH', `/domains/${domain.body.id}`, { capabilities: { receiving: 'enabled' } })
  return { domain: domain.body.id, webhook: webhook.body.id }
}

const READERS = ['Ada Marsh', 'Ben Okafor', 'Clara Lindqvist', 'Dmitri Orlov', 'Elif Kaya', 'Farah Haddad']
/** Creates the shop's contacts and their topic choices. */
async function readers(posthaste: TestAppliance): Promise<{ contact: string; segment: string }> {
  const made = async (path: string, body: unknown) =>
    (await posthaste.call<{ id: string }>('POST', path, body)).body.id
  await made('/contact-properties', { key: 'favorite_genre', type: 'string', fallback_value: 'novels' })
  await made('/contact-properties', { key: 'loyalty_points', type: 'number' })
  const offers = await made('/topics', {
    name: 'Weekend offers',
    default_subscription: 'opt_in',
    visibility: 'public',
    description: 'Reduced books, every Friday',
  })
  const events = await made('/topics', { name: 'Readings', default_subscription: 'opt_out' })
  const segment = await made('/segments', { name: 'Newsletter' })
  const regulars = await made('/segments', { name: 'Regulars of the shop on the quay' })
  let contact = ''
  for (const [i, name] of READERS.entries()) {
    const [first_name, last_name] = name.split(' ')
    const email = `${first_name!.toLowerCase()}@readers.example`
    const topics = [{ id: i === 2 ? offers : events, subscription: i === 2 ? 'opt_out' : 'opt_in' }]
    const segments = i % 2 === 0 ? [segment, regulars] : [segment]
    contact = await made('/contacts', {
      email,
      first_name,
      last_name,
      segments,
      topics,
      properties: { loyalty_points: 40 * i },
      unsubscribed: i === 3,
    })
  }
  await made('/suppressions', { email: 'ben@readers.example' })
  return { contact, segment }
}

/** Creates an automation with a run that waits. */
async function automationOf(
  posthaste: TestAppliance,
  segment: string,
): Promise<{ automation: string; run: string; event: string }> {
  const { body } = await posthaste.call<{ id: string }>('POST', '/automations', {
    name: 'After an order',
    status: 'enabled',
    steps: [
      { key: 'start', type: 'trigger', config: { event_name: 'order.placed' } },
      {
        key: 'large',
        type: 'condition',
        config: { type: 'rule', field: 'event.total', operator: 'gte', value: 50 },
      },
      { key: 'pause', type: 'delay', config: { duration: '2 days' } },
      {
        key: 'thanks',
        type: 'send_email',
        config: {
          template: { id: 'order-confirmation', variables: { NUMBER: { var: 'event.number' } } },
          subject: 'How was your order?',
        },
      },
      { key: 'regular', type: 'add_to_segment', config: { segment_id: segment } },
    ],
    connections: [
      { from: 'start', to: 'large' },
      { from: 'large', to: 'pause', type: 'condition_met' },
      { from: 'pause', to: 'thanks' },
      { from: 'large', to: 'regular', type: 'condition_not_met' },
    ],
  })
  const event = await posthaste.call<{ id: string }>('POST', '/events', {
    name: 'order.placed',
    schema: { number: 'number', total: 'number' },
  })
  const payload = { number: 1204, total: 64 }
  await posthaste.call('POST', '/events/send', {
    event: 'order.placed',
    email: 'ada@readers.example',
    payload,
  })
  const run = await found(async () => {
    const runs = await posthaste.call<{ data: { id: string }[] }>('GET', `/automations/${body.id}/runs`)
    return runs.body.data[0]?.id
  })
  return { automation: body.id, run, event: event.body.id }
}

/** Creates a broadcast in draft. */
async function draftOf(posthaste: TestAppliance, segment: string): Promise<string> {
  const { body } = await posthaste.call<{ id: string }>('POST', '/broadcasts', {
    segment_id: segment,
    from: `Harbour Books <news@${NEWS}>`,
    name: 'Spring list',
    subject: 'Six books for {{{contact.first_name|you}}}',
    preview_text: 'Our spring list',
    html: '<h1>Spring</h1><p>Dear {{{contact.first_name|reader}}},</p><p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>',
  })
  return body.id
}

/** Sends a copy of a draft. */
async function sentOf(posthaste: TestAppliance, draft: string): Promise<string> {
  const { body } = await posthaste.call<{ id: string }>('POST', `/broadcasts/${draft}/duplicate`)
  const path = `/broadcasts/${body.id}`
  await posthaste.call('PATCH', path, { name: 'Winter list', subject: 'Winter at the harbour' })
  await posthaste.call('POST', `${path}/send`)
  return found(async () => {
    const { body: now } = await posthaste.call<{ id: string; status: string }>('GET', path)
    return now.status === 'sent' ? now.id : undefined
  })
}

/** Adds members and a pending invitation. */
async function staff(browse: Browser): Promise<void> {
  await browse('PATCH', '/team', { name: 'Harbour Books' })
  await browse('POST', '/invitations', { email: `nadia@${SHOP}`, role: 'developer' })
  await browse('POST', '/invitations', { email: `oskar@${SHOP}`, role: 'viewer' })
}

/** Polls before the clock is advanced: deliveries may be waiting behind receivers that asked Posthaste to slow down. */
const LOOKS_UNHELPED = 20
const LOOKS = 2000
/** Waits until nothing is in flight. The rest of the queue waits for a later day. */
async function quiet(posthaste: TestAppliance, clock: JumpingClock): Promise<void> {
  for (let looks = 1; looks <= LOOKS; looks++) {
    const { body } = await posthaste.call<{ data: { last_event: string }[] }>('GET', '/emails?limit=100')
    if (body.data.every(({ last_event: last }) => last !== 'sent' && last !== 'queued')) return
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (looks % LOOKS_UNHELPED === 0) clock.leap(HOUR / 60)
  }
}

/** Lets some readers open the newest emails and click a link. */
async function readSome(posthaste: TestAppliance, many: number): Promise<void> {
  const { body } = await posthaste.call<{ data: { id: string }[] }>('GET', `/sandbox/messages?limit=${many}`)
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  for (const [i, { id }] of body.data.entries()) {
    const message = await posthaste.call<{ html: string | null }>('GET', `/sandbox/messages/${id}`)
    const found = message.body.html?.match(/https?:\/\/[^"]*\/[ol]\/[^"]+/g) ?? []
    for (const address of i % 3 === 0 ? found : found.slice(-1))
      await fetch(address, { headers, redirect: 'manual' })
  }
}

/** Sends emails `from` to `to`, day by day until now. */
async function liveThrough(
  posthaste: TestAppliance,
  clock: JumpingClock,
  { days, emailsPerDay }: Past,
): Promise<void> {
  let n = 0
  let next = clock.now()
  for (let day = 0; day < days; day++) {
    const weekend = day % 7 > 4
    for (const [step, hours] of STEPS.entries()) {
      const many = Math.round((emailsPerDay * SHARES[step]! * (weekend ? 0.4 : 1) * (1 + day / days)) / 130)
      for (let left = many; left > 0; left -= BATCH) {
        const emails = Array.from({ length: Math.min(left, BATCH) }, () => bookshopEmail(n++))
        const { status, body } = await posthaste.call('POST', '/emails/batch', emails)
        if (status !== 200) throw new Error(JSON.stringify(body))
      }
      await quiet(posthaste, clock)
      clock.leap(HOUR / 4)
      await readSome(posthaste, Math.ceil(many / 5))
      next += hours * HOUR
      clock.leap(Math.max(0, next - clock.now()))
    }
  }
}

/** Returns the shop's newest email with that last event. Emails of the server itself show no content. */
async function newest(posthaste: TestAppliance, event: string): Promise<string | undefined> {
  const { body } = await posthaste.call<{ data: { id: string }[] }>(
    'GET',
    `/emails/search?status=${event}&domain=${SHOP}&limit=1`,
  )
  return body.data[0]?.id
}

/** Polls until there is a result. */
async function found(ask: () => Promise<string | undefined>): Promise<string> {
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    const id = await ask()
    if (id !== undefined) return id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the past lacks something that has a page of its own')
}

/** Starts the sandbox and creates its history. */
export async function startSeeded(past: Past): Promise<Seeded> {
  const receiver = await startReceiver()
  const clock = createJumpingClock(past.days * 24 * HOUR)
  const webhooks = { allow_networks: ['127.0.0.0/8'], retention_days: 30 }
  const posthaste = await startAppliance({
    config: { webhooks },
    clock,
    ...(past.dashboard ? { dashboard: past.dashboard } : {}),
  })
  const { domain, webhook } = await furnish(posthaste, receiver)
  const audience = {
    ...(await readers(posthaste)),
    template: await seedTemplate(posthaste),
    blocks: await seedBlocks(posthaste),
  }
  const broadcast = await draftOf(posthaste, audience.segment)
  await liveThrough(posthaste, clock, past)
  clock.leap(Math.max(0, Date.now() - clock.now()))
  await staff(await openBrowser(posthaste))
  const sentBroadcast = await sentOf(posthaste, broadcast)
  const later = new Date(clock.now() + 6 * HOUR).toISOString()
  for (let i = 0; i < 4; i++)
    await posthaste.call('POST', '/emails', { ...bookshopEmail(9000 + i), scheduled_at: later })
  // Two emails to full mailboxes, which stay queued with a reason.
  for (const n of [178, 278]) await posthaste.call('POST', '/emails', bookshopEmail(n))
  const first = (path: string) =>
    found(async () => {
      const { body } = await posthaste.call<{ data: { id: string }[] }>('GET', `${path}?limit=1`)
      return body.data[0]?.id
    })
  const delivered = await found(() => newest(posthaste, 'delivered'))
  await seedAlerts(posthaste, { id: domain, name: SHOP }, clock.now())
  const ids = {
    ...audience,
    broadcast,
    sentBroadcast,
    ...(await automationOf(posthaste, audience.segment)),
    form: await seedForm(posthaste),
    domain,
    webhook,
    report: await seedReports(posthaste, { id: domain, name: SHOP }, clock.now()),
    log: await first('/logs'),
    delivered,
    received: await seedReceived(posthaste, { id: domain, name: SHOP }, delivered, clock.now()),
    bounced: await found(() => newest(posthaste, 'bounced')),
    delayed: await found(() => newest(posthaste, 'delivery_delayed')),
    inbox: await first('/sandbox/messages'),
  }
  return {
    posthaste,
    ids,
    async close() {
      await posthaste.close()
      await receiver.close()
    },
  }
}
