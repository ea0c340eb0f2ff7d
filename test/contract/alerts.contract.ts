import { afterEach, expect, test } from 'vitest'
import { createAlerts } from '../../appliance/alerts/alerts.ts'
import type { Clock } from '../../appliance/clock/clock.ts'
import { loadProviderRules, loadProviders } from '../../appliance/config/config.ts'
import type { Notice } from '../../appliance/intake/intake.ts'
import type { Alert, AlertKind } from '../../appliance/mail/alert.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { createProviderRuleChecker } from '../../appliance/senders/senders.ts'
import type { DeliveryChange, Domain, Storage } from '../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../appliance/watch/log.ts'
import { change, DAY, leaseArgs, makeTeam, MINUTE, newDomain, putEmail, T0, unique } from './fixtures.ts'

/** Returns an open alert. Not stored. */
export const newAlert = (teamId: string, more: Partial<Alert> = {}): Alert => ({
  id: newId(T0),
  teamId,
  scope: 'team',
  kind: 'bounces',
  subject: { type: 'domain', id: newId(T0), name: 'shop.example' },
  note: '3.5% bounced.',
  value: 0.035,
  limit: 0.04,
  openedAt: T0,
  calmSince: null,
  closedAt: null,
  muted: false,
  ...more,
})

/** A clock whose timers fire when the test moves it. */
function movedClock(): { clock: Clock; waiting: () => number; move: (ms: number) => void } {
  let now = T0
  let timers: { due: number; callback: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    after(ms, callback) {
      const timer = { due: now + ms, callback }
      timers.push(timer)
      return () => void (timers = timers.filter((one) => one !== timer))
    },
  }
  return {
    clock,
    waiting: () => timers.length,
    move(ms: number) {
      now += ms
      const due = timers.filter((one) => one.due <= now)
      timers = timers.filter((one) => one.due > now)
      for (const { callback } of due) callback()
    },
  }
}

const providers = loadProviders({ connections: 10 }).providers
const table = loadProviderRules()

/** Runs the worker on a storage, and moves its clock. */
function startWatch(storage: Storage) {
  const moved = movedClock()
  const { clock } = moved
  const sent: Notice[] = []
  const gate = createProviderRuleChecker({ storage, clock, rules: () => table })
  const watch = createAlerts({
    storage,
    clock,
    gate,
    log: createSilentLogger(),
    providers: () => providers,
    url: 'https://mail.shop.example/dashboard/alerts',
    sendNotice: (notice) => {
      sent.push(notice)
      return Promise.resolve({ sent: true, emailId: newId(T0) })
    },
  })
  watch.start()
  /** Waits for the end of a measurement: the worker then waits for its timer. */
  const measured = () => expect.poll(() => moved.waiting()).toBe(1)
  return {
    clock,
    sent,
    measured,
    /** Moves the clock on, one measurement at a time. */
    async pass(minutes: number) {
      for (let passed = 0; passed < minutes; passed += 5) {
        await measured()
        moved.move(5 * MINUTE)
      }
      await measured()
    },
    /** Moves the clock far without measuring in between. */
    async leap(ms: number) {
      await measured()
      moved.move(ms)
      await measured()
    },
    stop: () => watch.stop(),
  }
}

async function makeDomain(storage: Storage, more: Partial<Domain> = {}) {
  const { team, user } = await makeTeam(storage)
  const { domain, keys } = newDomain(team.id, `${unique('watched')}.example`)
  const verified = { ...domain, status: 'verified' as const, checks: [], ...more }
  await storage.createDomain({ domain: verified, keys }, T0)
  return { team, user, domain: verified }
}

const bounce = (id: string): DeliveryChange => {
  const bounced = change(id, 'bounced', 'email.bounced')
  const about = { type: 'Permanent' as const, subType: 'General' as const, message: '', diagnosticCode: [] }
  return { ...bounced, event: { ...bounced.event!, id: newId(T0), data: { bounce: about } } }
}

/** Stores the results of an email from a domain: the first `bounced` recipients don't exist. */
async function sendFrom(
  storage: Storage,
  domain: Domain,
  { all, bounced }: { all: number; bounced: number },
  now: number,
) {
  const recipients = Array.from({ length: all }, (_, n) => `r${n}@people.test`)
  await putEmail(storage, domain.teamId, recipients, now, { domainId: domain.id })
  const lease = { limit: all, roomElse: all, leaseUntil: now + 30 * MINUTE }
  const leased = await storage.lease(leaseArgs(lease), now)
  expect(leased).toHaveLength(all)
  const changes = leased.map(({ id }, n) =>
    n < bounced ? bounce(id) : change(id, 'delivered', 'email.delivered'),
  )
  await storage.settle({ owner: 'one', attempt: null, changes }, now)
}

