import { expect, test } from 'vitest'
import { catchUpTagCounts } from '../../appliance/events/metrics-tags.ts'
import { createErasureCounts } from '../../appliance/mail/erasure.ts'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { change, DAY, leaseArgs, makeTeam, newAttempt, newDomain, putEmail, T0, unique } from './fixtures.ts'

async function deliver(storage: Storage, email: NewEmail): Promise<void> {
  await storage.lease(leaseArgs(), T0)
  const ids = email.deliveries.map(({ id }) => id)
  const changes = ids.map((id) => change(id, 'delivered', 'email.delivered'))
  await storage.settle({ owner: 'one', attempt: newAttempt(email, ids), changes }, T0)
}

/** IDs never go backwards. After tests with a later clock, IDs created at T0 are later, too. */
const step = { before: T0 + 36_500 * DAY, most: 100 }
const actor = { kind: 'command' as const, name: 'root', ip: null }

export function retentionContract(storage: () => Storage): void {
  test('purges bodies and attempts of final emails, and keeps those of queued ones', async () => {
    const { team } = await makeTeam(storage())
    const final = await putEmail(storage(), team.id, ['a@x.example'])
    await deliver(storage(), final)
    const waits = await putEmail(storage(), team.id, ['b@x.example'])
    expect(await storage().purgeBodies({ ...step, before: T0 - DAY }, T0)).toMatchObject({ count: 0 })
    expect(await storage().purgeBodies(step, T0)).toMatchObject({
      count: 1,
      next: null,
      bytes: final.message.byteLength,
    })
    expect(await storage().purgeAttempts(step, T0)).toEqual({ count: 1, bytes: 0, next: null })
    expect(await storage().getMessage({ emailId: final.id }, T0)).toBe(undefined)
    expect(await storage().getMessage({ emailId: waits.id }, T0)).toBeDefined()
  })

  test('keeps events until they have been read, and purges an email with all its rows', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@x.example'])
    await deliver(storage(), email)
    expect(await storage().purgeEvents(step, T0)).toMatchObject({ count: 0, next: null })
    while ((await catchUpTagCounts(storage(), T0)) !== null);
    const { count } = await storage().purgeEmails(step, T0)
    expect(count).toBeGreaterThanOrEqual(1)
    expect(await storage().getEmail({ teamId: team.id, id: email.id }, T0)).toBe(undefined)
  })

  test('stores the disk usage once per day, and removes old days', async () => {
    const save = (day: string, bytes: number, since = '2026-01-01') =>
      storage().saveDiskDay({ day, bytes, since }, T0)
    await save('2026-01-01', 1)
    await save('2026-01-02', 2)
    await save('2026-01-02', 3)
    expect(await storage().listDiskDays({}, T0)).toEqual([
      { day: '2026-01-01', bytes: 1 },
      { day: '2026-01-02', bytes: 3 },
    ])
    await save('2026-01-03', 4, '2026-01-03')
    expect(await storage().listDiskDays({}, T0)).toEqual([{ day: '2026-01-03', bytes: 4 }])
    expect((await storage().diskUse({}, T0)).database).toBeGreaterThan(0)
    expect(await storage().shrink({ pages: 10 }, T0)).toBeGreaterThanOrEqual(0)
  })

  test("only a domain's own team can change whether it keeps bodies", async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('d')}.example`)
    await storage().createDomain({ domain, keys }, T0)
    const set = (teamId: string, keep: boolean) =>
      storage().setKeepBodies({ teamId, domainId: domain.id, keep }, T0)
    const names = () => storage().domainsWithoutBodies({ teamId: team.id }, T0)
    expect(await set(other.team.id, false)).toBe(false)
    expect(await names()).toEqual([])
    expect(await set(team.id, false)).toBe(true)
    expect(await names()).toEqual([domain.name])
    const email = await putEmail(storage(), team.id, ['a@x.example'], T0, { domainId: domain.id })
    expect(await storage().purgeUnkeptBodies(step, T0)).toMatchObject({ count: 0 })
    await deliver(storage(), email)
    expect(await storage().purgeUnkeptBodies(step, T0)).toMatchObject({ count: 1 })
    expect(await storage().getEmail({ teamId: team.id, id: email.id }, T0)).toMatchObject({ subject: '' })
    await set(team.id, true)
    expect(await names()).toEqual([])
  })

  test('starts an erasure once, runs it in steps, and lists it for its own team', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const address = `${unique('ada')}@x.example`
    await putEmail(storage(), team.id, [address])
    const begin = () => storage().beginErasure({ id: newId(T0), teamId: team.id, address, actor }, T0)
    const begun = await begin()
    expect(begun).toMatchObject({ actor: 'root', finishedAt: null, counts: createErasureCounts() })
    expect(await begin()).toEqual(begun)
    expect(await storage().unfinishedErasures({}, T0)).toEqual([begun.id])
    const seen = await storage().surveyErasure({ teamId: team.id, address }, T0)
    expect(seen).toMatchObject({ counts: { deliveries: 1 }, next: { phase: 'emails', after: '' } })
    let last = begun
    while (last.finishedAt === null) last = (await storage().eraseStep({ id: begun.id }, T0 + 1))!
    expect(last).toMatchObject({ finishedAt: T0 + 1, counts: { deliveries: 1, emails: 1, bodies: 1 } })
    expect(await storage().eraseStep({ id: begun.id }, T0 + 2)).toEqual(last)
    expect(await storage().eraseStep({ id: newId(T0) }, T0)).toBe(undefined)
    expect(await storage().unfinishedErasures({}, T0)).toEqual([])
    const list = (teamId: string) => storage().listErasures({ teamId, limit: 5 }, T0)
    expect(await list(team.id)).toEqual({ items: [last], hasMore: false })
    expect(await list(other.team.id)).toEqual({ items: [], hasMore: false })
    expect(await storage().getErasure({ teamId: team.id, id: begun.id }, T0)).toEqual(last)
    expect(await storage().getErasure({ teamId: other.team.id, id: begun.id }, T0)).toBe(undefined)
  })
}
