import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { Storage } from '../../appliance/storage/storage.ts'
import { broadcastStage, content } from './broadcast-stage.ts'
import { MINUTE, T0 } from './fixtures.ts'

const NOBODY = { sent: 0, delivered: 0, clicked: 0, unsubscribed: 0, complained: 0 }
const variant = { fromName: null, subject: 'Other', previewText: null, body: null }

/** Starts a broadcast with an A/B test to `readers` contacts. */
async function abTestStage(storage: Storage, readers: number) {
  const stage = await broadcastStage(storage)
  const { teamId, join, draft, get } = stage
  for (let n = 0; n < readers; n++) await join()
  const abTest = { share: 50, waitHours: 1, variants: [variant] }
  const id = await draft({ content: { ...content, abTest } })
  const { edits } = (await get(id))!
  const [first, second] = [
    { id: newId(T0), content: '{"subject":"News"}' },
    { id: newId(T0), content: '{"subject":"Other"}' },
  ]
  const starting = { teamId, id, edits, revision: first, variants: [second] }
  expect(await storage.startBroadcast(starting, T0 + MINUTE)).toBe('done')
  const draw = (most = 100) => storage.drawAbTest({ id, share: 50, most }, T0 + MINUTE)
  const expand = async () => {
    while ((await storage.expandBroadcast({ id, most: 3 }, T0 + MINUTE)) === 'more');
  }
  const tested = () => storage.waitingRecipients({ id, closed: [], most: 100, tested: true }, T0)
  const untried = (held: string[] = []) => storage.untriedInAbTest({ id, held }, T0 + MINUTE)
  const state = () => storage.getAbTest({ id }, T0)
  const decide = (winner: number, reason: 'clicks' | 'person' = 'clicks') =>
    storage.decideAbTest({ teamId, id, choice: { winner, reason, counts: [NOBODY, NOBODY] } }, T0 + MINUTE)
  return { ...stage, id, revisions: [first.id, second.id], draw, expand, tested, untried, state, decide }
}