/** Tests of alerts: what is stored of them, and the worker that opens and closes them. */
export function alertsContract(use: () => Storage): void {
  let watch: ReturnType<typeof startWatch> | undefined
  afterEach(async () => {
    await watch?.stop()
    watch = undefined
  })
  const list = async (teamId: string, more: { status?: 'open' | 'closed'; kind?: AlertKind } = {}) =>
    (await use().listAlerts({ teamId, limit: 10, ...more }, T0)).items
  const told = async (teamId: string) => {
    const cursor = { xid: 0, seq: 0 }
    const events = await use().liveEvents({ teamId, after: cursor, limit: 10_000 }, T0)
    return events.map(({ type }) => type).filter((type) => type.startsWith('alert.'))
  }

  test('opens one alert for a subject at a time, and creates one event for opening and one for closing', async () => {
    const { team } = await makeTeam(use())
    const alert = newAlert(team.id)
    expect(await use().openAlert({ alert, email: true }, T0)).toBe(true)
    expect(await use().openAlert({ alert: { ...alert, id: newId(T0) }, email: true }, T0)).toBe(false)
    expect(await use().openAlerts({ teamId: team.id }, T0)).toEqual([alert])
    expect(await use().closeAlert({ id: alert.id }, T0 + MINUTE)).toBe(true)
    expect(await use().closeAlert({ id: alert.id }, T0 + DAY)).toBe(false)
    const closed = { ...alert, closedAt: T0 + MINUTE }
    expect(await use().getAlert({ teamId: team.id, id: alert.id }, T0)).toEqual(closed)
    expect(await told(team.id)).toEqual(['alert.opened', 'alert.closed'])
    expect(await use().openAlert({ alert: { ...alert, id: newId(T0) }, email: true }, T0)).toBe(true)
  })

  test('lists the alerts of one team, filtered by status and kind', async () => {
    const [{ team }, { team: other }] = [await makeTeam(use()), await makeTeam(use())]
    const [one, two] = [newAlert(team.id), newAlert(team.id, { kind: 'dns', value: 1, limit: null })]
    for (const alert of [one, two, newAlert(other.id)]) await use().openAlert({ alert, email: false }, T0)
    await use().closeAlert({ id: one.id }, T0)
    expect(await list(team.id)).toMatchObject([{ id: two.id }, { id: one.id }])
    expect(await list(team.id, { status: 'open' })).toEqual([two])
    expect(await list(team.id, { status: 'closed' })).toMatchObject([{ id: one.id }])
    expect(await list(team.id, { kind: 'complaints' })).toEqual([])
    expect(await use().getAlert({ teamId: other.id, id: two.id }, T0)).toBeUndefined()
  })

  test('lists a muted alert without sending an event or email', async () => {
    const { team } = await makeTeam(use())
    const alert = newAlert(team.id, { muted: true })
    await use().openAlert({ alert, email: true }, T0)
    await use().closeAlert({ id: alert.id }, T0)
    expect(await list(team.id)).toMatchObject([{ id: alert.id, muted: true }])
    expect(await told(team.id)).toEqual([])
    expect((await use().dueAlertMail({ before: T0 }, T0))?.teamId).not.toBe(team.id)
  })

  test('stores alert settings for each team, and purges only old closed alerts', async () => {
    const [{ team }, { team: other }] = [await makeTeam(use()), await makeTeam(use())]
    const settings = { email: false, muted: ['dns' as const, 'queue' as const] }
    await use().setAlertSettings({ teamId: team.id, settings: { email: true, muted: [] } }, T0)
    await use().setAlertSettings({ teamId: team.id, settings }, T0)
    expect(await use().alertSettings({ teamId: team.id }, T0)).toEqual(settings)
    expect(await use().alertSettings({ teamId: other.id }, T0)).toEqual({ email: true, muted: [] })
    const [old, open] = [newAlert(team.id), newAlert(team.id)]
    for (const alert of [old, open]) await use().openAlert({ alert, email: false }, T0)
    await use().closeAlert({ id: old.id }, T0)
    await use().purgeAlerts({ before: T0 + 1, most: 1000 }, T0)
    expect(await list(team.id)).toEqual([open])
  })

  test('opens an alert before the bounce limit is reached, closes it later, and emails the owner once for each', async () => {
    const { team, user, domain } = await makeDomain(use())
    await sendFrom(use(), domain, { all: 200, bounced: 5 }, T0)
    watch = startWatch(use())
    await watch.measured()
    expect(await list(team.id)).toEqual([])

    await sendFrom(use(), domain, { all: 100, bounced: 4 }, T0)
    await watch.pass(5)
    const [alert] = await list(team.id)
    expect(alert).toMatchObject({ kind: 'bounces', value: 0.03, limit: 0.04, closedAt: null })
    expect(alert!.note).toContain('3% of 300 emails in the last 24 hours bounced')
    const mine = () => watch!.sent.filter(({ to }) => to === user.email)
    expect(mine()).toMatchObject([{ subject: `Alert: Bounces of ${domain.name}`, kind: 'alert' }])

    // Below the level that opens, but above the one that closes.
    await sendFrom(use(), domain, { all: 60, bounced: 0 }, T0 + 5 * MINUTE)
    await watch.pass(60)
    expect(await list(team.id, { status: 'open' })).toHaveLength(1)

    await watch.leap(DAY)
    await watch.pass(25)
    expect(await list(team.id, { status: 'open' })).toHaveLength(1)
    await watch.pass(5)
    expect((await list(team.id, { status: 'closed' }))[0]!.note).toMatch(/bounced/)
    expect(mine().map(({ subject }) => subject)).toEqual([
      `Alert: Bounces of ${domain.name}`,
      `Alert closed: Bounces of ${domain.name}`,
    ])
    expect(await told(team.id)).toEqual(['alert.opened', 'alert.closed'])
  })

  test('sends a second alert within the hour in the next email, and no email for a muted kind', async () => {
    const { team, user, domain } = await makeDomain(use(), { suspect: { status: 'failed', since: T0 } })
    watch = startWatch(use())
    await watch.measured()
    const mine = () => watch!.sent.filter(({ to }) => to === user.email).map(({ subject }) => subject)
    expect(mine()).toEqual([`Alert: DNS records of ${domain.name}`])
    await sendFrom(use(), domain, { all: 200, bounced: 50 }, watch.clock.now())
    await watch.pass(5)
    expect(await list(team.id, { status: 'open' })).toMatchObject([{ kind: 'bounces' }, { kind: 'dns' }])
    expect(mine()).toHaveLength(1)
    await watch.pass(60)
    expect(mine()).toEqual([`Alert: DNS records of ${domain.name}`, `Alert: Bounces of ${domain.name}`])

    const quiet = await makeDomain(use(), { suspect: { status: 'failed', since: T0 } })
    const settings = { email: true, muted: ['dns' as const] }
    await use().setAlertSettings({ teamId: quiet.team.id, settings }, T0)
    await watch.pass(5)
    expect(await list(quiet.team.id)).toMatchObject([{ kind: 'dns', muted: true }])
    expect(watch.sent.some(({ to }) => to === quiet.user.email)).toBe(false)
  })

  test('two nodes that measure at the same time open one alert and send one email', async () => {
    const { team, user } = await makeDomain(use(), { suspect: { status: 'failed', since: T0 } })
    watch = startWatch(use())
    const second = startWatch(use())
    await Promise.all([watch.measured(), second.measured()])
    expect(await list(team.id)).toHaveLength(1)
    expect(await told(team.id)).toEqual(['alert.opened'])
    const notices = [...watch.sent, ...second.sent].filter(({ to }) => to === user.email)
    // Either node may send it; the intake accepts a notice with this name once.
    expect(new Set(notices.map(({ once }) => once)).size).toBe(1)
    await second.stop()
  })

  test('reports a blocklisted sending IP only to the team that runs the server', async () => {
    const ip = `192.0.2.9-${unique('pool')}`
    const finding = { id: 'blocklist:zen.example', title: 'Blocklist', advice: null }
    const listed = { ...finding, status: 'failed' as const, found: 'It is listed at zen.example.' }
    const source = {
      ip,
      pool: 'default',
      hostname: null,
      state: 'active' as const,
      stateReason: null,
      suspendedBy: null,
      warmUpSince: null,
      origin: 'operator' as const,
      checkedAt: T0,
      health: { findings: [listed], ipv6: null },
    }
    await use().addSource({ source, nodeId: 'here' }, T0)
    const first = (await use().firstTeam({}, T0))!
    const { team } = await makeTeam(use())
    watch = startWatch(use())
    await watch.measured()
    const found = (await list(first.id, { kind: 'blocklist' })).filter(({ subject }) => subject.id === ip)
    expect(found).toMatchObject([{ scope: 'server', note: 'It is listed at zen.example.' }])
    expect(await list(team.id)).toEqual([])
    const counts = await use().countOpenAlerts({}, T0)
    expect(counts).toContainEqual({ kind: 'blocklist', scope: 'server', count: 1 })
  })
}
