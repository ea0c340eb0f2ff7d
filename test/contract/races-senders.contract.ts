import { describe, expect } from 'vitest'
import { SYSTEM_ACTOR, toActorFields } from '../../appliance/mail/audit.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { Source } from '../../appliance/mail/source.ts'
import type { DkimKey, NewSuppression, Storage, TlsCount } from '../../appliance/storage/storage.ts'
import { cause, change, leaseArgs, makeTeam, newApiKey, newDomain, putEmail, T0, unique } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

/** Races about domains, keys, suppressions, sources, and the appliance's own counters. */
export function racesOfSenders(race: Racing): void {
  describe('domains', () => domainRaces(race))
  describe('the suppression list', () => suppressionRaces(race))
  describe('sources', () => sourceRaces(race))
  describe('server settings', () => applianceRaces(race))
}

/** Stores a domain with a team of its own. */
async function stored(storage: Storage, name = `${unique('domain')}.example`) {
  const { team } = await makeTeam(storage)
  const made = newDomain(team.id, name)
  expect(await storage.createDomain(made, T0)).toBe('created')
  return made
}

const verified = { status: 'verified' as const, checks: [] }

function domainRaces(race: Racing): void {
  race('a team has a name once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const name = `${unique('domain')}.example`
    const create = (at: Storage) => at.createDomain(newDomain(team.id, name), T0)
    expect(sorted(await atOnce(create, create))).toEqual(['created', 'taken'])
    const [domain, ...others] = await storage.listDomains({ teamId: team.id }, T0)
    expect(others).toEqual([])
    expect(await storage.dkimKeys({ domainId: domain!.id }, T0)).toHaveLength(1)
  })

  race('a name is verified for one team', async ({ storage, atOnce }) => {
    const name = `${unique('domain')}.example`
    const [one, two] = [await stored(storage, name), await stored(storage, name)]
    const verify =
      ({ domain: { teamId, id } }: typeof one) =>
      (at: Storage) =>
        at.saveDomainCheck({ teamId, id, ...verified }, T0)
    expect(sorted(await atOnce(verify(one), verify(two)))).toEqual(['false', 'true'])
    expect(await storage.domainsServedAs({ name }, T0)).toEqual(
      expect.arrayContaining(['verified', 'not_started']),
    )
  })

  race('of two looks that saw the same, one is kept', async ({ storage, atOnce }) => {
    const { domain } = await stored(storage)
    const { teamId, id } = domain
    const watch = { verifyUntil: null, suspect: null, nextCheckAt: T0 + 5 }
    const seen = { status: 'not_started', nextCheckAt: null } as const
    const look = (at: Storage) => at.saveDomainCheck({ teamId, id, ...verified, watch, seen }, T0)
    expect(sorted(await atOnce(look, look))).toEqual(['false', 'true'])
  })

  race(
    'a verification that is asked for does not take back what a look found',
    async ({ storage, atOnce }) => {
      const { domain } = await stored(storage)
      const { teamId, id } = domain
      const watch = { verifyUntil: T0 + 9, suspect: null, nextCheckAt: T0 }
      const args = { teamId, id, status: 'pending', seen: 'not_started', watch } as const
      await atOnce(
        (at) => at.scheduleDomainCheck(args, T0),
        (at) => at.saveDomainCheck({ teamId, id, ...verified }, T0),
      )
      expect(await storage.getDomain({ teamId, id }, T0)).toMatchObject({ status: 'verified' })
    },
  )

  race('a look that is hastened is not one that was seen before', async ({ storage, atOnce }) => {
    const { domain } = await stored(storage)
    const { teamId, id } = domain
    const watch = { verifyUntil: T0 + 9, suspect: null, nextCheckAt: T0 + 5 }
    await storage.scheduleDomainCheck({ teamId, id, status: 'pending', seen: 'not_started', watch }, T0)
    const later = { ...watch, nextCheckAt: T0 + 9 }
    const seen = { status: 'pending', nextCheckAt: T0 + 5 } as const
    const [, saved] = await atOnce(
      (at) => at.hastenDomainCheck({ teamId, id }, T0),
      (at) => at.saveDomainCheck({ teamId, id, ...verified, watch: later, seen }, T0),
    )
    expect(await storage.getDomain({ teamId, id }, T0)).toMatchObject({
      status: saved ? 'verified' : 'pending',
      nextCheckAt: T0,
    })
  })

  race('a domain keeps one capability', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const { domain, keys } = newDomain(team.id, `${unique('domain')}.example`)
    await storage.createDomain({ domain: { ...domain, receiving: true }, keys }, T0)
    const { teamId, id } = domain
    const update = (settings: { sending: false } | { receiving: false }) => (at: Storage) =>
      at.updateDomain({ teamId, id, settings }, T0)
    const answers = await atOnce(update({ sending: false }), update({ receiving: false }))
    expect(sorted(answers)).toEqual(['false', 'true'])
    const [sending, receiving] = answers[0] ? [false, true] : [true, false]
    expect(await storage.getDomain({ teamId, id }, T0)).toMatchObject({ sending, receiving })
  })

  race('one rotation at a time', async ({ storage, atOnce }) => {
    const { domain, keys } = await stored(storage)
    const rotate = (at: Storage) => {
      const fresh: DkimKey = { ...keys[0], id: newId(T0), selector: unique('next'), state: 'pending' }
      return at.addDkimKeys({ teamId: domain.teamId, domainId: domain.id, keys: [fresh] }, T0)
    }
    expect(sorted(await atOnce(rotate, rotate))).toEqual(['added', 'rotating'])
    expect(await storage.dkimKeys({ domainId: domain.id }, T0)).toHaveLength(2)
  })

  race('the last use of a key is the latest', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const key = newApiKey(team.id, 'App')
    await storage.createApiKey({ ...key, tokenHash: unique('token') }, T0)
    const touch = (at: number) => (storage: Storage) =>
      storage.touchApiKeys({ uses: [{ id: key.id, at, prefix: null }] }, T0)
    await atOnce(touch(T0 + 1), touch(T0 + 2))
    expect(await storage.getApiKey({ id: key.id }, T0)).toMatchObject({ lastUsedAt: T0 + 2 })
  })
}

