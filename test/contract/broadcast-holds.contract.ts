import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { DAY, MINUTE, T0, unique } from './fixtures.ts'

/** The part of a broadcast for one provider, which a brake holds. */
export function broadcastHoldsContract(storage: () => Storage): void {
  describe('broadcasts held for one provider', () => {
    test('a broadcast held for one provider keeps its queued mail for that provider, and continues to others', async () => {
      const { teamId, domain, join, sending, emailTo, lease, get } = await broadcastStage(storage())
      const first = await join()
      const other = await join({ email: `bob@${unique('else')}.example` })
      const slow = `${domain}.provider`
      await storage().place({ domain: `${domain}.example`, provider: slow }, T0)
      const id = await sending()
      const emails = [first, other].map((one) => emailTo(id, one.id, one.email))
      await storage().enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0)
      const figures = { count: 12, of: 20 }
      const hold = () => storage().holdProviders({ teamId, id, held: { [slow]: figures } }, T0 + 5)
      const resume = (provider: string) => storage().resumeProvider({ teamId, id, provider }, T0 + 7)
      expect(await resume(slow)).toBe('wrong_status')
      expect(await hold()).toBe('done')
      expect((await get(id))!.holds).toEqual({ [slow]: { heldAt: T0 + 5, figures, resumedAt: null } })
      expect(await lease()).toEqual([other.email])
      const release = () => storage().releaseParked({ id, most: 10, expiresAt: T0 + 9 * DAY }, T0)
      expect([await release(), await resume('toString'), await lease()]).toEqual([false, 'wrong_status', []])
      expect(await resume(slow)).toBe('done')
      expect(await resume(slow)).toBe('wrong_status')
      expect((await get(id))!.holds).toEqual({ [slow]: { heldAt: null, figures, resumedAt: T0 + 7 } })
      expect([await release(), await release()]).toEqual([true, false])
      expect(await lease()).toEqual([first.email])
      expect(await storage().resumeProvider({ teamId: newId(T0), id, provider: slow }, T0)).toBe('unknown')
    })
  })

  test('lists the recipients of a broadcast in pages, and counts its deliveries in flight', async () => {
    const { teamId, join, sending, enqueue, lease } = await broadcastStage(storage())
    const [ada, bob] = [await join(), await join({ unsubscribed: true })]
    const id = await sending()
    const rows = (after: string, most: number, team = teamId) =>
      storage().broadcastRecipientRows({ teamId: team, id, after, most }, T0)
    const inFlight = (now: number) => storage().broadcastInFlight({ id }, now)
    expect(await rows('', 9)).toMatchObject([
      { contactId: ada.id, email: ada.email, emailId: null, lastEvent: null },
      { contactId: bob.id, email: bob.email, emailId: null },
    ])
    await enqueue(id)
    expect(await rows('', 1)).toMatchObject([{ contactId: ada.id, email: ada.email, lastEvent: 'queued' }])
    expect(await rows(ada.id, 9)).toMatchObject([{ contactId: bob.id, skipped: 'unsubscribed' }])
    expect([await rows(bob.id, 9), await rows('', 9, newId(T0))]).toEqual([[], []])
    expect(await inFlight(T0 + MINUTE)).toBe(0)
    expect(await lease()).toEqual([ada.email])
    expect([await inFlight(T0 + MINUTE), await inFlight(T0 + 31 * MINUTE)]).toEqual([1, 0])
  })
}
