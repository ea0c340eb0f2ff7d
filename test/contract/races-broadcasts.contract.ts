import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import { broadcastStage } from './broadcast-stage.ts'
import { MINUTE, T0 } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

/** Races between two callers that change or send the same broadcast. */
export function racesOfBroadcasts(race: Racing): void {
  describe('broadcasts', () => {
    race('a broadcast starts once, or not at all if it was changed before', async ({ storage, atOnce }) => {
      const { teamId, draft, get } = await broadcastStage(storage)
      const id = await draft()
      const start = (at: typeof storage) =>
        at.startBroadcast({ teamId, id, edits: 0, revision: { id: newId(T0), content: '{}' } }, T0)
      expect(sorted(await atOnce(start, start))).toEqual(['done', 'wrong_status'])
      const other = await draft()
      const [changed, started] = await atOnce(
        (at) => at.updateBroadcast({ teamId, id: other, change: { content: { subject: 'New' } } }, T0),
        (at) =>
          at.startBroadcast({ teamId, id: other, edits: 0, revision: { id: newId(T0), content: '{}' } }, T0),
      )
      const subject = (await get(other))!.content.subject
      expect([
        ['wrong_status', 'done', 'News'],
        ['done', 'stale', 'New'],
      ]).toContainEqual([changed, started, subject])
    })

    race('rejects the second of two concurrent changes of a draft as stale', async ({ storage, atOnce }) => {
      const { teamId, draft } = await broadcastStage(storage)
      const id = await draft()
      const write = (at: typeof storage) =>
        at.updateBroadcast({ teamId, id, edits: 0, change: { content: { subject: 'New' } } }, T0)
      expect(sorted(await atOnce(write, write))).toEqual(['done', 'stale'])
    })

    race(
      'two concurrent expansions and enqueues create one email for each contact',
      async ({ storage, atOnce }) => {
        const { join, draft, start, waiting, emailTo, lease, get } = await broadcastStage(storage)
        const contacts = [await join(), await join(), await join()]
        const id = await draft()
        await start(id)
        await atOnce(
          (at) => at.expandBroadcast({ id, most: 2 }, T0),
          (at) => at.expandBroadcast({ id, most: 2 }, T0),
        )
        expect((await get(id))!.expanded).toBe(3)
        const found = await waiting(id)
        const put = (at: typeof storage) => {
          const emails = found.map((one) => emailTo(id, one.contactId, one.contact!.email))
          return at.enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0)
        }
        const put2 = await atOnce(put, put)
        expect(put2.map((one) => one!.enqueued).sort()).toEqual([0, 3])
        expect(sorted(await lease())).toEqual(sorted(contacts.map(({ email }) => email)))
      },
    )

    race('leases no mail of a broadcast that is being paused or canceled', async ({ storage, atOnce }) => {
      const { teamId, join, sending, waiting, emailTo, lease } = await broadcastStage(storage)
      await join()
      const id = await sending()
      const [found] = await waiting(id)
      await atOnce(
        (at) => at.pauseBroadcast({ teamId, id, reason: 'person', figures: null }, T0),
        (at) => {
          const emails = [emailTo(id, found!.contactId, found!.contact!.email)]
          return at.enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0)
        },
      )
      expect(await lease()).toEqual([])
      const [resumed, canceled] = await atOnce(
        (at) => at.resumeBroadcast({ teamId, id }, T0),
        (at) => at.cancelBroadcast({ teamId, id }, T0),
      )
      expect(canceled).toBe('canceled')
      expect(['done', 'wrong_status']).toContain(resumed)
      expect(await lease(T0 + 2 * MINUTE)).toEqual([])
    })

    race('draws an A/B test once, and stores one winner', async ({ storage, atOnce }) => {
      const { teamId, draft, join, waiting } = await broadcastStage(storage)
      for (let n = 0; n < 4; n++) await join()
      const id = await draft()
      const revision = () => ({ id: newId(T0), content: '{}' })
      const starting = { teamId, id, edits: 0, revision: revision(), variants: [revision()] }
      await storage.startBroadcast(starting, T0)
      while ((await storage.expandBroadcast({ id, most: 10 }, T0)) === 'more');
      const draw = (at: typeof storage) => at.drawAbTest({ id, share: 50, most: 10 }, T0)
      expect(sorted(await atOnce(draw, draw))).toEqual(['all', 'stopped'])
      const variants = (await waiting(id)).map(({ variant }) => variant ?? -1)
      expect(variants.sort()).toEqual([-1, -1, 0, 1])
      const decide = (winner: number) => (at: typeof storage) =>
        at.decideAbTest({ teamId, id, choice: { winner, reason: 'person', counts: [] } }, T0)
      const answers = await atOnce(decide(0), decide(1))
      expect(sorted(answers)).toEqual(['done', 'wrong_status'])
      expect((await storage.getAbTest({ id }, T0))!.choice!.winner).toBe(answers.indexOf('done'))
    })

    race('holds one provider while another one is resumed', async ({ storage, atOnce }) => {
      const { teamId, sending, get } = await broadcastStage(storage)
      const id = await sending()
      const [first, second] = [
        { count: 10, of: 20 },
        { count: 11, of: 20 },
      ]
      const hold = (held: Record<string, typeof first>) => (at: typeof storage) =>
        at.holdProviders({ teamId, id, held }, T0)
      await hold({ google: first })(storage)
      const answers = await atOnce(hold({ yahoo: second }), (at) =>
        at.resumeProvider({ teamId, id, provider: 'google' }, T0 + 1),
      )
      expect(answers).toEqual(['done', 'done'])
      await hold({ yahoo: first })(storage)
      expect((await get(id))!.holds).toEqual({
        google: { heldAt: null, figures: first, resumedAt: T0 + 1 },
        yahoo: { heldAt: T0, figures: second, resumedAt: null },
      })
    })
  })
}