function suppressionRaces(race: Racing): void {
  const entry = (teamId: string, email: string): NewSuppression => ({
    id: newId(T0),
    teamId,
    email,
    origin: 'manual',
    sourceId: null,
    createdAt: T0,
  })
  /** Returns the types of a team's events that aren't about an email. */
  const told = async (storage: Storage, teamId: string): Promise<string[]> => {
    const all = { teamId, since: 0, until: T0 * 2, after: null, limit: 100 }
    return (await storage.listTeamEvents(all, T0)).flatMap(({ emailId, type }) =>
      emailId === null ? [type] : [],
    )
  }

  race('an address is added once, and both hear the same', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const add = (at: Storage) =>
      at.addSuppressions({ teamId: team.id, suppressions: [entry(team.id, 'a@x.example')] }, T0)
    const [one, two] = await atOnce(add, add)
    expect(one).toEqual(two)
    expect(await told(storage, team.id)).toEqual(['suppression.added'])
  })

  race('an address is removed once', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const one = entry(team.id, 'a@x.example')
    await storage.addSuppressions({ teamId: team.id, suppressions: [one], quiet: true }, T0)
    const remove = (at: Storage) =>
      at.removeSuppressions({ teamId: team.id, refs: [{ email: one.email }] }, T0)
    expect((await atOnce(remove, remove)).flat().map(({ id }) => id)).toEqual([one.id])
    expect(await told(storage, team.id)).toEqual(['suppression.removed'])
  })

  race('a bounce and a person add one entry', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, ['dead@x.example'])
    await storage.lease(leaseArgs(), T0)
    const bounce = { type: 'Permanent', subType: 'General', message: 'no' } as const
    const bounced = change(email.deliveries[0]!.id, 'bounced', 'email.bounced')
    const event = {
      ...bounced.event!,
      data: {
        recipient: 'dead@x.example',
        cause: cause('no'),
        bounce: { ...bounce, diagnosticCode: [], suppress: true as const },
      },
    }
    await atOnce(
      (at) => at.settle({ owner: 'one', attempt: null, changes: [{ ...bounced, event }] }, T0),
      (at) => at.addSuppressions({ teamId: team.id, suppressions: [entry(team.id, 'dead@x.example')] }, T0),
    )
    const { items } = await storage.listSuppressions({ teamId: team.id, limit: 9 }, T0)
    expect(items).toHaveLength(1)
    expect(await told(storage, team.id)).toEqual(['suppression.added'])
  })
}

