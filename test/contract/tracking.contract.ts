import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { EventData } from '../../appliance/mail/event.ts'
import type { NewHit, Storage } from '../../appliance/storage/storage.ts'
import { change, leaseArgs, makeTeam, newAttempt, newDomain, putEmail, T0, unique } from './fixtures.ts'

export function trackingContract(storage: () => Storage): void {
  /** Stores an email of a domain that tracks both opens and clicks. */
  async function tracked(recipients: string[]) {
    const { team } = await makeTeam(storage())
    const { domain, keys } = newDomain(team.id, `${unique('tracked')}.example`)
    await storage().createDomain({ domain: { ...domain, openTracking: true, clickTracking: true }, keys }, T0)
    return putEmail(storage(), team.id, recipients, T0, { domainId: domain.id })
  }
  type Email = Awaited<ReturnType<typeof tracked>>
  const hit = (email: Email, type: NewHit['type'], data: EventData = {}): NewHit => ({
    id: newId(T0),
    teamId: email.teamId,
    emailId: email.id,
    deliveryId: null,
    type,
    data,
  })
  const lastEvent = async ({ teamId, id }: Email) => (await storage().getEmail({ teamId, id }, T0))!.lastEvent
  const look = (emailId: string) => storage().trackedEmail({ emailId }, T0)

  describe('an opened email', () => {
    test('finds an opened email with the tracking settings of its domain and its only recipient', async () => {
      const email = await tracked(['ada@example.net'])
      const { id: deliveryId } = email.deliveries[0]!
      const { teamId } = email
      const known = { teamId, opens: true, clicks: true, deliveryId, recipient: 'ada@example.net' }
      expect(await look(email.id)).toEqual({ ...known, deliveredAt: null })
      await storage().lease(leaseArgs(), T0)
      const changes = [change(deliveryId, 'delivered', 'email.delivered')]
      await storage().settle({ owner: 'one', attempt: newAttempt(email, [deliveryId]), changes }, T0 + 5000)
      expect(await look(email.id)).toEqual({ ...known, deliveredAt: T0 + 5000 })
      const settings = { openTracking: false }
      await storage().updateDomain({ teamId, id: email.domainId, settings }, T0)
      expect(await look(email.id)).toMatchObject({ opens: false, clicks: true })
      await storage().deleteDomain({ teamId, id: email.domainId }, T0)
      expect(await look(email.id)).toBeUndefined()
      expect(await look(newId(T0))).toBeUndefined()
    })

    test('finds an opened email without a recipient if it has several', async () => {
      const email = await tracked(['ada@example.net', 'bob@example.net'])
      expect(await look(email.id)).toMatchObject({ deliveryId: null, recipient: null })
    })

    test('an open becomes the last event of an email, unless a bot opened it or the email was clicked before', async () => {
      const email = await tracked(['ada@example.net'])
      const record = (one: NewHit) => storage().recordHit(one, T0 + 1000)
      await record(hit(email, 'email.opened', { robot: true }))
      expect(await lastEvent(email)).toBe('queued')
      await record(hit(email, 'email.opened'))
      expect(await lastEvent(email)).toBe('opened')
      await record(hit(email, 'email.clicked'))
      await record(hit(email, 'email.opened'))
      expect(await lastEvent(email)).toBe('clicked')
      const { events } = await storage().getHistory({ teamId: email.teamId, id: email.id }, T0)
      expect(events.map(({ type, data }) => [type, data.robot ?? false])).toEqual([
        ['email.opened', true],
        ['email.opened', false],
        ['email.clicked', false],
        ['email.opened', false],
      ])
    })

    test('an open recorded by another team does not change the email', async () => {
      const email = await tracked(['ada@example.net'])
      const { team } = await makeTeam(storage())
      await storage().recordHit({ ...hit(email, 'email.opened'), teamId: team.id }, T0)
      expect((await storage().getHistory({ teamId: email.teamId, id: email.id }, T0)).events).toEqual([])
      expect(await lastEvent(email)).toBe('queued')
    })
  })
}
