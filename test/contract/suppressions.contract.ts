import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewEmail, Storage, Suppression } from '../../appliance/storage/storage.ts'
import { change, leaseArgs, makeTeam, putEmail, T0, unique } from './fixtures.ts'

const entry = (
  teamId: string,
  email: string,
  origin: Suppression['origin'] = 'manual',
  now = T0,
): Suppression => ({
  id: newId(now),
  teamId,
  email,
  origin,
  sourceId: null,
  createdAt: now,
  reason: null,
  reply: null,
  removedAt: null,
})

export function suppressionsContract(storage: () => Storage): void {
  test('suppresses an address once, in any case, for its own team only', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const email = `${unique('Bob')}@example.com`
    const first = { ...entry(team.id, email, 'bounce'), sourceId: newId(T0) }
    const again = entry(team.id, email.toUpperCase())
    const new_ = entry(team.id, `${unique('eve')}@example.com`)
    const add = (suppressions: Suppression[]) =>
      storage().addSuppressions({ teamId: team.id, suppressions }, T0)
    expect(await add([first])).toEqual([first])
    expect(await add([again, new_])).toEqual([first, new_])
    const find = (teamId: string, addresses: string[]) => storage().findSuppressed({ teamId, addresses }, T0)
    const asked = email.toLowerCase()
    expect(await find(team.id, ['nobody@example.com', asked])).toEqual([{ ...first, address: asked }])
    expect(await find(team.id, [])).toEqual([])
    expect(await find(other.team.id, [asked])).toEqual([])
  })

  test('finds and removes entries by ID and by address, for their own team only', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const entries = ['a', 'b', 'c'].map((word) => entry(team.id, `${unique(word)}@example.com`))
    await storage().addSuppressions({ teamId: team.id, suppressions: entries }, T0)
    const [a, b, c] = entries as [Suppression, Suppression, Suppression]
    const get = (teamId: string, ref: { id: string } | { email: string }) =>
      storage().getSuppression({ teamId, ref }, T0)
    expect(await get(team.id, { id: a.id })).toEqual(a)
    expect(await get(team.id, { email: b.email.toUpperCase() })).toEqual(b)
    expect(await get(other.team.id, { id: a.id })).toBeUndefined()
    const remove = (teamId: string) =>
      storage().removeSuppressions(
        { teamId, refs: [{ id: c.id }, { id: newId(T0) }, { email: a.email }] },
        T0,
      )
    expect(await remove(other.team.id)).toEqual([])
    expect(await remove(team.id)).toEqual([c, a])
    expect(await remove(team.id)).toEqual([])
  })

  test('lists entries newest first, in pages, optionally of one origin', async () => {
    const { team } = await makeTeam(storage())
    const entries = (['bounce', 'manual', 'bounce', 'complaint'] as const).map((origin, index) =>
      entry(team.id, `${unique('p')}@example.com`, origin, T0 + index),
    )
    await storage().addSuppressions({ teamId: team.id, suppressions: entries }, T0)
    const newest = entries.toReversed()
    const list = (more: object) => storage().listSuppressions({ teamId: team.id, limit: 2, ...more }, T0)
    expect(await list({})).toEqual({ items: newest.slice(0, 2), hasMore: true })
    expect(await list({ after: newest[1]!.id })).toEqual({ items: newest.slice(2), hasMore: false })
    expect(await list({ before: newest[3]!.id })).toEqual({ items: newest.slice(1, 3), hasMore: true })
    expect(await list({ origin: 'bounce' })).toEqual({ items: [newest[1], newest[3]], hasMore: false })
  })

  test('search matches part of the address, without wildcards', async () => {
    const { team } = await makeTeam(storage())
    const emails = ['Ann_1@example.com', 'annx1@example.com', '100%@example.com', '1000@example.com']
    const suppressions = emails.map((email, index) => entry(team.id, email, 'manual', T0 + index))
    await storage().addSuppressions({ teamId: team.id, suppressions }, T0)
    const search = async (text: string) => {
      const found = await storage().listSuppressions({ teamId: team.id, limit: 10, search: text }, T0)
      return found.items.map(({ email }) => email)
    }
    expect(await search('ANN_')).toEqual(['Ann_1@example.com'])
    expect(await search('0%')).toEqual(['100%@example.com'])
    expect(await search('\\')).toEqual([])
    expect(await search('@example.com')).toEqual(emails.toReversed())
  })

  test('an address that was removed and added again stores the time of its removal', async () => {
    const { team } = await makeTeam(storage())
    const email = `${unique('back')}@example.com`
    const add = async (one: Suppression) =>
      (await storage().addSuppressions({ teamId: team.id, suppressions: [one] }, T0))[0]
    await add(entry(team.id, email))
    await storage().removeSuppressions({ teamId: team.id, refs: [{ email: email.toUpperCase() }] }, T0 + 7)
    const again = entry(team.id, email)
    expect(await add(again)).toEqual({ ...again, removedAt: T0 + 7 })
  })

  describe('a bounce', () => {
    /** Settles the only delivery to `recipient` as bounced. */
    const bounce = async (email: NewEmail, recipient: string, suppress: boolean, now = T0) => {
      await storage().lease(leaseArgs(), now)
      const { id } = email.deliveries.find((one) => one.recipient === recipient)!
      const data = {
        type: 'Permanent' as const,
        subType: 'NoEmail' as const,
        message: 'No.',
        diagnosticCode: [],
        ...(suppress ? { suppress: true as const } : {}),
      }
      const settled = {
        ...change(id, 'bounced'),
        event: { id: newId(now), type: 'email.bounced' as const, data: { recipient, bounce: data } },
      }
      expect(await storage().settle({ owner: 'one', attempt: null, changes: [settled] }, now)).toEqual({
        lost: [],
      })
    }
    const find = (teamId: string, email: string) => storage().getSuppression({ teamId, ref: { email } }, T0)

    test('a bounce that asks for suppression suppresses only its recipient, for its own team', async () => {
      const { team } = await makeTeam(storage())
      const other = await makeTeam(storage())
      const [dead, alive] = [`${unique('Dead')}@example.net`, `${unique('alive')}@example.net`]
      const email = await putEmail(storage(), team.id, [dead, alive])
      await bounce(email, dead, true)
      expect(await find(team.id, dead)).toEqual({
        id: expect.any(String) as string,
        teamId: team.id,
        email: dead,
        origin: 'bounce',
        sourceId: email.id,
        reason: 'bounced',
        reply: '451 4.7.1 later',
        removedAt: null,
        createdAt: T0,
      })
      expect(await find(team.id, alive)).toBeUndefined()
      expect(await find(other.team.id, dead)).toBeUndefined()
    })

    test('a bounce that does not ask for suppression suppresses no address', async () => {
      const { team } = await makeTeam(storage())
      const address = `${unique('full')}@example.net`
      await bounce(await putEmail(storage(), team.id, [address]), address, false)
      expect(await find(team.id, address)).toBeUndefined()
    })

    test('a bounce after a removal records the time of the removal', async () => {
      const { team } = await makeTeam(storage())
      const address = `${unique('again')}@example.net`
      const [first, second] = [
        await putEmail(storage(), team.id, [address]),
        await putEmail(storage(), team.id, [address]),
      ]
      await bounce(first, address, true)
      const entered = (await find(team.id, address))!
      await storage().removeSuppressions({ teamId: team.id, refs: [{ id: entered.id }] }, T0 + 1)
      await bounce(second, address, true, T0 + 2)
      const back = (await find(team.id, address))!
      expect(back).toMatchObject({ sourceId: second.id, removedAt: T0 + 1, createdAt: T0 + 2 })
    })

    test('a bounce suppresses queued mail to the same address when the mail is due', async () => {
      const { team } = await makeTeam(storage())
      const [dead, alive] = [`${unique('gone')}@example.net`, `${unique('here')}@example.net`]
      const waiting = await putEmail(storage(), team.id, [dead, alive], T0 + 5)
      await bounce(await putEmail(storage(), team.id, [dead]), dead, true)
      const leased = await storage().lease(leaseArgs(), T0 + 5)
      expect(
        leased.filter(({ emailId }) => emailId === waiting.id).map(({ recipient }) => recipient),
      ).toEqual([alive])
      const { deliveries, events } = await storage().getHistory({ teamId: team.id, id: waiting.id }, T0)
      expect(deliveries.map(({ state, attempts, dueAt }) => ({ state, attempts, dueAt }))).toEqual([
        { state: 'suppressed', attempts: 0, dueAt: null },
        expect.objectContaining({ state: 'waiting', attempts: 1 }),
      ])
      expect(events.map(({ type, deliveryId }) => [type, deliveryId])).toEqual([
        ['email.suppressed', waiting.deliveries[0]!.id],
        ['email.sent', null],
      ])
      expect(events[0]!.data).toMatchObject({ recipient: dead, suppressed: { reason: 'previous_bounce' } })
    })

    test('an email to a suppressed recipient only has the status suppressed, never sent', async () => {
      const { team } = await makeTeam(storage())
      const dead = `${unique('only')}@example.net`
      const waiting = await putEmail(storage(), team.id, [dead], T0 + 5)
      await bounce(await putEmail(storage(), team.id, [dead]), dead, true)
      await storage().lease(leaseArgs(), T0 + 5)
      const { lastEvent } = (await storage().getEmail({ teamId: team.id, id: waiting.id }, T0))!
      const { events } = await storage().getHistory({ teamId: team.id, id: waiting.id }, T0)
      expect([lastEvent, events.map(({ type }) => type)]).toEqual(['suppressed', ['email.suppressed']])
    })
  })

  describe('a complaint', () => {
    test('a complaint is recorded once, and suppresses the recipient if requested', async () => {
      const { team } = await makeTeam(storage())
      const other = await makeTeam(storage())
      const address = `${unique('cross')}@example.net`
      const email = await putEmail(storage(), team.id, [address])
      const deliveryId = email.deliveries[0]!.id
      const complain = (teamId: string, suppress: boolean) =>
        storage().complain(
          { teamId, emailId: email.id, deliveryId, reason: 'Its reader pressed the button.', suppress },
          T0 + 1,
        )
      expect(await complain(other.team.id, true)).toBe('unknown')
      expect(await complain(team.id, true)).toBe('recorded')
      expect(await complain(team.id, true)).toBe('known')
      const { events } = await storage().getHistory({ teamId: team.id, id: email.id }, T0)
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['email.complained', { recipient: address, complaint: { source: 'Its reader pressed the button.' } }],
      ])
      expect((await storage().getEmail({ teamId: team.id, id: email.id }, T0))!.lastEvent).toBe('complained')
      const ref = { email: address }
      expect(await storage().getSuppression({ teamId: team.id, ref }, T0)).toMatchObject({
        origin: 'complaint',
        sourceId: email.id,
        reason: 'Its reader pressed the button.',
        reply: null,
      })
      expect(await storage().getSuppression({ teamId: other.team.id, ref }, T0)).toBeUndefined()
    })

    test('a complaint replaces an earlier origin of the suppression', async () => {
      const { team } = await makeTeam(storage())
      const address = `${unique('both')}@example.net`
      const email = await putEmail(storage(), team.id, [address])
      const suppressions = [entry(team.id, address)]
      await storage().addSuppressions({ teamId: team.id, suppressions }, T0)
      const deliveryId = email.deliveries[0]!.id
      const about = { teamId: team.id, emailId: email.id, deliveryId }
      await storage().complain({ ...about, reason: 'Spam.', suppress: true }, T0 + 1)
      expect(await storage().getSuppression({ teamId: team.id, ref: { email: address } }, T0)).toEqual({
        ...suppressions[0]!,
        origin: 'complaint',
        sourceId: email.id,
        reason: 'Spam.',
      })
    })

    test('a complaint does not suppress the recipient unless requested', async () => {
      const { team } = await makeTeam(storage())
      const address = `${unique('told')}@example.net`
      const email = await putEmail(storage(), team.id, [address])
      const about = { teamId: team.id, emailId: email.id, deliveryId: email.deliveries[0]!.id }
      await storage().complain({ ...about, reason: 'Spam.', suppress: false }, T0)
      expect(await storage().getSuppression({ teamId: team.id, ref: { email: address } }, T0)).toBeUndefined()
    })
  })
}