const sourceOf = (more: Partial<Source> = {}): Source => ({
  ip: unique('192.0.2.1'),
  pool: unique('pool'),
  hostname: null,
  state: 'active',
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'operator',
  health: null,
  checkedAt: null,
  ...more,
})

function sourceRaces(race: Racing): void {
  race('an address is added once', async ({ storage, atOnce }) => {
    const { ip } = sourceOf()
    const add = (pool: string) => (at: Storage) =>
      at.addSource({ source: sourceOf({ ip, pool }), nodeId: 'here' }, T0)
    const answers = await atOnce(add('one'), add('two'))
    expect(sorted(answers)).toEqual(['false', 'true'])
    const found = (await storage.listSources({}, T0)).filter((one) => one.ip === ip)
    expect(found).toMatchObject([{ pool: answers[0] ? 'one' : 'two' }])
  })

  race('a pool has a way out, and no other beside an address', async ({ storage, atOnce }) => {
    const [wayOut, address] = [sourceOf(), sourceOf()]
    const { pool } = wayOut
    const keep = (at: Storage) => at.keepWayOut({ source: wayOut, nodeId: 'here' }, T0)
    const ips = async () =>
      (await storage.listSources({}, T0)).flatMap((one) => (one.pool === pool ? [one.ip] : []))
    await keep(storage)
    const add = async (at: Storage) => {
      await at.addSource({ source: { ...address, pool }, nodeId: 'here' }, T0)
      await keep(at)
    }
    await atOnce(add, keep)
    expect(await ips()).toEqual([address.ip])
    const remove = async (at: Storage) => {
      await at.removeSource(address, T0)
      await keep(at)
    }
    await atOnce(remove, keep)
    expect(await ips()).toEqual([wayOut.ip])
  })

  race('a check does not end what an operator did meanwhile', async ({ storage, atOnce }) => {
    const byCheck = { state: 'suspended', stateReason: 'Listed.', suspendedBy: 'check' } as const
    const source = sourceOf(byCheck)
    await storage.addSource({ source, nodeId: 'here' }, T0)
    const { ip } = source
    await atOnce(
      (at) =>
        at.saveSource(
          { ip, change: { state: 'active', stateReason: null, suspendedBy: null }, seen: byCheck },
          T0,
        ),
      (at) => at.saveSource({ ip, change: { ...byCheck, suspendedBy: 'operator' } }, T0),
    )
    const found = (await storage.listSources({}, T0)).filter((one) => one.ip === ip)
    expect(found).toMatchObject([{ state: 'suspended', suspendedBy: 'operator' }])
  })

  race('mail of one kind has one pool', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const about = { teamId: team.id, domainId: null, stream: 'broadcast' as const }
    const assign = (pool: string) => (at: Storage) =>
      at.saveAssignment({ assignment: { id: newId(T0), ...about, pool } }, T0)
    const [one, two] = await atOnce(assign('one'), assign('two'))
    expect(one!.id).toBe(two!.id)
    const found = (await storage.listAssignments({}, T0)).filter(({ teamId }) => teamId === team.id)
    expect(found).toHaveLength(1)
    expect([one, two]).toContainEqual(found[0])
  })

  race('one fail-over of a region begins and ends', async ({ storage, atOnce }) => {
    const region = unique('region')
    const entry = (action: 'region.fail_over' | 'region.restore') => ({
      id: newId(T0),
      teamId: null,
      at: T0,
      ...toActorFields(SYSTEM_ACTOR),
      action,
      target: `region ${region}`,
      targetName: region,
      before: null,
      after: null,
      details: {},
    })
    const begin = (at: Storage) => {
      const begun = entry('region.fail_over')
      const failover = { region, target: 'elsewhere', since: T0, auditId: begun.id }
      return at.beginFailover({ failover, entry: begun }, T0)
    }
    const end = (at: Storage) => at.endFailover({ region, entry: entry('region.restore') }, T0)
    expect((await atOnce(begin, begin)).toSorted()).toEqual([false, true])
    expect((await atOnce(end, end)).toSorted()).toEqual([false, true])
    const { items } = await storage.listAudit({ target: `region ${region}`, limit: 10 }, T0)
    expect(items.map(({ action }) => action).toSorted()).toEqual(['region.fail_over', 'region.restore'])
  })
}

