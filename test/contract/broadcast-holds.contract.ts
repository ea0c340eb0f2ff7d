import { describe, expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { DAY, T0, unique } from './fixtures.ts'

/** The part of a broadcast for one provider, which a brake holds. */
export function broadcastHoldsContract(storage: () => Storage): void {
  describe('broadcasts that stop for one provider', () => {
    test('keep back what waits for one provider, and go on for the others', async () => {
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
}