/** Tests A/B tests of broadcasts. */
export function abTestsContract(storage: () => Storage): void {
  test('the draw waits for all recipients, then draws each once, in parts', async () => {
    const { draw, expand, waiting, tested, id, state, revisions } = await abTestStage(storage(), 8)
    expect(await draw()).toBe('stopped')
    await expand()
    expect(await tested()).toEqual([])
    expect([await draw(3), await draw(3), await draw(3), await draw()]).toEqual([
      'more',
      'more',
      'all',
      'stopped',
    ])
    const drawn = await tested()
    expect(drawn.map((one) => one.variant).sort()).toEqual([0, 0, 1, 1])
    expect(await waiting(id)).toHaveLength(8)
    expect(await state()).toMatchObject({ revisions, tested: 4, drawnAt: T0 + MINUTE, choice: null })
    expect(await storage().getRevision({ id: revisions[1]! }, T0)).toBe('{"subject":"Other"}')
  })

  test('the wait begins once, when no test recipient waits for its first attempt', async () => {
    const stage = await abTestStage(storage(), 4)
    const { draw, expand, tested, untried, state, emailTo, lease, id } = stage
    await expand()
    await draw()
    expect(await untried()).toBe(2)
    const found = await tested()
    expect(await untried([found[0]!.provider])).toBe(0)
    const emails = found.map((one) => emailTo(id, one.contactId, one.contact!.email))
    await storage().enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0 + MINUTE)
    expect(await untried()).toBe(2)
    expect(await lease()).toHaveLength(2)
    expect(await untried()).toBe(2)
    await storage().endAbTestSending({ id }, T0 + MINUTE)
    await storage().endAbTestSending({ id }, T0 + 2 * MINUTE)
    expect((await state())!.triedAt).toBe(T0 + MINUTE)
  })

  test('the winner is stored once, only of a broadcast that is being sent', async () => {
    const { decide, state, teamId, id } = await abTestStage(storage(), 1)
    await storage().pauseBroadcast({ teamId, id, reason: 'person', figures: null }, T0)
    expect(await decide(1)).toBe('wrong_status')
    expect(await decide(1, 'person')).toBe('done')
    expect(await decide(0, 'person')).toBe('wrong_status')
    expect(await state()).toMatchObject({
      choice: { winner: 1, reason: 'person', counts: [NOBODY, NOBODY] },
      decidedAt: T0 + MINUTE,
    })
    const other = await abTestStage(storage(), 1)
    await storage().cancelBroadcast({ teamId: other.teamId, id: other.id }, T0)
    expect(await other.decide(0, 'person')).toBe('wrong_status')
    const foreign = { teamId, id: other.id, choice: { winner: 0, reason: 'person' as const, counts: [] } }
    expect(await storage().decideAbTest(foreign, T0)).toBe('unknown')
  })

  test('after the winner is known, nobody is drawn, and those who were drawn count as the rest', async () => {
    const stage = await abTestStage(storage(), 4)
    const { draw, expand, tested, decide, emailTo, id, teamId } = stage
    await expand()
    await draw()
    const [first, second] = await tested()
    const email = emailTo(id, first!.contactId, first!.contact!.email)
    await storage().enqueueBroadcast({ id, emails: [email], deleted: [], moved: [] }, T0 + MINUTE)
    expect(await decide(1, 'person')).toBe('done')
    const late = emailTo(id, second!.contactId, second!.contact!.email)
    const untested = [second!.contactId]
    await storage().enqueueBroadcast({ id, emails: [late], deleted: [], moved: [], untested }, T0 + MINUTE)
    expect(await tested()).toEqual([])
    expect(await storage().variantOfEmail({ emailId: email.id }, T0)).toBe(first!.variant)
    expect(await storage().variantOfEmail({ emailId: late.id }, T0)).toBe(1)
    const rows = await storage().broadcastRecipientRows({ teamId, id, after: '', most: 10 }, T0)
    expect(rows.filter((row) => row.emailId === email.id).map((row) => row.variant)).toEqual([first!.variant])
    expect(rows.filter((row) => row.emailId === null).map((row) => row.variant)).toEqual([null, null])
    const listed = { teamId, id, type: 'unsubscribed' as const, limit: 10 }
    expect((await storage().listBroadcastRecipients(listed, T0)).items).toEqual([])
  })

  test('results are counted by variant, without the rest, and kept', async () => {
    const stage = await abTestStage(storage(), 4)
    const { draw, expand, tested, emailTo, id, state, lease } = stage
    await expand()
    await draw()
    const found = (await tested()).toSorted((a, b) => a.variant! - b.variant!)
    const emails = found.map((one) => emailTo(id, one.contactId, one.contact!.email))
    await storage().enqueueBroadcast({ id, emails, deleted: [], moved: [] }, T0 + MINUTE)
    expect(await storage().countVariants({ id }, T0)).toEqual([NOBODY, NOBODY])
    await lease()
    const click = {
      id: newId(T0),
      teamId: stage.teamId,
      emailId: emails[1]!.id,
      deliveryId: emails[1]!.deliveries[0]!.id,
      type: 'email.clicked' as const,
      data: { click: { ipAddress: '', timestamp: '', userAgent: '', link: 'https://shop.test/' } },
    }
    await storage().recordHit(click, T0 + MINUTE)
    const counts = await storage().countVariants({ id }, T0)
    expect(counts[0]).toMatchObject({ clicked: 0 })
    expect(counts[1]).toMatchObject({ clicked: 1 })
    await storage().saveVariantCounts({ id, counts }, T0 + MINUTE)
    expect(await state()).toMatchObject({ counts, countedAt: T0 + MINUTE })
  })

  test('a usual broadcast has none', async () => {
    const { sending, enqueue, join } = await broadcastStage(storage())
    await join()
    const id = await sending()
    await enqueue(id)
    expect(await storage().getAbTest({ id }, T0)).toBeUndefined()
    expect(await storage().countVariants({ id }, T0)).toEqual([])
    expect(await storage().drawAbTest({ id, share: 50, most: 10 }, T0)).toBe('stopped')
  })
}