function applianceRaces(race: Racing): void {
  race('two nodes get one serial for one content of the zones', async ({ storage, atOnce }) => {
    const [before, after] = [unique('zones'), unique('zones')]
    const first = await storage.zoneSerial({ digest: before }, T0)
    const serial = (at: Storage) => at.zoneSerial({ digest: after }, T0)
    const [one, two] = await atOnce(serial, serial)
    expect(one).toBe(two)
    expect(one).toBe(Math.max(first + 1, Math.floor(T0 / 1000)))
  })

  race('a secret is made once', async ({ atOnce }) => {
    const name = unique('secret')
    const make = (byte: number) => (at: Storage) => at.secret({ name, fresh: new Uint8Array([byte]) }, T0)
    const [one, two] = await atOnce(make(1), make(2))
    expect(one).toEqual(two)
  })

  race('what came of an act is written down once', async ({ storage, atOnce }) => {
    const id = newId(T0)
    const what = {
      action: 'queue.hold',
      target: 'queue',
      targetName: null,
      before: null,
      after: null,
    } as const
    const actor = { actor: 'root', actorKind: 'command', actorName: null, ip: null } as const
    await storage.appendAudit({ entry: { id, teamId: null, at: T0, ...actor, ...what, details: {} } }, T0)
    const complete = (after: string) => (at: Storage) => at.completeAudit({ id, after }, T0)
    const answers = await atOnce(complete('one'), complete('two'))
    expect(sorted(answers)).toEqual(['false', 'true'])
    expect(await storage.getAudit({ id }, T0)).toMatchObject({ after: answers[0] ? 'one' : 'two' })
  })

  race('a report on TLS is ended once', async ({ atOnce }) => {
    const about = { day: '2026-11-20', domain: unique('tls'), state: 'sent' as const, note: 'Sent.', at: T0 }
    const save = (at: Storage) => at.saveTlsReport(about, T0)
    expect(sorted(await atOnce(save, save))).toEqual(['false', 'true'])
  })

  race('results of TLS are added up, in so many rows at most', async ({ storage, atOnce }) => {
    const domain = unique('tls')
    const tally = (mxHost: string): TlsCount => ({
      day: '2026-11-20',
      domain,
      result: 'starttls-not-supported',
      reason: '',
      sessions: 1,
      policy: { type: 'no-policy-found', domain, strings: [], mxHosts: [] },
      sourceIp: '192.0.2.1',
      mxHost,
      mxIp: '192.0.2.2',
    })
    const add =
      (...hosts: string[]) =>
      (at: Storage) =>
        at.addTlsResults({ results: hosts.map(tally), most: 2 }, T0)
    await atOnce(add('one', 'two', 'three'), add('one', 'four', 'five'))
    const rows = await storage.tlsResultsOf({ day: '2026-11-20', domain }, T0)
    expect(rows).toHaveLength(2)
    expect(rows.find(({ mxHost }) => mxHost === 'one')?.sessions).toBe(2)
  })

  race('a day of a lane adds up', async ({ storage, atOnce }) => {
    const provider = unique('provider')
    const day = {
      day: '2026-11-20',
      source: 'auto',
      provider,
      sent: 2,
      delivered: 1,
      deferred: 1,
      bounced: 0,
    }
    const add = (at: Storage) => at.addLaneDays({ days: [day] }, T0)
    await atOnce(add, add)
    const days = (await storage.listLaneDays({ source: 'auto', since: '2026-11-20' }, T0)).filter(
      (one) => one.provider === provider,
    )
    expect(days).toEqual([{ ...day, sent: 4, delivered: 2, deferred: 2 }])
  })
}
